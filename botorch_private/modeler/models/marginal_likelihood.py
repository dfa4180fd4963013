"""Log marginal likelihood of a GP with RBF kernel, with its gradient, in NumPy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
_potrf, _potrs, _trtri = get_lapack_funcs(("potrf", "potrs", "trtri"), dtype=np.float64)
# What GPyTorch adds to a float64 matrix, in turn; here in units of the output scale, which has the
# squared unit of the outcomes.
_JITTER = (0.0, 1e-8, 1e-7, 1e-6)


class Evaluation(NamedTuple):
    """Log marginal likelihood in nats, and its derivatives by logarithms of hyperparameters.

    Attributes:
        value: Minus infinity where the covariance matrix is not positive definite.
        mean: Prior mean, in units of the outcomes: the given one, or the best one.
        lengthscale: As many derivatives as length-scales.
        outputscale: One derivative.
        noise: One derivative, by the logarithm of a factor of all noise variances but the known ones.
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
    diagonal: 1e-8, then 1e-7, then 1e-6 of the output scale.

    An evaluation costs O(t^3 + t^2 r). With a length-scale for all coordinates, distances are
    computed once.

    Args:
        Z: Rows, ``t x r``.
        y: Outcomes, ``t`` numbers.
        noise_variance: ``s2 >= 0`` of each noisy coordinate, in squared units of the rows: one number,
            or with ``noise_dim=None`` one for each coordinate.
        noise_dim: Number of noisy coordinates. None: coordinates are told apart, by a length-scale
            each (ARD), by a noise variance each, or both, and there is noise in each.
        known_noise: Variances beside those of an evaluation, in squared units of the outcomes: one
            number, or one for each observation.
        mean: Prior mean. None: at each evaluation the best one, ``1' A^-1 y / 1' A^-1 1``.
    """

    def __init__(
        self,
        Z: Array,
        y: Array,
        *,
        noise_variance: float | Array = 0.0,
        noise_dim: int | None = 0,
        known_noise: float | Array = 0.0,
        mean: float | None = None,
    ) -> None:
        squared = cdist(Z, Z, "sqeuclidean")
        self._same = np.flatnonzero(squared == 0)  # pairs of one record: covariance s
        self._squared = None if noise_dim is None else squared
        self._Z = Z - Z.mean(axis=0)
        self._noise_variance = noise_variance
        self._known_noise = known_noise
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
        entries[:: t + 1] += noise + self._known_noise
        density = density_of(covariance, self._right_sides, s, known_mean=self._known_mean)
        if density is None:
            return self._refused(lengthscale)
        value, mean, fit, weights = density
        by_noise = float((noise * weights.diagonal()).sum())
        by_known = float((self._known_noise * weights.diagonal()).sum())
        by_covariance = fit - t  # where dA = A
        weights *= neighbours
        by_shared = self._noise_dim * 2 * self._noise_variance * weights.sum()
        if self._squared is None:
            # sum_ij w_ij (u_i - u_j)^2 for each coordinate u, without a t x t pass for each.
            by_distance = weights.sum(axis=0) @ scaled**2 - (scaled * (weights @ scaled)).sum(axis=0)
            by_distance *= 2
        else:
            weights *= distances
            by_distance = weights.sum()
        by_lengthscale = (by_shared + squared * by_distance) / smooth / 2
        if len(lengthscale) == 1:
            by_lengthscale = by_lengthscale.sum(keepdims=True)  # one for all coordinates
        return Evaluation(
            value,
            self._origin + mean,
            lengthscale=by_lengthscale,
            outputscale=np.array([by_covariance - by_noise - by_known]) / 2,
            noise=np.array([by_noise]) / 2,
        )

    def _refused(self, lengthscale: Array) -> Evaluation:
        nothing = np.zeros(1)
        return Evaluation(-math.inf, self._origin, np.zeros_like(lengthscale), nothing, nothing)


class Density(NamedTuple):
    """Log density of outcomes under a covariance matrix, and what its derivatives are made of.

    A derivative is ``tr((alpha alpha' - A^-1) dA) / 2``, eq. 5.9. None of them needs the derivative of
    the
    mean: it is known, or the value is stationary in it.

    Attributes:
        value: In nats, eq. 5.8.
        mean: Prior mean beyond the origin of the outcomes.
        fit: ``(y - mean)' A^-1 (y - mean)``.
        weights: ``alpha alpha' - A^-1``.
    """

    value: float
    mean: float
    fit: float
    weights: Array


def density_of(
    covariance: Array, right_sides: Array, scale: float, *, known_mean: bool
) -> Density | None:
    """Evaluate; None where the matrix is not positive definite, or nothing finite comes of it.

    Args:
        covariance: ``t x t``, overwritten.
        right_sides: ``t x 2``: outcomes, and ones.
        scale: Output scale, in units of which jitter is.
        known_mean: Whether the mean is 0; else it is the best one, ``1' A^-1 y / 1' A^-1 1``.
    """
    t = len(covariance)
    factor = _cholesky(covariance, scale)
    if factor is None:
        return None
    y, ones = right_sides.T
    solved_y, solved_ones = _potrs(factor, right_sides, lower=1)[0].T
    mean = 0.0 if known_mean else float((ones @ solved_y) / (ones @ solved_ones))
    alpha = solved_y - mean * solved_ones
    fit, log_root = float((y - mean) @ alpha), np.log(factor.diagonal()).sum()
    value = float(-fit / 2 - log_root - t / 2 * math.log(2 * math.pi))
    if not math.isfinite(value):
        return None
    root = _trtri(factor, lower=1)[0]  # LAPACK's potri starts threads, however small the matrix
    weights = np.multiply.outer(alpha, alpha)
    weights -= root.T @ root
    return Density(value, mean, fit, weights)


def _cholesky(matrix: Array, scale: float) -> Array | None:
    """Lower factor of a symmetric matrix, with jitter on its diagonal if needed; None if that fails."""
    diagonal = matrix.diagonal().copy()
    for jitter in _JITTER:
        if jitter:
            matrix.flat[:: len(matrix) + 1] = diagonal + jitter * scale
        factor, failed = _potrf(matrix.T, lower=1, clean=1)
        if not failed:
            return factor
    return None
