import itertools
import math

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_operator.operators import LinearOperator

from botorch_private.theory import greedy_information_gain, information_gain, information_gain_bound

properties = settings(derandomize=True, max_examples=25, deadline=None)
seeds = st.integers(0, 10**6)


def covariance(seed, n, lengthscale=1.0, outputscale=1.0):
    X = np.random.default_rng(seed).uniform(0, 3, size=(n, 2))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    return outputscale * np.exp(-0.5 * squared / lengthscale**2)


def gain_of(K, noise_variance, chosen):
    chosen = list(chosen)
    K = K[np.ix_(chosen, chosen)]
    return 0.5 * np.linalg.slogdet(np.eye(len(chosen)) + K / noise_variance)[1]


def naive_greedy(K, noise_variance, rounds, repeats):
    chosen = []
    for _ in range(rounds):
        free = [i for i in range(len(K)) if repeats or i not in chosen]
        chosen.append(max(free, key=lambda i: gain_of(K, noise_variance, [*chosen, i])))
    return gain_of(K, noise_variance, chosen)


def exhaustive(K, noise_variance, rounds, repeats):
    choose = itertools.combinations_with_replacement if repeats else itertools.combinations
    return max(gain_of(K, noise_variance, c) for c in choose(range(len(K)), rounds))


def test_gain_of_one_measurement_by_hand():
    assert information_gain(torch.tensor([[3.0]]), 1.0) == pytest.approx(math.log(2))


def test_gain_of_two_measurements_by_hand():
    # I + K / 0.5 = [[3, 1], [1, 3]], determinant 8
    K = torch.tensor([[1.0, 0.5], [0.5, 1.0]])
    assert information_gain(K, 0.5) == pytest.approx(0.5 * math.log(8))


def test_gain_of_independent_records_adds_up():
    assert information_gain(torch.eye(5), 0.1) == pytest.approx(2.5 * math.log(11))


@properties
@given(seeds, st.integers(1, 12), st.floats(1e-4, 10))
def test_gain_equals_the_log_determinant(seed, n, noise_variance):
    K = covariance(seed, n)
    assert information_gain(K, noise_variance) == pytest.approx(
        gain_of(K, noise_variance, range(n)), rel=1e-9
    )


@properties
@given(seeds, st.integers(2, 20), st.integers(1, 15), st.floats(1e-4, 1), st.booleans())
def test_greedy_equals_its_naive_twin(seed, n, rounds, noise_variance, repeats):
    rounds = rounds if repeats else min(rounds, n)
    K = covariance(seed, n)
    assert greedy_information_gain(K, noise_variance, rounds, repeats=repeats) == pytest.approx(
        naive_greedy(K, noise_variance, rounds, repeats), rel=1e-8
    )


@properties
@given(seeds, st.integers(1, 4), st.floats(1e-3, 3), st.booleans())
def test_bound_lies_above_the_maximum_and_greedy_below(seed, rounds, noise_variance, repeats):
    K = covariance(seed, 6)
    best = exhaustive(K, noise_variance, rounds, repeats)
    greedy = greedy_information_gain(K, noise_variance, rounds, repeats=repeats)
    bound = information_gain_bound(K, noise_variance, rounds, repeats=repeats)
    assert (1 - 1 / math.e) * best * (1 - 1e-9) <= greedy <= best * (1 + 1e-9)
    assert bound >= best
    assert bound == pytest.approx(greedy / (1 - 1 / math.e))


def test_bound_with_repeats_bounds_the_case_without():
    K = covariance(3, 6)
    assert information_gain_bound(K, 0.5, 4) >= exhaustive(K, 0.5, 4, repeats=False)


def test_greedy_over_all_records_equals_the_gain_of_the_set():
    K = covariance(0, 15)
    assert greedy_information_gain(K, 0.1, 15, repeats=False) == pytest.approx(information_gain(K, 0.1))


def test_repeated_measurements_of_one_record_by_hand():
    K = torch.tensor([[2.0]])
    assert greedy_information_gain(K, 1.0, 10) == pytest.approx(0.5 * math.log(21))


def test_records_of_variance_zero_tell_nothing():
    assert greedy_information_gain(torch.zeros(3, 3), 0.1, 2) == 0


def test_greedy_survives_tiny_noise_and_duplicates():
    K = covariance(1, 40, lengthscale=3.0)
    K = np.block([[K, K], [K, K]])
    gain = greedy_information_gain(K, 1e-9, 60, repeats=False)
    assert math.isfinite(gain)
    assert gain >= greedy_information_gain(K, 1e-9, 50, repeats=False)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_lazy_kernel_gives_the_gain_of_the_dense_one(dtype):
    kernel = ScaleKernel(RBFKernel()).to(dtype)
    X = torch.rand(200, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    lazy = kernel(X.to(dtype))
    dense = lazy.to_dense().detach()
    tolerance = 1e-9 if dtype == torch.float64 else 1e-3
    assert isinstance(lazy, LinearOperator)
    assert greedy_information_gain(lazy, 1e-2, 20) == pytest.approx(
        greedy_information_gain(dense, 1e-2, 20), rel=tolerance
    )
    assert information_gain(lazy, 1e-2) == pytest.approx(information_gain(dense, 1e-2), rel=tolerance)


def test_lazy_kernel_is_never_evaluated_whole():
    # 200,000 records: the whole covariance would take 320 GB.
    X = torch.linspace(0, 100, 200_000, dtype=torch.float64)[:, None]
    gain = greedy_information_gain(RBFKernel().double()(X), 0.1, 5)
    assert gain == pytest.approx(2.5 * math.log(11), rel=1e-3)  # five records far apart


@pytest.mark.parametrize("function", [greedy_information_gain, information_gain_bound])
def test_greedy_refuses_what_is_out_of_range(function):
    with pytest.raises(ValueError, match="rounds must be an integer >= 1, got 0"):
        function(torch.eye(3), 0.1, 0)
    with pytest.raises(ValueError, match=r"rounds must be <= 3 \(the records\) without repeats"):
        function(torch.eye(3), 0.1, 4, repeats=False)
    with pytest.raises(ValueError, match=r"noise_variance must be a finite number > 0, got 0\.0"):
        function(torch.eye(3), 0.0, 1)
    with pytest.raises(ValueError, match="covariance must be positive semidefinite"):
        function(torch.tensor([[1.0, 3.0], [3.0, 1.0]]), 0.1, 1)
    with pytest.raises(ValueError, match="covariance must be a square matrix"):
        function(RBFKernel()(torch.zeros(3, 1), torch.zeros(2, 1)), 0.1, 1)


def test_gain_refuses_a_matrix_that_is_no_covariance():
    with pytest.raises(ValueError, match="covariance must be positive semidefinite"):
        information_gain(torch.tensor([[1.0, 3.0], [3.0, 1.0]]), 0.1)
    with pytest.raises(ValueError, match="noise_variance must be a finite number > 0, got -1"):
        information_gain(torch.eye(2), -1)
