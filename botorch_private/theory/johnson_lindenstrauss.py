"""Lemma 1: how many random directions keep every squared distance within a relative error."""

from __future__ import annotations

import math

from botorch_private._base import validate

LARGEST_DISTORTION = 0.5


def projection_dim(n: int, distortion: float, failure_probability: float) -> int:
    """Return the smallest dimension for which Lemma 1 promises the given distortion, rounded up.

    With a `d x projection_dim` matrix `M` of independent standard normals, all squared distances
    between `n` rows, measured after `x -> x M / sqrt(projection_dim)`, lie within a factor
    `1 +- distortion` of the true ones with probability at least `1 - failure_probability`. The
    number does not depend on `d`, and is usually far larger than `d`: the paper's own experiments
    (10 to 50 dimensions) are outside the lemma.

    The lemma is stated for the open interval (0, 1/2). Theorem 3 sets 1/2 itself, which is
    accepted here, because the tail bound behind the lemma holds there too.

    Args:
        n: Number of records, at least 1.
        distortion: Relative error of squared distances, in (0, 1/2].
        failure_probability: Chance that some pair is distorted more, in (0, 1).

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Lemma 1.

    Example:
        >>> theory.projection_dim(n=2004, distortion=0.5, failure_probability=0.025)
        605
    """
    validate.count(n=n)
    check_distortion(distortion)
    validate.probability(failure_probability=failure_probability)
    r = _dimension(n, distortion, failure_probability)
    if not math.isfinite(r):
        raise ValueError(f"distortion must be large enough for a finite dimension, got {distortion}")
    near = math.ceil(r)
    # Floating point may put `near` one off; the inverse below decides.
    candidates = (near - 1, near, near + 1)
    return next(
        (r for r in candidates if r >= 1 and _error(n, r, failure_probability) <= distortion), near
    )


def distortion(n: int, projection_dim: int, failure_probability: float) -> float:
    """Return the distortion that Lemma 1 promises at a given dimension: the inverse.

    Args:
        n: Number of records, at least 1.
        projection_dim: Number of random directions, at least 1.
        failure_probability: Chance that some pair is distorted more, in (0, 1).

    Returns:
        The relative error of squared distances, in (0, 1/2].

    Raises:
        ValueError: If an argument is outside its range, or if the dimension is so small that the
            distortion would exceed 1/2, where Lemma 1 says nothing. The message names the
            smallest dimension that works.

    Source: Kharkovskii et al. (2020), Lemma 1.

    Example:
        >>> round(theory.distortion(n=2004, projection_dim=1000, failure_probability=0.025), 3)
        0.389
    """
    validate.count(n=n, projection_dim=projection_dim)
    validate.probability(failure_probability=failure_probability)
    nu = _error(n, projection_dim, failure_probability)
    if nu > LARGEST_DISTORTION:
        smallest = math.ceil(_dimension(n, LARGEST_DISTORTION, failure_probability))
        raise ValueError(
            f"projection_dim must be >= {smallest} for Lemma 1 to say anything about n={n} "
            f"records at failure_probability={failure_probability}, got {projection_dim}"
        )
    return nu


def check_distortion(distortion: float) -> None:
    """Refuse a distortion outside (0, 1/2]."""
    validate.positive(distortion=distortion)
    if distortion > LARGEST_DISTORTION:
        raise ValueError(f"distortion must be a number in (0, 1/2], got {distortion!r}")


def _dimension(n: int, nu: float, mu: float) -> float:
    return 8 * _log_pairs(n, mu) / nu / nu  # Lemma 1: r >= 8 log(n^2 / mu) / nu^2


def _error(n: int, r: int, mu: float) -> float:
    return math.sqrt(8 * _log_pairs(n, mu) / r)


def _log_pairs(n: int, mu: float) -> float:
    return 2 * math.log(n) - math.log(mu)  # log(n^2 / mu), without overflow
