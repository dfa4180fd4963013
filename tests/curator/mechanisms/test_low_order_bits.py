"""The attack on low-order bits (Mironov 2012): it breaks unrounded noise and finds nothing in ours.

Float64 numbers near 0 are finer than near 1. So a record at 1 plus continuous noise can only land on
multiples of 2^-53, a record at 0 lands between them, and one look at a released number tells which it
was. An attack here is an event that looks at released rows alone. It is scored by what its two error
rates certify (Clopper-Pearson), with 99.9 % confidence.
"""

import numpy as np
import pytest
import torch

from botorch_private import NoisyProjection, OutcomeMechanism
from botorch_private.audit.bounds import epsilon_from_rates, proportion_bounds
from botorch_private.curator.mechanisms.noise import calibrate

COUNT = 100_000  # releases a side, enough to find an epsilon of 5 by an event of 2 %
FAILURE = 0.001 / 4  # of each of four bounds
SETTINGS = [  # noise, features, epsilon at one unit
    ("laplace", 1, 0.5),
    ("laplace", 1, 3.0),
    ("laplace", 2, 1.0),
    ("gaussian", 1, 1.0),
    ("gaussian", 2, 3.0),
]
DELTA = {"laplace": 0.0, "gaussian": 1e-5}
every_setting = pytest.mark.parametrize(("noise", "d", "epsilon"), SETTINGS)


def records(d, first):
    """Many times one record: the given first value, then zeros."""
    return np.full((COUNT, d), np.eye(1, d)[0] * first)


def unrounded(noise, d, epsilon, first, seed):
    """Release as textbooks do: a record plus a float64 draw, of the scale that we calibrate."""
    law = calibrate(noise, epsilon, DELTA[noise], dim=d, features=d)
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((COUNT, d))
    if noise == "gaussian":
        return records(d, first) + law.scale * drawn
    drawn /= np.linalg.norm(drawn, axis=1)[:, None]
    return records(d, first) + drawn * rng.gamma(d, law.scale, (COUNT, 1))


def ours(noise, d, epsilon, projection_dim=None):
    """Rows of one release, and so of one rotation: those of records at 0, and those of records at 1."""
    mechanism = NoisyProjection(epsilon, DELTA[noise], projection_dim=projection_dim, noise=noise)
    both = np.concatenate([records(d, 0), records(d, 1)])
    return mechanism.apply(torch.from_numpy(both)).numpy().reshape(2, COUNT, -1)


def certified_epsilon(at_zero, at_one, delta):
    """Epsilon that an event refutes everything below of, given where it happened on either side."""
    counts = [(int(at_zero.sum()), int(at_one.sum())), (int(at_one.sum()), int(at_zero.sum()))]
    return max(
        epsilon_from_rates(
            proportion_bounds(often, COUNT, FAILURE)[0],
            proportion_bounds(rarely, COUNT, FAILURE)[1],
            delta,
        )
        for often, rarely in counts
    )


def fine_near_zero(rows):
    """The event: a first value below 1/8 that is no multiple of 2^-53."""
    steps = rows[:, 0] * 2.0**53
    return (np.abs(rows[:, 0]) < 1 / 8) & (steps != np.rint(steps))


@every_setting
def test_low_order_bits_betray_unrounded_noise(noise, d, epsilon):
    zero, one = (fine_near_zero(unrounded(noise, d, epsilon, x, seed=x)) for x in (0, 1))
    assert zero.mean() > 0.01
    assert not one.any()
    assert certified_epsilon(zero, one, DELTA[noise]) > max(4.0, epsilon)
    # Or as a delta, at the epsilon that is claimed: above 1 %, where 1e-5 or nothing is claimed.
    power = proportion_bounds(int(zero.sum()), COUNT, FAILURE)[0]
    false_alarms = proportion_bounds(0, COUNT, FAILURE)[1]
    assert power - np.exp(epsilon) * false_alarms > 0.01


@every_setting
def test_the_same_attack_finds_nothing_in_released_rows(noise, d, epsilon):
    zero, one = (fine_near_zero(rows) for rows in ours(noise, d, epsilon))
    assert not zero.any()
    assert not one.any()
    assert certified_epsilon(zero, one, DELTA[noise]) == 0.0


@every_setting
@pytest.mark.parametrize("wider", [0, 1])
def test_rotated_rows_have_low_order_bits_that_say_no_more_than_is_claimed(noise, d, epsilon, wider):
    events = [fine_near_zero(rows) for rows in ours(noise, d, epsilon, projection_dim=d + wider)]
    if d > 1:  # (one feature times a factor of the rotation: 1 factor in 4,000 ends in 12 zeros)
        assert events[0].any()  # a rotation fills the low-order bits, after the noise and on both sides
    assert certified_epsilon(*events, DELTA[noise]) <= epsilon


@pytest.mark.parametrize("low", [0.0, -1 / 3])
def test_low_order_bits_of_noised_answers_say_no_more_than_is_claimed(low):
    mechanism = OutcomeMechanism(1.0, 0.0, bound=(low, low + 1.0))
    answers = [mechanism.draw(torch.full((COUNT,), low + x, dtype=torch.float64)) for x in (0, 1)]
    events = [fine_near_zero(answer[:, None].numpy()) for answer in answers]
    if low == 0.0:
        assert not events[0].any()
    assert certified_epsilon(*events, 0.0) <= 1.0


# --- Mironov's own attack: which numbers can the textbook sampler reach? ---


def textbook_laplace(x, scale, seed):
    """``x + scale ln(u)`` with a random sign, for ``u`` uniform on the multiples of 2^-53 in (0, 1]."""
    rng = np.random.default_rng(seed)
    u = rng.integers(1, 2**53, COUNT, endpoint=True) * 2.0**-53
    return x + rng.choice([-1.0, 1.0], COUNT) * (scale * np.log(u))


def reachable(z, x, scale):
    """Whether ``z`` is one of the numbers that `textbook_laplace` can make of ``x``."""
    nearest = np.rint(np.exp(-np.abs(z - x) / scale) * 2.0**53)
    found = np.zeros(len(z), dtype=bool)
    for offset in range(-8, 9):
        u = np.clip(nearest + offset, 1, 2.0**53) * 2.0**-53
        noise = scale * np.log(u)
        found |= (x + noise == z) | (x - noise == z)
    return found


def only_from_zero(z, scale):
    return reachable(z, 0.0, scale) & ~reachable(z, 1.0, scale)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_reachable_numbers_betray_the_textbook_sampler_and_say_nothing_of_ours(epsilon):
    scale = 1 / epsilon
    zero, one = (textbook_laplace(float(x), scale, seed=x) for x in (0, 1))
    assert reachable(zero, 0.0, scale).all()
    assert reachable(one, 1.0, scale).all()
    events = [only_from_zero(z, scale) for z in (zero, one)]
    assert events[0].mean() > 0.2
    assert not events[1].any()
    assert certified_epsilon(*events, 0.0) > max(7.0, epsilon)
    released = ours("laplace", 1, epsilon)[:, :, 0]
    assert certified_epsilon(*(only_from_zero(z, scale) for z in released), 0.0) <= epsilon
