"""Releases with units of their own: what their total is about, and that it says so."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from botorch_private import NoisyProjection, OutcomeMechanism, PrivacyGuarantee, PublicScaling, compose
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Number, YesNo
from botorch_private.curator.publish import planned_guarantee
from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.units import different_units, in_own_units, unit_words

N = 1000
AGE = PublicScaling([18.0], [100.0], names=["age"])
BOTH = PublicScaling([18.0, 30.0], [100.0, 200.0], radius=10.0, names=["age", "weight"])
COARSE = PublicScaling([18.0, 30.0], [500.0, 900.0], names=["age", "weight"])
LAPLACE = NoisyProjection(1.0)
GAUSSIAN = NoisyProjection(1.0, 1e-5, noise="gaussian")
OWN = "by at most D units of distance in each release, measured in the units of that release"


def planned(scaling, mechanism=LAPLACE):
    return planned_guarantee(N, scaling, mechanism)


def test_one_unit_is_one_unit_however_often_it_is_released():
    alike = [planned(AGE), planned(AGE, GAUSSIAN), replace(planned(AGE), names=None)]
    assert different_units(alike) == [alike[0]]
    assert different_units(alike[::-1]) == [alike[1]]  # the one with names stands for that without
    total = compose([alike[2], alike[0]])
    assert (total.unit, total.names) == (alike[0].unit, ("age",))
    assert not in_own_units(total)
    assert "in each release" not in str(total)


@pytest.mark.parametrize(
    "other",
    [planned(BOTH), planned(COARSE), replace(planned(AGE), names=("bmi",))],
    ids=lambda g: g.names,
)
def test_releases_with_other_columns_or_ranges_are_said_to_be_measured_in_their_own_units(other):
    total = compose([planned(AGE), other, OutcomeMechanism(1.0, 0.0, (0.0, 1.0)).guarantee()])
    assert in_own_units(total)
    assert (total.unit, total.names, total.steps) == (None, None, ())
    assert OWN in compose([planned(AGE), other]).adjacency
    assert OWN in total.adjacency
    text = str(total)
    assert "Moving one record by 1 unit in each release" in text
    assert "    1. One unit is: 1.64 of age." in text
    assert f"    2. One unit is: {unit_words(other)}." in text
    assert "no scaling was given" not in text
    assert PrivacyGuarantee.from_json(total.to_json()) == total
    again = compose([total, planned(AGE)])
    assert len(again.parts) == 4
    assert len(different_units(again.parts)) == 2


@given(st.floats(18.0, 100.0), st.floats(18.0, 100.0), st.floats(30.0, 200.0), st.floats(30.0, 200.0))
def test_whatever_changes_costs_no_more_than_the_total_at_the_largest_of_the_distances(a, b, v, w):
    """The exact cost of a change, with each release at the distance that it moves the record there."""
    releases = [(AGE, GAUSSIAN), (BOTH, GAUSSIAN), (COARSE, GAUSSIAN), (BOTH, LAPLACE)]
    moved = []
    for scaling, _ in releases:
        rows = np.array([[a, v], [b, w]])[:, : scaling.features]
        scaled = scaling.transform(rows).numpy()
        moved.append(float(np.linalg.norm(scaled[0] - scaled[1])))
    parts = [planned(*each) for each in releases]
    far = max(moved)
    if far < 1e-6:
        return
    mus = [(d + p.law.rounding) / p.law.scale for d, p in zip(moved[:3], parts[:3], strict=True)]
    exact = gaussian_epsilon(1e-5, math.hypot(*mus))
    assert exact <= compose(parts[:3], delta=1e-5).at(far) * (1 + 1e-9)
    pure = [p.law.epsilon(d, 1.0) for d, p in zip((moved[1], moved[3]), (parts[3],) * 2, strict=True)]
    assert sum(pure) <= compose([parts[3]] * 2).at(far) * (1 + 1e-9)


def test_replacing_a_whole_record_is_charged_at_the_widest_ball():
    total = compose([planned(AGE), planned(BOTH)])
    assert total.radius == 25.0
    assert total.at(50.0) >= planned(AGE).at(50.0) + planned(BOTH).at(20.0)
    assert f"50 units: {total.at(50.0):.3f}"[:12] in str(total)


def test_a_change_of_a_yes_or_no_is_priced_as_a_share_of_the_unit_of_each_release():
    """It may be long in one release and nothing in another: no one distance stands for it."""
    first = Encoding([Number("age", 18, 100, 20.0), YesNo("diabetes", 1.0)]).scaling
    second = Encoding([YesNo("diabetes", 5.0), Number("bmi", 10, 60, 8.0)]).scaling
    text = str(compose([planned(first), planned(second)]))
    for i, scaling in enumerate((first, second), start=1):
        (line,) = (each for each in text.splitlines() if each.startswith(f"    {i}. One unit is: "))
        assert "of a change of diabetes" in line
        share = float(line.split(" of a change of diabetes")[0].split()[-1])
        assert share <= 1 / scaling.steps[0].width < share * 1.01
    assert "A change of diabetes, from any value" not in text
