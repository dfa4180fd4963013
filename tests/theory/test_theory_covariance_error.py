import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.theory import covariance_error, distance_inflation

properties = settings(derandomize=True, max_examples=100, deadline=None)


def test_error_by_hand_where_the_floor_is_met():
    # d = 3 / 2
    assert covariance_error(0.1, 3.0, 2.0, 5.0, 5.0) == pytest.approx(0.225)


def test_error_by_hand_below_the_floor():
    # d = 1, omega^2 / s^2 = 4: 1 - exp(-0.5 (0.1 + 0.4 + 4)) = 1 - exp(-2.25)
    assert covariance_error(0.1, 2.0, 2.0, 1.0, 2.0) == pytest.approx(1 - math.exp(-2.25))


def test_first_term_can_be_the_larger_one_below_the_floor():
    # d^2 = 4, nu d^2 = 2 > 1
    assert covariance_error(0.5, 2.0, 1.0, 1.0, 2.0) == pytest.approx(2.0)


def test_error_at_singular_value_zero_is_the_limit():
    assert covariance_error(0.1, 1.0, 1.0, 0.0, 1.0) == 1.0
    assert covariance_error(0.1, 1.0, 1.0, 1e-9, 1.0) == pytest.approx(1.0)


@properties
@given(
    st.floats(0.01, 3),
    st.floats(0.01, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([(2.0, 1.0), (1.0, 1.5), (1.0, 30.0)]),
)
def test_covariances_stay_within_the_error_if_distances_are_kept(d, share, near, where, values):
    # d: relative diameter; near: distance as a share of it; where: between the two distance bounds
    nu = share * min(0.5, 2 / d**2)
    s, omega = values
    C = covariance_error(nu, d, 1.0, s, omega)
    squared = (near * d) ** 2
    low, high = 1 - nu, (1 + nu) * distance_inflation(s, omega)
    released = (low + where * (high - low)) * squared
    k_x, k_z = math.exp(-0.5 * squared), math.exp(-0.5 * released)
    assert abs(k_z - k_x) <= C * k_x * (1 + 1e-12) + 1e-15


def test_distortion_at_the_limit_is_accepted_and_above_refused():
    assert covariance_error(2 / 9, 3.0, 1.0, 1.0, 1.0) == pytest.approx(2.0)
    with pytest.raises(ValueError, match=r"distortion must be <= .* = 0.222222 for Theorem 5"):
        covariance_error(0.23, 3.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.6, 1.0, 1.0, 1.0, 1.0), r"distortion must be a number in \(0, 1/2\]"),
        ((0.1, 0.0, 1.0, 1.0, 1.0), "diameter must be a finite number > 0"),
        ((0.1, 1.0, -1.0, 1.0, 1.0), "lengthscale must be a finite number > 0"),
        ((0.1, 1.0, 1.0, -1.0, 1.0), "singular_value must be a finite number >= 0"),
        ((0.1, 1.0, 1.0, 1.0, 0.0), "singular_value_floor must be a finite number > 0"),
    ],
)
def test_error_refuses_what_is_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        covariance_error(*arguments)
