"""How much better an unmeasured record may answer, and what measuring on is expected to gain.

Pure functions of what a model says of each row that was not measured: the mean and the standard
deviation of its *answer*, the scatter of answers included. With ``b`` the best answer so far,

    P(some row answers above b + e) <= B(e) = sum_i Phi((m_i - b - e) / sd_i),

whatever the rows have to do with each other (union bound). The bound at a level is the least ``e >= 0``
with ``B(e) <= level``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from scipy.special import ndtri
from torch import Tensor

from botorch_private._base import validate

_CHUNK = 1 << 16  # rows at a time: a temporary of theirs stays in the processor's cache
_WIDTH = 1e-6  # of the first bracket: how far a bound may lie above the exact one


class ExpectedGain(NamedTuple):
    """What measuring on is expected to add to the best answer so far, in units of the outcome.

    Attributes:
        next_measurement: Of one more record: the largest expected improvement of a row.
        rest: Of all unmeasured records together, at most: the sum of the expected improvements.
    """

    next_measurement: float
    rest: float


def sentence(bound: float, probability: float, unit: str = "") -> str:
    """What may be said of a bound, and no more: it is as good as the model.

    Args:
        bound: As `regret_bound` gives it.
        probability: The level it was asked for.
        unit: Of the outcome; may be empty.
    """
    much = f"{bound:.4g} {unit}".rstrip()
    return (
        f"If the fitted model is right, the chance that one of the unmeasured records would have "
        f"answered better by more than {much} is at most {100 * probability:.4g} %."
    )


def regret_bound(mean: Tensor, deviation: Tensor, best: float, level: float = 0.05) -> float:
    """Least ``e >= 0`` such that ``expected_better(mean, deviation, best + e) <= level``; O(n).

    It is rounded up, by at most 1e-6 of the distance between two simple bounds: that of the one most
    promising row, and that of n rows which share the level evenly. Memory beyond the arguments is that
    of 65,536 rows.

    Args:
        mean: Means of the answers of the unmeasured rows, ``n`` numbers.
        deviation: Their standard deviations, ``n`` numbers >= 0: of answers, scatter included.
        best: Best answer so far, in the same units.
        level: Chance that may be left, in (0, 1).

    Returns:
        The bound, in the same units; 0 where no row is left.

    Raises:
        ValueError: If an argument is not finite, or the two vectors do not fit each other.
    """
    validate.probability(level=level)
    validate.finite(best=best)
    _check(mean, deviation)
    n = len(mean)
    if n == 0 or expected_better(mean, deviation, best) <= level:
        return 0.0
    # One row alone must come down to the level, and n rows do if each comes to its n-th part.
    alone, shared = (_highest_quantile(mean, deviation, part) - best for part in (level, level / n))
    return least_margin(
        lambda margin: expected_better(mean, deviation, best + margin), max(alone, 0.0), shared, level
    )


def expected_better(mean: Tensor, deviation: Tensor, threshold: float) -> float:
    """Expected number of rows that answer above a threshold, ``sum_i Phi((m_i - threshold) / sd_i)``.

    It is at least the chance that one of them does. O(n), in float64.

    Args:
        mean: As for `regret_bound`.
        deviation: As for `regret_bound`.
        threshold: In the same units.
    """
    total = 0.0
    for means, deviations in _chunks(mean, deviation):
        scores = means.sub_(threshold).div_(deviations)
        # Without deviation it is 0 or 1; 0 / 0 is a row that is equal to the threshold, not above it.
        total += float(torch.special.ndtr(scores).nan_to_num_(nan=0.0).sum())
    return total


def expected_gain(mean: Tensor, deviation: Tensor, best: float) -> ExpectedGain:
    """Expected improvement on the best answer so far, by one more row and by all at most; O(n).

    The improvement of one row is ``EI = sd (z Phi(z) + phi(z))`` with ``z = (m - best) / sd`` (Jones et
    al. 1998). That of several is at most the sum.

    Args:
        mean: As for `regret_bound`.
        deviation: As for `regret_bound`.
        best: As for `regret_bound`.
    """
    validate.finite(best=best)
    _check(mean, deviation)
    largest = total = 0.0
    if not len(mean):
        return ExpectedGain(largest, total)
    for means, deviations in _chunks(mean, deviation):
        gap = means.sub_(best)
        scores = (gap / deviations).nan_to_num_(nan=0.0)
        density = scores.square().mul_(-0.5).exp_().mul_(deviations / math.sqrt(2 * math.pi))
        gains = density.addcmul_(gap, torch.special.ndtr(scores)).clamp_min_(0.0)
        largest, total = max(largest, float(gains.max())), total + float(gains.sum())
    return ExpectedGain(largest, total)


def least_margin(expected: Callable[[float], float], low: float, high: float, level: float) -> float:
    """Least margin at which a falling function is at most a level, rounded up.

    By false position on its logarithm (the Illinois variant), which is nearly a parabola where the
    function is a sum of normal tails: about ten evaluations.

    Args:
        expected: Falls as the margin grows, such as an expected number of rows.
        low: Where it is at least the level, or the least margin that is of interest.
        high: Where it is at most the level, up to rounding.
        level: > 0.

    Returns:
        A margin at which it is at most the level, at most 1e-6 of ``high - low`` above the least one.
    """
    width = wider = max(_WIDTH * (high - low), 4 * math.ulp(high), 4 * math.ulp(low))
    while (at_high := expected(high)) > level:
        low, high, wider = high, high + wider, 2 * wider
    at_low = expected(low)
    if at_low <= level:
        return low
    above, below = math.log(at_low / level), _log(at_high / level)
    last = 0
    while high - low > width:
        share = above / (above - below) if below > -math.inf else 0.5
        # Just beyond the estimate, so that the other end moves as well.
        middle = min(max(low + share * (high - low), low + width / 2), high - width / 2)
        value = _log(expected(middle) / level)
        if value > 0:
            low, above, below = middle, value, below / 2 if last > 0 else below
            last = 1
        else:
            high, below, above = middle, value, above / 2 if last < 0 else above
            last = -1
    return high


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _highest_quantile(mean: Tensor, deviation: Tensor, chance: float) -> float:
    """Number that each row exceeds with at most a chance."""
    score = -float(ndtri(chance))
    return max(
        float(means.add_(deviations, alpha=score).max())
        for means, deviations in _chunks(mean, deviation)
    )


def _chunks(mean: Tensor, deviation: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Fresh float64 copies, some rows at a time."""
    for means, deviations in zip(mean.split(_CHUNK), deviation.split(_CHUNK), strict=True):
        yield means.to(torch.float64, copy=True), deviations.double()


def _check(mean: Tensor, deviation: Tensor) -> None:
    if mean.ndim != 1 or mean.shape != deviation.shape:
        raise ValueError(
            f"mean and deviation must be vectors of one length, got shapes {tuple(mean.shape)} and "
            f"{tuple(deviation.shape)}"
        )
    if not len(mean):
        return
    ends = [*mean.aminmax(), *deviation.aminmax()]
    if not all(math.isfinite(float(end)) for end in ends) or float(ends[2]) < 0:
        raise ValueError("mean and deviation must be finite, and deviation >= 0")
