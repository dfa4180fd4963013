"""Randomness: laws, accuracy at every magnitude, and where the words come from."""

import math
import os

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from botorch_private.curator.mechanisms.entropy import (
    OSEntropy,
    SeededEntropy,
    _order,
    entropy_from,
    exponentials,
    normals,
    permutation,
    uniforms,
)

SIZE = 200_000  # Kolmogorov-Smirnov at this size sees differences of 0.4 % in a distribution function


class Words:
    """A source that hands out the given words, and no others."""

    seeded = True

    def __init__(self, words):
        self._words = [np.array(block, dtype=np.uint64) for block in words]

    def words(self, count):
        block = self._words.pop(0)
        assert len(block) == count
        return block


def seeded(seed=0):
    return SeededEntropy(torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("draw", "law"), [(uniforms, "uniform"), (exponentials, "expon"), (normals, "norm")]
)
def test_draws_follow_their_law(draw, law):
    assert stats.kstest(draw(seeded(), SIZE), law).pvalue > 1e-3


def test_normals_are_uncorrelated_with_uniform_signs():
    pairs = normals(seeded(1), 2 * SIZE).reshape(2, SIZE)  # the two halves are the Box-Muller pairs
    assert abs(np.corrcoef(pairs)[0, 1]) < 4 / math.sqrt(SIZE)
    assert abs(np.corrcoef(pairs**2)[0, 1]) < 4 / math.sqrt(SIZE)
    assert np.abs((pairs > 0).mean(axis=1) - 0.5).max() < 2 / math.sqrt(SIZE)
    angles = np.arctan2(pairs[0], pairs[1])
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-3


def test_a_small_word_gets_more_bits_so_that_no_tail_is_cut_off():
    # The first word is all zeros (chance 2^-62): the value comes from the next words, scaled down.
    u = uniforms(Words([[0, 2**63], [2**63]]), 2)
    assert u[0] == pytest.approx(0.5 * 2.0**-62, rel=1e-12)
    assert u[1] == pytest.approx(0.5, rel=1e-12)
    # Two empty words in a row.
    u = uniforms(Words([[0], [0], [2**62]]), 1)
    assert u[0] == pytest.approx(0.25 * 2.0**-124, rel=1e-12)


def test_small_uniforms_are_not_multiples_of_a_coarse_step():
    # Words below 2^53 after the shift: fresh bits follow, down to the last places of a float.
    more = 0x9E3779B97F4A7C15
    u = uniforms(Words([[4 * 3], [more]]), 1)
    assert u[0] == (3 + ((more >> 2) + 0.5) * 2.0**-62) * 2.0**-62
    assert u[0] * 2.0**62 % 2.0**-45 != 0


def test_exponentials_keep_their_relative_accuracy_at_both_ends():
    # Words are turned into v by hand with mpmath; the bound claimed in noise_law is 128 * 2^-53.
    words = [2**63 + 4, 2**63 + 1, 2**55, 2**55 + 1, 2**64 - 4, 2**64 - 3, 2**56 + 9]
    draws = exponentials(Words([words]), len(words))
    with mpmath.workdps(40):
        for word, draw in zip(words, draws, strict=True):
            v = (mpmath.mpf(word >> 2) + mpmath.mpf("0.5")) / 2**63
            exact = -mpmath.log(1 - v) if word & 1 else -mpmath.log(v)
            assert abs(draw / exact - 1) < 8 * 2.0**-53


def test_sums_and_norms_keep_the_accuracy_that_is_charged():
    rng = np.random.default_rng(0)
    for k in (2, 22, 1024):
        rows = rng.exponential(size=(50, k))
        exact = np.array([math.fsum(row) for row in rows])
        assert np.abs(rows.sum(axis=1) / exact - 1).max() < 32 * 2.0**-53
        exact_norm = np.array([math.sqrt(math.fsum(x * x for x in row)) for row in rows])
        assert np.abs(np.linalg.norm(rows, axis=1) / exact_norm - 1).max() < 32 * 2.0**-53


def test_normals_keep_their_relative_accuracy_in_every_octant():
    rng = np.random.default_rng(5)
    pairs = 64
    radius_words = rng.integers(2**55, 2**64, pairs, dtype=np.uint64)
    angle_words = rng.integers(2**55, 2**64, pairs, dtype=np.uint64)
    angle_words[:8] = [2**55 + i for i in range(8)]  # angles near an axis, all signs
    swap = rng.integers(0, 2**64, 8, dtype=np.uint64)
    draws = normals(Words([radius_words, angle_words, swap]), 2 * pairs).reshape(2, pairs)
    swaps = np.frombuffer(swap.tobytes(), dtype=np.uint8) & 1
    with mpmath.workdps(40):
        for i in range(pairs):
            v = (mpmath.mpf(int(radius_words[i]) >> 2) + mpmath.mpf("0.5")) / 2**63
            energy = -mpmath.log(1 - v) if int(radius_words[i]) & 1 else -mpmath.log(v)
            u = (mpmath.mpf(int(angle_words[i]) >> 2) + mpmath.mpf("0.5")) / 2**62
            cosine = mpmath.sqrt(2 * energy) * mpmath.cos(mpmath.pi / 4 * u)
            sine = mpmath.sqrt(2 * energy) * mpmath.sin(mpmath.pi / 4 * u)
            first, second = (sine, cosine) if swaps[i] else (cosine, sine)
            assert abs(abs(draws[0, i]) / first - 1) < 12 * 2.0**-53
            assert abs(abs(draws[1, i]) / second - 1) < 12 * 2.0**-53


def test_permutation_is_uniform():
    # 24,000 permutations of 4 things: chi-square over the 24 orders.
    source = seeded(2)
    counts: dict[tuple, int] = {}
    for _ in range(24_000):
        order = tuple(permutation(source, 4).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_permutation_draws_again_rather_than_breaking_ties_by_position():
    assert permutation(Words([[5, 5, 1], [3, 2, 1]]), 3).tolist() == [2, 1, 0]


@given(
    words=st.lists(
        st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1), st.integers(2**63, 2**63 + 40)),
        min_size=1,
        max_size=50,
    )
)
@settings(deadline=None)
def test_a_permutation_is_the_order_of_its_words_as_argsort_finds_it(words):
    array = np.array(words, dtype=np.uint64)
    order = _order(array)
    if len(set(words)) < len(words):
        assert order is None
    else:
        assert order.tolist() == np.argsort(array, kind="stable").tolist()


def test_a_long_permutation_is_the_order_of_its_words():
    words = seeded(5).words(300_000)
    words[::7] &= np.uint64(2**64 - 2**20)  # many that agree in all but the lowest bits, or in all
    assert _order(words) is not None
    assert (_order(words) == np.argsort(words, kind="stable")).all()


def test_words_come_from_the_operating_system_by_default(monkeypatch):
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    source = entropy_from(None)
    assert not source.seeded
    assert source.words(2).tolist() == [0x0706050403020100, 0x0F0E0D0C0B0A0908]
    assert asked == [16]


def test_operating_system_words_have_no_state_that_a_fork_could_share():
    source = OSEntropy()
    assert vars(source) == {}
    assert (source.words(64) != source.words(64)).all()


def test_a_generator_makes_words_reproducible_and_says_so():
    a, b = seeded(3), seeded(3)
    assert a.seeded
    assert (a.words(1000) == b.words(1000)).all()
    bits = np.unpackbits(seeded(4).words(100_000).view(np.uint8)).reshape(-1, 64)
    # Every one of the 64 bits is fair within 4 standard errors.
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 4 * 0.5 / math.sqrt(100_000)


def test_anything_but_a_generator_is_refused():
    with pytest.raises(TypeError, match="generator must be a torch.Generator or None, got int"):
        entropy_from(42)  # type: ignore[arg-type]
