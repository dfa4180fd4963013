"""Search among labels: in any unit, after a resume, and at BoTorch's own doors."""

import copy
import io
import pickle

import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    qLogExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.optim import optimize_acqf_discrete
from helpers.labels import label_release

from botorch_private import Modeler, fit_model, make_model


def generator(seed=3):
    return torch.Generator().manual_seed(seed)


def searched(release, outcome, rounds=11, **options):
    modeler = Modeler(release, generator=generator(), **options)
    for _ in range(rounds):
        row = modeler.ask()
        modeler.tell(row, float(outcome[row]))
    return modeler


def cells_that_scatter(widths, n=300, epsilon=8.0):
    """A release, and outcomes with the same mean in each cell, and scatter of their own."""
    release, true = label_release(n=n, shape=(len(widths),), epsilon=epsilon)
    noise = torch.randn(n, dtype=torch.float64, generator=generator(1))
    return release, true, torch.tensor(widths, dtype=torch.float64)[true] * noise


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_outcomes_changes_no_pick(unit):
    release, true, noise = cells_that_scatter([0.3, 0.6, 1.0])
    outcome = true + noise
    picks = [row for row, _ in searched(release, outcome).history]
    assert [row for row, _ in searched(release, outcome * unit).history] == picks
    assert [row for row, _ in searched(release, outcome + 1e6 * outcome.std()).history] == picks


@pytest.mark.parametrize("outcome", [torch.zeros(60), torch.full((60,), 1e-300), torch.arange(60.0) % 2])
def test_answers_that_hardly_differ_give_finite_scores(outcome):
    release, _ = label_release()
    assert len(searched(release, outcome).history) == 11


def test_float32_and_another_default_dtype_search_the_same_labels():
    release, true, noise = cells_that_scatter([0.3, 0.6, 1.0])
    outcome = true + noise
    torch.set_default_dtype(torch.float64)
    try:
        wide = searched(release, outcome)
    finally:
        torch.set_default_dtype(torch.float32)
    assert [row for row, _ in wide.history] == [row for row, _ in searched(release, outcome).history]
    single = searched(release, outcome, dtype=torch.float32)
    assert true[[row for row, _ in single.history][8:]].double().mean() > 1.0


def test_a_search_goes_on_from_its_history_with_pending_skipped_and_corrected_rows():
    release, true, noise = cells_that_scatter([0.3, 0.6, 1.0])
    outcome = true + noise
    modeler = searched(release, outcome)
    given_up, *waiting = modeler.ask(3)
    modeler.skip(given_up)
    row, value = list(modeler.history)[3]
    modeler.tell(row, value + 0.5, correct=True)
    again = Modeler(
        release, generator=generator(), history=modeler.history, pending=waiting, skipped=[given_up]
    )
    assert again.skipped == [given_up]
    assert again.ask(5) == modeler.ask(5)
    assert given_up not in again.ask(5)


# --- BoTorch's own doors ---


@pytest.fixture(scope="module")
def fitted():
    release, true, noise = cells_that_scatter([0.3, 0.6, 1.0], n=90)
    rows = list(range(12))
    return release, fit_model(make_model(release, rows, (true + noise)[rows]))


@pytest.mark.parametrize(
    "acquisition",
    [
        lambda model: LogExpectedImprovement(model, best_f=1.0),
        lambda model: qLogExpectedImprovement(model, best_f=1.0),
        lambda model: qUpperConfidenceBound(model, beta=2.0),
    ],
    ids=["LogEI", "qLogEI", "qUCB"],
)
def test_botorchs_own_acquisitions_choose_batches_of_rows(fitted, acquisition):
    release, model = fitted
    open_rows = release.candidates[12:]
    X, _ = optimize_acqf_discrete(acquisition(model), q=1, choices=open_rows)
    assert bool((open_rows == X).all(dim=1).any())
    made = acquisition(model)
    if not isinstance(made, LogExpectedImprovement):
        X, _ = optimize_acqf_discrete(made, q=3, choices=open_rows, unique=True)
        assert len(set(X[:, 1].tolist())) == 3


def test_the_state_of_a_model_is_all_that_it_learned(fitted):
    release, model = fitted
    twin = make_model(
        release,
        range(12),
        model.outcome_transform.untransform(model.train_targets.unsqueeze(-1))[0].squeeze(-1),
    )
    stream = io.BytesIO()
    torch.save(model.state_dict(), stream)
    stream.seek(0)
    twin.load_state_dict(torch.load(stream, weights_only=True))
    expected = model.posterior(release.candidates).mean
    for other in (twin, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.allclose(other.eval().posterior(release.candidates).mean, expected, atol=1e-9)
