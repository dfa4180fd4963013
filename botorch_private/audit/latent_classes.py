r"""latent_class_attack: what a modeler learns of each record from the other rows of the release alone.

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
import torch
from scipy.special import expit, softmax

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.reconstruction import Reconstruction
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.exchange.release import Release

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


@quiet_arithmetic
@on_cpu_by_default
def latent_class_attack(
    release: Release, scaling: PublicScaling, *, classes: int = 12, seed: int = 0
) -> Reconstruction:
    """Rebuild all records from the release alone: no record, and no sample of the population, is known.

    O(n d K) an iteration; a second or two for 8,000 rows of 22 features.

    Args:
        release: As the curator released it, neither rotated nor projected, with noise on each row. l2
            Laplace noise is taken for Gaussian noise of its variance.
        scaling: The declared ranges, which are public.
        classes: Kinds of record that are looked for, ``K``.
        seed: Of the attacker's random start.

    Returns:
        The estimates. Their judged error is the posterior deviation, by the kinds that were found.

    Raises:
        ValueError: If rows are labels of cells, rotated, projected, without noise, or of other ranges.

    Example:
        >>> found = audit.latent_class_attack(release, scaling, classes=3)
        >>> found.records.shape
        torch.Size([60, 2])
    """
    release.refuse_labels("response_audit tests them; what one says is bounded by guarantee.at")
    validate.count(classes=classes)
    scaling.check_belongs(release.guarantee, "release")
    if release.isotropic or isinstance(release.noise_variance, tuple):
        raise ValueError("release must have columns that are features, neither rotated nor projected")
    s2 = float(release.noise_variance)
    if s2 == 0:
        raise ValueError("release must have noise on its rows: without it there is nothing to guess")
    rows = release.candidates.numpy()
    n, d = rows.shape
    names = scaling.names or ()
    at_ends = {column for step in scaling.steps for column in step.columns}
    binary = np.array([i for i in range(d) if i < len(names) and names[i] in at_ends], dtype=int)
    numbers = np.setdiff1d(np.arange(d), binary)
    ends = scaling.transform(torch.stack([scaling.lower, scaling.upper])).numpy()
    low, high = ends[:, binary]
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
    error = torch.from_numpy(np.sqrt(np.maximum(left / n, 0.0)))
    return Reconstruction(scaling.inverse(torch.from_numpy(estimate)), error * scaling.unit)


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
