"""DenoisedRelease: released rows drawn towards what the rows together say about the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.memory import require_memory
from botorch_private.exchange.release import Release

_MOST_DROWNED = 16  # coordinates for the variance of axes that are not estimated
_MARGIN = 1e-3  # above the edge, where an axis keeps a share of itself


@dataclass(frozen=True, eq=False, repr=False)
class DenoisedRelease(Release):
    """Release whose rows are estimates of the inputs, with the uncertainty that is left.

    The rows of a release are ``z = x + e`` with noise of known variance ``s2``, so that their
    covariance is that of the inputs plus ``s2``: the inputs' own variance ``v_m`` along each principal
    axis is known from the release alone. The best linear estimate of an input along an axis is
    ``v_m / (v_m + s2)`` times what was released, and ``v_m s2 / (v_m + s2)`` of its variance is left
    (Wiener filter). For Gaussian inputs and Gaussian noise it is the posterior of the inputs.
    `ReleasedInputKernel` takes both: what noise has drowned no longer counts as distance. It matters
    where noise is as wide as the data, and where features are many and related.

    With a finite number of rows the axes are themselves noisy. The shares are those that minimize the
    squared error then (Gavish & Donoho 2017, Optimal Shrinkage of Singular Values, for Frobenius loss;
    with many rows they are the ones above). Axes whose variance noise alone could have made are not
    estimated: what the inputs vary along them, known in sum, is left as variance of up to 16 more
    coordinates that hold no distances. Everything is post-processing of released rows: it costs no
    privacy, and a modeler may do it. Row numbers stay.

    Attributes:
        candidates: ``n x m`` float64 estimates in principal axes, centred, ``m <= r``. The last columns
            are 0 where some axes were not estimated.
        guarantee: That of the release.
        noise_variance: The ``m`` variances that are left, in squared units.
        noise_dim: ``m``.
        isotropic: True: axes are mixtures of features.
        outcome_guarantee: That of the release.

    Example:
        >>> modeler = Modeler(DenoisedRelease.of(release))
    """

    @classmethod
    @on_cpu_by_default
    def of(cls, release: Release) -> DenoisedRelease:
        """Estimate the inputs of a release; O(n r^2) time.

        Args:
            release: As the curator released it.

        Raises:
            TypeError: If ``release`` is not a `Release`, or is denoised already.
            ValueError: If its rows are labels of cells, which have no noise to be drawn out of.
            MemoryError: If the ``r x r`` covariance of its columns does not fit.
        """
        if not isinstance(release, Release) or isinstance(release, DenoisedRelease):
            raise TypeError(f"release must be a Release as it came, got {type(release).__name__}")
        release.refuse_labels(
            "make_model takes lies into account by itself; work on the release as it is (denoise=False)"
        )
        assert isinstance(release.noise_variance, float | int)
        s2 = float(release.noise_variance)
        n, r = release.candidates.shape
        require_memory(
            8 * (4 * r * r + 3 * n * r),  # covariance, axes and what LAPACK's dsyevd works in; the rows
            what=f"finding the principal axes of rows of {r} numbers",
            remedy="work on the release as it is (denoise=False), or ask the curator for a smaller "
            "projection_dim",
        )
        centred = release.candidates - release.candidates.mean(dim=0)
        total, axes = torch.linalg.eigh(centred.mT @ centred / n)  # ascending
        kept = total > r * torch.finfo(total.dtype).eps * total[-1]
        if s2 > 0:
            kept &= total > s2 * _edge(release.noise_dim / n)
        if not kept.any():
            kept[-1] = True  # all is noise: keep what is most unlike it
        share, left = _shrinkage(total[kept], s2, release.noise_dim / n)
        estimates = (centred @ axes[:, kept]) * share
        # The inputs' variance in all, less what the kept axes have of it.
        explained = float((share.square() * total[kept] + left).sum())
        drowned = float(total.sum()) - s2 * release.noise_dim - explained
        others = min(release.noise_dim - int(kept.sum()), _MOST_DROWNED)
        if s2 > 0 and drowned > 0 and others > 0:
            estimates = torch.cat([estimates, estimates.new_zeros(n, others)], dim=1)
            left = torch.cat([left, left.new_full((others,), drowned / others)])
        return cls(
            candidates=estimates,
            guarantee=release.guarantee,
            noise_variance=tuple(left.tolist()),
            noise_dim=len(left),
            isotropic=True,
            outcome_guarantee=release.outcome_guarantee,
            outcome_names=release.outcome_names,
        )

    def __post_init__(self) -> None:
        validate.matrix(candidates=self.candidates, minimum_rows=2)

    @cached_property
    def spread(self) -> float:
        """Root mean square distance of the inputs from their mean: estimated, and what is left."""
        assert isinstance(self.noise_variance, tuple)
        squared = self.candidates.square().sum(dim=1).mean() + sum(self.noise_variance)
        return math.sqrt(float(squared)) or 1.0

    @classmethod
    def load(cls, path: object) -> NoReturn:
        """Refuse: a file holds a release, to be loaded by `Release.load`."""
        raise TypeError("a DenoisedRelease is not loaded: Release.load the file, and denoise that")

    def save(self, path: object) -> NoReturn:
        """Refuse: what crosses is the release, and `of` makes the same of it everywhere."""
        raise TypeError("a DenoisedRelease is not saved: save the release, and denoise it after loading")


def _edge(aspect: float) -> float:
    """Largest variance that unit noise shows in a sample with so many dimensions for each row."""
    return (1 + math.sqrt(aspect)) ** 2


def _shrinkage(total: Tensor, s2: float, aspect: float) -> tuple[Tensor, Tensor]:
    """Share of each axis that is kept, and the variance that is left of the inputs on it.

    Gavish & Donoho (2017), the shrinker for Frobenius loss, with ``total / s2`` for their ``y^2``.
    """
    if s2 == 0:
        return torch.ones_like(total), torch.zeros_like(total)
    y2 = (total / s2).clamp_min((1 + _MARGIN) * _edge(aspect))
    middle = y2 - 1 - aspect
    root = (middle.square() - 4 * aspect).sqrt()
    share = root / y2
    own = (middle + root) / 2  # the inputs' own variance, in units of the noise's
    return share, s2 * (own - share.square() * y2)
