"""DiscreteUCB scores candidates and nothing else."""

import copy
import pickle
import warnings

import pandas as pd
import pytest
import torch
from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_discrete_local_search
from helpers.ucb_models import ASKED, X, private, single

from botorch_private import DiscreteUCB
from botorch_private.modeler.acquisition import discrete_ucb

BOUNDS = torch.stack([X.amin(dim=0), X.amax(dim=0)])
SETTINGS = {"q": 1, "num_restarts": 2, "raw_samples": 4}
REFUSAL = r"X must hold candidates only, .* choose by select\(\), or by optimize_acqf_discrete"


@pytest.fixture(params=[single, private], ids=["released rows", "records"])
def acqf(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DiscreteUCB(request.param(), X, t=3)


def test_a_point_that_is_no_candidate_is_refused_by_its_position(acqf):
    points = X[:6].reshape(3, 2, 1, 3).clone()
    assert acqf(points).shape == (3, 2)
    points[1, 1, 0, 2] += 1e-13
    with pytest.raises(ValueError, match=rf"{REFUSAL}") as caught:
        acqf(points)
    assert "1 of 6 points are none (first: position (1, 1, 0))" in str(caught.value)


def test_a_continuous_optimizer_ends_in_that_error_and_not_beside_the_rows():
    acqf = DiscreteUCB(single(), X, t=3)
    with pytest.raises(ValueError, match=REFUSAL):
        optimize_acqf(acqf, BOUNDS, **SETTINGS)


def test_rows_that_went_through_float32_are_refused(acqf):
    with pytest.raises(ValueError, match=REFUSAL):
        acqf(X[:4].float().double().unsqueeze(1))
    with pytest.raises(ValueError, match=r"X must be torch.float64 like the candidates"):
        acqf(X[:4].float().unsqueeze(1))
    exact = DiscreteUCB(single().float(), X.float(), t=3)
    assert exact(X.float()[:4].unsqueeze(1)).shape == (4,)


@pytest.mark.parametrize("shape", [(), (3,), (4, 1, 2), (4, 1, 4)])
def test_a_shape_that_no_candidate_has_is_refused(shape, acqf):
    with pytest.raises(ValueError, match=r"X must be batch_shape x 1 x 3 candidates, got shape"):
        acqf(torch.zeros(shape, dtype=torch.float64))


def test_the_discrete_optimizer_and_a_local_search_over_a_whole_grid_work():
    acqf = DiscreteUCB(single(), X, t=3)
    (found,), _ = optimize_acqf_discrete(acqf, q=1, choices=X)
    assert torch.equal(found, X[acqf.select()[0]])
    values = [torch.tensor([0.1, 0.4, 0.8], dtype=torch.float64)] * 3
    grid = torch.cartesian_prod(*values)
    acqf = DiscreteUCB(single(), grid, t=3)
    (found,), _ = optimize_acqf_discrete_local_search(acqf, discrete_choices=values, **SETTINGS)
    assert (found == grid).all(dim=1).any()


def test_a_local_search_beside_the_candidates_is_refused():
    acqf = DiscreteUCB(single(), X, t=3)
    with pytest.raises(ValueError, match=REFUSAL):
        optimize_acqf_discrete_local_search(
            acqf, discrete_choices=[X[:4, i] for i in range(3)], **SETTINGS
        )


def test_minus_zero_is_zero_and_equal_rows_are_each_other():
    rows = torch.cat([X, torch.zeros(2, 3, dtype=torch.float64)])
    acqf = DiscreteUCB(single(), rows, t=3)
    assert acqf(-torch.zeros(1, 1, 3, dtype=torch.float64)).shape == (1,)


def test_select_and_scores_look_nothing_up(monkeypatch):
    monkeypatch.setattr(discrete_ucb, "RecordIndex", None)
    for build in (single, private):
        acqf = DiscreteUCB(build(), X, t=3)
        assert acqf.scores().shape == (40,)
        assert len(acqf.select(2, ASKED)) == 2


def test_the_index_is_made_once_and_not_pickled(monkeypatch):
    built = []
    index = discrete_ucb.RecordIndex
    monkeypatch.setattr(discrete_ucb, "RecordIndex", lambda rows: built.append(1) or index(rows))
    acqf = DiscreteUCB(single(), X, t=3)
    for _ in range(3):
        acqf(X[:2].unsqueeze(1))
    assert built == [1]
    for twin in (pickle.loads(pickle.dumps(acqf)), copy.deepcopy(acqf)):
        assert torch.equal(twin(X.unsqueeze(1)), acqf(X.unsqueeze(1)))


@pytest.mark.parametrize(
    "pending",
    [[3, 4], [[0.1, 0.2, 0.3]], X[3], X[:2, :2], X[:2].float(), X[:2].numpy(), torch.tensor([3, 4])],
)
def test_pending_points_are_rows_like_the_candidates(pending):
    with pytest.raises(
        ValueError, match=r"X_pending must be an m x 3 tensor of .* such as candidates\[rows\]"
    ):
        DiscreteUCB(single(), X, t=3, X_pending=pending)


def test_rows_to_exclude_may_be_a_series_and_not_a_frame():
    frame = pd.DataFrame({"row": ASKED, "Anna": 1}, index=[f"p{i}" for i in ASKED])
    acqf = DiscreteUCB(single(), X, t=3)
    assert acqf.select(2, frame["row"]).tolist() == acqf.select(2, ASKED).tolist()
    for wrong in (frame, "Anna", 3, torch.tensor(3), frame[["row"]].to_numpy()):
        with pytest.raises(ValueError, match="exclude must be a collection of row indices") as caught:
            acqf.select(2, wrong)
        assert "Anna" not in str(caught.value)
