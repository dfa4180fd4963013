"""one_run_audit: an epsilon from below, by one release with the rows as canaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.stats import binom
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.goodness_of_fit import reference
from botorch_private.audit.honest import counterpart
from botorch_private.audit.independent_rows import dependence
from botorch_private.audit.likelihood import log_ratio
from botorch_private.audit.responses import refuse_responses
from botorch_private.audit.result import AuditResult
from botorch_private.curator.mechanisms import NoisyProjection

_LARGEST = 64.0
_TOLERANCE = 1e-4


@on_cpu_by_default
def one_run_audit(
    mechanism: NoisyProjection,
    records: Any,
    alternatives: Any,
    *,
    confidence: float = 0.95,
    generator: torch.Generator | None = None,
) -> AuditResult:
    """Certify an epsilon from below by a single release (Steinke, Nasr & Jagielski 2023).

    For each row a fair coin decides whether the record or its alternative is released. An adversary who
    knows both guesses the coins from the release by the claimed likelihood ratio, and says nothing where
    it is small. Too many right guesses refute an epsilon.

    Args:
        mechanism: A `NoisyProjection` without projection.
        records: ``n x d`` scaled records.
        alternatives: ``n x d`` scaled records, each different from the record of its row.
        confidence: Of the bound, in (0, 1).
        generator: Coins and noise. None: random.

    Returns:
        The bound at the largest distance between a record and its alternative, beside what the same
        test finds for honest noise.

    Raises:
        ValueError: If the tables do not fit, a row has no alternative, or the mechanism projects, or
            is a randomized response.

    Example:
        >>> scaled = scaling.transform(records)
        >>> found = audit.one_run_audit(mechanism, scaled, scaled + 1.0)
        >>> round(found.claimed, 2)  # promised at this distance; found.lower_bound is certified
        4.24
    """
    refuse_responses(mechanism)
    one = validate.matrix(records=records, minimum_rows=2)
    other = validate.matrix(alternatives=alternatives, minimum_rows=2)
    if one.shape != other.shape:
        raise ValueError(
            f"alternatives must have the shape of records, {tuple(one.shape)}, got {tuple(other.shape)}"
        )
    distances = (other - one).norm(dim=1)
    if not bool((distances > 0).all()):
        row = int((distances == 0).nonzero()[0])
        raise ValueError(f"alternatives must differ from records in every row, but not row {row}")
    if mechanism.projection_dim is not None:
        raise ValueError("mechanism must have projection_dim=None, got a projection")
    validate.probability(confidence=confidence)
    validate.generator(generator=generator)
    if generator is None:
        generator = torch.Generator()
        generator.seed()
    n, d = one.shape
    coins = torch.rand(n, generator=generator) < 0.5
    chosen = torch.where(coins.unsqueeze(-1), other, one)
    noise = mechanism.apply(chosen, generator=generator) - chosen
    # Canaries are independent only if their noise is: that comes first.
    problems = dependence(noise.numpy())
    law = mechanism.law(d)
    guarantee = mechanism.guarantee(n, d)
    distance = float(distances.max())
    claimed = guarantee.at(distance)
    rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))
    as_claimed = torch.from_numpy(reference(law, n, rng))

    def bound_of(noise: Tensor) -> float:
        ratio = log_ratio(law, chosen + noise - one, other - one)
        return _certified(ratio, coins, guarantee.delta, confidence)

    honest, sees = counterpart(lambda share: bound_of(share * as_claimed), claimed)
    return AuditResult(
        lower_bound=0.0 if problems else bound_of(noise),
        claimed=claimed,
        delta=guarantee.delta,
        distance=distance,
        confidence=confidence,
        trials=n,
        method="one release, rows as canaries",
        honest=honest,
        sees=sees,
        problems=problems,
    )


def _certified(ratio: Tensor, coins: Tensor, delta: float, confidence: float) -> float:
    """Epsilon from guesses of ``n`` coins by likelihood ratios."""
    n = len(coins)
    order = torch.argsort(ratio.abs(), descending=True)
    right = ((ratio < 0) == coins)[order].numpy()
    # How many to guess must not depend on the coins: ten choices, each at a tenth of the failures.
    choices = np.unique(np.geomspace(max(1, n // 100), n, 10).astype(int))
    failure = (1 - confidence) / len(choices)
    return max(
        lower_bound(n, int(guesses), int(right[:guesses].sum()), delta, failure) for guesses in choices
    )


def lower_bound(
    canaries: int, guesses: int, right: int, delta: float, failure_probability: float
) -> float:
    """Epsilon below which so many right guesses have at most the failure probability.

    Args:
        canaries: Rows with a coin.
        guesses: Coins that were guessed.
        right: Right guesses.
        delta: In [0, 1).
        failure_probability: In (0, 1).
    """
    low, high = 0.0, _LARGEST
    if p_value(canaries, guesses, right, 0.0, delta) > failure_probability:
        return 0.0
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        if p_value(canaries, guesses, right, middle, delta) <= failure_probability:
            low = middle
        else:
            high = middle
    return low


@quiet_arithmetic
def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Bound of the chance of so many right guesses under ``(epsilon, delta)`` privacy.

    Steinke, Nasr & Jagielski (2023), Theorem 5.2: ``P[Binomial(guesses, p) >= right]`` with
    ``p = e^epsilon / (1 + e^epsilon)``, plus ``2 canaries delta`` times the largest
    ``P[right > Binomial >= right - i] / i``.
    """
    p = 1 / (1 + np.exp(-epsilon))
    chance = float(binom.sf(right - 1, guesses, p))
    if delta == 0 or right == 0:
        return min(1.0, chance)
    steps = np.arange(1, right + 1)
    between = binom.cdf(right - 1, guesses, p) - binom.cdf(right - 1 - steps, guesses, p)
    return min(1.0, chance + 2 * canaries * delta * float((between / steps).max()))
