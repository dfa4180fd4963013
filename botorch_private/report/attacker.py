"""What noise leaves to a perfect attacker, judged from the release alone.

The released rows are ``z = x + e`` with noise of known variance ``s2`` along each direction. Who knows
nothing but the row guesses the row, and errs by the noise. Who also knows the averages and covariance
of the population makes the best linear guess of it (Wiener filter); along a principal axis with
variance ``v`` it errs by ``v s2 / (v + s2)`` in mean square. It is the Bayes error of a Gaussian
population under Gaussian noise, and an upper bound of the Bayes error of any other population with the
same covariance: knowing more than averages and covariance, or being no Gaussian, only helps to guess.
Variances and axes are estimated from the rows by `DenoisedRelease`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from botorch_private.exchange.release import Release
from botorch_private.modeler.denoised_release import DenoisedRelease
from botorch_private.privacy.guarantee import PrivacyGuarantee


@dataclass(frozen=True)
class FeatureError:
    """Errors in one feature, root mean square, in raw units (in units where the release has none).

    Attributes:
        name: Of the feature.
        row_only: Of who has the released row alone: the standard deviation of the noise.
        spread: Standard deviation of the feature, judged from the noisy rows; None where features
            were mixed.
        population: Of who also knows averages and covariance of the population; None likewise.
    """

    name: str
    row_only: float
    spread: float | None = None
    population: float | None = None


@dataclass(frozen=True)
class Attacker:
    """Errors of a perfect attacker. Lengths are root mean squares over records, in units.

    Attributes:
        mixing: ``"none"``, ``"rotated"`` (by a rotation that keeps all distances) or ``"projected"``
            (into fewer dimensions).
        noise_dim: Directions that carry noise.
        noise_std: Standard deviation of the noise along each of them, in units.
        noise_length: Length of the noise.
        spread_length: Distance of the records from their mean, as the release shows it.
        population_length: Length of the error of who knows averages and covariance.
        features: Each feature; empty where a row does not tell features apart.
    """

    mixing: str
    noise_dim: int
    noise_std: float
    noise_length: float
    spread_length: float
    population_length: float
    features: tuple[FeatureError, ...]


def attacker(release: Release) -> Attacker:
    """Judge a release with a noise law, as it came; O(n r^2)."""
    guarantee, law = release.guarantee, release.guarantee.law
    assert law is not None
    s2 = law.variance
    known = _Inputs.of(release, s2)
    mixing = "none"
    if release.isotropic:
        mixing = "projected" if law.dim < law.features else "rotated"
    return Attacker(
        mixing=mixing,
        noise_dim=law.dim,
        noise_std=math.sqrt(s2),
        noise_length=math.sqrt(law.dim * s2),
        spread_length=release.spread,
        population_length=math.sqrt(float(known.left.sum()) + known.others * known.other_left),
        features=_features(guarantee, mixing, math.sqrt(s2), known),
    )


@dataclass(frozen=True)
class _Inputs:
    """What the rows say of the inputs' covariance."""

    axes: Tensor  # r x k, the principal axes that stand out of the noise
    variance: Tensor  # k, of the inputs along them, in squared units
    left: Tensor  # k, of the best linear guess's error
    others: int  # further directions
    other_variance: float  # of the inputs along each of them, on average
    other_left: float

    @classmethod
    def of(cls, release: Release, s2: float) -> _Inputs:
        denoised = DenoisedRelease.of(release)
        assert isinstance(denoised.noise_variance, tuple)
        centred = release.candidates - release.candidates.mean(dim=0)
        # With few rows the axes are so uncertain that it would be better to believe the row.
        left = torch.tensor(denoised.noise_variance, dtype=centred.dtype).clamp_max(s2)
        kept = denoised.candidates.square().sum(dim=0) > 0
        estimates = denoised.candidates[:, kept]
        axes = centred.mT @ estimates  # eigenvectors of the rows' covariance, not yet of length 1
        axes = axes / axes.norm(dim=0).clamp_min(torch.finfo(axes.dtype).tiny)
        others = release.noise_dim - int(kept.sum())
        rest = float(left[~kept].sum()) / others if others > 0 else 0.0
        # The inputs vary as their estimates do, and by what is left of them.
        variance = estimates.square().mean(dim=0) + left[kept]
        return cls(axes, variance, left[kept], others, rest, rest * s2 / (rest + s2))

    def per_feature(self, along: Tensor, elsewhere: float) -> Tensor:
        """Split variances along the axes, and elsewhere, among the features."""
        shares = self.axes.square()
        outside = (1 - shares.sum(dim=1)).clamp_min(0.0)
        return (shares @ along + outside * elsewhere).sqrt()


def _features(
    guarantee: PrivacyGuarantee, mixing: str, noise_std: float, known: _Inputs
) -> tuple[FeatureError, ...]:
    if mixing == "projected":
        return ()
    names = feature_names(guarantee)
    units = guarantee.unit or (1.0,) * len(names)
    if mixing == "rotated":
        # The rotation is not in the release, but whoever knows as many records as features finds it.
        return tuple(FeatureError(name, noise_std * u) for name, u in zip(names, units, strict=True))
    spreads = known.per_feature(known.variance, known.other_variance).tolist()
    errors = known.per_feature(known.left, known.other_left).tolist()
    return tuple(
        FeatureError(name, noise_std * unit, spread * unit, error * unit)
        for name, unit, spread, error in zip(names, units, spreads, errors, strict=True)
    )


def feature_names(guarantee: PrivacyGuarantee) -> tuple[str, ...]:
    """Names of the features, as the guarantee has them, or their numbers."""
    return guarantee.names or tuple(f"feature {i}" for i in range(guarantee.features or 0))
