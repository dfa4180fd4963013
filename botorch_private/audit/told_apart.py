r"""Whether labels are told independently of each other, and of all other records.

Truths are looked at as ``x = [true] - p``, and lies as phases, centred given the true cell: ``y = [lie]
(exp(2 pi i label / K) + exp(2 pi i cell / K) / (K - 1))``, and the same of ``label - cell``. For an
honest mechanism each of these has mean zero, whatever all other records and labels are. So the sum
``S_s`` of the products of one sequence with another, ``s`` rows apart, is a martingale, and Bernstein's
inequality (Freedman 1975) bounds the chance that it is as large, for each ``s``. All ``s`` are tried at
once by a Fourier transform, and all are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import fft

from botorch_private.audit.findings import Check
from botorch_private.privacy.response_law import ResponseLaw

_SPREAD = 1.1  # the variance is that of what was drawn: a little more than the expected one
_TINY = 1e-300


class _Centred(NamedTuple):
    """A sequence with mean zero given all else, its largest variance and its largest size."""

    values: np.ndarray
    variance: float
    size: float


def neighbour_checks(true: np.ndarray, labels: np.ndarray, law: ResponseLaw) -> Iterator[Check]:
    """Whether truths and lies go with the cells of records, any number of rows away."""
    cells = np.exp(2j * math.pi * true / law.cells)
    yield _apart(
        "whether a record is told truly does not depend on the cells of others",
        _truths(true, labels, law),
        cells,
    )
    if law.cells > 2:
        yield _apart(
            "which lie is told does not depend on the cells of others",
            _phases(true, labels, law),
            cells,
        )


def repeat_checks(true: np.ndarray, labels: np.ndarray, law: ResponseLaw) -> Iterator[Check]:
    """Whether the labels of one release go together, any number of rows apart."""
    for what, one in _sequences(true, labels, law):
        yield _apart(f"{what} of two rows do not go together", one, one.values, same=True)


def alike_checks(name: str, one: Any, other: Any, law: ResponseLaw) -> Iterator[Check]:
    """Whether two releases, each with `true` and `labels`, were told by the same random numbers."""
    second = dict(_sequences(other.true, other.labels, law))
    for what, first in _sequences(one.true, one.labels, law):
        yield _apart(f"{what} of {name} are not those of the first", first, second[what].values)


def _sequences(true: np.ndarray, labels: np.ndarray, law: ResponseLaw) -> Iterator[tuple[str, _Centred]]:
    yield "truths", _truths(true, labels, law)
    if law.cells > 2:
        yield "lies", _phases(true, labels, law)
        yield "distances of lies", _phases(np.zeros_like(true), (labels - true) % law.cells, law)


def _truths(true: np.ndarray, labels: np.ndarray, law: ResponseLaw) -> _Centred:
    return _Centred((labels == true) - law.p, law.p * (1 - law.p), 1.0)


def _phases(true: np.ndarray, labels: np.ndarray, law: ResponseLaw) -> _Centred:
    turn = 2j * math.pi / law.cells
    lies = (labels != true) * (np.exp(turn * labels) + np.exp(turn * true) / (law.cells - 1))
    return _Centred(lies, 1 - law.p, 1 + 1 / (law.cells - 1))


def _apart(name: str, one: _Centred, other: np.ndarray, *, same: bool = False) -> Check:
    """Whether the first, centred sequence goes with the other, at any number of rows apart."""
    if not one.values.any() or not other.any():
        return Check(name, 1.0)  # no lies
    n = len(one.values)
    length: int = fft.next_fast_len(2 * n)  # pyright: ignore[reportAssignmentType]
    one_there: Any = fft.fft(one.values, length)
    other_there: Any = fft.fft(other, length)
    sums: Any = fft.ifft(one_there * np.conj(other_there))
    sizes = np.abs(sums)
    if same:
        sizes[0] = 0.0
    apart = int(sizes.argmax())
    # A complex sum is as large as this only if its real or imaginary part is, over sqrt(2).
    real = np.isrealobj(one.values) and np.isrealobj(other)
    largest = float(sizes[apart]) / (1.0 if real else math.sqrt(2.0))
    reach = one.size * float(np.abs(other).max())
    variance = _SPREAD * one.variance * float(np.square(np.abs(other)).sum()) + reach**2
    exponent = largest**2 / (2 * (variance + reach * largest / 3))
    chance = min(1.0, (2 if real else 4) * 2 * n * math.exp(-exponent))
    rows = apart if apart <= n else length - apart
    return Check(name, max(chance, _TINY), f"{rows} rows apart")
