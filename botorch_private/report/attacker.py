"""What noise leaves to a perfect attacker, judged from the release alone.

The released rows are ``z = x + e`` with noise of known variance ``s2`` along each direction. Who knows
nothing but the row guesses the row, and errs by the noise. Who also knows the averages and covariance
of the population makes the best linear guess of it (Wiener filter); along a principal axis with
variance ``v`` it errs by ``v s2 / (v + s2)`` in mean square. It is the Bayes error of a Gaussian
population under Gaussian noise, and an upper bound of the Bayes error of any other population with the
same covariance: knowing more than averages and covariance, or being no Gaussian, only helps to guess.
Variances and axes are estimated from the rows by `DenoisedRelease`.

Who also finds kinds of record in the rows (`modeler.record_kinds`) errs less where the population is not
Gaussian, above all in a yes/no; the error is the one that this attacker judges by himself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from botorch_private.exchange.release import Release
from botorch_private.modeler.denoised_release import DenoisedRelease
from botorch_private.modeler.record_kinds import by_kinds
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.units import as_factor

_MOST_GUESSED = 10_000  # rows


@dataclass(frozen=True)
class FeatureError:
    """Errors in one feature, root mean square, in raw units (in units where the release has none).

    Of a feature on a log scale they are factors: the root mean square of the logarithm, as a factor.
    """

    name: str
    row_only: float  # of who has the released row alone: the standard deviation of the noise
    spread: float | None = None  # of the feature, judged from the noisy rows; None where mixed
    population: float | None = None  # of who also knows averages and covariance; None likewise
    kinds: float | None = None  # of who guesses by kinds of record that the rows show; None likewise


@dataclass(frozen=True)
class Attacker:
    """Errors of a perfect attacker. Lengths are root mean squares over records, in units.

    `mixing` is ``"none"``, ``"rotated"`` (by a rotation that keeps all distances) or ``"projected"``
    (into fewer dimensions).
    """

    mixing: str
    noise_dim: int  # directions that carry noise
    noise_std: float  # along each of them, in units
    noise_length: float
    spread_length: float  # distance of the records from their mean, as the release shows it
    population_length: float  # of the error of who knows averages and covariance
    features: tuple[FeatureError, ...]  # empty where a row does not tell features apart


def attacker(release: Release) -> Attacker:
    """Judge a release with a noise law, as it came; O(n r^2)."""
    law = release.guarantee.law
    assert isinstance(law, NoiseLaw)
    noise_std = math.sqrt(law.variance)
    mixing = "none"
    if release.isotropic:
        mixing = "projected" if law.dim < law.features else "rotated"
    population_length, spreads, errors = _with_population(release, law.variance)
    by_kind = _with_kinds(release, law.variance) if mixing == "none" else ()
    names = feature_names(release.guarantee)
    log = release.guarantee.log_columns
    units = release.guarantee.unit or (1.0,) * len(names)
    features = []
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        if mixing == "none":
            known = (noise_std, spreads[i], errors[i], by_kind[i])
            features.append(FeatureError(name, *(in_raw_unit(each * unit, i in log) for each in known)))
        elif mixing == "rotated":
            # The rotation is not in the release, but whoever knows as many records as features finds it.
            features.append(FeatureError(name, in_raw_unit(noise_std * unit, i in log)))
    return Attacker(
        mixing=mixing,
        noise_dim=law.dim,
        noise_std=noise_std,
        noise_length=math.sqrt(law.dim * law.variance),
        spread_length=release.spread,
        population_length=population_length,
        features=tuple(features),
    )


def _with_population(release: Release, s2: float) -> tuple[float, list[float], list[float]]:
    """Length of the error of who knows averages and covariance; spreads and errors by column."""
    denoised = DenoisedRelease.of(release)
    rows = release.candidates - release.candidates.mean(dim=0)
    # With few rows the axes are so uncertain that it would be better to believe the row.
    left = torch.tensor(denoised.noise_variance, dtype=rows.dtype).clamp_max(s2)
    kept = denoised.candidates.square().sum(dim=0) > 0  # the principal axes that stand out of the noise
    estimates = denoised.candidates[:, kept]
    axes = rows.mT @ estimates  # eigenvectors of the rows' covariance, not yet of length 1
    axes = axes / axes.norm(dim=0).clamp_min(torch.finfo(axes.dtype).tiny)
    others = release.noise_dim - int(kept.sum())
    # Along each of the other directions, on average: variance of the inputs, and what is left of it.
    variance = float(left[~kept].sum()) / others if others > 0 else 0.0
    other_left = variance * s2 / (variance + s2)
    shares = axes.square()
    outside = (1 - shares.sum(dim=1)).clamp_min(0.0)
    # The inputs vary as their estimates do, and by what is left of them.
    spreads = shares @ (estimates.square().mean(dim=0) + left[kept]) + outside * variance
    errors = shares @ left[kept] + outside * other_left
    length = math.sqrt(float(left[kept].sum()) + others * other_left)
    return length, spreads.sqrt().tolist(), errors.sqrt().tolist()


def _with_kinds(release: Release, s2: float) -> tuple[float, ...]:
    """Errors by column of who finds kinds of record in the rows; of some rows where there are many."""
    rows = release.candidates[:_MOST_GUESSED].numpy()  # (rows are in a random order)
    return tuple(by_kinds(rows, s2, _ends(release.guarantee))[1].tolist())


def _ends(guarantee: PrivacyGuarantee) -> dict[int, tuple[float, float]]:
    """Both ends of each column of a yes/no or a category, in units, around the centre of the ball."""
    names = list(guarantee.names or ())
    found = {}
    for step in guarantee.steps:
        # A change of a category moves two columns, all of which are equally wide.
        half = step.width / 2 if len(step.columns) == 1 else step.width / math.sqrt(8)
        found |= {names.index(column): (-half, half) for column in step.columns}
    return found


def feature_names(guarantee: PrivacyGuarantee) -> tuple[str, ...]:
    """Names of the features, as the guarantee has them, or their numbers; says which are factors."""
    names = guarantee.names or tuple(f"feature {i}" for i in range(guarantee.features or 0))
    return tuple(
        f"{name} (as a factor)" if i in guarantee.log_columns else name for i, name in enumerate(names)
    )


def in_raw_unit(length: float, log: bool) -> float:
    """A length in a feature's unit; of a logarithm the factor."""
    return as_factor(length) if log else length
