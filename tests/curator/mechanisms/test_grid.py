"""Released numbers lie on the public grid, and the sampler's stated error covers its arithmetic."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import NoisyProjection
from botorch_private.curator.mechanisms.entropy import OSEntropy
from botorch_private.curator.mechanisms.noise import calibrate, sample_on_grid
from botorch_private.privacy.noise_law import DELTA_FP, GRID, LARGEST_NORM, NoiseLaw

NORMS = {"origin": 0.0, "tiny": 5e-324, "small": 1e-9, "half a step": GRID / 2, "radius": 25.0}
NORMS["largest"] = LARGEST_NORM * (1 - 1e-12)


def extreme_table(d, seed=0):
    """Records of extreme norms: two in random directions and one along an axis for each."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((2 * len(NORMS), d))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    axis = np.eye(1, d).repeat(len(NORMS), axis=0)
    norms = np.array([*NORMS.values()] * 3)
    return torch.from_numpy(np.concatenate([directions, axis]) * norms[:, None])


def mechanisms(d):
    return st.builds(
        NoisyProjection,
        epsilon=st.floats(-2, 6).map(lambda power: 10**power),
        delta=st.sampled_from([1e-9, 1e-5, 0.1]),
        projection_dim=st.sampled_from([None, *range(1, d)]),
        noise=st.sampled_from(["laplace", "gaussian"]),
    )


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 6))
def test_no_released_number_is_off_the_grid_whatever_the_record_and_the_noise(data, d):
    mechanism = data.draw(mechanisms(d))
    rows = mechanism.apply(extreme_table(d))
    steps = rows / GRID  # a power of two: exact
    assert torch.equal(steps, steps.round())
    assert steps.abs().max() < 2**53  # and the integer behind it was kept exactly
    assert not (torch.signbit(rows) & (rows == 0)).any()  # one zero: a sign would be a bit more


@pytest.mark.parametrize(("d", "r"), [(1, 3), (2, 2), (3, 3), (3, 8)])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_rotated_rows_are_one_isometric_image_of_grid_points(d, r, noise):
    """Squares and inner products of rows survive an isometry: in grid steps they are integers."""
    mechanism = NoisyProjection(1.0, 1e-5, projection_dim=r, noise=noise)
    table = extreme_table(d)
    rows = mechanism.apply(table[table.norm(dim=1) <= 25.0]).numpy() / GRID
    products = rows @ rows.T
    # Products are up to 10^11 steps, of which float64 rounds away 10^-5; chance would leave 0.25.
    assert np.abs(products - np.rint(products)).mean() < 1e-3
    assert np.linalg.matrix_rank(rows) == d


@pytest.mark.parametrize("projection_dim", [None, 3, 7])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_records_that_round_to_the_same_grid_point_have_the_same_law(projection_dim, noise, monkeypatch):
    """Whatever the random words are, both tables give the same rows, bit by bit."""
    rng = np.random.default_rng(1)
    points = rng.integers(-50_000, 50_000, (30, 3)) * GRID
    inside = rng.uniform(-0.499, 0.499, (2, 30, 3)) * GRID
    mechanism = NoisyProjection(1.0, 1e-5, projection_dim=projection_dim, noise=noise)
    for seed in range(5):
        released = []
        for table in (points, points + inside[0], points + inside[1]):
            words = np.random.default_rng(seed)
            monkeypatch.setattr(
                OSEntropy,
                "words",
                lambda _, count, words=words: words.integers(0, 2**64, count, dtype=np.uint64),
            )
            released.append(mechanism.apply(torch.from_numpy(table)))
        assert torch.equal(released[0].view(torch.int64), released[1].view(torch.int64))
        assert torch.equal(released[0].view(torch.int64), released[2].view(torch.int64))


# --- the stated delta and the arithmetic charged to epsilon ---


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("dim", [1, 2, 3, 5, 22, 100, 784])
def test_stated_delta_covers_the_noise_outside_the_radius_within_which_arithmetic_is_charged(kind, dim):
    law = NoiseLaw(kind, dim, 1.7, dim)
    with mpmath.workdps(40):
        reach = mpmath.mpf(law._tail_radius()) / law.scale
        if kind == "laplace":
            outside = mpmath.gammainc(dim, reach, regularized=True)
        else:
            outside = mpmath.gammainc(mpmath.mpf(dim) / 2, reach**2 / 2, regularized=True)
        assert outside * 2 == pytest.approx(DELTA_FP, rel=1e-6)  # the other half is room for rounding


WORD = 62  # bits of a uniform that one word gives
BITS = 4 * WORD


class OneUniform:
    """Randomness of which all is fixed but the uniforms that make the radii: integers of `BITS` bits.

    Words below 2^53 are refined by further words (`entropy.uniforms`), which are the next bits.
    """

    seeded = True

    def __init__(self, uniforms, seed):
        self._uniforms = uniforms
        self._left = BITS
        self._others = iter(np.random.default_rng(seed).integers(2**55, 2**64, (3, 1), dtype=np.uint64))

    def words(self, count):
        # In one dimension the direction, from three words, is a sign: its length is divided out.
        for fixed in self._others:
            return fixed.repeat(count)
        assert count == len(self._uniforms)
        self._left -= WORD
        words = [(uniform >> self._left) % 2**WORD for uniform in self._uniforms]
        pairs = zip(self._uniforms, words, strict=True)
        self._uniforms = [uniform for uniform, word in pairs if word < 2**53]
        if self._left == 0:
            words = [max(word, 2**53) for word in words]
        return np.array(words, dtype=np.uint64) << np.uint64(2)


def chance_of_reaching(law, steps):
    """Probability that the sampler, as it is, moves by so many grid steps or more.

    A radius falls as its uniform grows: bisection finds the uniform at which the step is not reached.
    """
    low, high = [0] * len(steps), [2**BITS] * len(steps)
    for _ in range(BITS):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        drawn = np.abs(sample_on_grid(law, len(steps), OneUniform(middle, seed=3))[:, 0])
        for i, reached in enumerate(drawn >= steps):
            (low if reached else high)[i] = middle[i]
    return [mpmath.mpf(uniform) / 2**BITS for uniform in high]


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_laplace_sampler_as_it_is_keeps_its_epsilon_in_one_dimension(epsilon):
    """No formula for the noise is used here: the probabilities are those of the float64 code.

    Of some 50 cells up to the radius beyond which `DELTA_FP` of the noise lies, against the cells as far
    away as two records at one unit of distance can get by rounding; and each against the ideal law.
    """
    law = calibrate("laplace", epsilon, 0.0, dim=1, features=1)
    shift = math.floor((1 + law.rounding) / law.grid)
    cells = np.unique(np.geomspace(1, law._tail_radius() / law.grid, 60).astype(np.int64))
    edges = np.concatenate([cells, cells + 1, cells + shift, cells + shift + 1])
    with mpmath.workdps(50):
        reach = np.array(chance_of_reaching(law, edges)).reshape(4, -1)
        step = mpmath.mpf(law.grid) / law.scale
        for cell, here, there in zip(
            cells.tolist(), reach[0] - reach[1], reach[2] - reach[3], strict=True
        ):
            assert abs(mpmath.log(here / there)) <= epsilon
            ideal = mpmath.exp(-(cell - 0.5) * step) - mpmath.exp(-(cell + 0.5) * step)
            charged = law._cell_error(max(cell * law.grid, law.scale))
            assert abs(mpmath.log(here / ideal)) <= charged
