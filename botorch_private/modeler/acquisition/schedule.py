"""The schedule of GP-UCB's exploration weight."""

from __future__ import annotations

import math

from botorch_private._base import validate


def ucb_beta(t: int, n: int, failure_probability: float = 0.025) -> float:
    """Weight ``beta_t`` of the posterior variance in round ``t``.

    ``beta_t = 2 log(n t^2 pi^2 / (6 failure_probability))`` (Kharkovskii et al. 2020, Algorithm 2,
    line 3; Srinivas et al. 2010, Theorem 1). It enters as ``mean + sqrt(beta_t) * std``, and it
    grows with ``t``: the confidence bounds hold in all rounds at once.

    Args:
        t: Round, counted from 1.
        n: Number of candidates.
        failure_probability: The paper's ``delta'``, in (0, 1); its experiments use
            ``delta_ucb / 2 = 0.025``.

    Returns:
        ``beta_t >= 0``, computed in float64.

    Example:
        >>> round(ucb_beta(t=1, n=2004), 2)
        23.58
    """
    validate.count(t=t, n=n)
    validate.probability(failure_probability=failure_probability)
    return 2 * (math.log(n) + 2 * math.log(t) + math.log(math.pi**2 / (6 * failure_probability)))


SHARED, THEORY = "shared", "theory"
EXPLORATIONS = (SHARED, THEORY)
_EXPLORING_ROUNDS, _LATER_SCALE = 10, 0.2


def scale_of_beta(t: int, exploration: str) -> float:
    """Factor of ``beta_t`` in round ``t``, where nobody says another one.

    The theory's is 1. With the deviation of the shared part it is 1 in the first 10 rounds and 0.2 after
    them: chosen by trial on several tables, as ``benchmarks/results/exploration.md`` of the source says.
    """
    exploring = exploration == THEORY or t <= _EXPLORING_ROUNDS
    return 1.0 if exploring else _LATER_SCALE


def beta_of(
    t: int,
    n: int,
    failure_probability: float,
    *,
    beta: float | None,
    beta_scale: float | None,
    exploration: str,
) -> float:
    """Weight in round ``t`` among ``n`` candidates; arguments as in `DiscreteUCB`.

    Raises:
        ValueError: If one is out of range.
    """
    if beta_scale is not None:
        validate.positive(beta_scale=beta_scale)
    if beta is not None:
        validate.non_negative(beta=beta)
        return float(beta)
    scale = scale_of_beta(t, exploration) if beta_scale is None else beta_scale
    return float(scale * ucb_beta(t, n, failure_probability))
