"""Public facts: costs, totals and units are those of the guarantee, and need no table."""

import math
import re

import numpy as np
import pytest
import torch
from helpers.report_samples import (
    LOWER,
    NAMES,
    UPPER,
    declared,
    make_release,
    reports_of,
    some_records,
    unusual,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from botorch_private import DenoisedRelease, NoisyProjection, PublicScaling, compose
from botorch_private.curator.publish import publish
from botorch_private.privacy.cautions import guess
from botorch_private.privacy.gaussian import gaussian_delta
from botorch_private.privacy.spending import least_delta
from botorch_private.report import shown
from botorch_private.report.facts import public_facts


def facts_of(*releases, ranges=None):
    return public_facts([(each, f"release {i}") for i, each in enumerate(releases)], ranges)


def test_costs_are_those_of_the_guarantee_and_end_at_the_diameter():
    release = make_release("gaussian")
    facts = facts_of(release)
    assert [cost.epsilon for cost in facts.costs] == [
        release.guarantee.at(cost.distance) for cost in facts.costs
    ]
    assert facts.unit_cost.epsilon == pytest.approx(1.5, rel=1e-6)
    assert facts.costs[-1].distance == facts.diameter == 50.0
    distances, epsilons = zip(*facts.curve, strict=True)
    assert distances[-1] == pytest.approx(50.0)
    assert (np.diff(epsilons) > 0).all()


@given(st.floats(0.05, 6.0), st.floats(0.0, 5.0))
def test_no_gaussian_mechanism_is_told_apart_more_often_than_its_guess(mu, epsilon):
    """The best test of N(0, 1) against N(mu, 1) is right in Phi(mu / 2) of cases."""
    delta = gaussian_delta(epsilon, mu)
    assert norm.cdf(mu / 2) <= guess(epsilon, delta) + 1e-12


def test_the_guess_is_reached_by_randomized_response():
    assert guess(1.0, 0.0) == pytest.approx(math.e / (1 + math.e))
    assert guess(0.0, 0.0) == 0.5
    assert guess(0.0, 0.3) == pytest.approx(0.65)
    assert guess(math.inf, 0.0) == guess(1000.0, 1e-5) == 1.0


def test_releases_add_up_as_compose_says():
    releases = make_release("laplace"), make_release("far")
    facts = facts_of(*releases)
    guarantees = [release.guarantee for release in releases]
    assert facts.total.epsilon == compose(guarantees).epsilon
    assert facts.second.epsilon == compose([*guarantees, guarantees[1]]).epsilon
    assert facts.second.delta == pytest.approx(least_delta([*guarantees, guarantees[1]]))


def test_a_second_gaussian_release_costs_at_the_same_delta():
    release = make_release("gaussian")
    facts = facts_of(release)
    expected = compose([release.guarantee, release.guarantee], delta=release.guarantee.delta)
    assert facts.second.epsilon == expected.epsilon
    assert facts.second.delta == release.guarantee.delta


def test_different_kinds_of_noise_are_drawn_from_the_distances_of_the_table():
    scaling = PublicScaling(LOWER, UPPER, radius=1.0)  # a small one: it takes seconds a distance
    releases = [
        publish(some_records(), scaling, NoisyProjection(1.0, 1e-5, noise=noise)).release
        for noise in ("laplace", "gaussian")
    ]
    facts = facts_of(*releases, ranges=list(zip(LOWER, UPPER, strict=True)))
    assert [cost.distance for cost in facts.costs] == [0.5, 1.0, 2.0]
    assert facts.curve == tuple((cost.distance, cost.epsilon) for cost in facts.costs)
    assert all(feature.whole is None and feature.width is not None for feature in facts.features)


def test_a_release_of_another_unit_or_the_same_one_is_refused():
    release = make_release("laplace")
    other = publish(
        some_records(), PublicScaling(LOWER, UPPER, radius=9.0), NoisyProjection(3.0)
    ).release
    with pytest.raises(ValueError, match="share one unit"):
        facts_of(release, other)
    with pytest.raises(ValueError, match="release 0 and release 2 are the same"):
        facts_of(release, make_release("laplace"), release)


def test_what_is_no_release_as_it_came_is_refused():
    with pytest.raises(TypeError, match="got DenoisedRelease"):
        facts_of(DenoisedRelease.of(make_release("laplace")))
    with pytest.raises(TypeError, match="got Tensor"):
        facts_of(torch.zeros(2, 2))


def test_units_are_raw_and_ranges_are_measured_in_them():
    release = make_release("gaussian")
    bare = facts_of(release).features
    assert [feature.name for feature in bare] == NAMES
    assert [feature.unit for feature in bare] == declared().unit.tolist()
    assert all(feature.width is None for feature in bare)
    ranged = facts_of(release, ranges=list(zip(LOWER, UPPER, strict=True))).features
    widths = [feature.width for feature in ranged]
    assert math.hypot(*widths) == pytest.approx(50.0, rel=1e-9)  # corner to corner
    for feature in ranged:
        assert feature.whole.epsilon == release.guarantee.at(feature.width)


def test_a_release_without_raw_units_says_so():
    facts = facts_of(unusual("learned"))
    assert [feature.unit for feature in facts.features] == [None] * 4
    assert facts.features[2].name == "feature 2"


def test_nothing_is_promised_beyond_a_unit_without_a_law():
    facts = facts_of(make_release("spectral"))
    assert facts.curve == ()
    assert math.isinf(facts.costs[-1].epsilon)
    assert facts.releases[0].known_enough == 5
    assert facts.releases[0].attacker is None
    assert facts_of(make_release("none")).releases[0].known_enough is None
    for few in (3, 4, 5):  # with as many known records, nobody else is left
        assert facts_of(make_release("spectral", some_records(7)[:few])).releases[0].known_enough is None
    assert facts_of(make_release("spectral", some_records(7)[:6])).releases[0].known_enough == 5


def test_outcomes_are_added_where_they_are_covered():
    facts = facts_of(unusual("outcomes"))
    assert facts.with_outcomes is not None
    assert facts.with_outcomes.epsilon == pytest.approx(8.0, rel=1e-6)
    assert facts_of(make_release("laplace")).with_outcomes is None


def test_what_needs_dp_accounting_is_said_where_it_is_missing(monkeypatch):
    import botorch_private.report.facts as module

    release = make_release("projected")
    real = module.total

    def total(guarantees):
        if len(guarantees) > 1:
            raise ImportError("needs dp-accounting")
        return real(guarantees)

    monkeypatch.setattr(module, "total", total)
    facts = facts_of(release)
    assert facts.second == "needs dp-accounting"


def test_what_a_person_with_several_records_pays_is_that_of_the_guarantee():
    facts = reports_of("gaussian").facts
    assert [count for count, _ in facts.several] == [1, 2, 5, 10]
    for count, cost in facts.several:
        assert cost.epsilon == facts.total.at(1.0, records=count)
        assert cost.guess == guess(cost.epsilon, cost.delta)
    assert facts.several[0][1] == facts.unit_cost


def test_the_second_promise_of_l2_noise_is_its_pure_bound_at_each_distance():
    made = reports_of("l2")
    assert len(made.facts.pure) == len(made.facts.costs)
    for cost, stated in zip(made.facts.costs, made.facts.pure, strict=True):
        pure = made.facts.total.pure_at(cost.distance)
        assert pure == pytest.approx(cost.distance * made.facts.total.pure_at(1.0), rel=1e-3)
        assert cost.epsilon <= pure == stated
        line = [shown.given(cost.distance), shown.up(cost.epsilon), shown.factor(cost.epsilon)]
        line += [shown.percent(cost.guess), shown.up(pure)]
        assert re.search(r"\s+".join(map(re.escape, line)), made.text())
    assert "The second promise is dotted." in made.html()
    assert reports_of("laplace").facts.pure == reports_of("gaussian").facts.pure == ()
