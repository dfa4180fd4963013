r"""The law of ``mu^2`` where several Gaussian draws, some through random subspaces, hide one change.

Given the projections, several draws of Gaussian noise are one, with ``mu^2 = sum_k mu_k^2`` (Dong, Roth
& Su 2019). The projections are independent of the records and of each other, and ``mu_k^2`` depends on
its own alone. So delta is an average over the law of the sum, exactly as for one draw:
``delta = E gaussian_delta(epsilon, sqrt(sum_k mu_k^2))``. That is far less than what the draws cost as
``(epsilon, delta)`` events, each of which pays for its own unlucky projections.

The laws are added on a grid. A value between two points of it is moved to the upper one, and the far
tail to the largest value that there is. Delta rises with ``mu^2``, so that the result is a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

_POINTS = 2**13
_TAIL = 1e-20  # its chance, far below any delta
_NUDGE = 1 + 1e-12  # float64 may have moved a value down by some last digits
_LEAST = 1e-13


class Squares(NamedTuple):
    """A discrete law of ``mu^2``.

    Args:
        values: Its values, >= 0, rising.
        weights: Their probabilities.
    """

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def known(cls, square: float) -> Squares:
        """One value, with certainty."""
        return cls(np.array([square]), np.ones(1))


def summed(laws: Sequence[Squares]) -> Squares:
    """Law of the sum of independent squares, one at least, rounded up."""
    known = sum(float(law.values[0]) for law in laws if len(law.values) == 1)
    random = [_cut(*law, largest=float(law.values[-1]), tail=0.0) for law in laws if len(law.values) > 1]
    if not random:
        return Squares.known(known)
    values, weights, largest, tail = reduce(_added, random)
    return Squares(np.append(values, largest) + known, np.append(weights, tail))


class _Cut(NamedTuple):
    """A law whose far tail is moved to the largest value that there is."""

    values: np.ndarray
    weights: np.ndarray
    largest: float
    tail: float


def _added(one: _Cut, other: _Cut) -> _Cut:
    ranges = [float(each.values[-1] - each.values[0]) for each in (one, other)]
    # A range of a few last digits, where nothing is moved far, is still cut into different points.
    step = max(sum(ranges) / _POINTS, _LEAST * float(one.values[-1] + other.values[-1]))
    weights = np.convolve(_on_grid(one, step), _on_grid(other, step))
    low = float(one.values[0] + other.values[0])
    values = (low + step * np.arange(len(weights))) * _NUDGE
    largest = max((one.largest + other.largest) * _NUDGE, float(values[-1]))
    return _cut(values, weights, largest, one.tail + other.tail)


def _on_grid(law: _Cut, step: float) -> np.ndarray:
    """Weights at whole steps above the smallest value, each value moved up to the next of them."""
    return np.bincount(np.ceil((law.values - law.values[0]) / step).astype(np.int64), law.weights)


def _cut(values: np.ndarray, weights: np.ndarray, largest: float, tail: float) -> _Cut:
    beyond = np.cumsum(weights[::-1])[::-1]
    kept = max(1, int(np.count_nonzero(beyond > _TAIL)))
    return _Cut(values[:kept], weights[:kept], largest, tail + float(weights[kept:].sum()))
