"""DiscretePosterior against dense formulas that share no code with it, and against BoTorch."""

import copy
import functools
import math
import pickle
import re
import warnings

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    UpperConfidenceBound,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.models.transforms import ChainedOutcomeTransform, Log, Normalize, Standardize
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import (
    AdditiveKernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    ProductKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
)
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
    TiedScoresWarning,
    ucb_beta,
)
from botorch_private.models import candidate_block, prior, sweep

properties = settings(derandomize=True, max_examples=100, deadline=None, report_multiple_bugs=False)
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=on_cuda)])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def uniform(*shape, seed=0):
    return torch.rand(*shape, dtype=torch.float64, generator=seeded(seed))


def column(*values):
    return torch.tensor(values, dtype=torch.float64).unsqueeze(-1)


N = 40
ROWS = uniform(N, 3)
ROWS[20] = ROWS[33] = ROWS[5]  # equal rows, far apart
VALUES = torch.sin(5 * ROWS[:, 0]) + ROWS[:, 1] - ROWS[:, 2].square()


@functools.cache
def private():
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    return PrivateProjectionTransform(
        ROWS, scaling, NoisyProjection(8.0, projection_dim=3), generator=seeded(1)
    )


# --- the dense formula, in NumPy ---


def array(tensor):
    return tensor.detach().cpu().numpy().astype(np.float64)


def squared(X, Y, lengthscale):
    return (((X[:, None] - Y[None]) / lengthscale) ** 2).sum(axis=-1)


def gaussian(kernel, X, Y):
    return np.exp(-squared(X, Y, array(kernel.lengthscale)) / 2)


def matern(kernel, X, Y):
    d = np.sqrt(2 * kernel.nu * squared(X, Y, array(kernel.lengthscale)))
    return {0.5: 1.0, 1.5: 1 + d, 2.5: 1 + d + d**2 / 3}[kernel.nu] * np.exp(-d)


def released(kernel, X, Y):
    l2 = array(kernel.lengthscale).reshape(-1) ** 2
    width = l2 + 2 * array(kernel.noise_variance).reshape(-1)
    shrink = l2 / width
    exponent = 0.5 if len(shrink) > 1 else (kernel.noise_dim or 0) / 2
    K = np.prod(shrink**exponent) * np.exp(-squared(X, Y, np.sqrt(width)) / 2)
    K[(X[:, None] == Y[None]).all(axis=-1)] = 1.0
    return K


def rational(kernel, X, Y):
    alpha = float(kernel.alpha.detach())
    return (1 + squared(X, Y, array(kernel.lengthscale)) / (2 * alpha)) ** -alpha


def linear(kernel, X, Y):
    return float(kernel.variance.detach()) * X @ Y.T


def periodic(kernel, X, Y):
    sines = np.sin(np.pi * (X[:, None] - Y[None]) / array(kernel.period_length)) ** 2
    return np.exp(-2 * (sines / array(kernel.lengthscale)).sum(axis=-1))


def scaled(kernel, X, Y):
    base = kernel.base_kernel  # whose active dimensions GPyTorch takes over, and leaves out here
    return float(kernel.outputscale.detach()) * FORMULAS[type(base)](base, X, Y)


def added(kernel, X, Y):
    return sum(covariance(part, X, Y) for part in kernel.kernels)


def multiplied(kernel, X, Y):
    return math.prod(covariance(part, X, Y) for part in kernel.kernels)


FORMULAS = {
    RBFKernel: gaussian,
    MaternKernel: matern,
    ReleasedInputKernel: released,
    RQKernel: rational,
    LinearKernel: linear,
    PeriodicKernel: periodic,
    ScaleKernel: scaled,
    AdditiveKernel: added,
    ProductKernel: multiplied,
}


def covariance(kernel, X, Y):
    if kernel.active_dims is not None:
        X, Y = (rows[:, kernel.active_dims.tolist()] for rows in (X, Y))
    return FORMULAS[type(kernel)](kernel, X, Y)


def mean_of(module, X):
    if isinstance(module, ConstantMean):
        return np.full(len(X), float(module.constant.detach()))
    if isinstance(module, LinearMean):
        return X @ array(module.weights)[:, 0] + float(module.bias.detach())
    assert isinstance(module, ZeroMean)
    return np.zeros(len(X))


def dense(model, Z, X, targets, noise):
    """Posterior mean and variance at Z in the model's units (Rasmussen & Williams, 2.25 and 2.26)."""
    Z, X = array(Z), array(X)
    gram = covariance(model.covar_module, X, X) + np.diag(noise)
    cross = covariance(model.covar_module, X, Z)
    solved = np.linalg.solve(gram, cross)
    mean = mean_of(model.mean_module, Z) + solved.T @ (targets - mean_of(model.mean_module, X))
    variance = [covariance(model.covar_module, Z[i : i + 1], Z[i : i + 1])[0, 0] for i in range(len(Z))]
    return mean, np.array(variance) - (solved * cross).sum(axis=0)


def noise_of(model, count):
    return np.full(count, float(model.likelihood.noise.detach()))


def to_model_units(transform, values):
    values = np.asarray(values, dtype=np.float64)
    if isinstance(transform, ChainedOutcomeTransform):
        for part in transform.values():
            values = to_model_units(part, values)
        return values
    if isinstance(transform, Log):
        return np.log(values)
    if isinstance(transform, Standardize):
        return (values - float(transform.means)) / float(transform.stdvs)
    assert transform is None
    return values


def to_outcome_units(transform, mean, variance):
    if isinstance(transform, ChainedOutcomeTransform):
        for part in reversed(list(transform.values())):
            mean, variance = to_outcome_units(part, mean, variance)
        return mean, variance
    if isinstance(transform, Log):  # of the log-normal distribution
        mean = np.exp(mean + variance / 2)
        return mean, (np.exp(variance) - 1) * mean**2
    if isinstance(transform, Standardize):
        scale = float(transform.stdvs)
        return float(transform.means) + scale * mean, scale**2 * variance
    assert transform is None
    return mean, variance


def assert_moments(posterior, expected, tolerance=1e-8):
    """Within a share of the largest mean and variance there are."""
    for actual, wanted in zip(posterior.moments(), expected, strict=True):
        atol = tolerance * (np.abs(wanted).max() + 1e-3)
        np.testing.assert_allclose(array(actual), wanted, rtol=tolerance, atol=atol)


def assert_equal_posteriors(one, other, tolerance=1e-9):
    assert one.num_observations == other.num_observations
    assert_moments(one, [array(moment) for moment in other.moments()], tolerance)


# --- models ---

KERNELS = {
    "RBF": RBFKernel,
    "RBF ARD": lambda: RBFKernel(ard_num_dims=3),
    "Matern 0.5": lambda: MaternKernel(nu=0.5),
    "Matern 1.5": lambda: MaternKernel(nu=1.5, ard_num_dims=3),
    "Matern 2.5": lambda: MaternKernel(nu=2.5),
    "released without noise": lambda: ReleasedInputKernel(0.0),
    "released": lambda: ReleasedInputKernel(0.04, noise_dim=3),
    "released ARD": lambda: ReleasedInputKernel(0.04, ard_num_dims=3),
    "denoised": lambda: ReleasedInputKernel([0.0, 0.04, 0.3]),
    "linear": LinearKernel,
    "periodic": lambda: PeriodicKernel(ard_num_dims=3),
    "rational quadratic": RQKernel,
    "active dimensions": lambda: RBFKernel(active_dims=[2, 0]),
    "sum": lambda: RBFKernel(active_dims=[0]) + ScaleKernel(PeriodicKernel()),
    "product": lambda: MaternKernel(active_dims=[1, 2]) * PeriodicKernel(active_dims=[0]),
}
MEANS = {"constant": ConstantMean, "zero": ZeroMean, "linear": lambda: LinearMean(3)}
OUTCOMES = {
    "none": lambda: None,
    "standardize": lambda: Standardize(m=1),
    "log": Log,
    "log, standardize": lambda: ChainedOutcomeTransform(log=Log(), standardize=Standardize(m=1)),
}
BOUNDS = torch.tensor([[-1.0, 0.0, 0.5], [2.0, 1.0, 1.5]], dtype=torch.float64)
INPUTS = {
    "none": lambda: None,
    "normalize": lambda: Normalize(d=3, bounds=BOUNDS),
    "private": private,
}


def rows_of(inputs):
    """Candidates as the kernel takes them, without the transform's own code."""
    if inputs == "normalize":
        return (ROWS - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])
    if inputs == "private":
        rows = private().released_rows
        rows[20] = rows[33] = rows[5]  # equal records get the released row of the first
        return rows
    return ROWS


def set_hyperparameters(model, lengthscale=0.7, outputscale=1.3, noise=0.01, constant=0.4):
    for module in model.modules():
        if getattr(module, "has_lengthscale", False):
            size = module.lengthscale.shape[-1]
            module.lengthscale = lengthscale * torch.linspace(1.0, 1.5, size)
        if isinstance(module, ScaleKernel):
            module.outputscale = outputscale
    for parameter in model.mean_module.parameters():
        parameter.data.fill_(constant)
    if isinstance(model.likelihood, GaussianLikelihood):
        model.likelihood.noise = noise
    return model


def gp(
    indices=(0, 1, 2),
    values=None,
    variances=None,
    *,
    kernel=lambda: ScaleKernel(RBFKernel()),
    mean="constant",
    outcome="standardize",
    inputs="none",
    rows=ROWS,
    **hyperparameters,
):
    """Build a SingleTaskGP on some candidates; with `variances`, of known noise."""
    indices = list(indices)
    values = VALUES[indices] if values is None else torch.as_tensor(values, dtype=torch.float64)
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-12))
    model = SingleTaskGP(
        rows[indices],
        values.unsqueeze(-1),
        None if variances is None else column(*variances),
        likelihood=likelihood if variances is None else None,
        covar_module=kernel(),
        mean_module=MEANS[mean](),
        outcome_transform=OUTCOMES[outcome](),
        input_transform=INPUTS[inputs](),
    )
    return set_hyperparameters(model, **hyperparameters)


def small_pieces(patch, block=16, chunk=6, slab=4):
    """Cut 40 candidates into several blocks, each block into chunks, and V into slabs."""
    patch.setattr(sweep, "_BLOCK", block)
    for module in (sweep, candidate_block):
        patch.setattr(module, "SLAB", slab)
    for kind in (prior.ForwardPrior, prior.StationaryPrior):
        patch.setattr(kind, "chunk", lambda self, m: chunk)


# --- equal to the dense formula ---

indices = st.integers(0, N - 1)
values = st.floats(-3, 3)
variances = st.floats(1e-4, 1.0)
observations = st.lists(st.tuples(indices, values, variances), min_size=1, max_size=8)


@properties
@given(
    kernel=st.sampled_from(list(KERNELS)),
    scale=st.booleans(),
    mean=st.sampled_from(list(MEANS)),
    outcome=st.sampled_from(list(OUTCOMES)),
    inputs=st.sampled_from(list(INPUTS)),
    known_noise=st.booleans(),
    lengthscale=st.floats(0.2, 3),
    outputscale=st.floats(0.1, 10),
    noise=st.floats(1e-4, 1),
    trained=observations,
    batches=st.lists(observations, max_size=3),
    correction=st.none() | st.tuples(st.integers(0, 100), values),
    block=st.sampled_from([7, 16, 40]),
    kept=st.sampled_from([None, 1, 16 * 8 * 8, 10**6]),
)
def test_moments_equal_the_dense_formula(
    kernel,
    scale,
    mean,
    outcome,
    inputs,
    known_noise,
    lengthscale,
    outputscale,
    noise,
    trained,
    batches,
    correction,
    block,
    kept,
):
    known_noise &= "log" not in outcome  # BoTorch's Log refuses noise variances
    build = KERNELS[kernel]
    told = list(trained)
    to_outcome = (lambda value: math.exp(value / 3)) if "log" in outcome else float
    if "log" in outcome:
        outputscale = min(outputscale, 1.0)  # log-normal variances overflow soon
    model = gp(
        [index for index, _, _ in told],
        [to_outcome(value) for _, value, _ in told],
        [variance for _, _, variance in told] if known_noise else None,
        kernel=lambda: ScaleKernel(build()) if scale else build(),
        mean=mean,
        outcome=outcome,
        inputs=inputs,
        lengthscale=lengthscale,
        outputscale=outputscale,
        noise=noise,
    )
    transform = getattr(model, "outcome_transform", None)
    unit = float(transform.stdvs) ** 2 if outcome == "standardize" else 1.0

    def expected():
        X = rows_of(inputs)[[index for index, _, _ in told]]
        if known_noise:
            learned = np.array([variance for _, _, variance in told]) / unit
            learned[: len(trained)] = np.maximum(learned[: len(trained)], 1e-6)  # as GPyTorch does
        else:
            learned = noise_of(model, len(told))
        targets = to_model_units(transform, [to_outcome(value) for _, value, _ in told])
        return to_outcome_units(transform, *dense(model, rows_of(inputs), X, targets, learned))

    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, block=block)
        posterior = DiscretePosterior(model, ROWS, max_memory=kept)
        assert posterior.num_observations == len(told)
        assert_moments(posterior, expected())
        for batch in batches:
            for index, value, variance in batch:
                posterior.append(
                    index, to_outcome(value), noise_variance=variance if known_noise else None
                )
                told.append((index, value, variance))
            assert_moments(posterior, expected())
        if correction is not None:
            place, value = correction[0] % len(told), correction[1]
            index = told[place][0]
            equal = [i for i, (other, _, _) in enumerate(told) if ROWS[other].equal(ROWS[index])]
            if len(equal) == 1:
                posterior.correct(index, to_outcome(value))
                told[place] = (index, value, told[place][2])
                assert_moments(posterior, expected())


@pytest.mark.parametrize("kernel", ["RBF ARD", "Matern 1.5", "released", "sum"])
@pytest.mark.parametrize("count", [31, 32, 33, 64, 70])
def test_moments_equal_the_dense_formula_when_v_fills_its_slabs(kernel, count):
    chosen = torch.randint(N, (count,), generator=seeded(count)).tolist()
    model = gp(chosen[:3], kernel=KERNELS[kernel])
    grown = DiscretePosterior(model, ROWS)
    for index in chosen[3:]:
        grown.append(index, float(VALUES[index]))
        grown.mean  # noqa: B018 - one by one
    at_once = DiscretePosterior(model, ROWS)
    for index in chosen[3:]:
        at_once.append(index, float(VALUES[index]))
    targets = to_model_units(model.outcome_transform, VALUES[chosen])
    noise = noise_of(model, count)
    expected = to_outcome_units(
        model.outcome_transform, *dense(model, ROWS, ROWS[chosen], targets, noise)
    )
    assert_moments(grown, expected)
    assert_moments(at_once, expected)


@pytest.mark.parametrize("kernel", ["RBF ARD", "Matern 1.5", "released", "sum"])
def test_moments_equal_the_dense_formula_over_real_blocks_and_chunks(kernel):
    n, t = 2**16 + 3000, 33
    rows = uniform(n, 3, seed=4)
    chosen = torch.randint(n, (t,), generator=seeded(5)).tolist()
    outcomes = torch.sin(5 * rows[:, 0])
    model = gp(chosen[:30], outcomes[chosen[:30]], kernel=KERNELS[kernel], outcome="none", rows=rows)
    posterior = DiscretePosterior(model, rows)
    for index in chosen[30:]:
        posterior.mean  # noqa: B018
        posterior.append(index, float(outcomes[index]))
    edges = [0, 1, 2047, 2048, 8191, 8192, 2**16 - 1, 2**16, 2**16 + 1, n - 1, *chosen[-3:]]
    mean, variance = dense(model, rows[edges], rows[chosen], array(outcomes[chosen]), noise_of(model, t))
    np.testing.assert_allclose(array(posterior.mean)[edges], mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(array(posterior.variance)[edges], variance, rtol=1e-8, atol=1e-8)


def test_the_order_of_the_observations_does_not_matter():
    forward = DiscretePosterior(gp([0, 1, 2, 7], outcome="none"), ROWS)
    backward = DiscretePosterior(gp([7, 2, 1, 0], outcome="none"), ROWS)
    for index in (9, 20, 33, 9, 4):
        forward.append(index, float(index))
    for index in (4, 9, 33, 20, 9):
        backward.append(index, float(index))
    assert_equal_posteriors(forward, backward)


def test_one_candidate_is_enough():
    model = gp([0])
    posterior = DiscretePosterior(model, ROWS[7:8])
    posterior.append(0, 1.5)
    targets = to_model_units(model.outcome_transform, [float(VALUES[0]), 1.5])
    expected = dense(model, ROWS[7:8], ROWS[[0, 7]], targets, noise_of(model, 2))
    assert_moments(posterior, to_outcome_units(model.outcome_transform, *expected))


def test_candidates_may_be_strided_and_may_require_gradients():
    strided = ROWS.T.contiguous().T
    assert not strided.is_contiguous()
    expected = DiscretePosterior(gp(), ROWS)
    assert_equal_posteriors(DiscretePosterior(gp(), strided), expected, 1e-12)
    leaf = ROWS.clone().requires_grad_()
    posterior = DiscretePosterior(gp(), leaf)
    posterior.append(4, 1.0)
    expected.append(4, 1.0)
    assert_equal_posteriors(posterior, expected, 1e-12)
    assert not posterior.mean.requires_grad


def test_moments_are_fresh_tensors():
    posterior = DiscretePosterior(gp(outcome="none"), ROWS)
    mean, variance = posterior.moments()
    kept = mean.clone(), variance.clone()
    mean.fill_(9.0)
    variance.fill_(9.0)
    assert torch.equal(posterior.mean, kept[0])
    assert torch.equal(posterior.variance, kept[1])


def test_a_model_without_observations_gives_its_prior():
    model = SingleTaskGP(
        ROWS[:0], column()[:0], outcome_transform=None, covar_module=ScaleKernel(RBFKernel())
    )
    set_hyperparameters(model)
    posterior = DiscretePosterior(model, ROWS)
    assert posterior.num_observations == 0
    outputscale = float(model.covar_module.outputscale.detach())
    assert_moments(posterior, (np.full(N, 0.4), np.full(N, outputscale)))
    with torch.no_grad():
        ours = posterior.posterior(ROWS[:3].unsqueeze(1), observation_noise=True)
        theirs = model.posterior(ROWS[:3].unsqueeze(1), observation_noise=True)
    assert_close(ours.variance, theirs.variance)
    posterior.append(4, 2.0)
    expected = dense(model, ROWS, ROWS[[4]], np.array([2.0]), noise_of(model, 1))
    assert_moments(posterior, expected)


# --- equal to BoTorch ---


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("variances", [None, [0.02, 0.3, 0.1]], ids=["learned", "known"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_moments_equal_the_posterior_of_botorch_before_and_after_conditioning(kernel, variances, inputs):
    model = gp(variances=variances, kernel=KERNELS[kernel], inputs=inputs)
    posterior = DiscretePosterior(model, ROWS)
    tolerance = 1e-6 if kernel == "Matern 0.5" else 1e-8  # GPyTorch's own distances of equal rows

    def assert_as(theirs):
        with torch.no_grad():
            moments = theirs.posterior(ROWS.unsqueeze(1))
        assert_moments(
            posterior, (array(moments.mean)[:, 0, 0], array(moments.variance)[:, 0, 0]), tolerance
        )

    assert_as(model)
    rows, outcomes = [7, 20, 5, 8], [1.0, -2.0, 0.5, 0.1]
    noise = None if variances is None else [0.1, 0.2, 0.05, 2.0]
    for i in range(4):
        posterior.append(rows[i], outcomes[i], noise_variance=noise and noise[i])
    unit = float(model.outcome_transform.stdvs) ** 2  # BoTorch takes noise in the model's units
    known = {} if noise is None else {"noise": column(*noise) / unit}
    assert_as(model.condition_on_observations(ROWS[rows], column(*outcomes), **known))


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_transform_gives_the_numbers_of_botorch(outcome):
    model = gp([0, 1, 2, 3], VALUES[:4].exp(), outcome=outcome)
    posterior = DiscretePosterior(model, ROWS)
    with torch.no_grad():
        theirs = model.posterior(ROWS.unsqueeze(1))
    assert_moments(posterior, (array(theirs.mean)[:, 0, 0], array(theirs.variance)[:, 0, 0]))


def test_learned_noise_on_top_of_known_noise_counts_for_appended_observations_too():
    known = torch.tensor([0.01, 0.2, 0.05], dtype=torch.float64)
    likelihood = FixedNoiseGaussianLikelihood(known, learn_additional_noise=True)
    model = SingleTaskGP(
        ROWS[:3],
        VALUES[:3, None],
        likelihood=likelihood,
        outcome_transform=None,
        covar_module=RBFKernel(),
    )
    model.likelihood.second_noise = 0.3
    posterior = DiscretePosterior(model, ROWS)
    posterior.append(9, 1.0, noise_variance=0.02)
    noise = np.array([0.01, 0.2, 0.05, 0.02]) + float(model.likelihood.second_noise.detach())
    targets = np.array([*array(VALUES[:3]), 1.0])
    assert_moments(posterior, dense(model, ROWS, ROWS[[0, 1, 2, 9]], targets, noise))


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_scores_equal_the_upper_confidence_bound_over_the_conditioned_model(outcome, maximize):
    model = gp([0, 1, 2, 3], VALUES[:4].exp(), outcome=outcome)
    posterior = DiscretePosterior(model, ROWS)
    posterior.append(9, 2.0)
    posterior.append(5, 0.5)
    model.posterior(ROWS[:1])
    conditioned = model.condition_on_observations(ROWS[[9, 5]], column(2.0, 0.5))
    beta = torch.tensor(ucb_beta(3, N), dtype=torch.float64)
    theirs = UpperConfidenceBound(conditioned, beta, maximize=maximize)(ROWS.unsqueeze(1)).detach()
    ours = DiscreteUCB(posterior, None, t=3, maximize=maximize)
    assert_close(ours.scores(), theirs, rtol=1e-8, atol=1e-8)
    assert_close(ours(ROWS.unsqueeze(1)).detach(), theirs, rtol=1e-8, atol=1e-8)
    minus = ScalarizedPosteriorTransform(torch.tensor([-1.0], dtype=torch.float64))
    if "log" not in outcome:
        negative = DiscreteUCB(posterior, None, t=3, maximize=not maximize, posterior_transform=minus)
        assert_close(negative.scores(), theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("standardize", [False, True], ids=["append", "update with a new Standardize"])
def test_forty_rounds_pick_what_plain_numpy_and_botorch_pick(standardize):
    rows = uniform(300, 4, seed=8)
    truth = torch.sin(6 * rows[:, 0]) + torch.cos(5 * rows[:, 1]) * rows[:, 2]
    beta = 4.0
    fixed = {"rows": rows, "lengthscale": 0.5, "outputscale": 1.0, "noise": 0.01, "constant": 0.0}
    fixed["outcome"] = "standardize" if standardize else "none"
    asked = [3, 1]
    model = gp(asked, truth[asked], **fixed)
    posterior = DiscretePosterior(model, rows)
    Z, y = array(rows), array(truth)
    K = np.exp(-squared(Z, Z, array(model.covar_module.base_kernel.lengthscale)) / 2)
    noise = float(model.likelihood.noise.detach())
    for _ in range(40):
        ours = int(DiscreteUCB(posterior, None, t=1, beta=beta).select(exclude=asked))
        told = (y[asked] - y[asked].mean()) / y[asked].std(ddof=1) if standardize else y[asked]
        solved = np.linalg.solve(K[np.ix_(asked, asked)] + noise * np.eye(len(asked)), K[asked])
        score = solved.T @ told + math.sqrt(beta) * np.sqrt(1 - (solved * K[asked]).sum(axis=0))
        score[asked] = -np.inf
        plain = int(score.argmax())
        rest = torch.tensor([i for i in range(300) if i not in asked])
        row, _ = optimize_acqf_discrete(
            UpperConfidenceBound(gp(asked, truth[asked], **fixed), beta), q=1, choices=rows[rest]
        )
        botorch = int((rows == row).all(dim=1).nonzero()[0])
        assert ours == plain == botorch
        asked.append(ours)
        if standardize:
            posterior.update(gp(asked, truth[asked], **fixed))
        else:
            posterior.append(ours, float(truth[ours]))


# --- any sequence of events ---


class Told:
    """What one DiscretePosterior was told: the dense twin of its book-keeping."""

    def __init__(self, model, trained):
        self.model = model
        self.start(trained)

    def start(self, trained):
        self.rows = list(trained)
        self.later = []  # value in outcome units, or None; target in the model's units, or None
        self.corrected = {}

    def fork(self):
        twin = copy.copy(self)
        twin.rows, twin.later, twin.corrected = list(self.rows), list(self.later), dict(self.corrected)
        return twin

    def add(self, index, value=None, target=None):
        self.rows.append(index)
        self.later.append((value, target))

    def moments(self):
        """Mean and variance in the model's units."""
        transform = self.model.outcome_transform
        targets = list(array(self.model.train_targets))
        for value, target in self.later:
            targets.append(to_model_units(transform, value) if target is None else target)
        for place, value in self.corrected.items():
            targets[place] = to_model_units(transform, value)
        noise = noise_of(self.model, len(targets))
        return dense(self.model, ROWS, ROWS[self.rows], np.array(targets), noise)

    def expected(self):
        return to_outcome_units(self.model.outcome_transform, *self.moments())

    def values(self):
        """Outcomes of all observations."""
        transform = self.model.outcome_transform
        out = [float(y) for y in array(self.model.train_targets) * float(transform.stdvs)]
        out = [y + float(transform.means) for y in out]
        for value, target in self.later:
            undone = None if target is None else float(transform.means) + float(transform.stdvs) * target
            out.append(value if undone is None else undone)
        for place, value in self.corrected.items():
            out[place] = value
        return out


class AnyEvents(RuleBasedStateMachine):
    """Posteriors and copies of them, appended to, corrected, updated, and refitted in turns."""

    @initialize(
        kernel=st.sampled_from(["RBF", "Matern 2.5", "released", "rational quadratic"]),
        block=st.sampled_from([9, 40]),
        kept=st.sampled_from([None, None, 1, 9 * 8 * 8]),
    )
    def build(self, kernel, block, kept):
        self.patch = pytest.MonkeyPatch()
        small_pieces(self.patch, block=block)
        self.kernel = lambda: ScaleKernel(KERNELS[kernel]())
        model = gp([0, 1, 2], kernel=self.kernel)
        self.posteriors = [(DiscretePosterior(model, ROWS, max_memory=kept), Told(model, [0, 1, 2]))]

    def teardown(self):
        if hasattr(self, "patch"):
            for posterior, told in self.posteriors:
                assert posterior.num_observations == len(told.rows)
                assert_moments(posterior, told.expected())
            self.patch.undo()

    @property
    def active(self):
        return self.posteriors[-1]

    @rule(index=indices, value=values)
    def append(self, index, value):
        posterior, told = self.active
        posterior.append(index, value)
        told.add(index, value)

    @rule(index=indices, value=values)
    def correct(self, index, value):
        posterior, told = self.active
        places = [i for i, row in enumerate(told.rows) if ROWS[row].equal(ROWS[index])]
        if len(places) == 1:
            posterior.correct(index, value)
            told.corrected[places[0]] = value
        else:
            with pytest.raises(ValueError, match=f"which was observed {len(places)} times"):
                posterior.correct(index, value)

    @rule()
    def read(self):
        posterior, told = self.active
        assert_moments(posterior, told.expected())

    @rule(place=st.integers(0, 10))
    def go_on_with_another_copy(self, place):
        self.posteriors.append(self.posteriors.pop(place % len(self.posteriors)))

    @precondition(lambda self: len(self.posteriors) < 5)
    @rule(chosen=st.lists(indices, max_size=3))
    def hallucinate(self, chosen):
        posterior, told = self.active
        mean, _ = told.moments()
        twin, twin_told = posterior.hallucinate(chosen), told.fork()
        for index in chosen:
            twin_told.add(index, target=mean[index])
        self.posteriors.append((twin, twin_told))

    @precondition(lambda self: len(self.posteriors) < 5)
    @rule(chosen=st.lists(st.tuples(indices, values), min_size=1, max_size=3))
    def condition(self, chosen):
        posterior, told = self.active
        rows, outcomes = zip(*chosen, strict=True)
        twin = posterior.condition_on_observations(ROWS[list(rows)], column(*outcomes))
        twin_told = told.fork()
        for index, value in chosen:
            twin_told.add(index, value)
        self.posteriors.append((twin, twin_told))

    @rule(lengthscale=st.floats(0.3, 2))
    def refit_by_setters(self, lengthscale):
        _, told = self.active
        set_hyperparameters(told.model, lengthscale=lengthscale, outputscale=2 * lengthscale)

    @rule(raw=st.floats(-1, 1))
    def refit_by_data(self, raw):
        _, told = self.active
        told.model.covar_module.base_kernel.raw_lengthscale.data.fill_(raw)
        told.model.mean_module.raw_constant.data.fill_(raw)

    @rule(center=values, scale=st.floats(0.5, 3))
    def standardize_again(self, center, scale):
        _, told = self.active
        told.model.outcome_transform.means.fill_(center)
        told.model.outcome_transform.stdvs.fill_(scale)
        told.model.outcome_transform._stdvs_sq.fill_(scale**2)

    @rule(index=indices, value=values)
    def update_with_one_more(self, index, value):
        _, told = self.active
        self.update([*told.rows, index], [*told.values(), value])

    @rule(share=st.floats(0, 1))
    def update_with_fewer(self, share):
        _, told = self.active
        t = max(1, int(share * len(told.rows)))
        self.update(told.rows[:t], told.values()[:t])

    @rule(random=st.randoms(use_true_random=False))
    def update_with_another_order(self, random):
        _, told = self.active
        pairs = list(zip(told.rows, told.values(), strict=True))
        random.shuffle(pairs)
        self.update(*map(list, zip(*pairs, strict=True)))

    def update(self, rows, outcomes):
        posterior, told = self.posteriors.pop()
        model = gp(rows, outcomes, kernel=self.kernel)
        for mine, theirs in zip(model.parameters(), told.model.parameters(), strict=True):
            mine.data.copy_(theirs)
        posterior.update(model)
        self.posteriors.append((posterior, Told(model, rows)))

    @rule(chosen=st.lists(st.tuples(indices, values), min_size=1, max_size=5))
    def set_train_data(self, chosen):
        _, active = self.active
        rows, targets = zip(*chosen, strict=True)
        active.model.set_train_data(
            ROWS[list(rows)], torch.tensor(targets, dtype=torch.float64), strict=False
        )
        for posterior, told in self.posteriors:
            posterior.variance  # noqa: B018 - the new data are noticed at an access
            if told.model is active.model:
                told.start(rows)


AnyEvents.TestCase.settings = settings(
    derandomize=True, max_examples=40, stateful_step_count=30, deadline=None, report_multiple_bugs=False
)
TestAnySequenceOfEventsGivesTheDenseFormula = AnyEvents.TestCase


# --- update ---


def counted(patch):
    """Count the numbers of covariance matrices that are evaluated."""
    numbers = []
    for kind in (prior.ForwardPrior, prior.StationaryPrior):
        for name in ("covariance", "covariance64"):
            if name in vars(kind):
                evaluate = vars(kind)[name]

                def counting(self, X, Z, evaluate=evaluate):
                    if not numbers or numbers[-1] is not None:  # not within another call
                        numbers.append(None)
                        result = evaluate(self, X, Z)
                        numbers[-1] = len(X) * len(Z)
                        return result
                    return evaluate(self, X, Z)

                patch.setattr(kind, name, counting)
    return numbers


@pytest.mark.parametrize("kernel", ["RBF", "released", "rational quadratic"])
def test_a_model_of_one_more_observation_costs_one_row_of_the_kernel(kernel, monkeypatch):
    n, t = 500, 20
    rows = uniform(n, 3, seed=2)
    posterior = DiscretePosterior(gp(range(t), uniform(t), kernel=KERNELS[kernel], rows=rows), rows)
    assert posterior.mean.shape == (n,)
    more = gp(range(t + 1), 5 + 3 * uniform(t + 1, seed=9), kernel=KERNELS[kernel], rows=rows)
    numbers = counted(monkeypatch)
    posterior.update(more)
    posterior.moments()
    assert n <= sum(numbers) <= n + t + 1
    assert_equal_posteriors(posterior, DiscretePosterior(more, rows))


@pytest.mark.parametrize("kernel", ["RBF", "rational quadratic"])
def test_other_values_and_a_correction_cost_no_kernel_at_all(kernel, monkeypatch):
    posterior = DiscretePosterior(gp(range(20), uniform(20), kernel=KERNELS[kernel]), ROWS)
    posterior.moments()
    numbers = counted(monkeypatch)
    other = gp(range(20), 5 - 3 * uniform(20, seed=9), kernel=KERNELS[kernel])
    posterior.update(other)
    posterior.moments()
    posterior.correct(7, 4.0)
    posterior.moments()
    posterior.update(gp(range(7), uniform(7), kernel=KERNELS[kernel]))
    posterior.moments()
    assert numbers == []


@pytest.mark.parametrize("known_noise", [False, True])
@pytest.mark.parametrize("kernel", ["RBF", "released", "rational quadratic"])
@pytest.mark.parametrize(
    "rows",
    [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2], [0], [9, 1, 2, 3], [3, 2, 1, 0], [0, 1, 9, 3], [8, 9]],
    ids=str,
)
def test_an_updated_posterior_equals_a_new_one(rows, kernel, known_noise):
    def model(rows, offset=0.0):
        noise = [0.01 * (1 + row) for row in rows] if known_noise else None
        return gp(rows, VALUES[rows] + offset, noise, kernel=KERNELS[kernel])

    posterior = DiscretePosterior(model([0, 1, 2, 3]), ROWS)
    posterior.moments()
    posterior.append(30, 1.0, noise_variance=0.1 if known_noise else None)
    posterior.moments()
    kept = posterior.hallucinate([12])
    before = kept.moments()
    new = model(rows, offset=2.0)
    posterior.update(new)
    assert posterior.num_observations == len(rows)
    assert_equal_posteriors(posterior, DiscretePosterior(new, ROWS))
    posterior.append(11, -1.0, noise_variance=0.2 if known_noise else None)
    fresh = DiscretePosterior(new, ROWS)
    fresh.append(11, -1.0, noise_variance=0.2 if known_noise else None)
    assert_equal_posteriors(posterior, fresh)
    assert all(map(torch.equal, kept.moments(), before))


CHANGES = {
    "length-scale": {"lengthscale": 0.3},
    "output scale": {"outputscale": 2.0},
    "noise": {"noise": 0.5},
    "mean": {"constant": -1.0},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_model_of_other_hyperparameters_is_computed_anew(change):
    posterior = DiscretePosterior(gp([0, 1, 2, 3]), ROWS)
    posterior.moments()
    new = gp([0, 1, 2, 3, 4], **change)
    posterior.update(new)
    assert_equal_posteriors(posterior, DiscretePosterior(new, ROWS))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kernel", ["RBF", "rational quadratic"])
def test_the_model_before_an_update_may_change_afterwards(kernel, change):
    old = gp([0, 1, 2], kernel=lambda: ScaleKernel(KERNELS[kernel]()))
    posterior = DiscretePosterior(old, ROWS)
    posterior.moments()
    new = gp([0, 1, 2, 3], kernel=lambda: ScaleKernel(KERNELS[kernel]()))
    posterior.update(new)
    set_hyperparameters(old, **change)
    old.train()
    fresh = DiscretePosterior(new, ROWS)
    assert_equal_posteriors(posterior, fresh)
    for one in (posterior, fresh):
        one.append(9, 2.0)
    assert_equal_posteriors(posterior, fresh)


def test_a_model_of_other_width_is_refused_and_changes_nothing():
    posterior = DiscretePosterior(gp(kernel=RBFKernel), ROWS)
    posterior.append(9, 1.0)
    before = posterior.moments()
    wide = uniform(5, 4)
    for kernel in (RBFKernel, MaternKernel):  # with the same hyperparameters, and with others
        with pytest.raises(ValueError, match="candidates must have 4 columns"):
            posterior.update(gp(kernel=kernel, rows=wide))
        assert posterior.num_observations == 4
        assert all(map(torch.equal, posterior.moments(), before))


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_a_model_of_another_dtype_is_refused_and_changes_nothing():
    posterior = DiscretePosterior(gp(), ROWS)
    before = posterior.moments()
    with pytest.raises(
        ValueError, match=r"model must stay torch.float64 on cpu, got torch.float32 on cpu"
    ):
        posterior.update(SingleTaskGP(ROWS[:3].float(), VALUES[:3, None].float()))
    assert all(map(torch.equal, posterior.moments(), before))


def test_a_computation_that_was_cut_off_is_done_again(monkeypatch):
    """Ctrl-C, or a GPU that runs out of memory: nothing may look finished that is not."""
    monkeypatch.setattr(sweep, "_BLOCK", 16)
    posterior, expected = (DiscretePosterior(gp(), ROWS) for _ in range(2))
    posterior.moments()
    evaluate, calls = prior.StationaryPrior.covariance, []

    def cut_off(self, X, Z):
        calls.append(len(Z))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return evaluate(self, X, Z)

    for change in (
        lambda one: one.append(7, 1.0),
        lambda one: one.correct(7, 2.0),
        lambda one: one.update(gp([0, 1], noise=0.1)),
    ):
        change(posterior)
        change(expected)
        calls.clear()
        monkeypatch.setattr(prior.StationaryPrior, "covariance", cut_off)
        try:
            posterior.moments()
        except KeyboardInterrupt:
            assert len(calls) == 2
        monkeypatch.setattr(prior.StationaryPrior, "covariance", evaluate)
        assert_equal_posteriors(posterior, expected)


def test_a_copy_survives_that_the_original_is_cut_off(monkeypatch):
    monkeypatch.setattr(sweep, "_BLOCK", 16)
    original = DiscretePosterior(gp(range(5)), ROWS)
    twin = original.hallucinate([30])
    before = twin.moments()
    original.append(7, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(candidate_block.CandidateBlock, "_write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            original.moments()
        with pytest.raises(ZeroDivisionError):
            original.moments()
    expected = DiscretePosterior(gp(range(5)), ROWS)
    expected.append(7, 1.0)
    assert_equal_posteriors(original, expected)
    assert all(map(torch.equal, twin.moments(), before))


@pytest.mark.parametrize("inputs", INPUTS)
def test_an_updated_posterior_equals_a_new_one_also_with_another_input_transform(inputs):
    posterior = DiscretePosterior(gp(range(4)), ROWS)
    posterior.append(9, 1.0)
    posterior.moments()
    new = gp(range(5), inputs=inputs)
    posterior.update(new)
    assert_equal_posteriors(posterior, DiscretePosterior(new, ROWS))


def test_an_update_may_project_the_same_candidates_to_another_width():
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    models = []
    for width in (3, 5):
        mechanism = NoisyProjection(8.0, projection_dim=width)
        transform = PrivateProjectionTransform(ROWS, scaling, mechanism, generator=seeded(width))
        model = SingleTaskGP(
            ROWS[:4], VALUES[:4, None], covar_module=RBFKernel(), input_transform=transform
        )
        models.append(model)
    posterior = DiscretePosterior(models[0], ROWS)
    posterior.moments()
    posterior.update(models[1])
    assert_equal_posteriors(posterior, DiscretePosterior(models[1], ROWS))


# --- copies ---


def test_copies_leave_the_original_as_it_was_bit_for_bit():
    posterior = DiscretePosterior(gp(), ROWS)
    posterior.append(9, 1.0)
    before = posterior.moments()
    twins = [posterior.hallucinate([4, 20]), posterior.condition_on_observations(ROWS[:2], column(3, 4))]
    twins += [twin.hallucinate([8]) for twin in twins]
    for i, twin in enumerate(twins):
        twin.append(10 + i, 5.0)
        twin.correct(9, -3.0)
        twin.moments()
    assert all(map(torch.equal, posterior.moments(), before))
    assert posterior.num_observations == 4


@pytest.mark.parametrize("count", [3, 31, 32, 40])
def test_original_and_copies_grow_in_turns_without_disturbing_each_other(count):
    chosen = torch.randint(N, (count,), generator=seeded(1)).tolist()
    first = DiscretePosterior(gp(chosen), ROWS)
    second = first.condition_on_observations(ROWS[:0], column()[:0])
    third = second.hallucinate([])
    learned = [[], [], []]
    for turn in range(12):
        for which, one in enumerate((first, second, third)):
            index, value = (7 * turn + 11 * which) % N, float(turn - which)
            one.append(index, value)
            learned[which].append((index, value))
            one.moments()
    for told, one in zip(learned, (first, second, third), strict=True):
        fresh = DiscretePosterior(gp(chosen), ROWS)
        for index, value in told:
            fresh.append(index, value)
        assert_equal_posteriors(one, fresh)


def test_a_copy_survives_that_the_original_is_cut_short_and_grows_again():
    original = DiscretePosterior(gp(range(10)), ROWS)
    twin = original.hallucinate([30])
    before = twin.moments()
    original.update(gp(range(6)))
    original.moments()
    for index in (31, 32, 34):
        original.append(index, 9.0)
        original.moments()
    assert all(map(torch.equal, twin.moments(), before))
    twin.append(35, 1.0)
    fresh = DiscretePosterior(gp(range(10)), ROWS).hallucinate([30])
    fresh.append(35, 1.0)
    assert_equal_posteriors(twin, fresh)


@pytest.mark.parametrize("kernel", ["RBF", "released", "sum"])
@pytest.mark.parametrize("known_noise", [False, True])
def test_hallucinated_means_stay_and_variances_shrink_as_in_the_dense_formula(kernel, known_noise):
    variances = [0.01, 0.3, 0.05] if known_noise else None
    model = gp(variances=variances, kernel=KERNELS[kernel])
    posterior = DiscretePosterior(model, ROWS)
    mean, variance = posterior.moments()
    chosen = [12, 4, 12, 5, 20]  # repeats, and equal rows
    twin = posterior.hallucinate(chosen)
    step_by_step = posterior
    for index in chosen:
        step_by_step = step_by_step.hallucinate([index])
    assert_close(twin.mean, mean, rtol=1e-9, atol=1e-9)
    assert (twin.variance <= variance * (1 + 1e-12)).all()
    assert (twin.variance[chosen] < 0.9 * variance[chosen]).all()
    noise = array(model.likelihood.noise) * np.ones(3)
    noise = np.concatenate([noise, np.full(5, noise.mean())])
    _, expected = dense(model, ROWS, ROWS[[0, 1, 2, *chosen]], np.zeros(8), noise)
    unit = float(model.outcome_transform.stdvs) ** 2
    np.testing.assert_allclose(array(twin.variance), expected * unit, rtol=1e-8, atol=1e-10)
    assert_equal_posteriors(step_by_step, twin)


def test_hallucinated_observations_get_the_average_noise_of_all_known_ones():
    """As `fantasize` of BoTorch does with the model that was conditioned on the same data."""
    model = gp([0, 1, 2, 9], variances=[0.01, 0.3, 0.05, 2.0], outcome="none")
    posterior = DiscretePosterior(gp(variances=[0.01, 0.3, 0.05], outcome="none"), ROWS)
    posterior.append(9, float(VALUES[9]), noise_variance=2.0)
    assert_equal_posteriors(posterior.hallucinate([7]), DiscretePosterior(model, ROWS).hallucinate([7]))


def test_answers_that_arrive_after_a_hallucination_equal_the_dense_formula():
    model = gp()
    posterior = DiscretePosterior(model, ROWS)
    told = {0: None, 1: None, 2: None}
    for index in (7, 8, 9, 10):
        posterior.hallucinate([index, 30]).moments()
        posterior.append(index, float(VALUES[index]))
        told[index] = None
    targets = to_model_units(model.outcome_transform, VALUES[list(told)])
    expected = dense(model, ROWS, ROWS[list(told)], targets, noise_of(model, 7))
    assert_moments(posterior, to_outcome_units(model.outcome_transform, *expected))


def test_a_correction_gives_a_hallucinated_candidate_its_answer():
    told, guessed = (DiscretePosterior(gp(), ROWS) for _ in range(2))
    told.append(7, 2.5)
    twin = guessed.hallucinate([7])
    twin.correct(7, 2.5)
    assert_equal_posteriors(twin, told)


def test_conditioning_takes_points_that_are_no_candidates():
    model = gp()
    elsewhere = uniform(3, 3, seed=11)
    twin = DiscretePosterior(model, ROWS).condition_on_observations(elsewhere, column(1, 2, 3))
    X = torch.cat([ROWS[:3], elsewhere])
    targets = to_model_units(model.outcome_transform, [*array(VALUES[:3]), 1, 2, 3])
    expected = dense(model, ROWS, X, targets, noise_of(model, 6))
    assert_moments(twin, to_outcome_units(model.outcome_transform, *expected))


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda posterior: pickle.loads(pickle.dumps(posterior))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("kernel", ["RBF", "Matern 2.5", "released", "rational quadratic"])
def test_duplicates_go_on_like_the_original(kernel, duplicate):
    original = DiscretePosterior(gp(kernel=KERNELS[kernel]), ROWS)
    original.append(9, 1.0)
    before = original.moments()
    twin = duplicate(original)
    assert_equal_posteriors(twin, original, 1e-12)
    twin.append(11, 3.0)
    twin.moments()
    assert all(map(torch.equal, original.moments(), before))
    original.append(11, 3.0)
    assert_equal_posteriors(twin, original)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_hallucinating_points_is_hallucinating_candidates_and_takes_others_too(outcome):
    posterior = DiscretePosterior(gp([0, 1, 2], VALUES[:3].exp(), outcome=outcome), ROWS)
    points = posterior.hallucinate_points(ROWS[[4, 9]])
    assert_equal_posteriors(points, posterior.hallucinate([4, 9]), 1e-8)
    elsewhere = posterior.hallucinate_points(uniform(2, 3, seed=11))
    if "log" not in outcome:  # the mean of a log-normal variable shrinks with the variance
        assert_close(elsewhere.mean, posterior.mean, rtol=1e-8, atol=1e-8)
    assert (elsewhere.variance < posterior.variance * (1 + 1e-9)).all()


def test_v_is_shared_with_copies():
    posterior = DiscretePosterior(gp(), ROWS)
    posterior.moments()
    (block,), (twin,) = posterior._sweep._blocks, posterior.hallucinate([4])._sweep._blocks
    assert twin._slabs[0].data_ptr() == block._slabs[0].data_ptr()


# --- joint posterior ---


def conditioned(variances=None, appended=None, **settings):
    """Return a DiscretePosterior and BoTorch's model of the same observations."""
    model = gp([0, 1, 2], variances=variances, **settings)
    posterior = DiscretePosterior(model, ROWS)
    posterior.append(9, 1.0, noise_variance=appended)
    transform = model.outcome_transform
    values = torch.cat([VALUES[:3], torch.ones(1, dtype=torch.float64)])
    theirs = gp([0, 1, 2, 9], values, None if variances is None else [*variances, appended], **settings)
    theirs.set_train_data(targets=transform(values.unsqueeze(-1))[0].squeeze(-1))
    if variances is not None:
        noise = torch.tensor([*variances, appended], dtype=torch.float64)
        theirs.likelihood.noise = noise / transform.stdvs.squeeze().square()
    theirs.outcome_transform = transform
    return posterior, theirs


@pytest.mark.parametrize("observation_noise", [False, True, "tensor"])
@pytest.mark.parametrize("variances", [None, [0.02, 0.3, 0.1]], ids=["learned", "known"])
@pytest.mark.parametrize("shape", [(1,), (4,), (5, 1), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("kernel", ["RBF ARD", "released", "sum"])
def test_joint_posterior_equals_that_of_botorch(kernel, shape, variances, observation_noise):
    average = None if variances is None else 0.14
    ours, theirs = conditioned(variances, average, kernel=KERNELS[kernel])
    points = uniform(*shape, 3, seed=6)
    if observation_noise == "tensor":
        observation_noise = 0.1 + uniform(*shape, 1, seed=7)
    with torch.no_grad():
        one, other = (
            model.posterior(points, observation_noise=observation_noise) for model in (ours, theirs)
        )
    assert one.mean.shape == (*shape, 1)
    assert_close(one.mean, other.mean, rtol=1e-8, atol=1e-8)
    assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)
    matrices = [p.distribution.covariance_matrix for p in (one, other)]
    assert_close(*matrices, rtol=1e-8, atol=1e-8)


def test_joint_posterior_adds_the_average_noise_of_all_known_ones():
    ours, theirs = conditioned([0.02, 0.3, 0.1], appended=2.0)
    with torch.no_grad():
        one, other = (model.posterior(ROWS[10:13], observation_noise=True) for model in (ours, theirs))
    assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("outcome", ["none", "log", "log, standardize"])
def test_joint_posterior_is_that_of_botorch_under_every_outcome_transform(outcome):
    values = VALUES[[0, 1, 2, 9]].exp()
    ours = DiscretePosterior(gp([0, 1, 2, 9], values, outcome=outcome), ROWS)
    points = uniform(2, 3, 3, seed=6)
    sampler = SobolQMCNormalSampler(torch.Size([8]), seed=1)
    with torch.no_grad():
        one, other = ours.posterior(points), ours.model.posterior(points)
        assert_close(one.mean, other.mean, rtol=1e-8, atol=1e-8)
        assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)
        assert_close(sampler(one), sampler(other), rtol=1e-6, atol=1e-6)


def test_joint_posterior_applies_a_posterior_transform():
    ours, theirs = conditioned()
    weights = ScalarizedPosteriorTransform(torch.tensor([-2.0], dtype=torch.float64), offset=3.0)
    points = uniform(2, 3, 3, seed=6)
    with torch.no_grad():
        one, other = (model.posterior(points, posterior_transform=weights) for model in (ours, theirs))
    assert_close(one.mean, other.mean, rtol=1e-8, atol=1e-8)
    assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", ["RBF", "Matern 2.5", "sum"])
def test_joint_posterior_has_the_gradients_of_botorch(kernel):
    ours, theirs = conditioned(kernel=KERNELS[kernel])
    gradients = []
    for model in (ours, theirs):
        points = uniform(4, 2, 3, seed=6).requires_grad_()
        posterior = model.posterior(points)
        weighed = (posterior.mean.sin() + posterior.variance.sqrt()).sum()
        gradients.append(torch.autograd.grad(weighed, points)[0])
    assert_close(*gradients, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_joint_posterior_at_the_candidates_is_the_moments(kernel, inputs):
    posterior = DiscretePosterior(gp(range(12), kernel=KERNELS[kernel], inputs=inputs), ROWS)
    with torch.no_grad():
        joint, marginal = posterior.posterior(ROWS), posterior.posterior(ROWS.unsqueeze(1))
    tolerance = 1e-6 if kernel == "Matern 0.5" else 1e-8  # GPyTorch's own distances of equal rows
    for moments in (joint, marginal):
        assert_moments(
            posterior, (array(moments.mean).ravel(), array(moments.variance).ravel()), tolerance
        )


def test_joint_posterior_takes_equal_points_and_points_that_are_known_almost_exactly():
    posterior = DiscretePosterior(gp(range(30), noise=1e-9, outcome="none"), ROWS)
    points = ROWS[[3, 3, 20, 5, 4]]
    joint = posterior.posterior(points)
    assert (joint.variance > -1e-9).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BoTorch reports the jitter that sampling needs
        assert torch.isfinite(joint.rsample(torch.Size([4]))).all()
    one_by_one = posterior.posterior(points.unsqueeze(1)).mean.squeeze()
    assert_close(one_by_one, VALUES[[3, 3, 20, 5, 4]], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("indices", [[1], [0, 0], [], 0])
def test_joint_posterior_knows_one_output(indices):
    posterior = DiscretePosterior(gp(), ROWS)
    assert_close(posterior.posterior(ROWS[:2], [0]).mean, posterior.posterior(ROWS[:2]).mean)
    with pytest.raises(ValueError, match=r"output_indices must be None or \[0\] for one output"):
        posterior.posterior(ROWS[:2], output_indices=indices)


# --- with acquisition functions of BoTorch ---


def monte_carlo(model, kind):
    sampler = SobolQMCNormalSampler(torch.Size([32]), seed=4)
    if kind is qUpperConfidenceBound:
        return kind(model, beta=2.0, sampler=sampler)
    if kind is qLogExpectedImprovement:
        return kind(model, best_f=0.5, sampler=sampler)
    return kind(model, X_baseline=ROWS[:3], sampler=sampler, cache_root=False, prune_baseline=False)


@pytest.mark.filterwarnings("ignore:A not p.d.")  # equal rows: the host adds jitter to sample
@pytest.mark.filterwarnings("ignore:A not p.d.")  # sampling at equal rows
@pytest.mark.parametrize(
    "kind", [qUpperConfidenceBound, qLogExpectedImprovement, qLogNoisyExpectedImprovement]
)
def test_monte_carlo_acquisition_functions_take_it_for_a_model(kind):
    ours, theirs = conditioned()
    batch = ROWS[10:16].reshape(2, 3, 3)
    with torch.no_grad():
        scores = [monte_carlo(model, kind)(batch) for model in (ours, theirs)]
    assert_close(*scores, rtol=1e-5, atol=1e-5)
    row, _ = optimize_acqf_discrete(monte_carlo(ours, kind), q=2, choices=ROWS)
    expected, _ = optimize_acqf_discrete(monte_carlo(theirs, kind), q=2, choices=ROWS)
    assert torch.equal(row, expected)


@pytest.mark.filterwarnings("ignore:A not p.d.")  # sampling at equal rows
@pytest.mark.filterwarnings("ignore:A not p.d.")  # equal rows: the host adds jitter to sample
@pytest.mark.parametrize("kind", [qUpperConfidenceBound, qLogNoisyExpectedImprovement])
def test_monte_carlo_acquisition_functions_keep_working_on_released_rows(kind):
    model = gp([0, 1, 2, 9], kernel=KERNELS["released"])
    rows, _ = optimize_acqf_discrete(monte_carlo(model, kind), q=2, choices=ROWS)
    assert (rows.unsqueeze(1) == ROWS).all(dim=-1).any(dim=-1).all()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_batch_is_the_same_by_select_and_by_the_discrete_optimizer(outcome):
    for seed in range(5):
        chosen = torch.randperm(20, generator=seeded(seed))[:4].tolist()
        posterior = DiscretePosterior(gp(chosen, (2 * VALUES[chosen]).exp(), outcome=outcome), ROWS)
        acqf = DiscreteUCB(posterior, None, t=3)
        picked = acqf.select(q=4, exclude=[20, 33])
        rows, _ = optimize_acqf_discrete(
            acqf, q=4, choices=ROWS[[*range(20), *range(21, 33), *range(34, N)]]
        )
        assert torch.equal(ROWS[picked], rows)


# --- rounding ---


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
        assert error < 10 * posterior.resolution
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


# --- refusals ---


def nan_at(row, place):
    rows = ROWS.clone()
    rows[row, place] = math.nan
    return rows


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (ROWS.float(), "candidates must have the dtype and device of the model, torch.float64 on cpu"),
        (ROWS.numpy(), "candidates must be an n x d floating-point tensor"),
        (ROWS.long(), "candidates must be an n x d floating-point tensor"),
        (ROWS[0], r"candidates must have 2 dimensions.*got shape \(3,\)"),
        (ROWS[:, :2], "candidates must have 3 columns like the inputs of the model, got 2"),
        (ROWS[:0], "candidates must have at least 1 rows, got 0"),
        (nan_at(33, 1), "candidates must be finite, got NaN in row 33, column 1"),
        (nan_at(0, 2) * math.inf, "candidates must be finite"),
    ],
)
def test_candidates_that_do_not_fit_are_refused(candidates, message):
    with pytest.raises(ValueError, match=message):
        DiscretePosterior(gp(), candidates)


@on_cuda
def test_candidates_on_another_device_are_refused():
    with pytest.raises(ValueError, match="candidates must have the dtype and device of the model"):
        DiscretePosterior(gp(), ROWS.cuda())


@pytest.mark.parametrize("max_memory", [0, -1, 1.5, True, "1 GB"])
def test_memory_that_is_no_positive_integer_is_refused(max_memory):
    with pytest.raises(ValueError, match="max_memory must be an integer >= 1, got"):
        DiscretePosterior(gp(), ROWS, max_memory=max_memory)


@pytest.mark.parametrize("index", [-1, N, 1.0, True, None, torch.tensor([1, 2])])
def test_indices_that_are_no_row_are_refused(index):
    posterior = DiscretePosterior(gp(), ROWS)
    for refused in (
        lambda: posterior.append(index, 1.0),
        lambda: posterior.correct(index, 1.0),
        lambda: posterior.hallucinate([3, index]),
    ):
        with pytest.raises(ValueError, match="must be (a|an integer|one integer) row index"):
            refused()
    assert posterior.num_observations == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, "1", None, True])
def test_values_that_are_no_finite_number_are_refused(value):
    posterior = DiscretePosterior(gp(), ROWS)
    with pytest.raises(ValueError, match="value must be a finite number, got"):
        posterior.append(9, value)
    with pytest.raises(ValueError, match="value must be a finite number, got"):
        posterior.correct(0, value)
    assert posterior.num_observations == 3


@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_values_without_a_finite_place_in_the_models_units_do_not_make_every_score_nan(value):
    posterior = DiscretePosterior(gp(values=[1.0, 2.0, 3.0], outcome="log"), ROWS)
    with pytest.raises(ValueError, match="value"):
        posterior.append(9, value)
    assert torch.isfinite(posterior.mean).all()


def test_noise_variance_is_needed_where_noise_is_known_and_refused_where_it_is_learned():
    known = DiscretePosterior(gp(variances=[0.1, 0.2, 0.3]), ROWS)
    with pytest.raises(ValueError, match="noise_variance must be given for a model with known noise"):
        known.append(9, 1.0)
    for variance in (-0.1, math.nan, math.inf, "0.1"):
        with pytest.raises(ValueError, match="noise_variance must be a finite number >= 0, got"):
            known.append(9, 1.0, noise_variance=variance)
    learned = DiscretePosterior(gp(), ROWS)
    with pytest.raises(
        ValueError, match="noise_variance must be None for a model that learns its noise"
    ):
        learned.append(9, 1.0, noise_variance=0.1)
    assert known.num_observations == learned.num_observations == 3


def test_only_a_candidate_that_was_observed_once_is_corrected():
    posterior = DiscretePosterior(gp([0, 1, 5]), ROWS)
    posterior.append(20, 1.0)  # a row equal to that of 5
    for index, times in ((9, 0), (5, 2), (33, 2)):
        with pytest.raises(ValueError, match=f"got {index}, which was observed {times} times"):
            posterior.correct(index, 1.0)


@pytest.mark.parametrize(
    ("X", "Y"),
    [(ROWS[:2], column(1, 2, 3)), (ROWS[0], column(1)), (ROWS[:2].unsqueeze(0), column(1, 2))],
)
def test_points_and_outcomes_that_do_not_fit_are_refused(X, Y):
    with pytest.raises(ValueError, match="X and Y must be m x d points and m x 1 outcomes"):
        DiscretePosterior(gp(), ROWS).condition_on_observations(X, Y)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_missing_numbers_in_conditioning_are_refused_by_name(bad):
    posterior = DiscretePosterior(gp(variances=[0.1, 0.2, 0.3]), ROWS)
    rows, found = ROWS[:2], "NaN" if math.isnan(bad) else "an infinity"
    for X, Y, noise, message in (
        (nan_at(1, 2)[:2] if math.isnan(bad) else rows * bad, column(1, 2), None, "X must be finite"),
        (rows, column(1, bad), None, f"Y must be finite, got {found} at position 1"),
        (rows, column(1, 2), column(bad, 1), f"noise must be finite, got {found} at position 0"),
        (rows, column(1, 2), column(1, -1), "noise must be a finite number >= 0, got -1.0"),
        (rows, column(1, 2), column(1), "noise their m x 1 variances"),
    ):
        with pytest.raises(ValueError, match=message):
            posterior.condition_on_observations(X, Y, noise=noise)
    with pytest.raises(ValueError, match="X must be finite"):
        posterior.hallucinate_points(rows * bad)
    positive = DiscretePosterior(gp(values=[1.0, 2.0, 3.0], outcome="log"), ROWS)
    with pytest.raises(ValueError, match="Y must be finite after the model's Log, got -1.0"):
        positive.condition_on_observations(rows, column(1, -1))


def test_scores_that_are_not_finite_are_refused():
    model = gp()
    posterior = DiscretePosterior(model, ROWS)
    model.outcome_transform.means.fill_(math.nan)
    with pytest.raises(ValueError, match="model must give finite scores, got 40 of 40"):
        DiscreteUCB(posterior, None, t=1).select()


def test_candidates_of_an_acquisition_function_must_be_those_of_its_posterior():
    posterior = DiscretePosterior(gp(), ROWS)
    for same in (None, ROWS, ROWS.clone()):
        assert DiscreteUCB(posterior, same, t=1).candidates is ROWS
    for other in (ROWS[:-1], ROWS + 1, ROWS.float(), ROWS.numpy()):
        with pytest.raises(ValueError, match="candidates must be those of the DiscretePosterior"):
            DiscreteUCB(posterior, other, t=1)


# --- devices ---


@every_device
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_device_gives_the_numbers_of_the_cpu(kernel, device):
    expected = DiscretePosterior(gp(range(6), kernel=KERNELS[kernel]), ROWS)
    posterior = DiscretePosterior(gp(range(6), kernel=KERNELS[kernel]).to(device), ROWS.to(device))
    for one in (expected, posterior):
        one.append(9, 1.0)
        one.moments()
        for index in range(10, 15):
            one.append(index, float(index % 3))
        one.correct(12, 7.0)
    assert posterior.mean.device.type == device
    twins = [one.hallucinate([30, 31]) for one in (expected, posterior)]
    for one, other in ((expected, posterior), twins):
        for wanted, actual in zip(one.moments(), other.moments(), strict=True):
            assert_close(actual.cpu(), wanted, rtol=1e-8, atol=1e-8)
    picks = [DiscreteUCB(one, None, t=2).select(q=3, exclude=[20, 33]).tolist() for one in twins]
    assert picks[0] == picks[1]
