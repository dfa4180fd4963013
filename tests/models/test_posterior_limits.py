"""DiscretePosterior at its limits: rounding, memory, refusals, BoTorch's batches."""

import logging
import math

import numpy as np
import pytest
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement, qUpperConfidenceBound
from botorch.exceptions import UnsupportedError
from botorch.exceptions.warnings import InputDataWarning
from botorch.models import MultiTaskGP, SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import RBFKernel, ScaleKernel
from scipy.linalg import cho_factor, cho_solve, cholesky
from torch.testing import assert_close

from botorch_private import DiscretePosterior, DiscreteUCB, NoisyProjection, PublicScaling, make_model
from botorch_private.curator.publish import publish
from botorch_private.models import sweep
from botorch_private.models.cholesky import extend_cholesky


def uniform(*shape, seed=0):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


X = uniform(60, 3)
Y = torch.sin(5 * X[:, :1]) + X[:, 1:2]


def gp(X, Y, noise=1e-2, lengthscale=0.5):
    model = SingleTaskGP(X, Y, covar_module=ScaleKernel(RBFKernel()), outcome_transform=None)
    model.likelihood.noise_covar.register_constraint("raw_noise", GreaterThan(1e-20))
    model.likelihood.noise = noise
    model.covar_module.base_kernel.lengthscale = lengthscale
    model.covar_module.outputscale = 1.0
    model.mean_module.constant.data.fill_(0.0)
    return model


def reference(Z, indices, values, noise, lengthscale):
    """Mean and variance in extended precision (80 bits), by a Cholesky factor row by row."""
    Z = np.asarray(Z, dtype=np.longdouble)
    rows = Z[indices]

    def k(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * np.longdouble(lengthscale) ** 2))

    gram = k(rows, rows) + np.longdouble(noise) * np.eye(len(rows), dtype=np.longdouble)
    L = np.zeros_like(gram)
    for i in range(len(rows)):
        L[i, i] = np.sqrt(gram[i, i] - L[i, :i] @ L[i, :i])
        L[i + 1 :, i] = (gram[i + 1 :, i] - L[i + 1 :, :i] @ L[i, :i]) / L[i, i]
    V, w = k(rows, Z), np.asarray(values, dtype=np.longdouble).copy()
    for i in range(len(rows)):
        V[i] = (V[i] - L[i, :i] @ V[:i]) / L[i, i]
        w[i] = (w[i] - L[i, :i] @ w[:i]) / L[i, i]
    return (w @ V).astype(float), (1 - (V * V).sum(0)).astype(float)


# --- rounding ---


@pytest.mark.parametrize(("noise", "t"), [(1e-2, 500), (1e-4, 300), (1e-6, 300), (1e-8, 300)])
@pytest.mark.parametrize("lengthscale", [0.3, 3.0])
def test_repeated_rows_and_little_noise_stay_within_1e_8_of_extended_precision(noise, t, lengthscale):
    order = [i % 60 for i in range(t)]
    values = Y[order, 0] + math.sqrt(noise) * uniform(t, seed=4)
    expected = reference(X.numpy(), order, values.numpy(), noise, lengthscale)
    posterior = DiscretePosterior(gp(X[:1], values[:1, None], noise, lengthscale), X)
    for count, (index, value) in enumerate(zip(order[1:], values[1:].tolist(), strict=True)):
        posterior.append(index, value)
        if count % 5 == 0:
            posterior.moments()
    # Where the problem itself loses digits, not worse than ten times the formula in float64.
    K = torch.exp(-torch.cdist(X, X).square() / (2 * lengthscale**2)).numpy()
    gram = cho_factor(K[np.ix_(order, order)] + noise * np.eye(t))
    dense = K[:, order] @ cho_solve(gram, values.numpy())
    tolerance = max(1e-8, 10 * np.abs(dense - expected[0]).max())
    assert tolerance == 1e-8 or noise < 1e-6
    assert np.abs(posterior.mean.numpy() - expected[0]).max() < tolerance
    assert np.abs(posterior.variance.numpy() - expected[1].clip(0)).max() < 1e-8
    assert (posterior.variance >= 0).all()


@pytest.mark.parametrize("noise", [1e-2, 1e-3, 1e-4, 1e-6])
@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 3.0, 10.0])
def test_float32_stays_within_its_stated_error(noise, lengthscale):
    t, rows = 300, X.float()
    order = [i % 60 for i in range(t)]
    values = (Y[order] + math.sqrt(noise) * uniform(t, 1, seed=4)).float()
    with pytest.warns(InputDataWarning, match="double precision"):
        single = gp(rows[order], values, noise, lengthscale).float()
    same = gp(rows[order].double(), values.double())
    for module, name in [
        (same.likelihood, "noise"),
        (same.covar_module, "outputscale"),
        (same.covar_module.base_kernel, "lengthscale"),
    ]:
        mine = {"noise": single.likelihood, "outputscale": single.covar_module}
        source = mine.get(name, single.covar_module.base_kernel)
        setattr(module, name, getattr(source, name).item())
    exact, short = DiscretePosterior(same, rows.double()), DiscretePosterior(single, rows)
    error = (exact.mean - short.mean.double()).abs().max()
    assert float(error) < torch.finfo(torch.float32).eps * t / noise
    deviations = [posterior.variance.double().sqrt() for posterior in (exact, short)]
    assert float((deviations[0] - deviations[1]).abs().max()) < 1e-3
    if noise >= 1e-4:
        assert int(exact.mean.argmax()) == int(short.mean.argmax())


def test_a_row_that_earlier_ones_determine_gets_the_stated_jitter():
    factor, one = torch.ones(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    below, triangle, jitter = extend_cholesky(factor, one, one, torch.zeros(1, dtype=torch.float64))
    floor = 8 * 2 * torch.finfo(torch.float64).eps
    assert_close(below, one)
    assert_close(triangle.square().item(), floor)
    assert_close(jitter, floor)


def test_rows_one_by_one_and_together_give_the_factor_of_scipy():
    gram = torch.exp(-torch.cdist(X[:20], X[:20]).square()) + 0.01 * torch.eye(20, dtype=torch.float64)
    K, noise = (
        gram - 0.01 * torch.eye(20, dtype=torch.float64),
        torch.full((20,), 0.01, dtype=torch.float64),
    )
    for steps in ([20], [1] * 20, [3, 7, 10]):
        factor, t = gram.new_zeros(0, 0), 0
        for m in steps:
            new = slice(t, t + m)
            below, triangle, jitter = extend_cholesky(factor, K[new, :t], K[new, new], noise[new])
            assert jitter == 0
            top = torch.cat([factor, gram.new_zeros(t, m)], dim=1)
            factor, t = torch.cat([top, torch.cat([below, triangle], dim=1)]), t + m
        assert_close(factor.numpy(), cholesky(gram.numpy(), lower=True), rtol=1e-10, atol=1e-10)


def test_jitter_is_logged_once(caplog):
    posterior = DiscretePosterior(gp(X[:2], Y[:2], 1e-17), torch.cat([X, X[:1]]))
    posterior._sweep.prior.covariance64 = lambda a, b: torch.ones(len(a), len(b), dtype=torch.float64)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            posterior.append(0, 1.0)
            posterior.moments()
    assert caplog.text.count("observations determine each other up to rounding") == 1


# --- memory ---


def test_what_does_not_fit_is_refused_before_it_is_allocated_and_can_go_on(monkeypatch, caplog):
    posterior = DiscretePosterior(gp(X[:5], Y[:5]), X)
    monkeypatch.setattr(sweep, "_MUCH", 0)
    monkeypatch.setattr(sweep, "free_memory", lambda device: 100)
    with caplog.at_level(logging.INFO), pytest.raises(MemoryError, match="set max_memory to the bytes"):
        posterior.moments()
    assert "V grows to 5 x 60: 15 KiB more" in caplog.text
    posterior.append(7, 0.3)
    posterior.max_memory = 1
    expected = DiscretePosterior(gp(X[[0, 1, 2, 3, 4, 7]], torch.cat([Y[:5], Y[:1] * 0 + 0.3])), X)
    expected.max_memory = 2**20
    assert_close(posterior.mean, expected.mean, rtol=1e-10, atol=1e-10)
    assert posterior.memory == 0
    assert expected.memory == 6 * 60 * 8


@pytest.mark.parametrize("max_memory", [0, -1, 1.5])
def test_a_bad_memory_limit_is_refused(max_memory):
    with pytest.raises(ValueError, match="max_memory must be an integer >= 1"):
        DiscretePosterior(gp(X[:5], Y[:5]), X, max_memory=max_memory)


# --- refusals ---


def two_outcomes():
    return SingleTaskGP(X[:5], torch.cat([Y[:5], Y[:5]], dim=1))


def batch():
    return SingleTaskGP(X[:10].reshape(2, 5, 3), Y[:10].reshape(2, 5, 1))


def tasks():
    return MultiTaskGP(torch.cat([X[:6], torch.arange(6)[:, None] % 2], dim=1), Y[:6], task_feature=-1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (two_outcomes, "one output and no batch, got 2"),
        (batch, r"one output and no batch, got 1 and \(2,\)"),
        (tasks, "MultiTaskGP has its own"),
        (RBFKernel, "an exact GP of BoTorch, got RBFKernel"),
    ],
)
def test_models_that_it_cannot_do_exactly_are_refused_with_the_reason(build, message):
    with pytest.raises(UnsupportedError, match=message):
        DiscretePosterior(build(), X)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (X[:, :2], "candidates must have 3 columns like the inputs of the model, got 2"),
        (X.float(), "candidates must have the dtype and device of the model"),
        (X.long(), "candidates must be an n x d floating-point tensor, got torch.int64"),
        (X.numpy(), "candidates must be an n x d floating-point tensor, got ndarray"),
        (X * math.inf, "candidates must be finite, got .* in row 0, column 0"),
    ],
)
def test_bad_candidates_are_refused(candidates, message):
    with pytest.raises(ValueError, match=message):
        DiscretePosterior(gp(X[:5], Y[:5]), candidates)


def test_bad_observations_are_refused_and_leave_it_as_it_was():
    posterior = DiscretePosterior(gp(X[:5], Y[:5]), X)
    before = posterior.mean
    for arguments, message in [
        ((60, 1.0), "index must be a row index in 0..59, got 60"),
        ((1.5, 1.0), "index must be an integer row index"),
        ((3, math.nan), "value must be a finite number"),
        ((3, "x"), "value must be a finite number"),
    ]:
        with pytest.raises(ValueError, match=message):
            posterior.append(*arguments)
    with pytest.raises(ValueError, match="noise_variance must be None"):
        posterior.append(3, 1.0, noise_variance=0.1)
    with pytest.raises(ValueError, match="observed once, got 9, which was observed 0 times"):
        posterior.correct(9, 1.0)
    posterior.append(3, 1.0)
    with pytest.raises(ValueError, match="observed once, got 3, which was observed 2 times"):
        posterior.correct(3, 1.0)
    assert posterior.num_observations == 6
    other = DiscretePosterior(gp(X[:5], Y[:5]), X)
    assert torch.equal(other.mean, before)
    with pytest.warns(InputDataWarning, match="double precision"):
        short = gp(X[:5].float(), Y[:5].float()).float()
    with pytest.raises(ValueError, match="model must stay torch.float64"):
        other.update(short)
    assert torch.equal(other.mean, before)


def test_other_candidates_than_those_of_the_posterior_are_refused():
    posterior = DiscretePosterior(gp(X[:5], Y[:5]), X)
    with pytest.raises(ValueError, match="candidates must be those of the DiscretePosterior"):
        DiscreteUCB(posterior, X[:30], t=1)
    assert DiscreteUCB(posterior, X.clone(), t=1).candidates is X
    assert DiscreteUCB(posterior, None, t=1).candidates is X


# --- ties ---


def test_equal_rows_tie_after_a_hundred_observations():
    rows = torch.cat([X, X])
    posterior = DiscretePosterior(gp(X[:1], Y[:1], 1e-3), rows)
    for step in range(100):
        posterior.append(step % 60, float(Y[step % 60]))
        posterior.moments()
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        chosen = int(DiscreteUCB(posterior, None, t=1).select(generator=generator))
        assert chosen % 60 == int(DiscreteUCB(posterior, None, t=1).scores().argmax()) % 60
    with pytest.warns(UserWarning, match="2 candidates tie"):
        DiscreteUCB(posterior, None, t=1).select()


# --- batches ---


@pytest.fixture
def released():
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    seed = torch.Generator().manual_seed(1)
    return publish(X, scaling, NoisyProjection(20.0), generator=seed).release


@pytest.mark.parametrize("name", ["qUCB", "qLogNEI"])
def test_monte_carlo_batches_of_botorch_work_on_released_rows(name, released):
    indices = list(range(8))
    model = make_model(released, indices, Y[indices, 0])
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
    rows = released.candidates
    if name == "qUCB":
        acqf = qUpperConfidenceBound(model, beta=4.0, sampler=sampler)
    else:
        acqf = qLogNoisyExpectedImprovement(model, rows[indices], sampler=sampler)
    chosen, _ = optimize_acqf_discrete(acqf, q=3, choices=rows, X_avoid=rows[indices])
    places = [int((rows == row).all(dim=1).nonzero()[0]) for row in chosen]
    assert len(set(places)) == 3
    assert not set(places) & set(indices)


def test_monte_carlo_batches_agree_between_a_model_and_its_discrete_posterior(released):
    model = make_model(released, range(8), Y[:8, 0])
    posterior = DiscretePosterior(model, released.candidates)
    chosen = []
    for arm in (model, posterior):
        sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
        acqf = qUpperConfidenceBound(arm, beta=4.0, sampler=sampler)
        chosen.append(optimize_acqf_discrete(acqf, q=3, choices=released.candidates)[0])
    assert torch.equal(*chosen)


def test_a_batch_of_ten_equals_ten_choices_with_the_earlier_ones_pending(released):
    model = make_model(released, range(8), Y[:8, 0])
    posterior = DiscretePosterior(model, released.candidates)
    batch = DiscreteUCB(posterior, None, t=4).select(10, exclude=range(8)).tolist()
    one_by_one = []
    for _ in range(10):
        acqf = DiscreteUCB(posterior.hallucinate(one_by_one), None, t=4)
        one_by_one += acqf.select(exclude=[*range(8), *one_by_one]).tolist()
    assert batch == one_by_one
    assert posterior.num_observations == 8
