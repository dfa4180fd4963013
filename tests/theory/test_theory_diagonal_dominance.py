import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.theory import diagonal_dominance_margin, is_diagonally_dominant

properties = settings(derandomize=True, max_examples=50, deadline=None)


def squared_exponential(X):
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))


def test_margin_by_hand():
    # sqrt(3 - 1) + 1 times the row sums 0.2, 0.3, 0.3
    K = torch.tensor([[1.0, 0.1, 0.1], [0.1, 1.0, 0.2], [0.1, 0.2, 1.0]], dtype=torch.float64)
    assert diagonal_dominance_margin(K) == pytest.approx(1 - (math.sqrt(2) + 1) * 0.3)
    assert is_diagonally_dominant(K)


def test_equality_is_dominance():
    assert is_diagonally_dominant(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    assert not is_diagonally_dominant(torch.tensor([[2.0, 1.01], [1.01, 2.0]]))


def test_one_record_is_always_dominant():
    assert diagonal_dominance_margin(torch.tensor([[0.7]], dtype=torch.float64)) == 0.7


def test_duplicates_are_never_dominant():
    assert not is_diagonally_dominant(squared_exponential(np.array([[0.0], [0.0], [99.0]])))


def test_negative_covariances_count_by_their_size():
    assert not is_diagonally_dominant(torch.tensor([[1.0, -0.9], [-0.9, 1.0]]))


@properties
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(1.0, 6.0))
def test_subsets_of_a_dominant_set_are_dominant(seed, m, spread):
    X = np.random.default_rng(seed).normal(size=(m, 2)) * spread
    K = squared_exponential(X)
    assert diagonal_dominance_margin(K[:-1, :-1]) >= diagonal_dominance_margin(K)


def test_dominance_leaves_the_matrix_as_it_was():
    K = torch.eye(3, dtype=torch.float64) + 0.1
    before = K.clone()
    diagonal_dominance_margin(K)
    assert torch.equal(K, before)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (torch.ones(2, 3), r"covariance must be a square matrix, got shape \(2, 3\)"),
        (torch.tensor([[1.0, 0.5], [0.1, 1.0]]), "covariance must be symmetric"),
        (torch.tensor([[-1.0]]), "covariance must be positive semidefinite"),
        (torch.tensor([[math.nan]]), "covariance must be finite, got NaN in row 0, column 0"),
        (torch.ones(3), "covariance must have 2 dimensions"),
    ],
)
def test_bad_covariances_are_refused(covariance, message):
    with pytest.raises(ValueError, match=message):
        is_diagonally_dominant(covariance)
