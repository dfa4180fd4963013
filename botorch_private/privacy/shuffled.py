r"""What a shuffled set of randomized responses says of one record: the central guarantee.

A release of labels is permuted uniformly, and only the curator knows the order. Who sees it before the
first question sees how often each label occurs, and no more. One record is then hidden among the lies
told of all others, and the guarantee is far better than that of its own label (the shuffle model:
Erlingsson et al. 2019; Balle et al. 2019; Feldman, McMillan & Talwar 2021).

*The bound.* Let the record move from cell ``a`` to cell ``b``. Each of the ``n - 1`` other labels is
``a`` with probability at least ``q`` and ``b`` with at least ``q``, whatever its own cell is. So it can
be drawn as: ``a`` by a lie that does not depend on anything (``q``), ``b`` by such a lie (``q``), or
something that does not depend on the record that moved. Tell an attacker all of the last kind, and
whether the record's own label is neither ``a`` nor ``b``: that only helps. What is left is ``C ~ Bin(n -
1, 2 q)`` lies of which ``A ~ Bin(C, 1/2)`` are ``a``, and the record's label: ``a`` with ``p`` and ``b``
with ``q`` before the move, the other way round after it. With ``P`` for the law of ``A`` given ``C``

``delta(epsilon) = E_C sum_x (p P(x - 1) + q P(x) - e^epsilon (q P(x - 1) + p P(x)))_+``.

``P(x - 1) / P(x) = x / (C - x + 1)`` rises in ``x``, so that the terms are positive from one ``x`` on,
and the inner sum is a difference of binomial tails.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc

from botorch_private._base import validate
from botorch_private.privacy.response_law import ResponseLaw

_TAIL = 1e-18  # probability of lies that are too few or too many, each; added to delta
_ROUNDING = 1e-11  # relative error of a binomial tail, far above what SciPy's tests find
_WEIGHTS = 1e-9  # relative error of a probability of so many lies among a billion records
_STEPS = 60
_PRECISION = 1e-6  # of epsilon, relative; the upper end is returned
LEAST_DELTA = 1e-10  # below it rounding would count


def shuffled_delta(law: ResponseLaw, n: int, epsilon: float) -> float:
    """Delta at a central epsilon, rounded up; see the module's text.

    Args:
        law: Of the labels.
        n: Number of records, >= 1.
        epsilon: >= 0.
    """
    validate.count(n=n)
    validate.non_negative(epsilon=epsilon)
    if epsilon >= law.epsilon(1.0):
        return 0.0
    return _delta(law, _Lies(law, n), epsilon)


def shuffled_epsilon(law: ResponseLaw, n: int, delta: float) -> float:
    """Least central epsilon at this delta, rounded up; never above the local one.

    Args:
        law: Of the labels.
        n: Number of records, >= 1.
        delta: In [1e-10, 1); a smaller one is answered with the local epsilon.
    """
    validate.count(n=n)
    validate.probability(delta=delta)
    local = law.epsilon(1.0)
    lies = _Lies(law, n)
    if delta < LEAST_DELTA or _delta(law, lies, local) > delta:
        return local
    low, high = 0.0, local
    if _delta(law, lies, low) <= delta:
        return 0.0
    for _ in range(_STEPS):
        if high - low <= _PRECISION * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(law, lies, middle) <= delta else (middle, high)
    return high


class _Lies:
    """Numbers of lies that matter, with their probabilities, rounded up."""

    def __init__(self, law: ResponseLaw, n: int) -> None:
        rate = min(1.0, 2 * law.q)
        mean, deviation = (n - 1) * rate, math.sqrt((n - 1) * rate * (1 - rate))
        # Bernstein: beyond this many the probability is below _TAIL.
        reach = math.log(1 / _TAIL)
        width = math.sqrt(2 * reach) * deviation + reach
        self.counts = np.arange(
            max(0, math.floor(mean - width)), min(n - 1, math.ceil(mean + width)) + 1
        )
        self.weights = _binomial(self.counts, n - 1, rate)
        self.outside = 2 * _TAIL


def _binomial(counts: np.ndarray, trials: int, rate: float) -> np.ndarray:
    from scipy.stats import binom  # SciPy's own keeps 1e-13 relative also for a million trials

    return binom.pmf(counts, trials, rate)


def _delta(law: ResponseLaw, lies: _Lies, epsilon: float) -> float:
    p, q, factor = law.p, law.q, math.exp(epsilon)
    gain, loss = p - factor * q, factor * p - q  # of P(x - 1) and of P(x)
    if gain <= 0:
        return 0.0
    counts = lies.counts.astype(np.float64)
    # gain x > loss (C - x + 1)
    first = np.floor(loss * (counts + 1) / (gain + loss)) + 1
    first = np.clip(first, 0, counts + 2)
    above = _tail(first - 1, counts)  # P(A >= first - 1)
    at = _tail(first, counts)
    terms = np.maximum(gain * above - loss * at, 0.0) + _ROUNDING * (gain * above + loss * at)
    return float((lies.weights * terms).sum() * (1 + _WEIGHTS)) + lies.outside


def _tail(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """``P(Bin(C, 1/2) >= x)``."""
    inside = np.clip(x, 1.0, np.maximum(counts, 1.0))
    tail = betainc(inside, np.maximum(counts - inside + 1.0, 1.0), 0.5)
    return np.where(x <= 0, 1.0, np.where(x > counts, 0.0, tail))
