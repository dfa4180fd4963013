r"""Kinds of record that released rows show, and what is left of each record by them.

The records are taken to be of ``K`` unknown kinds. In a kind the features are independent: a number is
Gaussian, and a yes/no or a column of a category is at one end of its range or at the other (latent class
analysis, Lazarsfeld & Henry 1968). A released row is a record plus noise of known variance
``s2``. So the kinds are found by expectation and maximization, with the noise taken out as in extreme
deconvolution (Bovy, Hogg & Roweis 2011, Annals of Applied Statistics 5, 1657), and each record is
guessed by its posterior mean. It is an empirical Bayes estimate: the rows themselves are the prior.

Averages and correlations (`DenoisedRelease`) are all that there is to know of a Gaussian population. Of
another one this attack knows more: its clusters, and that a yes/no is yes or no.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

CLASSES = 12
_ITERATIONS = 80
_MOST_FITTED = 10_000  # rows that the kinds are found by; all rows are guessed
_CHUNK_ROWS = 2**15
_LEAST = 1e-3  # share of the noise's variance that a kind has at least; and chance of a yes, or of a no


class _Kinds(NamedTuple):
    """``K`` kinds of record, in scaled space.

    Attributes:
        share: ``K`` shares of the records.
        mean: ``K x p`` means of the numbers.
        variance: ``K x p`` variances of these.
        high: ``K x q`` chances of the upper end, of the columns that are at an end.
    """

    share: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    high: np.ndarray


def by_kinds(
    rows: np.ndarray,
    s2: float,
    ends: dict[int, tuple[float, float]],
    *,
    classes: int = CLASSES,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Guess each record by its posterior mean.

    Args:
        rows: ``n x d`` released rows, in scaled space.
        s2: Variance of the noise on each number; l2 Laplace noise is taken for Gaussian noise.
        ends: Columns that are at one end of their range or at the other, and both ends.
        classes: Kinds that are looked for.
        seed: Of the random start.

    Returns:
        ``n x d`` estimates, and ``d`` posterior deviations, root mean square.
    """
    n, d = rows.shape
    binary = np.array(sorted(ends), dtype=int)
    numbers = np.setdiff1d(np.arange(d), binary)
    low, high = np.array([ends[column] for column in binary.tolist()]).reshape(-1, 2).T
    rng = np.random.default_rng(seed)
    fitted = rows if n <= _MOST_FITTED else rows[rng.choice(n, _MOST_FITTED, replace=False)]
    kinds = _found(
        fitted[:, numbers], _log_odds(fitted[:, binary], low, high, s2), s2, min(classes, n), rng
    )
    estimate, left = np.empty((n, d)), np.zeros(d)
    for start in range(0, n, _CHUNK_ROWS):
        part = rows[start : start + _CHUNK_ROWS]
        known, odds = part[:, numbers], _log_odds(part[:, binary], low, high, s2)
        weight = _weights(known, odds, kinds, s2)
        kept = kinds.variance / (kinds.variance + s2)
        base = kinds.mean * (1 - kept)  # the mean of a record of a kind is `base + kept z`
        mean = weight @ base + known * (weight @ kept)
        square = weight @ (base**2 + kept * s2) + 2 * known * (weight @ (base * kept))
        square += known**2 * (weight @ kept**2)
        yes = np.empty_like(odds)
        for j in range(len(binary)):
            yes[:, j] = (weight * expit(odds[:, j : j + 1] + _logit(kinds.high[:, j]))).sum(axis=1)
        guessed = estimate[start : start + _CHUNK_ROWS]
        guessed[:, numbers], guessed[:, binary] = mean, low + yes * (high - low)
        left[numbers] += (square - mean**2).sum(axis=0)
        left[binary] += (yes * (1 - yes)).sum(axis=0) * (high - low) ** 2
    return estimate, np.sqrt(np.maximum(left / n, 0.0))


def _found(
    rows: np.ndarray, odds: np.ndarray, s2: float, count: int, rng: np.random.Generator
) -> _Kinds:
    """Expectation and maximization from random rows; ``n x p`` numbers, ``n x q`` log odds."""
    n = len(rows)
    least = _LEAST * s2
    spread = np.maximum(rows.var(axis=0) - s2, least)
    start = rng.choice(n, count, replace=False)
    drawn = spread / (spread + s2)  # rows drawn to the mean: not the noise, but where records may be
    mean = rows.mean(axis=0) + (rows[start] - rows.mean(axis=0)) * drawn
    kinds = _Kinds(
        np.full(count, 1 / count),
        mean,
        np.tile(spread, (count, 1)),
        np.clip(expit(odds[start]), 0.05, 0.95),
    )
    for _ in range(_ITERATIONS):
        weight = _weights(rows, odds, kinds, s2)
        total = weight.sum(axis=0) + 1e-9
        at = (weight.T @ rows) / total[:, None]
        around = (weight.T @ rows**2) / total[:, None] - at**2
        kept = kinds.variance / (kinds.variance + s2)
        # Posterior means of records of a kind, around their new mean, and what is left of each.
        variance = np.maximum(kept**2 * around + kept * s2, least)
        mean = kinds.mean + kept * (at - kinds.mean)
        high = np.empty_like(kinds.high)
        for j in range(odds.shape[1]):
            yes = expit(odds[:, j : j + 1] + _logit(kinds.high[:, j]))
            high[:, j] = (weight * yes).sum(axis=0) / total
        kinds = _Kinds(total / total.sum(), mean, variance, np.clip(high, _LEAST, 1 - _LEAST))
    return kinds


def _weights(rows: np.ndarray, odds: np.ndarray, kinds: _Kinds, s2: float) -> np.ndarray:
    """Chance of each kind for each row, ``n x K``."""
    total = kinds.variance + s2
    log = np.log(kinds.share) - 0.5 * (
        rows**2 @ (1 / total).T
        - 2 * rows @ (kinds.mean / total).T
        + (kinds.mean**2 / total + np.log(total)).sum(axis=1)
    )
    for j in range(odds.shape[1]):
        high = kinds.high[:, j]
        log += np.logaddexp(np.log1p(-high), odds[:, j : j + 1] + np.log(high))
    return softmax(log, axis=1)


def _log_odds(rows: np.ndarray, low: np.ndarray, high: np.ndarray, s2: float) -> np.ndarray:
    """How much likelier the upper end is than the lower, by the row alone."""
    return (rows - (low + high) / 2) * (high - low) / s2


def _logit(chance: np.ndarray) -> np.ndarray:
    return np.log(chance) - np.log1p(-chance)
