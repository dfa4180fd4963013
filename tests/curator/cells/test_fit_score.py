"""Cells from a history: what a score finds, and what is said of it; its noise is in `history`."""

import math

import pytest
import torch

from botorch_private import PublicScaling
from botorch_private.curator.cells.cell_response import CellResponse
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.fit_score import fit_score
from botorch_private.curator.history import moments

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
    assert "everything else that is learned from the same history adds to it" in text


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
    ],
)
def test_refusals_before_anything_is_drawn(monkeypatch, change, message):
    def draw(*arguments):
        raise AssertionError("something was drawn")

    monkeypatch.setattr(moments, "noised", draw)
    records, outcomes = history()
    with pytest.raises(ValueError, match=message):
        fitted(**{"records": records, "outcomes": outcomes, **change})
