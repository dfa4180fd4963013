import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.theory import largest_projection_dim, singular_value_floor, smallest_singular_value

properties = settings(derandomize=True, max_examples=50, deadline=None)


@pytest.fixture(scope="module")
def paper_grid():
    """Return the paper's 100 x 100 grid, centred, largest norm 25."""
    axis = np.arange(100.0)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid -= grid.mean(axis=0)
    return 25 * grid / np.linalg.norm(grid, axis=1).max()


def test_floor_by_hand():
    # delta = 2 / e: log(2 / delta) = 1, log(16 r / delta) = log(8 e r); r = 4
    assert singular_value_floor(2.0, 2 / math.e, 4) == pytest.approx(16 * (1 + math.log(32)))


def test_floor_falls_as_the_inverse_of_epsilon():
    assert singular_value_floor(3.0, 1e-5, 7) == pytest.approx(singular_value_floor(1, 1e-5, 7) / 3)


@properties
@given(st.floats(0.01, 100), st.floats(1e-12, 0.9), st.integers(1, 10**6))
def test_floor_grows_with_the_dimension(epsilon, delta, r):
    floor = singular_value_floor(epsilon, delta, r)
    assert floor < singular_value_floor(epsilon, delta, r + 1)
    assert floor > 0


def test_smallest_singular_value_of_the_paper_grid(paper_grid):
    assert smallest_singular_value(paper_grid) == pytest.approx(1030.9, abs=0.05)


def test_smallest_singular_value_of_a_uniform_grid_in_closed_form(paper_grid):
    # Both singular values are sqrt(n Var), the variance of 0, ..., 99 being (100^2 - 1) / 12.
    step = 25 / (49.5 * math.sqrt(2))
    assert smallest_singular_value(paper_grid) == pytest.approx(
        100 * step * math.sqrt((100**2 - 1) / 12)
    )


@properties
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_smallest_singular_value_is_zero_exactly_when_centring_loses_a_rank(n, d, seed):
    X = 1e4 + np.random.default_rng(seed).normal(size=(n, d))
    value = smallest_singular_value(X)
    assert (value == 0) == (n <= d)


def test_smallest_singular_value_ignores_where_the_records_lie(paper_grid):
    moved = torch.from_numpy(paper_grid) + 100
    assert smallest_singular_value(moved) == pytest.approx(smallest_singular_value(paper_grid))


def test_duplicated_column_has_smallest_singular_value_zero():
    column = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
    assert smallest_singular_value(torch.cat([column, 3 * column], dim=1)) == 0


@pytest.mark.parametrize(
    ("log_epsilon", "tabulated", "tabulated_largest", "largest"),
    [
        (1.1, (3, 6, 8, 10, 15, 20), 10, 11),
        (1.3, (3, 9, 12, 15, 20, 30), 15, 15),
        (1.5, (5, 10, 15, 20, 30, 50), 20, 22),
    ],
)
def test_largest_dimensions_of_the_papers_tables(
    paper_grid, log_epsilon, tabulated, tabulated_largest, largest
):
    s = smallest_singular_value(paper_grid)
    epsilon, delta = math.exp(log_epsilon), 1e-5
    assert largest_projection_dim(s, epsilon, delta, tabulated) == tabulated_largest
    assert largest_projection_dim(s, epsilon, delta) == largest


@properties
@given(st.floats(0, 1e5), st.floats(0.05, 50), st.floats(1e-9, 0.5))
def test_largest_dimension_meets_the_floor_and_the_next_does_not(s, epsilon, delta):
    r = largest_projection_dim(s, epsilon, delta)
    assert r == 0 or singular_value_floor(epsilon, delta, r) <= s
    assert singular_value_floor(epsilon, delta, r + 1) > s


@properties
@given(st.floats(0, 2000), st.floats(0.5, 20))
def test_largest_dimension_equals_trying_one_after_another(s, epsilon):
    r = 0
    while singular_value_floor(epsilon, 1e-5, r + 1) <= s:
        r += 1
    assert largest_projection_dim(s, epsilon, 1e-5) == r


def test_largest_dimension_counts_equality_with_the_floor():
    for r in (1, 2, 15, 64, 65):
        assert largest_projection_dim(singular_value_floor(3.0, 1e-5, r), 3.0, 1e-5) == r


def test_largest_dimension_is_zero_without_a_dimension_that_meets_the_floor():
    assert largest_projection_dim(0.0, 1.0, 1e-5) == 0
    assert largest_projection_dim(1030.9, 3.0, 1e-5, (50, 60)) == 0


def test_largest_dimension_of_an_absurd_table_is_capped():
    assert largest_projection_dim(1e300, 1.0, 1e-5) == 2**53


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1e-5, 3), "epsilon must be a finite number > 0, got 0.0"),
        ((math.inf, 1e-5, 3), "epsilon must be a finite number > 0"),
        ((1.0, 0.0, 3), r"delta must be a number in \(0, 1\), got 0.0"),
        ((1.0, 1e-5, 0), "projection_dim must be an integer >= 1, got 0"),
        ((1.0, 1e-5, True), "projection_dim must be an integer >= 1, got True"),
    ],
)
def test_floor_refuses_what_is_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        singular_value_floor(*arguments)


def test_largest_dimension_refuses_what_is_out_of_range():
    with pytest.raises(ValueError, match="singular_value must be a finite number >= 0, got -1"):
        largest_projection_dim(-1, 1.0, 1e-5)
    with pytest.raises(ValueError, match="projection_dim must be an integer >= 1, got 0"):
        largest_projection_dim(10.0, 1.0, 1e-5, candidates=(3, 0))
    with pytest.raises(ValueError, match="delta must be a number"):
        largest_projection_dim(10.0, 1.0, 2.0, candidates=())


def test_smallest_singular_value_names_the_row_of_a_missing_value():
    X = torch.zeros(3, 2)
    X[1, 0] = math.nan
    with pytest.raises(ValueError, match="records must be finite, got NaN in row 1, column 0"):
        smallest_singular_value(X)
