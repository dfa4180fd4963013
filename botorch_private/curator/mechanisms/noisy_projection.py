"""NoisyProjection: the default mechanism, differentially private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.curator.mechanisms.base import (
    Drawn,
    Maps,
    check_scaled,
    plain_numbers,
    require_draw_memory,
)
from botorch_private.curator.mechanisms.entropy import Entropy, entropy_from
from botorch_private.curator.mechanisms.noise import calibrate, noised, refuse_epsilon
from botorch_private.curator.mechanisms.projection import frame_entries, isometry, subspace_projection
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw

_CHUNK_ENTRIES = 2**18
_CHUNK_COPIES = 8  # of a chunk while its noise is drawn: words, uniforms, radii, angles (measured: 7)


@dataclass(frozen=True)
class NoisyProjection:
    """Project at random, round to a public grid, add calibrated noise once per record.

    A change of one record by one unit of distance changes only its own released row, and that row's
    law by at most ``(epsilon, delta)``. Hardt & Talwar (2010) for l2 Laplace noise, Joseph, Kulesza & Yu
    (2025) for the same noise at a delta, Balle & Wang (2018) for Gaussian noise. The projection is
    public and independent of the data, and its effect on the sensitivity is exact (`noise_law`,
    `gaussian.subspace_shrinkage`).

    Args:
        epsilon: Privacy parameter for neighbours at one unit of distance, > 0.
        delta: Privacy parameter in [0, 1). 0 asks for a pure guarantee; what remains of delta then
            is the sampler's floating-point error, `noise_law.DELTA_FP`.
        projection_dim: Width ``r`` of a released row. None: no projection, coordinates keep their
            meaning. ``r >= d``: a random rotation into ``R^r`` after the noise, which keeps all
            distances. ``r < d``: a random subspace before the noise.
        noise: ``"laplace"`` (l2 Laplace: pure, epsilon grows linearly with distance), ``"l2"`` (the same
            density with less noise, needs ``delta > 0``; epsilon grows little faster than linearly, and
            has a pure bound beside), ``"gaussian"`` (needs ``delta > 0``, epsilon grows faster), or
            ``"auto"``: the smallest variance per coordinate, or l2 Laplace within 1 % of it. With
            ``projection_dim < d``, l2 Laplace must pay ``sqrt(d/r)``; ``"auto"`` with ``delta = 0`` is
            refused there rather than paying it in silence.

    Raises:
        ValueError: If a parameter is outside its range.

    Example:
        >>> mechanism = NoisyProjection(epsilon=3.0)
        >>> mechanism.guarantee(n=2004, d=2).holds
        True
    """

    epsilon: float
    delta: float = 0.0
    projection_dim: int | None = None
    noise: str = "auto"

    def __post_init__(self) -> None:
        validate.positive(epsilon=self.epsilon)
        validate.probability_or_zero(delta=self.delta)
        if self.projection_dim is not None:
            validate.count(projection_dim=self.projection_dim)
        refuse_epsilon(self.noise, self.epsilon, self.delta)
        plain_numbers(self)
        if self.noise in ("l2", "gaussian") and self.delta <= DELTA_FP:
            raise ValueError(
                f"delta must be above {DELTA_FP:.0e} for noise={self.noise!r}, got {self.delta!r}"
            )

    @property
    def isotropic(self) -> bool:
        """Whether released coordinates were mixed, so that they have no meaning of their own."""
        return self.projection_dim is not None

    def law(self, d: int) -> NoiseLaw:
        """Law of the noise on a record of ``d`` features."""
        validate.count(d=d)
        d = int(d)
        dim = self.noise_dim(d)
        if dim < d and self.delta <= DELTA_FP and self.noise == "auto":
            raise ValueError(
                f"delta must be > 0 for projection_dim={dim} < d={d} (Gaussian noise then uses the "
                f"average over projections), got {self.delta:g}; or accept noise='laplace', whose "
                f"noise is sqrt(d/r) = {np.sqrt(d / dim):.3g} times wider than without a projection"
            )
        return calibrate(self.noise, self.epsilon, self.delta, dim=dim, features=d)

    def guarantee(self, n: int, d: int) -> PrivacyGuarantee:
        """What is promised for ``n`` records of ``d`` features, before any data are seen."""
        validate.count(n=n, minimum=2)
        n, d = int(n), int(d)
        law = self.law(d)
        return PrivacyGuarantee(
            mechanism="NoisyProjection",
            epsilon=float(self.epsilon),
            delta=DELTA_FP if law.pure else float(self.delta),
            delta_fp=DELTA_FP,
            holds=True,
            assumptions=PrivacyGuarantee.OF_A_RELEASE,
            law=law,
            records=n,
            features=d,
            projection_dim=d if self.projection_dim is None else self.projection_dim,
        )

    def noise_variance(self, d: int) -> float:
        """Variance of the noise along each direction that carries it, in squared units.

        For ``r <= d`` that is the variance of each released coordinate. For ``r > d`` the noise
        lives in the ``d``-dimensional image of the records, and this is its variance along it.
        """
        return self.law(d).variance

    def noise_dim(self, d: int) -> int:
        """Number of directions that carry noise, ``min(r, d)``."""
        return d if self.projection_dim is None else min(self.projection_dim, d)

    def draw(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Drawn:
        """Release once. O(n d r) time; chunks of rows keep the extra memory constant.

        Args:
            scaled: ``n x d`` scaled records, in a ball (see `PublicScaling`).
            generator: None: operating-system entropy. A generator makes the release reproducible,
                which voids its guarantee: for tests and benchmarks.

        Returns:
            ``n x r`` float64 rows in the order of the records.

        Raises:
            MemoryError: If there is not the memory for it; nothing was drawn then.
        """
        table = check_scaled(scaled)
        entropy = entropy_from(generator)
        n, d = table.shape
        require_draw_memory(self, n, d)
        law, maps = self.law(d), self.draw_maps(d, entropy)
        more: Callable[[Tensor], Tensor] | None = None
        if law.dim == d or law.pure:
            # Averaged over projections, the cost at a delta holds for records that were there before
            # the projection was: who knows it can choose a record that it stretches most.
            def release_more(further: Tensor) -> Tensor:
                return self.draw_rows(check_scaled(further, minimum_rows=1), maps, entropy)

            more = release_more

        return Drawn(self.draw_rows(table, maps, entropy), more=more)

    def draw_memory(self, n: int, d: int) -> int:
        """Bytes that `draw` takes at its peak for ``n`` records of ``d`` features, its rows included."""
        width = d if self.projection_dim is None else self.projection_dim
        matrix = 0 if self.projection_dim is None else d * width
        chunk = _CHUNK_COPIES * max(_CHUNK_ENTRIES, d, width)  # at least one row at a time
        made = frame_entries(max(d, width), min(d, width)) if matrix else 0
        return 8 * max(made, n * width + matrix + chunk)

    @quiet_arithmetic
    def draw_rows(self, scaled: Tensor, maps: Maps, entropy: Entropy) -> Tensor:
        """Release ``n x d`` checked scaled records by given maps: ``n x r`` rows, as `draw` does.

        A row is a matter of its record, the maps and its own noise, so that a table may come in pieces.
        """
        n, d = scaled.shape
        law, (before, after) = self.law(d), maps
        width = d if self.projection_dim is None else self.projection_dim
        rows = np.empty((n, width))
        step = max(1, _CHUNK_ENTRIES // max(d, width))
        for start in range(0, n, step):
            exact = scaled[start : start + step].numpy()
            noisy = noised(exact if before is None else exact @ before, law, entropy)
            rows[start : start + step] = noisy if after is None else noisy @ after
        return torch.from_numpy(rows)

    def apply(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Release once and return the ``n x r`` rows alone; see `draw`."""
        return self.draw(scaled, generator=generator).rows

    def draw_maps(self, d: int, entropy: Entropy) -> Maps:
        """Draw the public linear maps of a release, before and after the noise: once for a table."""
        if self.projection_dim is None:
            return None, None
        if self.projection_dim < d:
            return subspace_projection(d, self.projection_dim, entropy), None
        return None, isometry(d, self.projection_dim, entropy)
