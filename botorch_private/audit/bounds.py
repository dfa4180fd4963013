"""Confidence bounds for proportions, and the epsilon that they certify from below."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.privacy.gaussian import gaussian_epsilon

_THRESHOLDS = 51


@quiet_arithmetic
def proportion_bounds(successes: int, trials: int, failure_probability: float) -> tuple[float, float]:
    """Clopper-Pearson bounds of a proportion.

    Args:
        successes: How many of the trials succeeded, in 0..trials.
        trials: Independent trials, >= 1.
        failure_probability: Chance, in (0, 1), that a bound is wrong: of each of the two.

    Returns:
        A lower and an upper bound in [0, 1].
    """
    validate.count(trials=trials)
    validate.count(minimum=0, successes=successes)
    validate.probability(failure_probability=failure_probability)
    if successes > trials:
        raise ValueError(f"successes must be at most trials={trials}, got {successes}")
    failures = trials - successes
    lower = float(beta.ppf(failure_probability, successes, failures + 1)) if successes else 0.0
    upper = float(beta.ppf(1 - failure_probability, successes + 1, failures)) if failures else 1.0
    return lower, upper


@quiet_arithmetic
def epsilon_from_rates(hits: float, false_alarms: float, delta: float) -> float:
    """Epsilon that a test with such error rates refutes everything below of.

    ``(epsilon, delta)`` privacy gives ``hits <= e^epsilon false_alarms + delta`` for every test (Kairouz
    et al. 2015), and the same with both exchanged for their complements.

    Args:
        hits: Lower bound of the test's power.
        false_alarms: Upper bound of its false alarms.
        delta: In [0, 1).

    Returns:
        epsilon >= 0; infinite where there are no false alarms.
    """
    found = 0.0
    for part, whole in ((hits, false_alarms), (1 - false_alarms, 1 - hits)):
        if part > delta:
            found = max(found, math.inf if whole <= 0 else math.log((part - delta) / whole))
    return found


@quiet_arithmetic
def gaussian_epsilon_from_rates(hits: float, false_alarms: float, delta: float) -> float:
    """The same for a mechanism that is Gaussian with an unknown standard deviation.

    The error rates bound ``mu`` of Gaussian differential privacy from below, ``mu >= Phi^-1(hits) -
    Phi^-1(false_alarms)`` (Dong, Roth & Su 2022), and ``mu`` has an epsilon at each delta. It says
    nothing of a mechanism of another family.
    """
    if hits <= false_alarms:
        return 0.0
    mu = float(ndtri(hits) - ndtri(false_alarms))
    return math.inf if math.isinf(mu) else gaussian_epsilon(delta, mu)


@quiet_arithmetic
def certified_epsilon(
    own: np.ndarray,
    other: np.ndarray,
    delta: float,
    confidence: float = 0.95,
    rule: Callable[[float, float, float], float] = epsilon_from_rates,
) -> float:
    """Epsilon that scores of what was made from two tables certify from below.

    The test says "it was the first table" where the score is at least a threshold, which is chosen on
    the first half of both and judged on the second: its error rates, bounded by Clopper and Pearson,
    refute every smaller epsilon. Which score is best depends on the mechanism; the bound holds for any.

    Args:
        own: Scores of independent releases of the first table, larger where they look like it.
        other: As many scores of releases of the second table.
        delta: In [0, 1).
        confidence: Of the bound, in (0, 1).
        rule: From a bound of the power, one of the false alarms, and delta, to epsilon. By default the
            rule that holds for every mechanism.

    Returns:
        A lower bound of epsilon, >= 0, at the distance of the two tables.

    Example:
        >>> own, other = torch.randn(2, 10_000, generator=torch.Generator().manual_seed(0)).numpy()
        >>> 0.5 < audit.certified_epsilon(own + 1, other, delta=0.0) < 10  # two normals, 1 apart
        True
    """
    half = len(own) // 2
    failure = (1 - confidence) / 2  # two rates
    pilot = np.unique(
        np.quantile(np.concatenate([own[:half], other[:half]]), np.linspace(0, 1, _THRESHOLDS))
    )

    def bound(threshold: float, part: slice) -> float:
        hits, alarms = (int((scores[part] >= threshold).sum()) for scores in (own, other))
        count = len(own[part])
        return rule(
            proportion_bounds(hits, count, failure)[0],
            proportion_bounds(alarms, count, failure)[1],
            delta,
        )

    best = max(pilot, key=lambda threshold: bound(float(threshold), slice(0, half)))
    return bound(float(best), slice(half, None))
