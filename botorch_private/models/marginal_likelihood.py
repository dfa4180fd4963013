"""Log marginal likelihood and log priors of a GP with RBF kernel, with their gradient, in NumPy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods.noise_models import HomoskedasticNoise
from gpytorch.means import ZeroMean
from gpytorch.priors import GammaPrior, LogNormalPrior
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.spatial.distance import cdist
from torch import Tensor

from botorch_private.models.kernel import ReleasedInputKernel

Array = NDArray[np.float64]
_potrf, _potrs, _trtri = get_lapack_funcs(("potrf", "potrs", "trtri"), dtype=np.float64)
_JITTER = (0.0, 1e-8, 1e-7, 1e-6)  # what GPyTorch adds to a float64 matrix, in turn
_GAP = {torch.float64: 1e-10, torch.float32: 1e-6}  # relative, to a bound of softplus or sigmoid


class Evaluation(NamedTuple):
    """Log marginal likelihood in nats, and its derivatives by logarithms of hyperparameters.

    Attributes:
        value: Minus infinity where the covariance matrix is not positive definite.
        mean: Prior mean, in units of the outcomes: the given one, or the best one.
        lengthscale: As many derivatives as length-scales.
        outputscale: One derivative.
        noise: One derivative, by the logarithm of a factor of all noise variances.
    """

    value: float
    mean: float
    lengthscale: Array
    outputscale: Array
    noise: Array


class MarginalLikelihood:
    """Log marginal likelihood of a Gaussian process, Rasmussen & Williams (2006), equation 5.8.

    The covariance is ``s k(z, z')`` with output scale ``s`` and ``k`` as in `ReleasedInputKernel`
    (without noise on the rows: the RBF kernel), plus observation noise on the diagonal. The mean is
    constant. A matrix that is not positive definite to rounding gets the jitter of GPyTorch on its
    diagonal: 1e-8, then 1e-7, then 1e-6.

    An evaluation costs O(t^3 + t^2 r). With a length-scale for all coordinates, distances are
    computed once.

    Args:
        Z: Rows, ``t x r``.
        y: Outcomes, ``t`` numbers.
        noise_variance: ``s2 >= 0`` of each noisy coordinate, in squared units of the rows.
        noise_dim: Number of noisy coordinates. None: one length-scale per coordinate (ARD), and
            noise in each.
        mean: Prior mean. None: at each evaluation the best one, ``1' A^-1 y / 1' A^-1 1``.
    """

    def __init__(
        self,
        Z: Array,
        y: Array,
        *,
        noise_variance: float = 0.0,
        noise_dim: int | None = 0,
        mean: float | None = None,
    ) -> None:
        squared = cdist(Z, Z, "sqeuclidean")
        self._same = np.flatnonzero(squared == 0)  # pairs of one record: covariance s
        self._squared = None if noise_dim is None else squared
        self._Z = Z - Z.mean(axis=0)
        self._noise_variance = noise_variance
        self._noise_dim = 1 if noise_dim is None else noise_dim  # that share a length-scale
        self._known_mean = mean is not None
        self._origin = float(y.mean()) if mean is None else mean
        self._right_sides = np.ones((len(y), 2), order="F")
        self._right_sides[:, 0] = y - self._origin

    def __call__(self, lengthscale: Array, outputscale: Array, noise: Array) -> Evaluation:
        """Evaluate.

        Args:
            lengthscale: One positive number, or one per coordinate, in units of the rows.
            outputscale: One positive number, in squared units of the outcomes.
            noise: Variance of all observations, or of each, in squared units of the outcomes.
        """
        t, s = len(self._right_sides), outputscale[0]
        squared = lengthscale**2
        smooth = squared + 2 * self._noise_variance  # squared length-scale between noisy rows
        if self._squared is None:
            scaled = self._Z / np.sqrt(smooth)
            distances = cdist(scaled, scaled, "sqeuclidean")
        else:
            scaled, distances = self._Z, self._squared / smooth
        shared = math.prod((squared / smooth) ** (self._noise_dim / 2))
        neighbours = np.exp(distances * -0.5)
        neighbours *= s * shared
        neighbours.reshape(-1)[self._same] = 0.0
        covariance = neighbours.copy()
        entries = covariance.reshape(-1)  # a view
        entries[self._same] = s
        entries[:: t + 1] += noise
        factor = _cholesky(covariance)
        if factor is None:
            return self._refused(lengthscale)
        y, ones = self._right_sides.T
        solved_y, solved_ones = _potrs(factor, self._right_sides, lower=1)[0].T
        mean = 0.0 if self._known_mean else (ones @ solved_y) / (ones @ solved_ones)
        alpha = solved_y - mean * solved_ones
        fit, log_root = (y - mean) @ alpha, np.log(factor.diagonal()).sum()
        value = float(-fit / 2 - log_root - t / 2 * math.log(2 * math.pi))  # eq. 5.8
        if not math.isfinite(value):
            return self._refused(lengthscale)

        # Derivatives are tr((alpha alpha' - A^-1) dA) / 2, eq. 5.9. None of them needs the derivative
        # of the mean: it is known, or the value is stationary in it.
        root = _trtri(factor, lower=1)[0]  # LAPACK's potri starts threads, however small the matrix
        weights = np.multiply.outer(alpha, alpha)
        weights -= root.T @ root
        by_noise = float((noise * weights.diagonal()).sum())
        by_covariance = float(fit - t)  # where dA = A
        weights *= neighbours
        by_shared = self._noise_dim * 2 * self._noise_variance * weights.sum()
        if self._squared is None:
            # sum_ij w_ij (u_i - u_j)^2 for each coordinate u, without a t x t pass for each.
            by_distance = weights.sum(axis=0) @ scaled**2 - (scaled * (weights @ scaled)).sum(axis=0)
            by_distance *= 2
        else:
            weights *= distances
            by_distance = weights.sum()
        return Evaluation(
            value,
            self._origin + float(mean),
            lengthscale=(by_shared + squared * by_distance) / smooth / 2,
            outputscale=np.array([by_covariance - by_noise]) / 2,
            noise=np.array([by_noise]) / 2,
        )

    def _refused(self, lengthscale: Array) -> Evaluation:
        nothing = np.zeros(1)
        return Evaluation(-math.inf, self._origin, np.zeros_like(lengthscale), nothing, nothing)


def _cholesky(matrix: Array) -> Array | None:
    """Lower factor of a symmetric matrix, with jitter on its diagonal if needed; None if that fails."""
    diagonal = matrix.diagonal().copy()
    for jitter in _JITTER:
        if jitter:
            matrix.flat[:: len(matrix) + 1] = diagonal + jitter
        factor, failed = _potrf(matrix.T, lower=1, clean=1)
        if not failed:
            return factor
    return None


@dataclass(frozen=True)
class Hyperparameter:
    """Length-scales, an output scale or a noise variance: positive numbers of a GPyTorch module.

    Args:
        module: The kernel or noise model that has them.
        name: Their name there.
    """

    module: Any
    name: str

    @property
    def raw(self) -> Any:
        """Parameter that the numbers are a function of."""
        return getattr(self.module, f"raw_{self.name}")

    @property
    def constraint(self) -> Any:
        """Constraint that maps it to the numbers."""
        return getattr(self.module, f"raw_{self.name}_constraint")

    @property
    def prior(self) -> Any:
        """Prior of the numbers, or None."""
        return getattr(self.module, f"{self.name}_prior", None)

    @property
    def value(self) -> Array:
        """The numbers."""
        return numbers(getattr(self.module, self.name))

    def bounds(self) -> tuple[Array, Array]:
        """Least and greatest values, inside open bounds and far from overflow."""
        # The square of the least number and the inverse of that are normal numbers.
        least = math.sqrt(torch.finfo(self.raw.dtype).tiny)
        gap = _GAP[self.raw.dtype] if self.constraint.enforced else 0.0
        lower, upper = map(numbers, self.constraint)
        lower, upper = np.maximum(lower, least) * (1 + gap), np.minimum(upper, 1 / least) * (1 - gap)
        return np.full(self.raw.numel(), lower), np.full(self.raw.numel(), upper)

    def write(self, value: Array) -> None:
        """Set the numbers."""
        raw = self.constraint.inverse_transform(torch.from_numpy(value).view(self.raw.shape))
        self.module.initialize(**{f"raw_{self.name}": raw.to(self.raw.dtype)})


def hyperparameters(model: Any) -> list[Hyperparameter]:
    """Positive hyperparameters of a model, the length-scales first."""
    kernel, noise = model.covar_module, model.likelihood.noise_covar
    others = []
    if type(kernel) is ScaleKernel:
        others.append(Hyperparameter(kernel, "outputscale"))
        kernel = kernel.base_kernel
    if type(noise) is HomoskedasticNoise:
        others.append(Hyperparameter(noise, "noise"))
    return [Hyperparameter(kernel, "lengthscale"), *others]


class LogDensity:
    """Log posterior density of hyperparameters, as a function of their logarithms ``u``.

    Priors are densities of the values ``exp(u)``, as in GPyTorch, and of one form:
    ``a + b u - w (u - m)^2 / 2 - r exp(u)``.

    Args:
        model: A `SingleTaskGP` in eval mode with kernel, mean, noise and priors of the known kinds.

    Attributes:
        t: Number of observations.
        free: Which entries of ``u`` are not frozen.
        lower: Least entries of ``u``.
        upper: Greatest entries of ``u``.
    """

    def __init__(self, model: Any) -> None:
        self._parts = hyperparameters(model)
        self.t = len(model.train_targets)
        self._sizes = [part.raw.numel() for part in self._parts]
        ends = np.cumsum(self._sizes)
        self._places = [slice(end - size, end) for end, size in zip(ends, self._sizes, strict=True)]
        self._names = [part.name for part in self._parts]
        self._known = {"outputscale": np.ones(1), "noise": numbers(model.likelihood.noise)}
        for name in self._names:
            self._known.pop(name, None)
        self._prior = np.zeros((5, sum(self._sizes)))
        for part, place in zip(self._parts, self._places, strict=True):
            for row, coefficient in zip(self._prior, PRIORS[type(part.prior)](part.prior), strict=True):
                row[place] = coefficient
        self._constant = None if type(model.mean_module) is ZeroMean else model.mean_module.raw_constant
        self._Z = numbers(model.train_inputs[0]).reshape(self.t, -1)
        self._y = numbers(model.train_targets)
        self._likelihood = MarginalLikelihood(
            self._Z, self._y, mean=self._known_mean(), **_row_noise(self._parts[0].module)
        )
        self._now = np.log(np.concatenate([part.value for part in self._parts]))
        self.free = np.repeat([part.raw.requires_grad for part in self._parts], self._sizes)
        least, most = zip(*[part.bounds() for part in self._parts], strict=True)
        self._least, self._most = np.concatenate(least), np.concatenate(most)
        self.lower, self.upper = np.log(self._least), np.log(self._most)

    def __call__(self, u: Array) -> tuple[float, Array, float]:
        """Density in nats, minus infinity where it is none, its gradient, and the prior mean."""
        values = np.exp(u)
        learned = {name: values[place] for name, place in zip(self._names, self._places, strict=True)}
        evaluation = self._likelihood(**learned, **self._known)
        offset, slope, weight, center, rate = self._prior
        gap = u - center
        prior = offset + slope * u - weight * gap**2 / 2 - rate * values
        gradient = np.concatenate([getattr(evaluation, name) for name in self._names])
        gradient += slope - weight * gap - rate * values
        return evaluation.value + float(prior.sum()), gradient, evaluation.mean

    def write(self, u: Array) -> None:
        """Set those hyperparameters of the model that are not frozen, and its constant mean."""
        values = np.clip(np.exp(u), self._least, self._most)
        for part, place in zip(self._parts, self._places, strict=True):
            if part.raw.requires_grad:
                part.write(values[place])
        if self._constant is not None and self._constant.requires_grad:
            *_, mean = self(np.log(np.concatenate([part.value for part in self._parts])))
            self._constant.data.fill_(mean)

    def starts(self) -> list[Array]:
        """Where to climb from: the model's own values; a long and a short length-scale.

        The latter are ``e`` and ``1 / e`` times the root mean square distance of two rows, with the
        variance of the outcomes as output scale and a tenth of it as noise. Frozen values stay.
        """
        distance = math.sqrt(2 * self._Z.var(axis=0).sum())
        variance = self._y.var()
        starts = [np.clip(self._now, self.lower, self.upper)]
        for length in (math.e * distance, distance / math.e):
            typical = {"lengthscale": length, "outputscale": variance, "noise": variance / 10}
            start = np.log(np.repeat([typical[name] for name in self._names], self._sizes))
            if np.isfinite(start).all():
                starts.append(np.clip(start, self.lower, self.upper))
        return [np.where(self.free, start, self._now) for start in starts]

    def _known_mean(self) -> float | None:
        if self._constant is None:
            return 0.0
        return None if self._constant.requires_grad else float(self._constant.detach())


def _row_noise(kernel: Any) -> dict[str, Any]:
    """Noise on the rows that a kernel knows: arguments of `MarginalLikelihood`."""
    ard = kernel.lengthscale.numel() > 1
    if type(kernel) is not ReleasedInputKernel:
        return {"noise_variance": 0.0, "noise_dim": None if ard else 0}
    dims = (kernel.noise_dim or 0) if kernel.ard_num_dims is None else 1
    return {"noise_variance": float(kernel.noise_variance), "noise_dim": None if ard else dims}


# Coefficients are computed in the dtype that GPyTorch takes them in: that of the prior's own numbers.


def _log_normal(prior: Any) -> tuple[Any, ...]:
    offset = -numbers(prior.scale.log()) - math.log(2 * math.pi) / 2
    return offset, -1.0, 1 / numbers(prior.scale**2), numbers(prior.loc), 0.0


def _gamma(prior: Any) -> tuple[Any, ...]:
    shape, rate = prior.concentration, prior.rate
    offset = torch.xlogy(shape, rate) - torch.lgamma(shape)
    return numbers(offset), numbers(shape - 1), 0.0, 0.0, numbers(rate)


PRIORS = {LogNormalPrior: _log_normal, GammaPrior: _gamma, type(None): lambda _: (0.0,) * 5}


def numbers(tensor: Tensor) -> Array:
    """The numbers of a tensor on the CPU, in one dimension."""
    return tensor.detach().double().reshape(-1).numpy()
