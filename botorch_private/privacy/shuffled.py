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

*Rounding.* Everything is rounded against ourselves: the gain up and the loss down, the rate of lies down
(fewer lies hide less), binomial probabilities by more than they can be off, and so many lies that they
next to never occur count as if nothing were hidden. A crowd beyond `_MOST` counts as one of `_MOST`:
who is told the labels of all others knows no less.
"""

from __future__ import annotations

import math

import numpy as np

from botorch_private._base import validate
from botorch_private.privacy.response_law import ResponseLaw

_MOST = 10**8  # SciPy loses digits of binomial probabilities beyond
_TAIL = 1e-18  # probability of lies that are too few or too many, each; added to delta
_ROUNDING = 1e-7  # relative error of a binomial probability, ten times what SciPy 1.11 has at `_MOST`
_ARITHMETIC = 2.0**-49  # relative: exp(epsilon), p and q, a product and a difference
_STEPS = 60
_PRECISION = 1e-6  # of epsilon, relative; the upper end is returned


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
        delta: In (0, 1). At less than 2e-18 it is the local epsilon.
    """
    validate.count(n=n)
    validate.probability(delta=delta)
    lies = _Lies(law, n)
    if _delta(law, lies, 0.0) <= delta:
        return 0.0
    low, high = 0.0, law.epsilon(1.0)  # where delta is 0
    for _ in range(_STEPS):
        if high - low <= _PRECISION * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(law, lies, middle) <= delta else (middle, high)
    return high


class _Lies:
    """Numbers of lies that matter, with their probabilities, rounded up."""

    def __init__(self, law: ResponseLaw, n: int) -> None:
        from scipy.stats import binom  # late: it takes long to import

        others = min(n, _MOST) - 1
        rate = math.nextafter(min(1.0, 2 * law.q), 0.0)
        mean, deviation = others * rate, math.sqrt(others * rate * (1 - rate))
        # Bernstein: beyond this many the probability is below _TAIL.
        reach = math.log(1 / _TAIL)
        width = math.sqrt(2 * reach) * deviation + reach
        self.counts = np.arange(
            max(0, math.floor(mean - width)), min(others, math.ceil(mean + width)) + 1
        )
        self.weights = binom.pmf(self.counts, others, rate) * (1 + _ROUNDING)
        self.outside = 2 * _TAIL

    def at_least(self, least: np.ndarray) -> np.ndarray:
        """``P(Bin(C, 1/2) >= least)`` for each number ``C`` of lies."""
        from scipy.stats import binom

        # Not by `scipy.special.betainc`: SciPy 1.11 has 4 digits of it at 10^7 lies.
        return binom.sf(least - 1, self.counts, 0.5)


def _delta(law: ResponseLaw, lies: _Lies, epsilon: float) -> float:
    p, q, factor = law.p, law.q, math.exp(epsilon)
    gain = p - factor * q + _ARITHMETIC * (p + factor * q)  # of P(x - 1)
    loss = max(0.0, factor * p - q - _ARITHMETIC * (factor * p + q))  # of P(x)
    if gain <= 0:
        return 0.0
    # gain x > loss (C - x + 1); of C + 1 that is so, also where rounding would have it otherwise.
    first = np.floor(loss * (lies.counts + 1.0) / (gain + loss)) + 1
    first = np.minimum(first, lies.counts + 1)
    above, at = gain * lies.at_least(first - 1), loss * lies.at_least(first)
    terms = np.maximum(above - at, 0.0) + _ROUNDING * (above + at)
    return float((lies.weights * terms).sum()) + lies.outside
