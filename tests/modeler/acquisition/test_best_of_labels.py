"""BestOfLabels: mean, doubt about it, and upper tail of a label, in any unit and at any door."""

import copy
import io
import math
import pickle

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    qLogExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.optim import optimize_acqf_discrete
from helpers.labels import label_release, slow_covariance

from botorch_private import Modeler, fit_model, make_model
from botorch_private.modeler.acquisition.best_of_labels import BestOfLabels
from botorch_private.modeler.models.label_posterior import LabelPosterior


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


def slow_scores(model, release, rows, beta):
    """The formula of the docstring from the n x n covariance, a new row of each label, one by one."""
    model = copy.deepcopy(model).requires_grad_(False)
    kernel, scale = model.covar_module.base_kernel, float(model.covar_module.outputscale)
    lengthscales = kernel.lengthscale.detach().numpy().reshape(-1)
    scatter, noise = float(kernel.scatter), float(model.likelihood.noise)
    full = slow_covariance(release, lengthscales, scatter, kernel.frequencies.numpy())
    y, center = model.train_targets.numpy(), float(model.mean_module.constant)
    inverse = np.linalg.inv(scale * full[np.ix_(rows, rows)] + noise * np.eye(len(rows)))
    labels = release.labels.numpy()
    parts = {}
    for label in range(release.cells.count):
        one, other = [row for row in np.flatnonzero(labels == label) if row not in rows][:2]
        known = scale * full[one, rows]
        mean = center + known @ inverse @ (y - center)
        parts[label] = mean, scale * full[one, other] - known @ inverse @ known, full[one, other]
    scores = []
    for label in range(release.cells.count):
        mean, doubt, shared = parts[label]
        v = scale * (1 + scatter - shared) + noise
        e2 = [(y[place] - mean) ** 2 for place, row in enumerate(rows) if labels[row] == label]
        own = v * (4 + sum(e2) / v) / (4 + len(e2))
        scores.append(mean + math.sqrt(beta) * (math.sqrt(doubt) + math.sqrt(own)))
    return scores


@pytest.mark.parametrize("shape", [(4,), (3, 2)])
def test_scores_are_those_of_the_formula(shape):
    release, true = label_release(n=80, shape=shape, epsilon=3.0)
    rows = [0, 5, 9, 30, 31, 44, 60]
    model = fit_model(make_model(release, rows, true[rows].double() + torch.arange(7) / 9))
    posterior = LabelPosterior(model, release.candidates)
    acqf = BestOfLabels(posterior, None, t=2, beta=1.7)
    found = acqf._bound_of_labels(posterior, posterior.label_ranking())
    assert found.tolist() == pytest.approx(slow_scores(model, release, rows, 1.7), abs=1e-8)


def test_of_labels_with_one_mean_the_one_with_the_widest_tail_is_asked():
    release, true, outcome = cells_that_scatter([0.1, 2.0, 0.1])
    late = [row for row, _ in searched(release, outcome, 30).history][15:]
    assert (true[late] == 1).double().mean() > 0.8


def test_rows_that_are_only_hoped_for_do_not_make_a_label_look_alike():
    """Each is counted with the posterior mean: as an answer it would say that rows do not differ."""
    release, _, outcome = cells_that_scatter([1.0, 2.0])
    posterior = searched(release, outcome).posterior()
    before, wide = posterior.answers(), posterior.hallucinate([200, 201, 202])
    assert wide._observed.count == 11 + 3
    assert all(map(torch.equal, before, wide.answers()))
    batch = BestOfLabels(wide, None, t=2).select(4, exclude=[200, 201, 202], generator=generator())
    assert len(set(batch.tolist())) == 4
    assert len(posterior.answers().targets) == 11


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


def test_less_of_the_schedule_stays_nearer_to_the_mean():
    release, true, noise = cells_that_scatter([0.3, 0.3, 3.0])
    modeler = searched(release, 3 * (true == 0) + noise)
    acqf = BestOfLabels(modeler.posterior(), None, t=1, beta=0.0)
    assert int(release.labels[int(acqf.select(generator=generator()))]) == int(
        modeler.posterior().label_ranking().mean.argmax()
    )


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
