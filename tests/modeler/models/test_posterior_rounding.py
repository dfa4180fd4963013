"""What rounding does to a DiscretePosterior: stated errors, jitter, and ties of equal rows."""

import math
import re

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, RBFKernel, RQKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from helpers.dense_gp import (
    KERNELS,
    ROWS,
    VALUES,
    N,
    array,
    gp,
    set_hyperparameters,
    small_pieces,
)
from helpers.draws import seeded, uniform

from botorch_private import DiscretePosterior, DiscreteUCB, TiedScoresWarning


def longdouble(tensor):
    return tensor.detach().numpy().astype(np.longdouble)


def extended_posterior(model, Z, X, targets, noise):
    """Posterior of an RBF or Matern 5/2 kernel in 80-bit numbers, by a Cholesky factor of its own."""
    kernel, noise = model.covar_module, np.longdouble(noise)

    def k(one, other):
        d2 = ((one[:, None] - other[None]) / longdouble(kernel.lengthscale)[0]) ** 2
        d2 = d2.sum(axis=-1)
        if isinstance(kernel, RBFKernel):
            return np.exp(-d2 / 2)
        d = np.sqrt(5 * d2)
        return (1 + d + d**2 / 3) * np.exp(-d)

    Z, X, targets = longdouble(Z), longdouble(X), longdouble(targets)
    t = len(X)
    gram = k(X, X) + noise * np.eye(t, dtype=np.longdouble)
    right = np.concatenate([k(X, Z), targets[:, None]], axis=1)
    for i in range(t):  # Gaussian elimination on both: the rows become those of V and w
        pivot = np.sqrt(gram[i, i])
        gram[i, i:], right[i] = gram[i, i:] / pivot, right[i] / pivot
        below = gram[i, i + 1 :]
        gram[i + 1 :, i + 1 :] -= np.outer(below, below)
        right[i + 1 :] -= np.outer(below, right[i])
    V, w = right[:, :-1], right[:, -1]
    return V.T @ w, 1 - (V**2).sum(axis=0)


needs_extended = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="NumPy has no longer float than float64 here"
)


def noisy(kernel, lengthscale, noise, t, distinct, n, dtype=torch.float64, seed=1):
    """Return a model of repeated rows with outcomes of that noise, its candidates, rows and values."""
    rows = uniform(n, 2, seed=seed).to(torch.float32).double()
    chosen = torch.randint(distinct, (t,), generator=seeded(seed))
    errors = torch.randn(t, dtype=torch.float64, generator=seeded(seed + 1))
    waves = torch.sin(3 * rows[:, 0] / lengthscale) + torch.cos(2 * rows[:, 1] / lengthscale)
    values = (waves[chosen] + math.sqrt(noise) * errors).float().double()
    model = SingleTaskGP(
        rows[chosen].to(dtype),
        values.unsqueeze(-1).to(dtype),
        covar_module=kernel(),
        mean_module=ZeroMean(),
        outcome_transform=None,
        likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-12)),
    )
    model.covar_module.lengthscale = lengthscale
    model.likelihood.noise = noise
    if dtype == torch.float64:  # hyperparameters that float32 has, too
        for parameter in model.parameters():
            parameter.data = parameter.data.float().double()
    return model, rows, rows[chosen], values


def test_jitter_is_logged_once_with_its_size(caplog):
    model, Z, _, _ = noisy(RBFKernel, 0.3, 1e-4, 40, distinct=3, n=10)
    model.likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-17)).double()
    model.likelihood.raw_noise.data.fill_(-100.0)
    assert float(model.likelihood.noise.detach()) < 1e-16
    posterior = DiscretePosterior(model, Z)
    for index in range(3):
        posterior.append(index, 0.5)
        posterior.moments()
        posterior.hallucinate([index]).moments()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    words = "observations determine each other up to rounding: a noise variance of (.*) was added"
    added = float(re.match(words, record.message).group(1))
    assert 0 < added < 1.2 * 8 * 41 * np.finfo(float).eps
    assert torch.isfinite(posterior.mean).all()


def test_no_jitter_is_logged_for_duplicates_under_a_noise_of_1e_11(caplog):
    model, Z, _, _ = noisy(RBFKernel, 0.3, 1e-11, 200, distinct=3, n=10)
    DiscretePosterior(model, Z).moments()
    assert caplog.records == []


@needs_extended
@pytest.mark.parametrize(
    ("kernel", "lengthscale", "noise", "t"),
    [
        (RBFKernel, 0.3, 1e-8, 500),
        (RBFKernel, 3.0, 1e-8, 300),
        (RBFKernel, 10.0, 1e-6, 300),
        (RBFKernel, 1.0, 1e-4, 300),
        (MaternKernel, 0.3, 1e-8, 300),
        (MaternKernel, 10.0, 1e-8, 300),
    ],
)
def test_float64_moments_are_exact_up_to_the_stated_resolution(kernel, lengthscale, noise, t):
    model, Z, X, targets = noisy(kernel, lengthscale, noise, t, distinct=150, n=200)
    mean, variance = extended_posterior(model, Z, X, targets, float(model.likelihood.noise.detach()))
    at_once = DiscretePosterior(model, Z)
    first = noisy(kernel, lengthscale, noise, 10, distinct=150, n=200)[0]
    first.set_train_data(X[:10], targets[:10])
    grown = DiscretePosterior(first, Z)
    for row, value in zip(X[10:], targets[10:], strict=True):
        grown.append(int((row == Z).all(dim=1).nonzero()[0]), float(value))
        if grown.num_observations % 7 == 0:
            grown.moments()
    for posterior in (at_once, grown):
        assert posterior.num_observations == t
        assert (posterior.variance >= 0).all()
        error = np.abs(array(posterior.mean) - mean.astype(float)).max()
        assert error < 20 * posterior.resolution  # by how much depends on the BLAS
        assert np.abs(array(posterior.variance) - variance.astype(float)).max() < 1e-10


@pytest.mark.parametrize("noise", [1e-8, 1e-12])
@pytest.mark.parametrize("lengthscale", [0.3, 30.0])
@pytest.mark.parametrize("kernel", [RBFKernel, MaternKernel, lambda: MaternKernel(0.5), RQKernel])
def test_variance_is_never_negative_and_nothing_is_nan(kernel, lengthscale, noise):
    model, Z, _, _ = noisy(kernel, lengthscale, noise, 200, distinct=20, n=50)
    posterior = DiscretePosterior(model, Z)
    for index in range(20):
        posterior.append(index, float(index % 3))
        assert torch.isfinite(posterior.mean).all()
        assert (posterior.variance >= 0).all()
        assert (posterior.variance <= 1 + 1e-12).all()
    assert torch.isfinite(DiscreteUCB(posterior, None, t=1).scores()).all()


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("t", [30, 300])
@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("kernel", [RBFKernel, MaternKernel])
def test_errors_of_float32_stay_in_their_bounds_and_the_best_score_is_found(
    kernel, lengthscale, noise, t
):
    """In prior deviations, for outcomes that follow the model: of the mean 0.6e-7 t / sqrt(noise)
    were measured, of the deviation 0.0022."""
    exact, Z, _, _ = noisy(kernel, lengthscale, noise, t, distinct=400, n=500)
    single = noisy(kernel, lengthscale, noise, t, 400, 500, torch.float32)[0]
    one, other = DiscretePosterior(exact, Z), DiscretePosterior(single, Z.float())
    assert other.mean.dtype == other.variance.dtype == torch.float32
    bound = 1e-7 * t / math.sqrt(noise)
    assert float((other.mean.double() - one.mean).abs().max()) < bound
    deviations = [posterior.variance.double().sqrt() for posterior in (one, other)]
    assert float((deviations[1] - deviations[0]).abs().max()) < 0.003
    scores = [DiscreteUCB(posterior, None, t=1, beta=4.0).scores() for posterior in (one, other)]
    assert float(scores[0].max() - scores[0][scores[1].argmax()]) < 2 * (bound + 2 * 0.003)


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("kernel", [RBFKernel, MaternKernel])
def test_float32_mean_errs_by_less_than_stated_for_outcomes_that_contradict_the_model(kernel, noise):
    t = 300
    exact, Z, _, _ = noisy(kernel, 1.0, noise, t, distinct=400, n=500)
    single = noisy(kernel, 1.0, noise, t, 400, 500, torch.float32)[0]
    signs = torch.randint(2, (t,), generator=seeded(9)).double() * 2 - 1
    exact.set_train_data(targets=signs)
    single.set_train_data(targets=signs.float())
    one, other = DiscretePosterior(exact, Z), DiscretePosterior(single, Z.float())
    assert float((other.mean.double() - one.mean).abs().max()) < 1.2e-7 * t / noise


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("noise", [1e-4, 1e-6])
@pytest.mark.parametrize("lengthscale", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("kernel", [RQKernel, lambda: RBFKernel(active_dims=[0, 1])])
def test_float32_is_no_wilder_with_kernels_that_only_gpytorch_knows(kernel, lengthscale, noise):
    exact, Z, _, _ = noisy(kernel, lengthscale, noise, 300, distinct=400, n=500)
    single = noisy(kernel, lengthscale, noise, 300, 400, 500, torch.float32)[0]
    one, other = DiscretePosterior(exact, Z), DiscretePosterior(single, Z.float())
    assert torch.isfinite(other.mean).all()
    assert float((other.mean.double() - one.mean).abs().max()) < 1e-7 * 300 / math.sqrt(noise)
    assert float((other.variance.double().sqrt() - one.variance.sqrt()).abs().max()) < 0.1


def test_equal_rows_tie_and_are_reported_also_after_a_hundred_observations():
    n = 2**16 + 50
    rows = uniform(n, 3, seed=3)
    truth = torch.sin(5 * rows[:, 0])
    model = gp(range(5), truth[:5], rows=rows, noise=1e-4)
    best = int(DiscreteUCB(DiscretePosterior(model, rows), None, t=5).select())
    twins = [0, 1023, 2048, 2**16 - 1, 2**16, n - 1]  # other chunks, and another block
    rows[twins] = rows[best].clone()
    posterior = DiscretePosterior(gp(range(10, 15), truth[10:15], rows=rows, noise=1e-4), rows)
    for index in torch.randint(2048, (100,), generator=seeded(1)).tolist():
        posterior.append(index + 20_000, float(truth[index + 20_000]))
    posterior.moments()
    mean, variance = posterior.moments()
    tied = sorted({*twins, best})
    spread = [float(moment[tied].max() - moment[tied].min()) for moment in (mean, variance.sqrt())]
    assert max(spread) < posterior.resolution
    others = torch.ones(n, dtype=torch.bool)
    others[tied] = False
    with pytest.warns(TiedScoresWarning, match=f"{len(tied)} candidates tie.*lowest index {tied[0]}"):
        chosen = DiscreteUCB(posterior, None, t=5).select(exclude=others.nonzero()[:, 0].tolist())
    assert int(chosen) == tied[0]


@pytest.mark.parametrize("kernel", ["RBF", "released", "Matern 0.5", "rational quadratic"])
def test_equal_rows_tie_when_they_are_observed_one_by_one(kernel, monkeypatch):
    small_pieces(monkeypatch, block=9, chunk=4)
    posterior = DiscretePosterior(gp([0, 1], kernel=KERNELS[kernel], noise=1e-5), ROWS)
    for index in torch.randint(N, (100,), generator=seeded(1)).tolist():
        posterior.append(index, float(VALUES[index]))
        posterior.moments()
    rest = set(range(N)) - {5, 20, 33}
    with pytest.warns(TiedScoresWarning, match="3 candidates tie"):
        assert DiscreteUCB(posterior, None, t=1).select(exclude=rest).tolist() == [5]


@pytest.mark.parametrize("noise", [1e-4, 1e-6])
def test_equal_rows_tie_whatever_lies_beside_them_and_is_asked(noise):
    """Also where one chunk of candidates is computed by products and another by differences."""
    rows = uniform(20_000, 2, seed=3)
    twins = [0, 5000, 15_000, 19_999]
    rows[twins] = rows[77].clone()
    rows[5001] = 20.0  # far from 0
    chosen = torch.randint(100, 600, (100,), generator=seeded(1)).tolist()
    values = torch.randint(2, (100,), generator=seeded(2)) * 2.0 - 1  # which contradict the model
    model = gp(chosen, values, kernel=RBFKernel, rows=rows, lengthscale=1.0, noise=noise)
    acqf = DiscreteUCB(DiscretePosterior(model, rows), None, t=1, beta=4.0)
    rest = set(range(20_000)) - {77, *twins}
    with pytest.warns(TiedScoresWarning, match="5 candidates tie.*lowest index 0"):
        assert int(acqf.select(exclude=rest)) == 0


def test_resolution_follows_a_change_of_the_model_at_once():
    posterior = DiscretePosterior(gp(), ROWS)
    posterior.moments()
    set_hyperparameters(posterior.model, outputscale=1e6)
    assert posterior.resolution == DiscretePosterior(posterior.model, ROWS).resolution
