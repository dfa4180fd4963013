"""Several Gaussian draws through random subspaces: what they cost together, against slower ways."""

import math
import time

import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import NoisyProjection, compose
from botorch_private.privacy.composition import Shift, composed_epsilon
from botorch_private.privacy.gaussian import gaussian_delta, gaussian_epsilon
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.random_shift import Squares, summed

PROJECTED = NoisyProjection(1.0, 1e-5, projection_dim=5, noise="gaussian").guarantee(n=2004, d=20)
PLAIN = NoisyProjection(1.0, 1e-5, noise="gaussian").guarantee(n=2004, d=20)


def every_sum(laws):
    """Twin: all sums of one value of each."""
    values, weights = np.zeros(1), np.ones(1)
    for law in laws:
        values = (values[:, None] + law.values).ravel()
        weights = (weights[:, None] * law.weights).ravel()
    return values, weights


@st.composite
def squares(draw):
    size = draw(st.integers(1, 6))
    steps = draw(st.lists(st.floats(1e-6, 5.0), min_size=size, max_size=size))
    chances = np.array(draw(st.lists(st.floats(1e-30, 1.0), min_size=size, max_size=size)))
    return Squares(np.cumsum(steps), chances / chances.sum())


@given(laws=st.lists(squares(), min_size=1, max_size=4), epsilon=st.floats(0.0, 10.0))
def test_a_sum_is_never_below_the_sum_and_hardly_above(laws, epsilon):
    bound, exact = summed(laws), every_sum(laws)
    below, above = (gaussian_delta(epsilon, np.sqrt(v), w) for v, w in (exact, bound))
    assert above >= below * (1 - 1e-9)
    moved = len(laws) * 2 * exact[0].max() / 2**13  # of any value, at most
    further = gaussian_delta(epsilon, np.sqrt(exact[0] + moved), exact[1])
    assert above <= further * (1 + 1e-9) + 1e-15
    assert np.all(np.diff(bound.values) >= 0)
    assert bound.weights.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "dim"), [(20, 5), (3, 2), (784, 20)])
def test_two_releases_cost_what_the_average_over_both_projections_says(d, dim):
    law = NoisyProjection(1.0, 1e-5, projection_dim=dim, noise="gaussian").law(d)
    one = law.gaussian_squares(1.0)
    likely = one.weights > 1e-14
    values, weights = every_sum([Squares(one.values[likely], one.weights[likely])] * 2)
    exact = gaussian_epsilon(1e-5, np.sqrt(values), weights)
    cost = composed_epsilon([Shift(law, 1.0)] * 2, 1e-5)
    assert exact * (1 - 1e-6) <= cost <= exact * (1 + 1e-3)


def test_what_was_overcharged_is_no_longer():
    """As two events they cost 2.119; the average over both projections is below 1.344."""
    assert compose([PROJECTED] * 2, delta=1e-5).epsilon == pytest.approx(1.3434, abs=1e-3)
    assert compose([PROJECTED] * 2, delta=1e-5).epsilon >= 1.34323


def test_given_the_projections_dp_accounting_says_the_same():
    """Two draws with three possible shifts each: nine compositions, averaged."""
    laws = [
        Squares(np.array([0.1, 0.5, 2.0]), np.array([0.5, 0.3, 0.2])),
        Squares(np.array([0.2, 0.3, 1.0]), np.array([0.7, 0.2, 0.1])),
    ]
    delta = 0.0
    for a, p in zip(*laws[0], strict=True):
        for b, q in zip(*laws[1], strict=True):
            one, other = (
                pld.privacy_loss_distribution.from_gaussian_mechanism(1 / math.sqrt(each))
                for each in (a, b)
            )
            delta += p * q * one.compose(other).get_delta_for_epsilon(1.5)
    bound = summed(laws)
    found = gaussian_delta(1.5, np.sqrt(bound.values), bound.weights)
    assert found == pytest.approx(delta, rel=1e-3)


def frames(rng, d, dim, trials):
    for _ in range(trials):
        yield np.linalg.qr(rng.standard_normal((d, dim)))[0]


@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("directions", ["one", "orthogonal"])
def test_no_move_costs_more_through_two_subspaces_and_none_than_is_charged(records, directions):
    """5,000 pairs of subspaces: delta by simulation stays below the one charged (4 standard errors)."""
    d, delta, rng = 8, 1e-3, np.random.default_rng(5)
    laws = [NoiseLaw("gaussian", dim, 3.0, d) for dim in (2, 3, 8)]
    moves = np.eye(d)[:records] if directions == "orthogonal" else np.tile(np.eye(d)[0], (records, 1))
    squares = np.full(5000, records / laws[2].scale ** 2)
    for law in laws[:2]:
        drawn = frames(rng, d, law.dim, 5000)
        squares += [d / law.dim * np.square(moves @ each).sum() / law.scale**2 for each in drawn]
    epsilon = composed_epsilon([Shift(law, 1.0, records) for law in laws], delta)
    each = np.array([gaussian_delta(epsilon, math.sqrt(s)) for s in squares])
    error = each.std() / math.sqrt(len(each))
    assert each.mean() - 4 * error <= delta
    if directions == "one":
        assert each.mean() + 4 * error >= 0.85 * delta


@given(st.integers(1, 6), st.integers(0, 3), st.integers(1, 5), st.floats(1e-9, 30.0))
@settings(max_examples=30, deadline=None)
def test_each_release_and_each_record_adds_and_all_together_cost_no_more_than_events(
    projected, plain, records, distance
):
    laws = [PROJECTED.law] * projected + [PLAIN.law] * plain
    shifts = [Shift(law, distance, records) for law in laws]
    cost = composed_epsilon(shifts, 1e-5)
    assert cost <= composed_epsilon([*shifts, Shift(PROJECTED.law, distance, records)], 1e-5)
    assert cost >= max(law.epsilon(distance, 1e-5, records) for law in laws) * (1 - 1e-9)
    if records == 1:
        events = sum(law.epsilon(distance, 1e-5 / len(laws)) for law in laws)
        assert cost <= events * (1 + 1e-6) + 1e-9


def test_a_far_tail_is_counted_however_small_its_chance():
    rare = Squares(np.array([1.0, 2.0, 50.0]), np.array([1 - 3e-21, 2e-21, 1e-21]))
    bound = summed([rare, rare])
    assert bound.values[-1] >= 100.0
    assert bound.weights[-1] >= 2e-21


def test_many_releases_are_added_in_a_moment():
    start = time.process_time()
    cost = compose([PROJECTED] * 100, delta=1e-5).epsilon
    assert time.process_time() - start < 5
    # Nearly as without projections, where the sum of many random shifts is what they are on average.
    average = float(np.dot(*PROJECTED.law.gaussian_squares(1.0)))
    assert 1.0 < cost / gaussian_epsilon(1e-5, math.sqrt(100 * average)) < 1.05


def test_a_sum_of_shifts_that_hardly_differ_is_their_sum():
    same = Squares(np.array([1.0, 1.0 + 1e-16, 1.0 + 3e-16]), np.array([0.2, 0.3, 0.5]))
    bound = summed([same, same, Squares.known(2.0)])
    assert bound.values[0] >= 4.0
    assert float(np.dot(*bound)) == pytest.approx(4.0, rel=1e-9)
