"""Calibrated noise on a grid: how much, and the draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.curator.mechanisms.base import check_scaled
from botorch_private.curator.mechanisms.entropy import (
    Entropy,
    entropy_from,
    gammas,
    normals,
    sum_by_halves,
)
from botorch_private.privacy.gaussian import LARGEST_EPSILON, gaussian_noise_std
from botorch_private.privacy.l2_noise import LARGEST_L2_DIM, Shifts, l2_scale
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw

NOISES = ("auto", "laplace", "l2", "gaussian")
_NAMES = {"laplace": "l2 Laplace", "l2": "l2", "gaussian": "Gaussian"}
_WORTH_A_DELTA = 0.99
_LARGEST_PURE = 1e300  # the scale of the noise is still a number
_NUDGE = 1e-11
_ITERATIONS = 50


@lru_cache(maxsize=256)
def calibrate(noise: str, epsilon: float, delta: float, *, dim: int, features: int) -> NoiseLaw:
    """Return the smallest noise that keeps ``(epsilon, delta)`` at one unit of distance.

    Args:
        noise: ``"laplace"``, ``"l2"``, ``"gaussian"``, or ``"auto"``: the one with the smallest variance
            per coordinate, or l2 Laplace where no other one saves 1 % of it: that is pure, with
            ``delta = 0`` in any case.
        epsilon: Privacy parameter at one unit, > 0; see `refuse_epsilon`.
        delta: Privacy parameter in [0, 1); all but l2 Laplace need more than `noise_law.DELTA_FP`.
        dim: Coordinates that carry noise, ``min(projection_dim, features)``.
        features: Features of a record, ``d``.

    Returns:
        A law whose ``epsilon(1, delta)`` is at most ``epsilon``, rounding and arithmetic included.
    """
    refuse_epsilon(noise, epsilon, delta)
    if noise == "auto" and delta > DELTA_FP:
        return _narrowest(epsilon, delta, dim=dim, features=features)
    if noise in ("auto", "laplace"):
        return _laplace(epsilon, dim=dim, features=features)
    if delta <= DELTA_FP:
        raise ValueError(
            f"delta must be above {DELTA_FP:.0e} for {_NAMES[noise]} noise, got {delta!r}; "
            f"use noise='laplace' for a pure guarantee"
        )
    if noise == "l2":
        return _l2(epsilon, delta, dim=dim, features=features)
    return _gaussian(epsilon, delta, dim=dim, features=features)


def refuse_epsilon(noise: str, epsilon: float, delta: float) -> None:
    """Refuse an epsilon that is too large for the calibration of the noise; nothing is calibrated.

    Raises:
        ValueError: If so, or if there is no such noise.
    """
    validate.one_of(NOISES, noise=noise)
    validate.positive(epsilon=epsilon)
    kind = ("gaussian" if delta > DELTA_FP else "laplace") if noise == "auto" else noise
    largest = _LARGEST_PURE if kind == "laplace" else LARGEST_EPSILON
    if epsilon > largest:
        way_out = "" if kind == "laplace" else ", or take noise='laplace'"
        raise ValueError(
            f"epsilon must be at most {largest:g} for {_NAMES[kind]} noise, "
            f"got {epsilon:g}: so large a one hides nothing; take a smaller one{way_out}"
        )


def add_noise(scaled: Tensor, law: NoiseLaw, *, generator: torch.Generator | None = None) -> Tensor:
    """Round scaled records to the public grid, and add noise: a release, for a mechanism of your own.

    The noise is drawn as `NoiseLaw` charges for it, so that ``law.epsilon`` is what a release costs.

    Args:
        scaled: ``n x d`` scaled records, in a ball of norm at most 10,000.
        law: Law of the noise. Where ``law.dim`` is below ``d``, a record is cut into ``d / law.dim``
            pieces of that many neighbouring coordinates, each with noise of its own.
        generator: None: operating-system entropy. A generator makes the release reproducible, which
            voids its guarantee: for tests and benchmarks.

    Returns:
        ``n x d`` float64 rows in the order of the records.

    Raises:
        ValueError: If the records are not scaled, or cannot be cut into such pieces.

    Example:
        >>> law = NoiseLaw("laplace", dim=1, scale=0.5, features=1)
        >>> add_noise(scaling.transform(records), law).shape  # two coordinates, each with its own
        torch.Size([60, 2])
    """
    table = check_scaled(scaled).numpy()
    n, d = table.shape
    if d % law.dim:
        raise ValueError(f"law must have a dim that divides the {d} columns of scaled, got {law.dim}")
    pieces = table.reshape(n * d // law.dim, law.dim)
    return torch.from_numpy(noised(pieces, law, entropy_from(generator)).reshape(n, d))


def noised(rows: np.ndarray, law: NoiseLaw, entropy: Entropy) -> np.ndarray:
    """Round ``m x law.dim`` rows to the public grid, and add noise to each."""
    steps = on_grid(rows, law)
    steps += sample_on_grid(law, len(steps), entropy)
    return steps * law.grid


@quiet_arithmetic
def on_grid(rows: np.ndarray, law: NoiseLaw) -> np.ndarray:
    """Round rows to the public grid: what the noise is added to, in whole grid steps."""
    return np.rint(rows / law.grid).astype(np.int64)


@quiet_arithmetic
def sample_on_grid(law: NoiseLaw, count: int, entropy: Entropy) -> np.ndarray:
    """Draw noise for ``count`` records, in whole grid steps.

    Args:
        law: The law of the noise.
        count: Number of records.
        entropy: Source of randomness.

    Returns:
        ``count x dim`` int64 array; times ``law.grid`` it is noise in scaled units.
    """
    noise = unrounded(law, count, entropy)
    return np.rint(noise, out=noise).astype(np.int64)


def unrounded(law: NoiseLaw, count: int, entropy: Entropy) -> np.ndarray:
    """The same before it is rounded, ``count x dim`` float64; `noise_law` counts how far it is off."""
    directions = normals(entropy, count * law.dim).reshape(count, law.dim)
    if law.exponential:
        radius = gammas(entropy, count, law.dim)
        radius /= np.sqrt(sum_by_halves(np.square(directions)))
        directions *= radius[:, None]
    directions *= law.scale / law.grid
    return directions


def _narrowest(epsilon: float, delta: float, *, dim: int, features: int) -> NoiseLaw:
    laws = [_gaussian(epsilon, delta, dim=dim, features=features)]
    if dim <= LARGEST_L2_DIM:
        laws.append(_l2(epsilon, delta, dim=dim, features=features))
    least = min(laws, key=lambda law: law.variance)
    try:
        laplace = _laplace(epsilon, dim=dim, features=features)
    except _TooWideError:  # in thousands of dimensions it is far wider than the others
        return least
    # A pure promise is worth more than a last per cent.
    return least if least.variance < _WORTH_A_DELTA * laplace.variance else laplace


def _laplace(epsilon: float, *, dim: int, features: int) -> NoiseLaw:
    unit = NoiseLaw("laplace", dim, 1.0, features)
    return _solve(unit, epsilon, DELTA_FP, lambda rest: (unit.sensitivity + unit.rounding) / rest)


def _l2(epsilon: float, delta: float, *, dim: int, features: int) -> NoiseLaw:
    if dim > LARGEST_L2_DIM:
        raise ValueError(
            f"noise must be 'gaussian' for more than {LARGEST_L2_DIM} dimensions, where l2 noise is no "
            f"narrower, got 'l2' for {dim}"
        )
    unit = NoiseLaw("l2", dim, 1.0, features)
    shifts = Shifts(*unit.shift(1.0))
    law = replace(unit, scale=l2_scale(epsilon, delta - DELTA_FP, dim, shifts))
    for step in range(_ITERATIONS):
        # Scale times epsilon falls where epsilon grows: by as much as is missing is enough.
        excess = law.epsilon(1.0, delta) / epsilon
        if excess <= 1:
            return law
        if excess > 2:
            break
        law = replace(unit, scale=law.scale * excess * (1 + _NUDGE * 4**step))
    raise _too_wide(unit, epsilon)


def _gaussian(epsilon: float, delta: float, *, dim: int, features: int) -> NoiseLaw:
    unit = NoiseLaw("gaussian", dim, 1.0, features)
    shift, weights = unit.shift(1.0)

    def std(rest: float) -> float:
        ideal_delta = (delta - DELTA_FP) * math.exp(rest - epsilon)
        return gaussian_noise_std(rest, ideal_delta, shift, weights)

    return _solve(unit, epsilon, delta, std)


def _solve(
    unit: NoiseLaw, epsilon: float, delta: float, scale_for: Callable[[float], float]
) -> NoiseLaw:
    """Find the scale whose cost, the sampler's arithmetic included, is epsilon.

    The arithmetic's share grows with the scale, but far more slowly than epsilon falls: a
    contraction, except for an epsilon so small that float64 cannot draw the noise.
    """
    law = replace(unit, scale=scale_for(epsilon))
    for step in range(_ITERATIONS):
        if law.epsilon(1.0, delta) <= epsilon:
            return law
        rest = epsilon - law.arithmetic_slack(1.0)
        if rest < epsilon / 2:
            break
        # More each time: far out, an average over projections has fewer digits than its root is given.
        law = replace(unit, scale=scale_for(rest) * (1 + _NUDGE * 2**step))
    raise _too_wide(unit, epsilon)


class _TooWideError(ValueError):
    """Noise would be too wide for float64."""


def _too_wide(unit: NoiseLaw, epsilon: float) -> _TooWideError:
    return _TooWideError(
        f"epsilon must be larger for noise in {unit.dim} dimensions: float64 cannot draw noise that "
        f"wide on a grid of {unit.grid}, got {epsilon!r}"
    )
