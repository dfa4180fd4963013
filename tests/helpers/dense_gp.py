"""Models for tests, and their posteriors by dense formulas that share no code with the package."""

import functools
import math

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import ChainedOutcomeTransform, Log, Normalize, Standardize
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
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from helpers.draws import seeded, uniform

from botorch_private import (
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
)
from botorch_private.modeler.models import candidate_block, prior, sweep

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=on_cuda)])


def column(*values):
    return torch.tensor(values, dtype=torch.float64).unsqueeze(-1)


N = 40
ROWS = uniform(N, 3)
ROWS[20] = ROWS[33] = ROWS[5]  # equal rows, far apart
VALUES = torch.sin(5 * ROWS[:, 0]) + ROWS[:, 1] - ROWS[:, 2].square()


@functools.cache
def private():
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    return PrivateProjectionTransform(ROWS, scaling, NoisyProjection(8.0), generator=seeded(1))


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
    """Cut the candidates into several blocks, each block into chunks, and V into slabs."""
    patch.setattr(sweep, "_BLOCK", block)
    for module in (sweep, candidate_block):
        patch.setattr(module, "SLAB", slab)
    for kind in (prior.ForwardPrior, prior.StationaryPrior):
        patch.setattr(kind, "chunk", lambda self, m: chunk)
