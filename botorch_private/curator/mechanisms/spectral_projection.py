"""SpectralProjection: the paper's Algorithm 1, line by line. Not private."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.curator.mechanisms.base import (
    Drawn,
    check_scaled,
    plain_numbers,
    require_draw_memory,
)
from botorch_private.curator.mechanisms.entropy import entropy_from, normals
from botorch_private.privacy.guarantee import ONE_RECORD, OUTCOMES_NOT_COVERED, PrivacyGuarantee
from botorch_private.privacy.warnings import NotDifferentiallyPrivate
from botorch_private.theory.spectral import singular_value_floor

NOT_PRIVATE = (
    "with more records than features, every released column lies in the column space of the "
    "centred table, and moving one record changes that space: the two tables can be told apart "
    "without error, and where projection_dim >= d, d + 1 known records reveal all others"
)
SWITCH_LEAKS = (
    "with one record more than features, whether singular values are raised depends on the records, "
    "and that switch alone tells neighbouring tables apart"
)
FLOAT64_LEAKS = (
    "the paper's proof is for exact real numbers only: the float64 numbers of a released table lie on "
    "no grid that neighbouring tables have in common, and which of them occur tells two tables apart "
    "(measured)"
)
ONE_UNIT_ONLY = "nothing is promised beyond one unit of distance"


@dataclass(frozen=True)
class SpectralProjection:
    """Algorithm 1 of Kharkovskii et al. (2020) as printed, to reproduce the paper.

    Centre; thin SVD; raise the singular values if the smallest of the ``min(n, d)`` is below
    `theory.singular_value_floor`; project with a Gaussian matrix.

    **It gives no differential privacy.**

    * ``n > d + 1``: every column of ``Z = X M / sqrt(r)`` is a combination of the ``d`` columns of the
      centred ``X``. Changing one record changes that ``d``-dimensional space. So "the columns of Z lie
      in col(X)" has probability 1 under one table and 0 under its neighbour, and no ``(epsilon, delta)``
      with ``delta < 1`` can hold.
    * ``n = d + 1``: the two spaces agree, but the choice of branch in line 6 gives neighbours away.
    * ``n <= d``: the paper's theorem is for exact real numbers, which a computer does not have. Many
      float64 columns that one table gives (half of them, for two tables in the tests) cannot come from
      its neighbour: 100 columns tell those two apart without an error, and one does far too often.

    Args:
        epsilon: The paper's epsilon, > 0.
        delta: The paper's delta, in (0, 1).
        projection_dim: Width ``r`` of a released row.

    Warns:
        NotDifferentiallyPrivate: Whenever it is applied.

    Example:
        >>> mechanism = SpectralProjection(epsilon=3.0, delta=1e-4, projection_dim=10)
        >>> mechanism.guarantee(n=2004, d=2).holds
        False
    """

    epsilon: float
    delta: float
    projection_dim: int

    isotropic = True

    def __post_init__(self) -> None:
        validate.positive(epsilon=self.epsilon)
        validate.probability(delta=self.delta)
        validate.count(projection_dim=self.projection_dim)
        plain_numbers(self)

    @property
    def singular_value_floor(self) -> float:
        """Omega, Algorithm 1 line 5."""
        return singular_value_floor(self.epsilon, self.delta, self.projection_dim)

    def guarantee(self, n: int, d: int) -> PrivacyGuarantee:
        """What the paper claims, and why it does not hold."""
        validate.count(n=n, minimum=2)
        validate.count(d=d)
        n, d = int(n), int(d)
        reason = FLOAT64_LEAKS if n <= d else SWITCH_LEAKS if n == d + 1 else NOT_PRIVATE
        return PrivacyGuarantee(
            mechanism="SpectralProjection (Algorithm 1 of the paper, as printed)",
            epsilon=self.epsilon,
            delta=self.delta,
            holds=False,
            reasons=(reason,),
            assumptions=(ONE_UNIT_ONLY, OUTCOMES_NOT_COVERED, ONE_RECORD),
            records=n,
            features=d,
            projection_dim=self.projection_dim,
        )

    def noise_variance(self, d: int) -> float:
        """0: Algorithm 1 adds no noise to a record."""
        return 0.0

    def noise_dim(self, d: int) -> int:
        """Rank of a released table, ``min(r, d)``."""
        return min(self.projection_dim, d)

    @quiet_arithmetic
    def draw(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Drawn:
        """Release once. O(n d^2 + n d r).

        Args:
            scaled: ``n x d`` scaled records.
            generator: None: operating-system entropy.

        Returns:
            ``n x r`` float64 rows in the order of the records, and the row-wise map of the paper
            where there is one (no lifting, or full column rank).
        """
        table = check_scaled(scaled)
        n, d = table.shape
        require_draw_memory(self, n, d)
        self.warn(n, d, stacklevel=4)
        matrix = normals(entropy_from(generator), d * self.projection_dim)
        return self.project(table, torch.from_numpy(matrix.reshape(d, self.projection_dim)))

    def warn(self, n: int, d: int, *, stacklevel: int = 2) -> None:
        """Warn that it is not private, as `draw` does: for who releases, before anything is spent."""
        warnings.warn(
            f"SpectralProjection on {n} records of {d} features is not differentially private: "
            f"{self.guarantee(n, d).reasons[0]}. Use NoisyProjection.",
            NotDifferentiallyPrivate,
            stacklevel=stacklevel,
        )

    def draw_memory(self, n: int, d: int) -> int:
        """Bytes that `draw` takes at its peak for ``n`` records of ``d`` features, its rows included."""
        r, k = self.projection_dim, min(n, d)
        svd = 3 * n * d + 3 * n * k + 2 * k * d + 5 * k * k  # LAPACK's dgesdd, its copies and its work
        return 8 * max(6 * d * r, svd + d * r + n * r)

    def apply(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Release once and return the ``n x r`` rows alone; see `draw`."""
        return self.draw(scaled, generator=generator).rows

    @quiet_arithmetic
    def project(self, table: Tensor, matrix: Tensor) -> Drawn:
        """Algorithm 1 for a given ``d x r`` matrix ``M``."""
        r = self.projection_dim
        centre = table.mean(dim=0)
        centred = table - centre  # line 2
        u, s, vt = np.linalg.svd(centred.numpy(), full_matrices=False)  # line 4
        omega = self.singular_value_floor  # line 5
        weights = matrix / math.sqrt(r)
        if s[-1] >= omega:  # line 6
            rows = centred @ weights  # line 7
            return Drawn(rows, _linear(centre, weights))
        lifted = np.sqrt(s**2 + omega**2)  # line 9
        rows = torch.from_numpy((u * lifted) @ vt) @ weights  # line 10
        rank_floor = s[0] * max(table.shape) * np.finfo(np.float64).eps
        if len(s) < table.shape[1] or s[-1] <= rank_floor:
            return Drawn(rows)  # lifted null directions have no row-wise map
        stretch = torch.from_numpy((vt.T * (lifted / s)) @ vt)
        return Drawn(rows, _linear(centre, stretch @ weights))


def _linear(centre: Tensor, weights: Tensor):
    def row_map(rows: Tensor) -> Tensor:
        return (rows - centre.to(rows)) @ weights.to(rows)

    return row_map
