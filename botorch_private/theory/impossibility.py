"""What no private mechanism can do, whatever it is: keep distances as Theorem 2 does."""

from __future__ import annotations

import math

from botorch_private._base import validate


def minimum_delta_for_multiplicative_distances(epsilon: float, failure_probability: float) -> float:
    """Return the smallest delta of any mechanism that keeps distances up to factors.

    Suppose a mechanism keeps every distance within finite factors (so that two equal records are
    released as equal rows, and two different ones as different rows) with probability at least
    `1 - failure_probability`. Take two equal records and move one of them by one unit. The event
    "their released rows are equal" has probability at least `1 - failure_probability` before, and
    at most `failure_probability` after. Then (epsilon, delta)-differential privacy needs
    `delta >= 1 - failure_probability (1 + exp(epsilon))`.

    So Theorem 2, and Theorem 3 that rests on it, cannot hold for a private release: 0.907 at
    epsilon = 1 and the paper's failure probability 0.025.

    Args:
        epsilon: Privacy parameter at one unit of distance, > 0.
        failure_probability: Chance that some distance is not kept, in (0, 1).

    Returns:
        A lower bound for delta, in [0, 1]; 0 where the argument says nothing.

    Raises:
        ValueError: If an argument is outside its range.

    Example:
        >>> round(
        ...     theory.minimum_delta_for_multiplicative_distances(
        ...         epsilon=1.0, failure_probability=0.025
        ...     ),
        ...     3,
        ... )
        0.907
    """
    validate.positive(epsilon=epsilon)
    validate.probability(failure_probability=failure_probability)
    mu = failure_probability
    exponent = epsilon + math.log(mu)
    if exponent >= 0:  # mu exp(epsilon) >= 1
        return 0.0
    return max(0.0, 1 - mu - math.exp(exponent))


def minimum_additive_distance_error(epsilon: float, failure_probability: float) -> float:
    """Return the smallest additive error of distances of any metrically private mechanism.

    A mechanism is private at `epsilon` per unit if moving one record by `D` units changes the
    probability of every event by a factor of at most `exp(epsilon D)`. Suppose it also keeps every
    distance within `+- a` with probability at least `1 - failure_probability`. Two equal records,
    one of them moved by slightly more than `2 a`, give
    `1 - failure_probability <= exp(2 a epsilon) failure_probability`, which is the bound.

    Args:
        epsilon: Privacy parameter per unit of distance, > 0; delta is 0.
        failure_probability: Chance that some distance is off by more, in (0, 1).

    Returns:
        `log(1 / failure_probability - 1) / (2 epsilon)` in units of distance; 0 from
        `failure_probability = 1/2` on, where the argument says nothing.

    Raises:
        ValueError: If an argument is outside its range.

    Example:
        >>> round(theory.minimum_additive_distance_error(epsilon=1.0, failure_probability=0.025), 3)
        1.832
    """
    validate.positive(epsilon=epsilon)
    validate.probability(failure_probability=failure_probability)
    mu = failure_probability
    odds = math.log1p(-mu) - math.log(mu)  # log(1 / mu - 1)
    return max(0.0, odds / (2 * epsilon))
