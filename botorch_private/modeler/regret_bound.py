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
from scipy.special import ndtri, stdtrit
from torch import Tensor

from botorch_private._base import validate

_CHUNK = 1 << 16  # rows at a time: a temporary of theirs stays in the processor's cache
_HEAVY_TAILS = 1.6  # of the deviation of scatter
_LARGEST_PART = 0.25  # of the chance of a row: where quantiles of both laws lie off their middle
_WIDTH = 1e-6  # of the first bracket: how far a bound may lie above the exact one


class ExpectedGain(NamedTuple):
    """What measuring on is expected to add to the best answer so far, in units of the outcome.

    Attributes:
        next_measurement: Of one more record: the largest expected improvement of a row.
        rest: Of all unmeasured records together, at most; never more than the sum of theirs.
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
    if bound == math.inf:
        return "Nothing can be said of the unmeasured records yet, since all answers are equal."
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
    # One row alone must come down to the level.
    alone = _highest_quantile(mean, deviation, level) - best if len(mean) else 0.0
    return _margin(mean, deviation, best, level, at_least=max(alone, 0.0))


def _margin(mean: Tensor, deviation: Tensor, best: float, level: float, *, at_least: float) -> float:
    """Least margin above a threshold that so many rows answer above on average, rounded up."""
    if len(mean) == 0 or expected_better(mean, deviation, best) <= level:
        return 0.0
    # n rows come down to the level if each comes to its n-th part.
    most = _highest_quantile(mean, deviation, level / len(mean)) - best
    return least_margin(
        lambda margin: expected_better(mean, deviation, best + margin), at_least, most, level
    )


def cautious(
    variance: Tensor, scatter: float, known: float = 0.0, *, answers: int, level: float = 0.05
) -> Tensor:
    """Deviations of answers to bound regret by, wider than the model's, which is too sure of itself.

    Two things make a fitted model too sure. Its scale was learned from a few answers: so deviations are
    multiplied by the ratio of the quantiles of Student's t with ``t - 1`` degrees of freedom and of the
    normal distribution, at the chance ``level / n`` that falls to a row. And what no record explains has
    heavier tails than a normal distribution where answers are prices or people: so the deviation of this
    scatter is multiplied by 1.6. That number is no theorem. It was chosen by trial, as
    ``benchmarks/results/regret_bound.md`` of the source says.

    Noise that a curator adds to answers is taken for Laplace noise, which has the heaviest tails of all
    that it adds: its deviation is multiplied by the ratio of the quantiles of Laplace's and the normal
    distribution at that chance, if that is above 1. A sum of normal and Laplace numbers is then exceeded
    with no larger chance. For Gaussian noise that is wider than need be.

    Args:
        variance: Posterior variances of the unmeasured rows' objectives, without scatter, ``n`` numbers.
        scatter: Learned variance of what no record explains.
        known: Variance of noise that a curator adds to answers, where it is known.
        answers: How many answers the model was fitted to, ``t`` >= 2.
        level: As for `regret_bound`.

    Returns:
        ``n`` deviations, float64.
    """
    validate.probability(level=level)
    validate.non_negative(scatter=scatter, known=known)
    validate.count(answers=answers, minimum=2)
    part = min(level / max(len(variance), 1), _LARGEST_PART)
    wider = float(stdtrit(answers - 1, part) / ndtri(part))
    laplace = max(1.0, -math.log(2 * part) / (-math.sqrt(2) * float(ndtri(part))))
    total = variance.double() + (_HEAVY_TAILS**2 * scatter + laplace**2 * known)
    return total.clamp_min_(0.0).sqrt_().mul_(wider)


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

    The expected improvement of one row is ``EI(b) = sd (z Phi(z) + phi(z))`` with ``z = (m - b) / sd``
    (Jones et al. 1998). That of all together is at most ``e + sum_i EI_i(b + e)`` for each ``e >= 0``,
    whatever they have to do with each other: no answer below ``b + e`` gains more than ``e``. It is
    least where one row is expected above ``b + e``; with ``e = 0`` it is the sum of all.

    Args:
        mean: As for `regret_bound`.
        deviation: As for `regret_bound`.
        best: As for `regret_bound`.
    """
    validate.finite(best=best)
    _check(mean, deviation)
    if not len(mean):
        return ExpectedGain(0.0, 0.0)
    largest, total = _improvements(mean, deviation, best)
    margin = _margin(mean, deviation, best, 1.0, at_least=0.0)
    if margin > 0:
        total = min(total, margin + _improvements(mean, deviation, best + margin)[1])
    return ExpectedGain(largest, max(largest, total))


def _improvements(mean: Tensor, deviation: Tensor, best: float) -> tuple[float, float]:
    """The largest expected improvement of a row, and the sum of all."""
    largest = total = 0.0
    for means, deviations in _chunks(mean, deviation):
        gap = means.sub_(best)
        scores = (gap / deviations).nan_to_num_(nan=0.0)
        density = scores.square().mul_(-0.5).exp_().mul_(deviations / math.sqrt(2 * math.pi))
        gains = density.addcmul_(gap, torch.special.ndtr(scores)).clamp_min_(0.0)
        largest, total = max(largest, float(gains.max())), total + float(gains.sum())
    return largest, total


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
