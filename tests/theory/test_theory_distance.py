import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.theory import (
    distance_inflation,
    projection_dim,
    singular_value_floor,
    smallest_singular_value,
)

properties = settings(derandomize=True, max_examples=50, deadline=None)


def lifted(X, omega):
    """Lines 2 to 9 of Algorithm 1, without the projection."""
    X = X - X.mean(axis=0)
    U, s, V = np.linalg.svd(X, full_matrices=False)
    return X if s.min() >= omega else U @ np.diag(np.sqrt(s**2 + omega**2)) @ V


def squared_distances(X):
    i, j = np.triu_indices(len(X), 1)
    return ((X[i] - X[j]) ** 2).sum(axis=1)


def test_inflation_by_hand():
    assert distance_inflation(3.0, 6.0) == 5.0
    assert distance_inflation(6.0, 6.0) == 1.0
    assert distance_inflation(7.0, 6.0) == 1.0
    assert distance_inflation(0.0, 6.0) == math.inf


@properties
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_inflation_is_one_or_above_two(s, omega):
    inflation = distance_inflation(s, omega)
    assert inflation == 1 if s >= omega else inflation >= 2


@properties
@given(st.integers(0, 10**6), st.integers(4, 12), st.integers(1, 3), st.floats(0.01, 30))
def test_lifting_stretches_distances_within_the_inflation(seed, n, d, omega):
    X = np.random.default_rng(seed).normal(size=(n, d))
    ratio = squared_distances(lifted(X, omega)) / squared_distances(X)
    assert (ratio >= 1 - 1e-9).all()
    assert (ratio <= distance_inflation(smallest_singular_value(X), omega) * (1 + 1e-9)).all()


def test_inflation_is_attained_in_one_dimension():
    X = np.array([[0.0], [1.0], [5.0]])
    inflation = distance_inflation(smallest_singular_value(X), 20.0)
    assert squared_distances(lifted(X, 20.0)) == pytest.approx(inflation * squared_distances(X))


@pytest.mark.parametrize("epsilon", [2000.0, 40.0], ids=["floor_met", "floor_missed"])
def test_theorem_2_fails_no_more_often_than_it_says(epsilon):
    # 2,000 releases of 8 records; failures must not exceed mu by 4 standard errors.
    n, d, nu, mu, trials, delta = 8, 3, 0.5, 0.3, 2000, 1e-3
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) * 40
    r = projection_dim(n, nu, mu)
    omega = singular_value_floor(epsilon, delta, r)
    inflation = distance_inflation(smallest_singular_value(X), omega)
    assert (inflation == 1) == (epsilon == 2000.0)
    true, before = squared_distances(X), lifted(X, omega)
    failures = 0
    for _ in range(trials):
        ratio = squared_distances(before @ rng.normal(size=(d, r)) / math.sqrt(r)) / true
        failures += bool((ratio < 1 - nu).any() or (ratio > (1 + nu) * inflation).any())
    assert failures / trials <= mu + 4 * math.sqrt(mu * (1 - mu) / trials)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 1.0), "singular_value must be a finite number >= 0, got -1.0"),
        ((1.0, 0.0), "singular_value_floor must be a finite number > 0, got 0.0"),
        ((math.nan, 1.0), "singular_value must be a finite number >= 0, got nan"),
    ],
)
def test_inflation_refuses_what_is_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        distance_inflation(*arguments)
