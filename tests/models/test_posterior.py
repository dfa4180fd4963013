"""DiscretePosterior against dense formulas that share no code with it, and against BoTorch."""

import copy
import functools
import math

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    UpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.models.transforms import ChainedOutcomeTransform, Log, Normalize, Standardize
from botorch.optim import optimize_acqf_discrete
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
    width = l2 + 2 * float(kernel.noise_variance)
    shrink = l2 / width
    exponent = 0.5 if len(l2) > 1 else (kernel.noise_dim or 0) / 2
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


@pytest.mark.parametrize("kernel", KERNELS)
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
