"""The law of the noise: variance, radius, what it costs at a distance."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw

LAWS = st.builds(
    NoiseLaw,
    kind=st.sampled_from(["laplace", "l2", "gaussian"]),
    dim=st.integers(1, 30),
    scale=st.floats(0.05, 50),
    features=st.just(30),
)


def test_variances_are_those_of_the_radius_law():
    assert NoiseLaw("laplace", 5, 2.0, 5).variance == 24.0  # (k + 1) scale^2
    assert NoiseLaw("gaussian", 5, 2.0, 5).variance == 4.0
    # E|z|^2 = dim * variance = scale^2 k (k + 1), the second moment of Gamma(k).
    assert pytest.approx(stats.gamma(5, scale=2.0).moment(2)) == 5 * 24.0


@pytest.mark.parametrize(("epsilon", "radius"), [(1, 4.74), (3, 1.58), (15, 0.316)])
def test_laplace_location_radius_in_the_plane(epsilon, radius):
    assert NoiseLaw("laplace", 2, 1 / epsilon, 2).radius(0.95) == pytest.approx(radius, rel=3e-3)


@pytest.mark.parametrize(("std", "radius"), [(3.7306, 9.13), (1.39, 3.40)])
def test_gaussian_location_radius_in_the_plane(std, radius):
    assert NoiseLaw("gaussian", 2, std, 2).radius(0.95) == pytest.approx(radius, rel=3e-3)


def test_laplace_epsilon_is_linear_in_distance_up_to_rounding():
    law = NoiseLaw("laplace", 2, 1.0, 2)
    for distance in (0.1, 1.0, 10.0, 50.0):
        assert distance < law.epsilon(distance, 0.0) < distance + 4e-4
    assert law.epsilon(0.0, 0.0) == 0.0


def test_gaussian_epsilon_is_balle_wang_at_the_rounded_distance():
    law = NoiseLaw("gaussian", 3, 2.0, 3)
    ideal = gaussian_epsilon(1e-5, (1 + math.sqrt(3) * law.grid) / 2.0)
    assert ideal < law.epsilon(1.0, 1e-5) < ideal * (1 + 1e-6)
    assert law.epsilon(1.0, DELTA_FP) == math.inf


def test_projected_laplace_pays_the_worst_case_and_gaussian_the_average():
    laplace = NoiseLaw("laplace", 5, 1.0, 20)
    assert laplace.epsilon(1.0, 0.0) == pytest.approx(2.0, rel=1e-3)  # sqrt(20 / 5)
    gaussian = NoiseLaw("gaussian", 5, 4.691439, 20)
    assert gaussian.epsilon(1.0, 1e-5) == pytest.approx(1.0, rel=1e-3)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(LAWS, st.floats(0.01, 50), st.floats(1.01, 3))
def test_more_distance_or_less_noise_never_costs_less(law, distance, factor):
    cost = law.epsilon(distance, 1e-5)
    assert law.epsilon(distance * factor, 1e-5) >= cost
    assert replace(law, scale=law.scale * factor).epsilon(distance, 1e-5) <= cost


@settings(derandomize=True, max_examples=40, deadline=None)
@given(LAWS, st.floats(0.01, 50))
def test_rounding_of_two_records_adds_at_most_what_is_charged(law, distance):
    # The corners of a grid cell are the worst case: both records move by half a step everywhere.
    k, g = law.dim, law.grid
    rng = np.random.default_rng(7)
    direction = rng.standard_normal((200, k))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    x = rng.uniform(-25, 25, (200, k))
    moved = np.rint(x / g) * g - np.rint((x + distance * direction) / g) * g
    assert np.linalg.norm(moved, axis=1).max() <= distance + law.rounding


@pytest.mark.parametrize("features", [3, 12])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_arithmetic_slack_is_what_the_derivation_says(kind, features):
    law = NoiseLaw(kind, 3, 2.5, features)
    radius_law = stats.gamma(3, scale=2.5) if kind == "laplace" else stats.chi(3, scale=2.5)
    near = radius_law.isf(DELTA_FP / 2)  # what lies outside is charged to delta
    far = near + 4.0 * math.sqrt(features / 3)  # a projection stretches by this factor at most

    def eta(radius):
        error = 128 * 2.0**-53 * radius
        slope = 1 / 2.5 if kind == "laplace" else radius / 2.5**2
        return 4 * 3 * error / law.grid + math.sqrt(3) * error * slope

    assert law.arithmetic_slack(4.0) == pytest.approx(eta(near) + eta(far), rel=1e-9)
    assert law.arithmetic_slack(4.0) < 1e-6


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("features", [3, 12])
def test_a_coarser_grid_costs_what_it_adds_to_the_distance(kind, features):
    fine, coarse = (NoiseLaw(kind, 3, 2.5, features, grid) for grid in (2.0**-12, 2.0**-3))
    added = math.sqrt(3) * (coarse.grid - fine.grid)
    (near, weights), (far, same) = fine.shift(2.0), coarse.shift(2.0)
    assert far - near == pytest.approx(np.full(len(near), added), rel=1e-9)
    assert np.array_equal(weights, same)
    bare = near - fine.rounding
    assert np.sqrt(weights @ bare**2) == pytest.approx(2.0, rel=1e-9)  # squares are kept on average
    cost = coarse.epsilon(2.0, 1e-5) - fine.epsilon(2.0, 1e-5)
    assert cost > added / 2.5 * (1 - 1e-5)  # (a Gaussian pays more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cauchy", 2, 1.0, 2), "kind must be one of 'laplace', 'l2', 'gaussian', got 'cauchy'"),
        (("laplace", 3, 1.0, 2), "dim must be at most features=2, got 3"),
        (("laplace", 0, 1.0, 2), "dim must be an integer >= 1, got 0"),
        (("laplace", 2, 0.0, 2), "scale must be a finite number > 0, got 0.0"),
    ],
)
def test_impossible_laws_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        NoiseLaw(*arguments)


@pytest.mark.parametrize(("dim", "features"), [(2, 2), (22, 22), (5, 20), (50, 784)])
def test_rounding_charges_the_grid_and_the_float_error_on_the_way_to_it(dim, features):
    law = NoiseLaw("laplace", dim, 1.0, features)
    float_error = 2 * 2.0**-52 * (features + 16) * 1e4 * math.sqrt(features / dim)
    expected = math.sqrt(dim) * (law.grid + float_error)
    assert law.rounding == pytest.approx(expected, rel=1e-15)
    # What it covers: products of the longest admitted row with a projection, against exact sums.
    rng = np.random.default_rng(dim)
    frame = np.linalg.qr(rng.standard_normal((features, dim)))[0] * math.sqrt(features / dim)
    rows = rng.standard_normal((20, features))
    rows *= 1e4 / np.linalg.norm(rows, axis=1)[:, None]
    exact = [[math.fsum(row * frame[:, j]) for j in range(dim)] for row in rows]
    error = np.linalg.norm(rows @ frame - np.array(exact), axis=1).max()
    assert error < float_error / 2
