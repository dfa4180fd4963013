"""Cells from a history: the noise that the promise needs, one person at a time, and what it finds."""

import math

import numpy as np
import pytest
import torch

from botorch_private import PublicScaling
from botorch_private.curator.cells import fit_score as history_cells
from botorch_private.curator.cells.cell_response import CellResponse
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.fit_score import fit_score
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
    assert "the curator says that it is public" in one.promise.sentence


def test_private_scores_differ_from_time_to_time():
    records, outcomes = history()
    assert fitted(records, outcomes).weights != fitted(records, outcomes).weights


def test_the_guarantee_names_both_groups():
    records, outcomes = history()
    cells = Cells.from_history(records, outcomes, SCALING, outcome_range=(0.0, 1.0), cuts=[0.5])
    text = str(CellResponse(3.0, cells).guarantee(100, 2))
    assert "400 people of a history, none of whom is in this table" in text
    assert "at most epsilon 1 and delta 1e-05" in text


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
