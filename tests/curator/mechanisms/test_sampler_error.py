"""The sampler's rounding against the exact numbers that its words stand for, in many dimensions."""

import math

import mpmath
import numpy as np
import pytest

from botorch_private.curator.mechanisms.entropy import sum_by_halves
from botorch_private.curator.mechanisms.noise import unrounded
from botorch_private.privacy.noise_law import LARGEST_DIM, SAMPLER_ERROR, NoiseLaw

SMALLEST = 2**53  # smaller words are given more bits, from further words
ALMOST_ONE = 2**62 - 2**9  # the uniform next to 1
DIGITS = 40


class Repeated:
    """A source whose words are a given pattern again and again, or seeded ones."""

    seeded = True

    def __init__(self, pattern):
        self._pattern, self._rng = pattern, np.random.default_rng(0)
        self.given = []

    def words(self, count):
        if self._pattern is None:
            block = self._rng.integers(SMALLEST * 4, 2**64, count, dtype=np.uint64)
        else:
            # The two lowest bits are signs and branches: the uniform stands in the other 62.
            repeated = np.resize(np.array(self._pattern, dtype=np.uint64), count)
            block = (repeated << np.uint64(2)) | np.arange(count, dtype=np.uint64) % np.uint64(4)
        self.given.append(block)
        return block


def exact_uniform(word):
    assert int(word) >> 2 >= SMALLEST
    return (mpmath.mpf(int(word) >> 2) + 0.5) / 2**62


def exact_normals(blocks, count):
    """Box & Muller of the words, as `entropy.normals` uses them, without rounding."""
    radii, angles, swaps = blocks
    swaps = np.frombuffer(swaps.tobytes(), dtype=np.uint8) & 1
    first, second = [], []
    for radius, angle, swap in zip(radii, angles, swaps, strict=False):
        v = exact_uniform(radius) / 2
        length = mpmath.sqrt(-2 * mpmath.log(1 - v if int(radius) & 1 else v))
        cosine, sine = mpmath.cos_sin(exact_uniform(angle) * mpmath.pi / 4)
        one, other = (sine, cosine) if swap else (cosine, sine)
        first.append(length * one * (-1 if int(angle) & 1 else 1))
        second.append(length * other * (-1 if int(angle) & 2 else 1))
    return [*first, *second][:count]


def exact_draw(law, blocks):
    direction = exact_normals(blocks[:3], law.dim)
    scale = mpmath.mpf(law.scale) / mpmath.mpf(law.grid)
    if law.kind == "gaussian":
        return [scale * each for each in direction]
    product = mpmath.mpf(1)
    for word in blocks[3]:
        product *= exact_uniform(word)
    factor = -mpmath.log(product) / mpmath.sqrt(mpmath.fsum(each**2 for each in direction)) * scale
    return [factor * each for each in direction]


def error_in_units(law, source):
    """Largest error of a coordinate of one draw, as a share of what `noise_law` allows for."""
    drawn = unrounded(law, 1, source)[0]
    with mpmath.workdps(DIGITS):
        exact = exact_draw(law, source.given)
        length = mpmath.sqrt(mpmath.fsum(each**2 for each in exact))
        allowed = SAMPLER_ERROR * max(length, law._tail_radius() / law.grid)
        return float(max(abs(a - b) for a, b in zip(exact, drawn, strict=True)) / allowed)


PATTERNS = {
    "seeded": None,
    "smallest": [SMALLEST],
    "almost 1": [ALMOST_ONE],
    "a third": [2**62 // 3],
    "every rounding the same way": [2**62 // 3 * 2 + 12345],
    "one large step, then small ones": [SMALLEST, *[ALMOST_ONE] * 4999],
    "up and down": [SMALLEST, ALMOST_ONE],
}


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("dim", [1, 2, 15, 16, 17, 33, 500])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_draw_is_as_close_to_the_exact_one_as_is_charged_for(kind, dim, pattern):
    assert error_in_units(NoiseLaw(kind, dim, 1.3, dim), Repeated(pattern)) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("dim", [4097, 100_000])
@pytest.mark.parametrize("pattern", ["seeded", "almost 1", "every rounding the same way"])
def test_in_many_dimensions_it_is_as_close_in_the_worst_directions(dim, pattern):
    source = Repeated(PATTERNS[pattern])
    assert error_in_units(NoiseLaw("laplace", dim, 1.3, dim), source) < 0.5


def test_one_after_the_other_equal_terms_would_be_off_by_far_more():
    """Why sums go by halves: within a power of two each addition is rounded by the same amount."""
    worst = halves = 0.0
    for term in np.linspace(11.0, 12.0, 50):
        terms = np.full((1, 6250), term)  # the radius in 100,000 dimensions
        exact = math.fsum(terms[0])
        worst = max(worst, abs(np.add.accumulate(terms[0])[-1] - exact) / exact)
        halves = max(halves, abs(sum_by_halves(terms)[0] - exact) / exact)
    assert worst > SAMPLER_ERROR
    assert halves <= math.ceil(math.log2(6250)) * 2.0**-53


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 1000])
def test_sums_by_halves_are_sums(count):
    terms = np.random.default_rng(count).normal(size=(4, count))
    before = terms.copy()
    np.testing.assert_allclose(sum_by_halves(terms), terms.sum(axis=1), rtol=1e-13, atol=1e-13)
    assert (terms == before).all()


def test_the_radius_that_is_charged_for_is_as_long_as_the_count_of_errors_takes_it_to_be():
    for dim in (1, 2, 16, 17, 100, 4096, 10**5, 10**7):
        law = NoiseLaw("laplace", dim, 1.0, dim)
        assert law._tail_radius() > dim + 34
        assert 63 * math.ceil(dim / 16) <= 4 * law._tail_radius()


def test_more_dimensions_than_the_error_is_counted_for_are_refused():
    NoiseLaw("gaussian", LARGEST_DIM, 1.0, LARGEST_DIM)
    with pytest.raises(ValueError, match="dim must be at most 1099511627776"):
        NoiseLaw("gaussian", LARGEST_DIM + 1, 1.0, LARGEST_DIM + 1)
    logarithms = math.ceil(math.log2(LARGEST_DIM)) / 2 + math.ceil(math.log2(LARGEST_DIM / 16))
    assert 61.5 + logarithms < SAMPLER_ERROR * 2.0**53
