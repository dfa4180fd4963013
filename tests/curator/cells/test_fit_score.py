"""Cells from a history: the noise that the promise needs, one person at a time, and what it finds."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm

from botorch_private import PublicScaling
from botorch_private.audit.bounds import certified_epsilon, gaussian_epsilon_from_rates
from botorch_private.curator.cells import fit_score as history_cells
from botorch_private.curator.cells.cell_response import CellResponse
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.fit_score import fit_score
from botorch_private.curator.cells.history_score import HistoryPromise
from botorch_private.curator.mechanisms.entropy import OSEntropy
from botorch_private.privacy.gaussian import gaussian_noise_std

SCALING = PublicScaling([0.0, 0.0], [1.0, 10.0], names=["a", "b"])


def history(m=400, seed=0):
    generator = torch.Generator().manual_seed(seed)
    records = torch.rand(m, 2, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 10.0])
    outcomes = records[:, 0] + 0.05 * torch.randn(m, generator=generator, dtype=torch.float64)
    return records, outcomes


def fitted(records, outcomes, **more):
    return fit_score(
        records, outcomes, SCALING, **{"outcome_range": (0.0, 1.0), "cuts": [0.5, 0.9], **more}
    )


def moments_of(monkeypatch, records, outcomes):
    """What is released, before the noise, in units of the sensitivity."""
    seen = []

    def record(rows, law, entropy):
        seen.append((rows.copy(), law))
        return rows

    monkeypatch.setattr(history_cells, "noised", record)
    fitted(records, outcomes)
    return seen[0]


@pytest.mark.parametrize("seed", range(20))
def test_no_person_moves_what_is_released_by_more_than_a_unit(monkeypatch, seed):
    """Extreme people above all: corners of the box, opposite outcomes, values far outside."""
    rng = np.random.default_rng(seed)
    records, outcomes = history()
    other, changed = records.clone(), outcomes.clone()
    corners = [[0.0, 0.0], [1.0, 10.0], [0.0, 10.0], [-1e9, 1e9], [0.5, 5.0], [1.0, 0.0]]
    pick = rng.integers(len(corners), size=2)
    records[0], other[0] = (torch.tensor(corners[place], dtype=torch.float64) for place in pick)
    outcomes[0], changed[0] = (float(v) for v in rng.choice([0.0, 1.0, 0.5, -1e6, 1e6], size=2))
    before, law = moments_of(monkeypatch, records, outcomes)
    after, _ = moments_of(monkeypatch, other, changed)
    assert np.linalg.norm(before - after) <= 1.0
    assert law.scale >= gaussian_noise_std(1.0, 1e-5, np.ones(1), np.ones(1))


def test_the_bound_is_nearly_met(monkeypatch):
    """Two people at opposite ends: the sensitivity is not much larger than it must be."""
    records, outcomes = history()
    other, changed = records.clone(), outcomes.clone()
    records[0], outcomes[0] = torch.tensor([1.0, 10.0]), 0.0
    other[0], changed[0] = torch.tensor([1.0, 10.0]), 1.0
    before, _ = moments_of(monkeypatch, records, outcomes)
    after, _ = moments_of(monkeypatch, other, changed)
    assert np.linalg.norm(before - after) > 0.5


FOUR = PublicScaling([0.0] * 4, [1.0] * 4)
# Scaled, (1, 1, 1, 1) and (1, 1, -1, -1) cut to length 1, and opposite outcomes: the product is -1.
WORST = ([1.0, 1.0, 1.0, 1.0], 0.0), ([1.0, 1.0, 0.0, 0.0], 1.0)


def worst_pair(monkeypatch):
    """Moments of two histories, in units of the sensitivity, that differ in one person the most."""
    generator = torch.Generator().manual_seed(0)
    records = torch.rand(60, 4, generator=generator, dtype=torch.float64)
    outcomes = records[:, 0].clone()
    found = []
    for record, outcome in WORST:
        records[0], outcomes[0] = torch.tensor(record, dtype=torch.float64), outcome
        seen = []
        with monkeypatch.context() as patch:
            patch.setattr(
                history_cells,
                "noised",
                lambda rows, law, entropy, seen=seen: seen.append((rows.copy(), law)) or rows,
            )
            fit_score(records, outcomes, FOUR, outcome_range=(0.0, 1.0))
        found.append(seen[0])
    return found[0][0], found[1][0], found[0][1]


def test_the_worst_pair_is_one_unit_apart(monkeypatch):
    """The maximum of the module's formula is reached, up to what rounding is charged."""
    one, other, _ = worst_pair(monkeypatch)
    assert 0.999 < np.linalg.norm(one - other) <= 1.0


def test_the_noise_of_the_worst_pair_is_what_dp_accounting_asks_for(monkeypatch):
    from dp_accounting import dp_event
    from dp_accounting.pld import pld_privacy_accountant

    one, other, law = worst_pair(monkeypatch)
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(law.scale / np.linalg.norm(one - other)))
    assert accountant.get_epsilon(1e-5) <= 1.0


@pytest.mark.parametrize(("share", "refuted"), [(1.0, False), (0.5, True)])
def test_an_audit_of_the_worst_pair_refutes_less_noise_and_no_honest_one(monkeypatch, share, refuted):
    """Draws for both histories, along the line between them: the best attack on a Gaussian."""
    one, other, law = worst_pair(monkeypatch)
    law = replace(law, scale=share * law.scale)
    line = (one - other)[0] / np.linalg.norm(one - other)
    own, others = (
        history_cells.noised(np.repeat(rows, 50_000, axis=0), law, OSEntropy()) @ line
        for rows in (one, other)
    )
    for rows, found in ((one, own), (other, others)):
        assert kstest(found, norm(float(rows[0] @ line), law.scale).cdf).pvalue > 1e-6
    found = certified_epsilon(own, others, 1e-5, 1 - 1e-6, gaussian_epsilon_from_rates)
    assert (found > 1.0) == refuted
    assert found > 0.4  # what is promised is not far from what can be seen


def test_sums_of_long_rows_are_exact_as_well():
    """A row of many features is long, and float64 holds fewer of them exactly."""
    for features in (1, 22, 1_000, 1_500, 10_000):
        norm = max(1.0, math.sqrt(features) / 2)
        people = history_cells._most_people(norm)
        largest = people * (norm + history_cells._STEP * math.sqrt(features + 1)) ** 2
        assert largest / history_cells._STEP**2 <= 2.0**53
        assert people == history_cells.MOST_PEOPLE or features > 1_000


def test_the_law_keeps_epsilon_and_delta():
    law = history_cells._law(1.0, 1e-5, 24)
    assert law.dim == 24 * 25 // 2
    assert law.epsilon(1.0, 1e-5) <= 1.0


def test_a_score_finds_what_matters_and_its_cells_have_about_the_shares():
    records, outcomes = history(3000)
    cells = Cells.from_history(
        records, outcomes, SCALING, outcome_range=(0.0, 1.0), cuts=[0.5, 0.9], epsilon=2.0
    )
    found = cells.of_records(records)
    shares = torch.bincount(found, minlength=3) / 3000
    assert shares.tolist() == pytest.approx([0.5, 0.4, 0.1], abs=0.12)
    assert float(outcomes[found == 2].mean()) > float(outcomes[found == 0].mean()) + 0.4
    assert cells.space.ordered == (True,)


def test_public_history_has_no_noise_and_says_so():
    records, outcomes = history()
    one, two = (fitted(records, outcomes, public=True) for _ in range(2))
    assert one.weights == two.weights
    assert math.isinf(one.promise.epsilon)
    assert "the curator says that it is public or that its people agree" in one.promise.sentence
    assert "nothing is promised to them" in one.promise.sentence
    assert "at most epsilon" not in one.promise.sentence


def test_private_scores_differ_from_time_to_time():
    records, outcomes = history()
    assert fitted(records, outcomes).weights != fitted(records, outcomes).weights


def test_the_guarantee_names_both_groups():
    records, outcomes = history()
    cells = Cells.from_history(records, outcomes, SCALING, outcome_range=(0.0, 1.0), cuts=[0.5])
    text = str(CellResponse(3.0, cells).guarantee(100, 2))
    assert "400 people of a history, none of whom is in this table" in text
    assert "at most epsilon 1 and delta 1e-05" in text
    assert "who has several records there is protected less" in text
    assert "every further score of the same history adds to it" in text


def test_two_records_of_a_person_in_the_history_can_move_two_units(monkeypatch):
    """So the promise is for one record each, and the sentence says it."""
    records, outcomes = history()
    other, changed = records.clone(), outcomes.clone()
    records[:2], outcomes[:2] = torch.tensor([1.0, 10.0]), 0.0
    other[:2], changed[:2] = torch.tensor([1.0, 10.0]), 1.0
    before, _ = moments_of(monkeypatch, records, outcomes)
    after, _ = moments_of(monkeypatch, other, changed)
    assert np.linalg.norm(before - after) > 1.0


@pytest.mark.parametrize(("epsilon", "shown"), [(1.00004, "1.001"), (0.99999999, "1"), (3.0, "3")])
def test_the_promise_to_the_history_is_never_printed_too_small(epsilon, shown):
    sentence = HistoryPromise(100, epsilon, 1e-5).sentence
    assert f"at most epsilon {shown} and" in sentence


def test_a_seed_is_said_aloud():
    records, outcomes = history()
    score = fitted(records, outcomes, generator=torch.Generator().manual_seed(0))
    assert "does not hold" in score.promise.sentence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cuts": []}, "cuts must be rising shares"),
        ({"cuts": [0.9, 0.5]}, "cuts must be rising shares"),
        ({"cuts": [0.0]}, "cuts must be rising shares"),
        ({"cuts": [97]}, "cuts must be rising shares"),
        ({"outcome_range": (1.0, 0.0)}, "outcome_range must be two rising numbers"),
        ({"outcome_range": (0.0, math.inf)}, "outcome_range_high must be a finite number"),
        ({"epsilon": 0.0}, "epsilon must be a finite number > 0"),
        ({"delta": 0.0}, r"delta must be a number in \(0, 1\)"),
        ({"public": "yes"}, "public must be True or False"),
        ({"outcomes": [1.0]}, "outcomes must have 400 entries"),
        ({"records": [[0.5, 5.0]] * 10, "outcomes": [0.5] * 10}, "at least 50 rows"),
    ],
)
def test_refusals_before_anything_is_drawn(monkeypatch, change, message):
    def draw(*arguments):
        raise AssertionError("something was drawn")

    monkeypatch.setattr(history_cells, "noised", draw)
    records, outcomes = history()
    with pytest.raises(ValueError, match=message):
        fitted(**{"records": records, "outcomes": outcomes, **change})


def test_large_histories_are_added_up_exactly():
    """Sums of products are whole steps of 2^-28, so that float64 adds them in any order."""
    records, outcomes = history(5_000)
    one = fitted(records, outcomes, public=True)
    order = torch.randperm(5_000, generator=torch.Generator().manual_seed(1))
    other = fitted(records[order], outcomes[order], public=True)
    assert one.weights == other.weights


@pytest.mark.parametrize("features", [1, 2, 22, 200])
def test_rounding_of_the_moments_of_so_many_people_is_charged(features):
    """Both tables, three operations on each number, of a vector as long as it can be."""
    law = history_cells._law(1.0, 1e-5, features + 2)
    length = history_cells.MOST_PEOPLE / math.sqrt(2)
    assert 2 * 3 * 2.0**-53 * length <= law.rounding - math.sqrt(law.dim) * law.grid
