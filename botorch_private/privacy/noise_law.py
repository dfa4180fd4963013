r"""The law of the noise on one record, and what it costs at any distance.

A record is rounded to a public grid, and integer noise is added on that grid. Three laws are known:

* ``"laplace"``: l2 Laplace, density proportional to ``exp(-|z| / scale)`` (the K-norm mechanism of
  Hardt & Talwar 2010 for the Euclidean ball; planar Laplace in two dimensions, Andres et al. 2013).
  The direction is uniform, the radius ``Gamma(dim, scale)``.
* ``"l2"``: the same density, whose cost is counted at an epsilon and a delta (Joseph, Kulesza & Yu 2025;
  `l2_noise`). A given scale costs less that way than by the largest loss, which remains a bound.
* ``"gaussian"``: iid normal coordinates of standard deviation ``scale``.

The continuous draw is rounded to the grid, which is post-processing of an ideal mechanism: the ideal
calibration holds as it is. Two things remain, and both are charged here, against ourselves.

*Rounding of the record.* Two records at distance ``D`` are at most ``D + sqrt(dim) grid`` apart once
rounded, and float64 errs by at most `INPUT_ERROR` times the largest admitted norm on the way there.

*Arithmetic of the sampler.* The sampler (`mechanisms.entropy`) computes a coordinate of a draw with
an error of at most ``u = 128 * 2^-53`` times the length of the draw, or times ``rho_0`` where that
is longer: directions are accurate at every magnitude, tails are not cut off. A grid cell within ``rho``
of the record therefore gets a probability that is off by a factor of at most ``e^eta(rho)``, with

``eta(rho) = 4 dim e / grid + sqrt(dim) e s``,  ``e = u rho``  (``rho >= rho_0 >= scale``),

where ``s`` is the slope of the log density within ``rho`` (``1 / scale``, or ``rho / scale^2``).
Outside ``rho_0`` lies a share of at most `DELTA_FP` of the noise. So for records at distance ``D``
the sampler adds ``eta(rho_0) + eta(rho_0 + D)`` to epsilon and `DELTA_FP` to delta.

*Why 128 is enough for every dim up to* `LARGEST_DIM`. In units of ``h = 2^-53``, the error of one
rounding, and to first order (the rest is below 1e-12 of it). Taken for granted: ``log``, ``log1p``,
``sin`` and ``cos`` err by at most 8 h of their value; NumPy's stay within 4 units in the last place.

* A uniform errs by 3 h of itself: two roundings, and 1/2 h since it stands for a cell of the unit
  interval. An exponential errs by ``1.45 * 3 + 8 < 13`` (1.45: how much a logarithm magnifies, at 1/2),
  its root by 7.5, an angle by 5 and its sine or cosine by 13: a normal by ``7.5 + 13 + 1 < 22``.
* A coordinate of the direction, a normal over the length of all, errs by ``2 * 22``, and that length
  by ``1.5 + log2(dim) / 2`` in its squares, its sum by halves (`sum_by_halves`), and its root.
* The radius is a sum of ``m = ceil(dim / 16)`` logarithms of products. A product errs by
  ``16 * 3 + 15 = 63``, and so its logarithm, absolutely: all of them by ``63 m <= 4 rho_0 / scale``,
  since ``rho_0 / scale > dim + 34``. The logarithms err by 8 of themselves and their sum, by halves, by
  ``log2(m)``.
* Two scalings, a quotient and a product add 4.

That is ``44 + 1.5 + 4 + 8 + 4 = 61.5``, and ``log2(dim) / 2 + log2(m)``, each logarithm rounded up: at
most 56 for ``dim = 2^40``. A Gaussian has the normals and two scalings alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import chdtri, gammainccinv, gammaincinv

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.privacy.gaussian import gaussian_epsilon, subspace_shrinkage
from botorch_private.privacy.group_privacy import majorant_epsilon
from botorch_private.privacy.l2_noise import LARGEST_L2_DIM, Shifts, l2_epsilon, l2_losses
from botorch_private.privacy.random_shift import Squares

GRID = 2.0**-12
DELTA_FP = 2.0**-50
LARGEST_NORM = 1e4
INPUT_ERROR = 2.0**-52
SAMPLER_ERROR = 128 * 2.0**-53
LARGEST_DIM = 2**40  # for which the sampler's error is counted above
_NUDGE = 1 + 1e-15  # of a quotient, rounded against ourselves

_l2_epsilon = lru_cache(maxsize=256)(
    lambda delta, shift, dim: l2_epsilon(delta, Shifts.known(shift), dim)
)


@dataclass(frozen=True)
class NoiseLaw:
    """Law of the noise added to one record.

    Args:
        kind: ``"laplace"`` (l2 Laplace), ``"l2"`` (the same noise at an epsilon and a delta) or
            ``"gaussian"``.
        dim: Coordinates that carry noise, ``min(projection_dim, features)``.
        scale: Radius scale of l2 Laplace and l2 noise, or standard deviation of a Gaussian
            coordinate, > 0, in scaled units.
        features: Features of a record, ``d``. Where ``dim < d`` the record went through a random
            projection that can stretch a difference by up to ``sqrt(d / dim)``.
        grid: Step of the public grid, > 0.

    Example:
        >>> law = NoiseLaw("laplace", dim=2, scale=0.5, features=2)
        >>> round(law.epsilon(1.0, law.delta_fp), 2)
        2.0
    """

    kind: str
    dim: int
    scale: float
    features: int
    grid: float = GRID

    delta_fp: ClassVar[float] = DELTA_FP
    """What the sampler's floating-point arithmetic adds to delta for each draw of the noise."""

    def __post_init__(self) -> None:
        validate.one_of(("laplace", "l2", "gaussian"), kind=self.kind)
        validate.count(dim=self.dim, features=self.features)
        validate.positive(scale=self.scale, grid=self.grid)
        if self.dim > self.features:
            raise ValueError(f"dim must be at most features={self.features}, got {self.dim}")
        if self.dim > LARGEST_DIM:
            raise ValueError(
                f"dim must be at most {LARGEST_DIM}, for which rounding is counted, got {self.dim}"
            )

    @property
    def exponential(self) -> bool:
        """Whether the density is proportional to ``exp(-|z| / scale)``, else that of a Gaussian."""
        return self.kind != "gaussian"

    @property
    def variance(self) -> float:
        """Variance of one coordinate of the noise, in squared scaled units."""
        return self.scale**2 * (self.dim + 1 if self.exponential else 1)

    @property
    def sensitivity(self) -> float:
        """Largest distance in released space per unit of distance between records."""
        return math.sqrt(self.features / self.dim)

    @property
    def rounding(self) -> float:
        """What rounding to the grid and float64 can add to a distance in released space."""
        float_error = INPUT_ERROR * (self.features + 16) * LARGEST_NORM * self.sensitivity
        return math.sqrt(self.dim) * (self.grid + 2 * float_error)

    @quiet_arithmetic
    def shift(self, distance: float) -> tuple[np.ndarray, np.ndarray]:
        """Distances in released space of two records at ``distance``, with their probabilities."""
        if self.dim == self.features:
            return np.array([distance + self.rounding]), np.ones(1)
        shrinkage, weights = subspace_shrinkage(self.features, self.dim)
        return distance * shrinkage + self.rounding, weights

    @property
    def pure(self) -> bool:
        """Whether epsilon is counted at no delta, but for the floating-point error `delta_fp`."""
        return self.kind == "laplace"

    def gaussian_mu(self, distance: float, records: int = 1) -> float | None:
        """Shift over standard deviation, where the noise is one Gaussian with a known shift; else None.

        ``records`` rows that move by ``distance`` each are ``sqrt(records)`` times as far apart.
        """
        if self.kind != "gaussian" or self.dim < self.features:
            return None
        return math.sqrt(records) * (distance + self.rounding) / self.scale

    @quiet_arithmetic
    def epsilon(self, distance: float, delta: float, records: int = 1) -> float:
        """Epsilon for two records at ``distance`` units, the sampler's arithmetic included.

        Args:
            distance: Distance in scaled units, >= 0.
            delta: The total delta, ``records * delta_fp`` included. l2 Laplace spends no more than that.
            records: How many records move by that distance at once, in whatever directions. With l2
                noise they add up, each with its share of delta.

        Returns:
            epsilon >= 0, infinite where a Gaussian law is asked for no more than ``records * delta_fp``.
        """
        if distance == 0:
            return 0.0
        slack = records * self.arithmetic_slack(distance)
        pure = self.pure_epsilon(distance, records)
        ideal_delta = (delta - records * DELTA_FP) * math.exp(-slack)
        if self.pure or ideal_delta <= 0:
            return pure
        if self.kind == "l2":
            share = ideal_delta / records * (1 - 1e-12)
            return min(pure, records * self._l2_epsilon(share, distance) + slack)
        mu = self.gaussian_mu(distance, records)
        if mu is not None:
            return gaussian_epsilon(ideal_delta, mu) + slack
        squares, weights = self.gaussian_squares(distance, records) or Squares.known(math.inf)
        if records == 1:
            return gaussian_epsilon(ideal_delta, np.sqrt(squares), weights) + slack
        return majorant_epsilon(ideal_delta, squares, weights) + slack

    @quiet_arithmetic
    def pure_epsilon(self, distance: float, records: int = 1) -> float:
        """Epsilon at no delta but ``records * delta_fp``; infinite for a Gaussian.

        It is the largest privacy loss there is, and grows in proportion to the distance.

        Args:
            distance: Distance in scaled units, >= 0.
            records: How many records move by that distance at once.
        """
        if distance == 0:
            return 0.0
        if not self.exponential:
            return math.inf
        largest = (distance * self.sensitivity + self.rounding) / self.scale
        return records * (largest + self.arithmetic_slack(distance))

    def losses(self, distance: float, steps: int) -> tuple[np.ndarray, np.ndarray] | None:
        """A law of losses that is no smaller than that of the noise; None where none is known.

        Args:
            distance: Distance in scaled units, > 0.
            steps: How many losses.

        Returns:
            Rising losses and their probabilities, the sampler's arithmetic not included.
        """
        if self.kind != "l2" or self.dim < self.features or self.dim > LARGEST_L2_DIM:
            return None
        return l2_losses((distance + self.rounding) / self.scale * _NUDGE, self.dim, steps)

    def _l2_epsilon(self, delta: float, distance: float) -> float:
        if self.dim == self.features:
            return _l2_epsilon(delta, (distance + self.rounding) / self.scale * _NUDGE, self.dim)
        shift, weights = self.shift(distance)
        return l2_epsilon(delta, Shifts(shift / self.scale * _NUDGE, weights), self.dim)

    def gaussian_squares(self, distance: float, records: int = 1) -> Squares | None:
        """Law of ``mu^2``, ``mu`` being shift over standard deviation; None for other noise.

        It is known where nothing is projected. Where a random projection stretches the moves of several
        records, it is that of moves in one direction (see `group_privacy`).
        """
        if self.kind != "gaussian":
            return None
        mu = self.gaussian_mu(distance, records)
        if mu is not None:
            return Squares.known(mu**2)
        shift, weights = self.shift(distance)
        return Squares(records * (shift / self.scale) ** 2, weights)

    @quiet_arithmetic
    def radius(self, probability: float) -> float:
        """Radius that holds the noise with ``probability`` in (0, 1), in scaled units."""
        validate.probability(probability=probability)
        if self.exponential:
            return self.scale * float(gammaincinv(self.dim, probability))
        return self.scale * math.sqrt(float(chdtri(self.dim, 1 - probability)))

    @quiet_arithmetic
    def arithmetic_slack(self, distance: float) -> float:
        """What the sampler's floating-point arithmetic can add to epsilon at ``distance``."""
        near = self._tail_radius()
        return self._cell_error(near) + self._cell_error(near + distance * self.sensitivity)

    def _tail_radius(self) -> float:
        # Half of DELTA_FP: the other half is room for the float error of the radius itself.
        if self.exponential:
            return self.scale * float(gammainccinv(self.dim, DELTA_FP / 2))
        return self.scale * math.sqrt(float(chdtri(self.dim, DELTA_FP / 2)))

    def _cell_error(self, rho: float) -> float:
        error = SAMPLER_ERROR * rho
        slope = 1 / self.scale if self.exponential else rho / self.scale**2
        return 4 * self.dim * error / self.grid + math.sqrt(self.dim) * error * slope
