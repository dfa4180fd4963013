"""Whether rows of noise are independent: of each other, and of another release's.

Every lag is looked at, by the fast Fourier transform: a sampler that works in blocks repeats itself at a
lag that an auditor does not know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import gammaln
from scipy.stats import norm, poisson, rankdata

from botorch_private.audit.findings import Check, Findings
from botorch_private.audit.goodness_of_fit import lengths_of, unit_rows
from botorch_private.privacy.noise_law import NoiseLaw

_MOST_COORDINATES = 32
_FEWEST_PAIRS = 500  # of lengths, for the central limit
_MOST_CHANCE_PAIRS = 1.0
_MOST_TRIALS = 2**18


def row_checks(noise: np.ndarray, rng: np.random.Generator) -> Iterator[Check]:
    """Rows of one release against each other, at every distance between two rows.

    Args:
        noise: ``m x k`` rows of noise.
        rng: For the directions of rows of zeros.
    """
    directions, lengths = _directions(noise, rng), _scores(noise)
    k = directions.shape[1]
    yield Check(
        "no two rows have noise in directions that go together", _at_any_lag(directions, directions, k)
    )
    yield Check("no two rows have noise of lengths that go together", _at_any_lag(lengths, lengths))


def dependence(noise: np.ndarray) -> tuple[str, ...]:
    """Why an audit cannot rely on ``m x k`` noises as independent trials; empty if nothing was found."""
    checks = tuple(row_checks(noise[:_MOST_TRIALS], np.random.default_rng(0)))
    return Findings(checks, sees=()).problems


def pair_checks(
    one: np.ndarray,
    other: np.ndarray,
    law: NoiseLaw,
    rng: np.random.Generator,
    *,
    directions: bool,
    who: str,
) -> Iterator[Check]:
    """Rows of one release against those of another.

    Args:
        one: ``m x k`` rows of noise.
        other: As many of another release.
        law: The claimed law.
        rng: For the directions of rows of zeros.
        directions: Whether both are in the same coordinates.
        who: The two, in words.
    """
    if directions:
        pair = _directions(one, rng), _directions(other, rng)
        chance = _at_any_lag(*pair, pair[0].shape[1], same=False)
        yield Check(f"{who} have noise in directions of their own", chance)
    chance = _at_any_lag(_scores(one), _scores(other), same=False)
    yield Check(f"{who} have noise of lengths of their own", chance)
    if law.scale < law.grid:  # most of the noise is 0
        return
    sorted_ = [np.sort(lengths_of(each)) for each in (one, other)]
    same = np.allclose(*sorted_, rtol=1e-9, atol=0.0)
    yield Check.exact(f"{who} do not have the same noise in another order", not same)


def repeated_rows(noises: Sequence[np.ndarray], law: NoiseLaw) -> Check | None:
    """Whether two rows, wherever they are, have the same noise, or opposite noise.

    Args:
        noises: Rows of noise on the grid, of one release each.
        law: The claimed law.

    Returns:
        None where the law is so narrow that chance alone gives such pairs.
    """
    steps = [np.rint(noise / law.grid).astype(np.int64) for noise in noises]
    rows = sum(len(each) for each in steps)
    # Of two rows the chance to agree is the integral of the squared density, in cells of the grid.
    k = law.dim
    if law.exponential:
        log_chance = gammaln(k / 2 + 1) - k / 2 * math.log(math.pi) - gammaln(k + 1) - k * math.log(2)
    else:
        log_chance = -k / 2 * math.log(4 * math.pi)
    log_chance -= k * math.log(law.scale / law.grid)
    log_pairs = log_chance + 2 * math.log(rows)  # half of the pairs, and twice: equal or opposite
    if law.scale < law.grid or log_pairs > math.log(_MOST_CHANCE_PAIRS):
        return None
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, size=k)
    marks = np.concatenate([each @ weights for each in steps])  # wraps around, as a hash may
    counts = np.unique(np.abs(marks), return_counts=True)[1]
    pairs = int((counts * (counts - 1) // 2).sum())
    return Check(
        "no two rows have the same noise, or opposite noise",
        float(poisson.sf(pairs - 1, math.exp(log_pairs))) if pairs else 1.0,
        f"{pairs} pairs",
        f"{math.exp(log_pairs):.1g} by chance",
    )


def _directions(noise: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    # The first coordinates of a uniform direction have a uniform direction themselves.
    return unit_rows(noise[:, :_MOST_COORDINATES], rng)


def _scores(noise: np.ndarray) -> np.ndarray:
    """Lengths as ranks, uniform with mean 0 and variance 1."""
    ranks = rankdata(lengths_of(noise))
    centred = ranks - ranks.mean()
    return (centred / max(float(centred.std()), np.finfo(float).tiny))[:, None]


def _at_any_lag(one: np.ndarray, other: np.ndarray, k: int | None = None, *, same: bool = True) -> float:
    """Bound of the chance that inner products of rows, summed at a lag, are so large at any lag.

    The inner product of two independent uniform directions is sub-Gaussian with variance ``1 / k``, and
    the products along a lag are independent: Hoeffding's bound holds at every length. Scores of lengths
    (``k`` None) have variance 1 and enough pairs for the central limit.
    """
    n = len(one)
    size = 1 << (2 * n - 1).bit_length()  # room for every lag, and no lag comes round again
    total = np.zeros(size // 2 + 1, dtype=complex)
    for column in range(one.shape[1]):  # one at a time, for memory
        first = np.fft.rfft(one[:, column], size)
        second = first if one is other else np.fft.rfft(other[:, column], size)
        total += np.conj(first) * second
    sums = np.fft.irfft(total, size)
    lags = np.arange(1, n)
    forward, back = sums[lags], sums[-lags]
    pairs = n - lags
    if same:
        found, count = forward, pairs
    else:
        found = np.concatenate([sums[:1], forward, back])
        count = np.concatenate([[n], pairs, pairs])
    if k is None:
        enough = count >= _FEWEST_PAIRS
        if not enough.any():
            return 1.0
        found, count = found[enough], count[enough]
        largest = float((np.abs(found) / np.sqrt(count)).max())
        return min(1.0, len(count) * float(2 * norm.sf(largest)))
    squared = float((found**2 * (k / count)).max())
    return min(1.0, len(count) * 2 * math.exp(-squared / 2))
