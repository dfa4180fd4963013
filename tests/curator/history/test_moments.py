"""Moments of a history: one person moves them by at most a unit, and the noise is that unit's."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest, norm

from botorch_private import PublicScaling, choose_features
from botorch_private.audit.bounds import certified_epsilon, gaussian_epsilon_from_rates
from botorch_private.curator.cells.fit_score import fit_score
from botorch_private.curator.history import moments as history
from botorch_private.curator.history.choose_features import correlations
from botorch_private.curator.mechanisms.entropy import OSEntropy
from botorch_private.curator.mechanisms.noise import noised
from botorch_private.privacy.history_promise import HistoryPromise

SCALING = PublicScaling([0.0, 0.0], [1.0, 10.0], names=["a", "b"])
EVERYBODY = {"outcome_range": (0.0, 1.0), "epsilon": 1.0, "delta": 1e-5, "public": False}


def people(m=400, seed=0):
    generator = torch.Generator().manual_seed(seed)
    records = torch.rand(m, 2, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 10.0])
    outcomes = records[:, 0] + 0.05 * torch.randn(m, generator=generator, dtype=torch.float64)
    return records, outcomes


def released(records, outcomes, scaling=SCALING, **more):
    given = {"learned": "features", "generator": None, **EVERYBODY, **more}
    return history.release_moments(records, outcomes, scaling, **given)


@pytest.fixture
def before_noise(monkeypatch):
    """Function that returns what is released, before the noise, in units of the sensitivity."""
    seen = []

    def record(rows, law, entropy):
        seen.append((rows.copy(), law))
        return rows

    monkeypatch.setattr(history, "noised", record)

    def of(*arguments, **more):
        released(*arguments, **more)
        return seen[-1]

    return of


@pytest.mark.parametrize("seed", range(20))
def test_no_person_moves_what_is_released_by_more_than_a_unit(before_noise, seed):
    """Extreme people above all: corners of the box, opposite outcomes, values far outside."""
    rng = np.random.default_rng(seed)
    records, outcomes = people()
    other, changed = records.clone(), outcomes.clone()
    corners = [[0.0, 0.0], [1.0, 10.0], [0.0, 10.0], [-1e9, 1e9], [0.5, 5.0], [1.0, 0.0]]
    pick = rng.integers(len(corners), size=2)
    records[0], other[0] = (torch.tensor(corners[place], dtype=torch.float64) for place in pick)
    outcomes[0], changed[0] = (float(v) for v in rng.choice([0.0, 1.0, 0.5, -1e6, 1e6], size=2))
    before, _ = before_noise(records, outcomes)
    after, _ = before_noise(other, changed)
    assert np.linalg.norm(before - after) <= 1.0


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(1, 6),
    values=arrays(np.float64, (2, 7), elements=st.floats(-3.0, 3.0)),
)
def test_any_two_people_are_at_most_a_unit_apart(width, values):
    """By the definition: the sums of two rows alone, whatever they are."""
    scaling = PublicScaling([-1.0] * width, [1.0] * width)
    rest = torch.zeros(history.LEAST_PEOPLE, width, dtype=torch.float64)
    sums = []
    for row in values:
        table, y = rest.clone(), torch.zeros(len(rest), dtype=torch.float64)
        table[0], y[0] = torch.from_numpy(row[:width]), float(row[-1])
        sums.append(released(table, y, scaling, outcome_range=(-1.0, 1.0), public=True))
    private = released(table, y, scaling, outcome_range=(-1.0, 1.0))
    law = history.law_of_moments(1.0, 1e-5, width + 2)
    moved = np.linalg.norm(sums[0].sums - sums[1].sums)
    assert moved * law.scale <= private.deviation


@pytest.mark.parametrize("width", [1, 3, 22])
def test_the_worst_pair_is_nearly_as_far_apart_as_is_paid_for(width):
    """Rows with ``u . u' = -1``, as the proof says, found by search: the bound wastes little."""
    norm = max(1.0, math.sqrt(width) / 2)
    x = torch.full((history.LEAST_PEOPLE, width), 0.0, dtype=torch.float64)
    y = torch.zeros(len(x), dtype=torch.float64)
    scaling = PublicScaling([-1.0] * width, [1.0] * width)
    lengths = []
    for angle in np.linspace(0, math.pi, 181):
        one, two = x.clone(), x.clone()
        end = norm / math.sqrt(width)
        one[0], two[0] = end, end * math.cos(angle)
        y[0], z = 1.0, y.clone()
        z[0] = -(1 / norm**2 + math.cos(angle)) if abs(1 / norm**2 + math.cos(angle)) <= 1 else 1.0
        both = [
            released(table, values, scaling, outcome_range=(-1.0, 1.0), public=True).sums
            for table, values in ((one, y), (two, z))
        ]
        lengths.append(np.linalg.norm(both[0] - both[1]))
    sensitivity = math.sqrt(2) * (2 * norm**2 + 1)
    assert 0.6 * sensitivity < max(lengths) <= sensitivity * 1.001


@pytest.mark.parametrize(
    ("epsilon", "delta", "features"), [(1.0, 1e-5, 22), (0.3, 1e-6, 4), (3.0, 1e-5, 2)]
)
def test_epsilon_is_what_dp_accounting_finds(epsilon, delta, features):
    law = history.law_of_moments(epsilon, delta, features + 2)
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(law.scale))  # one unit
    assert accountant.get_epsilon(delta) <= epsilon * (1 + 1e-4)
    assert accountant.get_epsilon(delta) > 0.98 * epsilon  # and no noise is wasted
    assert law.epsilon(1.0, delta) <= epsilon


FOUR = PublicScaling([0.0] * 4, [1.0] * 4)
# Scaled, (1, 1, 1, 1) and (1, 1, -1, -1) cut to length 1, and opposite outcomes: the product is -1.
WORST = ([1.0, 1.0, 1.0, 1.0], 0.0), ([1.0, 1.0, 0.0, 0.0], 1.0)


@pytest.fixture
def worst_pair(before_noise):
    """Moments of two histories, in units of the sensitivity, that differ in one person the most."""
    generator = torch.Generator().manual_seed(0)
    records = torch.rand(60, 4, generator=generator, dtype=torch.float64)
    outcomes = records[:, 0].clone()
    found = []
    for record, outcome in WORST:
        records[0], outcomes[0] = torch.tensor(record, dtype=torch.float64), outcome
        found.append(before_noise(records, outcomes, FOUR))
    return found[0][0], found[1][0], found[0][1]


def test_the_worst_pair_is_one_unit_apart(worst_pair):
    """The maximum of the module's formula is reached, up to what rounding is charged."""
    one, other, _ = worst_pair
    assert 0.999 < np.linalg.norm(one - other) <= 1.0


@pytest.mark.parametrize(("share", "refuted"), [(1.0, False), (0.5, True)])
def test_an_audit_of_the_worst_pair_refutes_less_noise_and_no_honest_one(worst_pair, share, refuted):
    """Draws for both histories, along the line between them: the best attack on a Gaussian."""
    one, other, law = worst_pair
    law = replace(law, scale=share * law.scale)
    line = (one - other)[0] / np.linalg.norm(one - other)
    own, others = (
        noised(np.repeat(rows, 50_000, axis=0), law, OSEntropy()) @ line for rows in (one, other)
    )
    for rows, found in ((one, own), (other, others)):
        assert kstest(found, norm(float(rows[0] @ line), law.scale).cdf).pvalue > 1e-6
    found = certified_epsilon(own, others, 1e-5, 1 - 1e-6, gaussian_epsilon_from_rates)
    assert (found > 1.0) == refuted
    assert found > 0.4  # what is promised is not far from what can be seen


def test_two_records_of_a_person_in_the_history_can_move_two_units(before_noise):
    """So the promise is for one record each, and the sentence says it."""
    records, outcomes = people()
    other, changed = records.clone(), outcomes.clone()
    records[:2], outcomes[:2] = torch.tensor([1.0, 10.0]), 0.0
    other[:2], changed[:2] = torch.tensor([1.0, 10.0]), 1.0
    before, _ = before_noise(records, outcomes)
    after, _ = before_noise(other, changed)
    assert np.linalg.norm(before - after) > 1.0


@pytest.mark.parametrize(("epsilon", "shown"), [(1.00004, "1.001"), (0.99999999, "1"), (3.0, "3")])
def test_the_promise_to_the_history_is_never_printed_too_small(epsilon, shown):
    sentence = HistoryPromise(100, epsilon, 1e-5).sentence
    assert f"at most epsilon {shown} and" in sentence


def test_sums_of_long_rows_are_exact_as_well():
    """A row of many features is long, and float64 holds fewer of them exactly."""
    for features in (1, 22, 1_000, 1_500, 10_000):
        length = max(1.0, math.sqrt(features) / 2)
        most = history._most_people(length)
        largest = most * (length + history._STEP * math.sqrt(features + 1)) ** 2
        assert largest / history._STEP**2 <= 2.0**53
        assert most == history.MOST_PEOPLE or features > 1_000


@pytest.mark.parametrize("features", [1, 2, 22, 200])
def test_rounding_of_the_moments_of_so_many_people_is_charged(features):
    """Both tables, three operations on each number, of a vector as long as it can be."""
    law = history.law_of_moments(1.0, 1e-5, features + 2)
    length = history.MOST_PEOPLE / math.sqrt(2)
    assert 2 * 3 * 2.0**-53 * length <= law.rounding - math.sqrt(law.dim) * law.grid


def test_large_histories_are_added_up_exactly():
    """Sums of products are whole steps of 2^-28, so that float64 adds them in any order."""
    records, outcomes = people(5_000)
    order = torch.randperm(5_000, generator=torch.Generator().manual_seed(1))
    one = released(records, outcomes, public=True)
    other = released(records[order], outcomes[order], public=True)
    assert (one.sums == other.sums).all()


def test_noise_is_drawn_anew_each_time_and_is_as_wide_as_it_says():
    records, outcomes = people()
    exact = released(records, outcomes, public=True).sums
    off = [released(records, outcomes).sums - exact for _ in range(400)]
    found = np.array([each[0, 0] for each in off])
    product = np.array([each[0, 1] for each in off])
    deviation = released(records, outcomes).deviation
    assert found.std() == pytest.approx(deviation, rel=0.15)  # 4 standard errors
    assert product.std() == pytest.approx(deviation / math.sqrt(2), rel=0.15)
    assert all((each == each.T).all() for each in off)


def test_correlations_of_a_public_history_are_those_of_numpy():
    records, outcomes = people(2_000)
    inside = outcomes.clamp(0.0, 1.0)
    found = correlations(released(records, outcomes, public=True))
    rows = history.cut_to_norm(history.to_unit(records.numpy(), np.zeros(2), np.array([1.0, 10.0])), 1.0)
    slow = [np.corrcoef(rows[:, j], inside.numpy())[0, 1] for j in range(2)]
    assert found == pytest.approx(slow, abs=1e-3)  # rows are rounded to 2^-14


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome_range": (1.0, 0.0)}, "outcome_range must be two rising numbers"),
        ({"outcome_range": (0.0, math.inf)}, "outcome_range_high must be a finite number"),
        ({"epsilon": 0.0}, "epsilon must be a finite number > 0"),
        ({"delta": 0.0}, r"delta must be a number in \(0, 1\)"),
        ({"public": "yes"}, "public must be True or False"),
        ({"outcomes": [1.0]}, "outcomes must have 400 entries"),
        ({"records": [[0.5, 5.0]] * 10, "outcomes": [0.5] * 10}, "at least 50 rows"),
        ({"generator": 3}, "generator"),
    ],
)
@pytest.mark.parametrize("learn", [fit_score, lambda *a, **k: choose_features(*a, 1, **k)])
def test_refusals_before_anything_is_drawn(monkeypatch, learn, change, message):
    def draw(*arguments):
        raise AssertionError("something was drawn")

    monkeypatch.setattr(history, "noised", draw)
    records, outcomes = people()
    given = {"records": records, "outcomes": outcomes, "outcome_range": (0.0, 1.0), **change}
    with pytest.raises((ValueError, TypeError), match=message):
        learn(given.pop("records"), given.pop("outcomes"), SCALING, **given)


def test_what_was_chosen_from_a_history_is_not_learned_from_again():
    records, outcomes = people()
    chosen = choose_features(records, outcomes, SCALING, 2, outcome_range=(0.0, 1.0)).scaling
    for learn in (fit_score, lambda *a, **k: choose_features(*a, 1, **k)):
        with pytest.raises(ValueError, match="adds up"):
            learn(records, outcomes, chosen, outcome_range=(0.0, 1.0))
