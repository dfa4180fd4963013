import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from botorch_private.theory import distortion, projection_dim

counts = st.integers(1, 10**7)
distortions = st.floats(1e-3, 0.5)
probabilities = st.floats(1e-9, 0.999)
properties = settings(derandomize=True, max_examples=50, deadline=None)


def test_projection_dim_of_the_synthetic_table_by_hand():
    # 8 log(1e8 / 0.025) / 0.25 = 32 * 22.10956...
    assert 32 * math.log(1e8 / 0.025) == pytest.approx(707.506, abs=1e-3)
    assert projection_dim(10_000, 0.5, 0.025) == 708


def test_distortion_of_the_synthetic_table_by_hand():
    assert distortion(10_000, 1_000, 0.025) == pytest.approx(math.sqrt(0.17687650), rel=1e-7)


@properties
@given(counts, distortions, probabilities)
def test_projection_dim_is_the_smallest_that_meets_the_lemma(n, nu, mu):
    r = projection_dim(n, nu, mu)
    needed = 8 * math.log(n**2 / mu) / nu**2
    assert r >= needed * (1 - 1e-13)
    assert r - 1 < needed * (1 + 1e-13)


@properties
@given(counts, distortions, probabilities)
def test_distortion_at_the_projection_dim_is_within_the_request(n, nu, mu):
    assert distortion(n, projection_dim(n, nu, mu), mu) <= nu


@properties
@given(counts, st.integers(2000, 10**9), st.floats(1e-9, 0.999))
def test_projection_dim_inverts_distortion_exactly(n, r, mu):
    assert projection_dim(n, distortion(n, r, mu), mu) == r


@properties
@given(st.floats(1e-6, 0.5), st.integers(1, 5000))
def test_tail_bound_behind_the_lemma_holds_up_to_and_including_one_half(nu, r):
    outside = chi2.cdf((1 - nu) * r, r) + chi2.sf((1 + nu) * r, r)
    assert outside <= 2 * math.exp(-(nu**2) * r / 8)


def test_distances_stay_within_the_distortion_as_often_as_the_lemma_says():
    # 4,000 projections of 6 records; failures must not exceed mu by 4 standard errors.
    n, d, mu, trials = 6, 4, 0.3, 4000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    r = projection_dim(n, 0.5, mu)
    i, j = np.triu_indices(n, 1)
    true = ((X[i] - X[j]) ** 2).sum(axis=1)
    failures = 0
    for _ in range(trials):
        Z = X @ rng.normal(size=(d, r)) / math.sqrt(r)
        ratio = ((Z[i] - Z[j]) ** 2).sum(axis=1) / true
        failures += bool((np.abs(ratio - 1) > 0.5).any())
    assert failures / trials <= mu + 4 * math.sqrt(mu * (1 - mu) / trials)


def test_too_few_dimensions_are_refused_with_the_smallest_that_work():
    with pytest.raises(ValueError, match=r"projection_dim must be >= 708 .* got 10"):
        distortion(10_000, 10, 0.025)
    assert distortion(10_000, 708, 0.025) <= 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.1, 0.1), "n must be an integer >= 1, got 0"),
        ((10.0, 0.1, 0.1), "n must be an integer >= 1"),
        ((10, 0.0, 0.1), "distortion must be a finite number > 0"),
        ((10, 0.51, 0.1), r"distortion must be a number in \(0, 1/2\], got 0.51"),
        ((10, math.nan, 0.1), "distortion must be a finite number > 0, got nan"),
        ((10, 1e-200, 0.1), "distortion must be large enough"),
        ((10, 0.1, 1.0), r"failure_probability must be a number in \(0, 1\)"),
    ],
)
def test_projection_dim_refuses_what_is_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        projection_dim(*arguments)


def test_distortion_refuses_a_dimension_that_is_no_integer():
    with pytest.raises(ValueError, match=r"projection_dim must be an integer >= 1, got 2000\.5"):
        distortion(10, 2000.5, 0.1)
