"""Randomness: uniforms, exponentials, normals and permutations from 64-bit words.

The words come from the operating system, or from a `torch.Generator` in tests and benchmarks. Every
draw below keeps a relative accuracy of a few units in the last place *at every magnitude*: small
values are not multiples of 2^-53, and tails are not cut off. `noise_law` charges what is left.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
import torch

from botorch_private._base import validate

_UNIT = 2.0**-62
_WORDS = 2**64
_BLOCK = 16  # a product of 16 uniforms is below float64's range with probability < 1e-250


class Entropy(Protocol):
    """A source of independent, uniform 64-bit words."""

    seeded: bool

    def words(self, count: int) -> np.ndarray:
        """Return ``count`` words, an array of dtype uint64."""
        ...


class OSEntropy:
    """Words from the operating system: no state, so that forked workers never share noise."""

    seeded = False

    def words(self, count: int) -> np.ndarray:
        """Return ``count`` words, an array of dtype uint64."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededEntropy:
    """Words from a generator: reproducible, hence not private."""

    seeded = True

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator

    def words(self, count: int) -> np.ndarray:
        """Return ``count`` words, an array of dtype uint64."""
        signed = torch.empty(count, dtype=torch.int64, device=self._generator.device)
        return signed.random_(-(2**63), None, generator=self._generator).cpu().numpy().view(np.uint64)


def entropy_from(generator: torch.Generator | None) -> Entropy:
    """Operating-system entropy for None, else the words of ``generator``."""
    validate.generator(generator=generator)
    return OSEntropy() if generator is None else SeededEntropy(generator)


def uniforms(entropy: Entropy, count: int) -> np.ndarray:
    """Uniform on (0, 1], with 53 significant bits at every magnitude."""
    return _fractions(entropy, entropy.words(count) >> np.uint64(2))


def exponentials(entropy: Entropy, count: int) -> np.ndarray:
    """Standard exponentials; both ends keep their relative accuracy.

    A spare bit chooses between the half below the median, where ``-log1p(-v)`` is accurate, and the
    half above it, where ``-log(v)`` is; ``v`` is uniform on (0, 1/2].
    """
    words = entropy.words(count)
    v = _fractions(entropy, words >> np.uint64(2)) / 2
    below = (words & np.uint64(1)).astype(bool)
    return -np.where(below, np.log1p(-v), np.log(v))


def gammas(entropy: Entropy, count: int, shape: int) -> np.ndarray:
    """Gamma variables of integer shape and scale 1: sums of ``shape`` exponentials.

    The logarithm is taken of products of `_BLOCK` uniforms, and the logarithms are added by halves.
    How far that is off, whatever the uniforms and the shape are, is counted in `noise_law`.
    """
    factors = uniforms(entropy, count * shape).reshape(count, shape)
    products = np.empty((count, -(-shape // _BLOCK)))
    for block in range(products.shape[1]):
        start = block * _BLOCK
        factors[:, start : start + _BLOCK].prod(axis=1, out=products[:, block])
    return -sum_by_halves(np.log(products))


def sum_by_halves(terms: np.ndarray) -> np.ndarray:
    """Row sums of a ``count x k`` array, in which no term meets more than ``ceil(log2(k))`` additions.

    One after the other, equal terms can all be rounded the same way, an error of ``k / 2`` units in the
    last place. NumPy adds in pairs where its memory allows, which it does not promise.
    """
    while terms.shape[1] > 1:
        half = (terms.shape[1] + 1) // 2
        first = terms[:, :half].copy()
        first[:, : terms.shape[1] - half] += terms[:, half:]
        terms = first
    return terms[:, 0]


def normals(entropy: Entropy, count: int) -> np.ndarray:
    """Standard normals by Box & Muller (1958), the angle folded into one octant.

    Within an octant neither sine nor cosine loses digits. Three more bits unfold it: the two spare
    ones of each word are signs, and bytes of further words say whether to swap sine and cosine.
    """
    pairs = (count + 1) // 2
    radius = np.sqrt(2 * exponentials(entropy, pairs))
    words = entropy.words(pairs)
    angle = _fractions(entropy, words >> np.uint64(2)) * (np.pi / 4)
    swap = np.frombuffer(entropy.words((pairs + 7) // 8).tobytes(), dtype=np.uint8)[:pairs] & 1
    cosine, sine = radius * np.cos(angle), radius * np.sin(angle)
    first = np.where(swap, sine, cosine)
    second = np.where(swap, cosine, sine)
    first[(words & np.uint64(1)).astype(bool)] *= -1
    second[(words & np.uint64(2)).astype(bool)] *= -1
    return np.concatenate([first, second])[:count]


def below(entropy: Entropy, bound: int, count: int) -> np.ndarray:
    """Uniform whole numbers in 0..bound-1, exactly: words at the incomplete end are drawn anew."""
    words = entropy.words(count).copy()
    whole = _WORDS - _WORDS % bound
    if whole < _WORDS:
        while (late := np.flatnonzero(words >= np.uint64(whole))).size:
            words[late] = entropy.words(late.size)
    return words % np.uint64(bound)


def permutation(entropy: Entropy, n: int) -> np.ndarray:
    """Uniform permutation of 0..n-1: the order of ``n`` distinct random words."""
    while True:
        order = _order(entropy.words(n))
        if order is not None:  # else ties would be broken by position
            return order


def _order(words: np.ndarray) -> np.ndarray | None:
    """Where each of the sorted words stood, or None if two of them are the same.

    As `numpy.argsort`, in half the time and memory: a word's lowest bits make room for its place, so
    that the numbers themselves can be sorted.
    """
    bits = np.uint64(max(len(words) - 1, 0).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    keys = words & ~low
    keys |= np.arange(len(words), dtype=np.uint64)
    keys.sort()
    upper = keys >> bits
    tied = np.flatnonzero(upper[1:] == upper[:-1])
    keys &= low
    order = keys.view(np.int64)
    if not tied.size:
        return order
    # The few whose upper bits agree stand together: their whole words decide.
    places = np.union1d(tied, tied + 1)
    rows = order[places]
    ranked = words[rows]
    by_word = np.argsort(ranked)
    ranked = ranked[by_word]
    order[places] = rows[by_word]
    return None if (ranked[1:] == ranked[:-1]).any() else order


def _fractions(entropy: Entropy, words: np.ndarray) -> np.ndarray:
    """Turn 62-bit words into uniforms; words too small to fill a significand get more bits."""
    fractions = (words.astype(np.float64) + 0.5) * _UNIT
    coarse = words < np.uint64(2**53)
    if coarse.any():
        kept = words[coarse]
        fractions[coarse] = (kept + uniforms(entropy, kept.size)) * _UNIT
    return fractions
