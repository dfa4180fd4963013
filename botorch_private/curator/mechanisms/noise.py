"""Calibrated noise on a grid: how much, and the draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from botorch_private._base import validate
from botorch_private.curator.mechanisms.entropy import Entropy, gammas, normals
from botorch_private.privacy.gaussian import gaussian_noise_std
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw

NOISES = ("auto", "laplace", "gaussian")
_NUDGE = 1 + 1e-11
_ITERATIONS = 50


@lru_cache(maxsize=256)
def calibrate(noise: str, epsilon: float, delta: float, *, dim: int, features: int) -> NoiseLaw:
    """Return the smallest noise that keeps ``(epsilon, delta)`` at one unit of distance.

    Args:
        noise: ``"laplace"``, ``"gaussian"``, or ``"auto"``: the one with the smaller variance per
            coordinate. ``"auto"`` with ``delta = 0`` is l2 Laplace.
        epsilon: Privacy parameter at one unit, > 0.
        delta: Privacy parameter in [0, 1); a Gaussian needs more than `noise_law.DELTA_FP`.
        dim: Coordinates that carry noise, ``min(projection_dim, features)``.
        features: Features of a record, ``d``.

    Returns:
        A law whose ``epsilon(1, delta)`` is at most ``epsilon``, rounding and arithmetic included.
    """
    validate.one_of(NOISES, noise=noise)
    if noise == "auto":
        laplace = _laplace(epsilon, dim=dim, features=features)
        if delta <= DELTA_FP:
            return laplace
        gaussian = _gaussian(epsilon, delta, dim=dim, features=features)
        return gaussian if gaussian.variance < laplace.variance else laplace
    if noise == "laplace":
        return _laplace(epsilon, dim=dim, features=features)
    return _gaussian(epsilon, delta, dim=dim, features=features)


def on_grid(rows: np.ndarray, law: NoiseLaw) -> np.ndarray:
    """Round rows to the public grid: what the noise is added to, in whole grid steps."""
    return np.rint(rows / law.grid).astype(np.int64)


def sample_on_grid(law: NoiseLaw, count: int, entropy: Entropy) -> np.ndarray:
    """Draw noise for ``count`` records, in whole grid steps.

    Args:
        law: The law of the noise.
        count: Number of records.
        entropy: Source of randomness.

    Returns:
        ``count x dim`` int64 array; times ``law.grid`` it is noise in scaled units.
    """
    directions = normals(entropy, count * law.dim).reshape(count, law.dim)
    if law.kind == "laplace":
        radius = gammas(entropy, count, law.dim)
        radius /= np.linalg.norm(directions, axis=1)
        directions *= radius[:, None]
    directions *= law.scale / law.grid
    return np.rint(directions, out=directions).astype(np.int64)


def _laplace(epsilon: float, *, dim: int, features: int) -> NoiseLaw:
    unit = NoiseLaw("laplace", dim, 1.0, features)
    return _solve(unit, epsilon, DELTA_FP, lambda rest: (unit.sensitivity + unit.rounding) / rest)


def _gaussian(epsilon: float, delta: float, *, dim: int, features: int) -> NoiseLaw:
    if delta <= DELTA_FP:
        raise ValueError(
            f"delta must be above {DELTA_FP:.0e} for Gaussian noise, got {delta!r}; "
            f"use noise='laplace' for a pure guarantee"
        )
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
    for _ in range(_ITERATIONS):
        if law.epsilon(1.0, delta) <= epsilon:
            return law
        rest = epsilon - law.arithmetic_slack(1.0)
        if rest < epsilon / 2:
            break
        law = replace(unit, scale=scale_for(rest) * _NUDGE)
    raise ValueError(
        f"epsilon must be larger for noise in {unit.dim} dimensions: float64 cannot draw noise that "
        f"wide on a grid of {unit.grid}, got {epsilon!r}"
    )
