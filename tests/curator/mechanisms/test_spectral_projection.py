"""Algorithm 1 as printed: equal to a transcription, and demonstrably not private."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch

from botorch_private import NoPrivacy, NotDifferentiallyPrivate, SpectralProjection
from botorch_private.curator.mechanisms.spectral_projection import (
    FLOAT64_LEAKS,
    NOT_PRIVATE,
    SWITCH_LEAKS,
)


def algorithm_1(X, M, epsilon, delta, r):
    """The paper's listing in NumPy, with the full n x n matrix U."""
    n, d = X.shape
    X = X - np.ones((n, 1)) @ (np.ones((1, n)) @ X) / n  # line 2
    U, s, Vt = np.linalg.svd(X, full_matrices=True)  # line 4
    omega = 16 * np.sqrt(r * np.log(2 / delta)) * np.log(16 * r / delta) / epsilon  # line 5
    if s[min(n, d) - 1] >= omega:  # line 6
        return X @ M / np.sqrt(r)  # line 7
    squared = np.zeros((n, d))
    squared[: len(s), : len(s)] = np.diag(s**2 + omega**2)
    return U @ np.sqrt(squared) @ Vt @ M / np.sqrt(r)  # lines 9 and 10


def table(n, d, scale, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * scale


@pytest.mark.parametrize(
    ("n", "d", "r", "scale", "lifted"),
    [
        (60, 3, 2, 1.0, True),
        (60, 3, 7, 1.0, True),
        (60, 3, 2, 900.0, False),
        (60, 3, 7, 900.0, False),
        (4, 6, 5, 1.0, True),
        (2, 1, 1, 1.0, True),
    ],
)
def test_equals_the_line_by_line_transcription_for_the_same_matrix(n, d, r, scale, lifted):
    X, M = table(n, d, scale), table(d, r, 1.0, seed=1)
    mechanism = SpectralProjection(16.4, 1e-5, r)
    smallest = np.linalg.svd(X - X.mean(0), compute_uv=False)[-1]
    assert (smallest < mechanism.singular_value_floor) == lifted
    rows = mechanism.project(torch.from_numpy(X), torch.from_numpy(M)).rows.numpy()
    expected = algorithm_1(X, M, 16.4, 1e-5, r)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_the_projection_matrix_is_standard_normal():
    # Released rows of an unlifted orthogonal table are rows of M itself.
    n = 8
    X = np.concatenate([np.eye(n), -np.eye(n)]) * 5000.0
    mechanism = SpectralProjection(16.4, 1e-5, 400)
    with pytest.warns(NotDifferentiallyPrivate):
        rows = mechanism.apply(torch.from_numpy(X), generator=torch.Generator().manual_seed(0))
    entries = rows[:n].numpy() * math.sqrt(400) / 5000.0
    # 3,200 entries; widths are 4 standard errors.
    assert abs(entries.mean()) < 4 / math.sqrt(3200)
    assert entries.var() == pytest.approx(1, abs=4 * math.sqrt(2 / 3200))


@pytest.mark.parametrize("r", [1, 2, 15])
@pytest.mark.parametrize("scale", [2.0, 400.0])
def test_two_neighbours_are_told_apart_without_error(r, scale):
    """Every column of Z lies in col(X): probability 1 under X and 0 under its neighbour.

    150 releases a side and move, moves of 1 and of 0.001, both branches, r below and above d.
    """
    n, d = 200, 2
    X = table(n, d, scale)
    mechanism = SpectralProjection(16.4, 1e-4, r)
    floor = np.linalg.svd(X - X.mean(0), compute_uv=False)[-1] >= mechanism.singular_value_floor
    assert floor == (scale == 400.0)
    basis = np.linalg.qr(X - X.mean(0))[0]

    def looks_like_x(rows):
        residual = rows - basis @ (basis.T @ rows)
        return np.linalg.norm(residual) < 1e-13 * np.linalg.norm(rows)

    generator = torch.Generator().manual_seed(r)
    for step in (1.0, 1e-3):
        neighbour = X.copy()
        neighbour[17] += step * np.array([0.6, 0.8])
        errors = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotDifferentiallyPrivate)
            for _ in range(150):
                errors += not looks_like_x(
                    mechanism.apply(torch.from_numpy(X), generator=generator).numpy()
                )
                errors += looks_like_x(
                    mechanism.apply(torch.from_numpy(neighbour), generator=generator).numpy()
                )
        assert errors == 0


@pytest.mark.parametrize("scale", [2.0, 400.0])
def test_d_plus_1_known_records_reveal_all_others(scale):
    X = table(2004, 2, scale)
    with pytest.warns(NotDifferentiallyPrivate):
        Z = SpectralProjection(16.4, 1e-4, 15).apply(torch.from_numpy(X)).numpy()
    known = [3, 500, 1999]
    design = np.column_stack([Z[known], np.ones(3)])
    affine = np.linalg.lstsq(design, X[known], rcond=None)[0]
    guess = np.column_stack([Z, np.ones(len(Z))]) @ affine
    assert np.abs(guess - X).max() < 1e-8 * scale


def share_of_columns_that_a_table_explains(X, rows, mechanism):
    """Share of released columns that Algorithm 1 can make of a 2 x 2 table, by trying.

    Which normal numbers a column came from follows from the table, up to rounding: 25 pairs are tried.
    """
    # By the routine of the mechanism: the sign of a null direction is the library's choice.
    u, s, vt = np.linalg.svd(X - X.mean(0), full_matrices=False)
    lifted = u * np.sqrt(s**2 + mechanism.singular_value_floor**2) @ vt
    matrix = np.linalg.solve(lifted, rows.numpy()) * math.sqrt(mechanism.projection_dim)
    step = np.spacing(np.abs(matrix).max(0)) / 2
    explained = torch.zeros(mechanism.projection_dim, dtype=torch.bool)
    for i, j in itertools.product(range(-2, 3), repeat=2):
        near = torch.from_numpy(matrix + np.array([[i], [j]]) * step)
        explained |= (mechanism.project(torch.from_numpy(X), near).rows == rows).all(0)
    return float(explained.double().mean())


@pytest.mark.filterwarnings("ignore::botorch_private.NotDifferentiallyPrivate")
def test_float64_tells_neighbours_apart_without_error_where_records_do_not_outnumber_features():
    """60 releases a side: a table explains 84 % or more of 400 columns of its own, 52 % of the other's.

    The threshold is 7 standard deviations from either side; processors differ by some 3 %.
    """
    mechanism = SpectralProjection(1.0, 1e-5, 400)
    X, neighbour = np.array([[0.0, 0.0], [5.0, 3.0]]), np.array([[0.0, 0.0], [5.0, 4.0]])
    generator = torch.Generator().manual_seed(0)
    for table_released, its_own in ((X, True), (neighbour, False)):
        for _ in range(60):
            rows = mechanism.apply(torch.from_numpy(table_released), generator=generator)
            assert (share_of_columns_that_a_table_explains(X, rows, mechanism) > 0.68) == its_own


@pytest.mark.parametrize(
    ("n", "d", "reason"),
    [
        (100, 2, NOT_PRIVATE),
        (4, 2, NOT_PRIVATE),
        (3, 2, SWITCH_LEAKS),
        (2, 2, FLOAT64_LEAKS),
        (5, 9, FLOAT64_LEAKS),
    ],
)
def test_the_guarantee_never_holds_and_applying_it_always_warns(n, d, reason):
    mechanism = SpectralProjection(1.0, 1e-5, 3)
    guarantee = mechanism.guarantee(n, d)
    assert not guarantee.holds
    assert guarantee.reasons == (reason,)
    assert guarantee.at(1.0) == 1.0
    assert guarantee.at(1.5) == math.inf
    assert guarantee.location_radius(0.95) == 0.0
    with pytest.warns(NotDifferentiallyPrivate, match=rf"{n} records of {d} features .* Use NoisyProj"):
        mechanism.apply(torch.from_numpy(table(n, d, 1.0)))


@pytest.mark.parametrize("scale", [1.0, 900.0])
def test_row_map_reproduces_the_released_rows_where_columns_are_independent(scale):
    X = torch.from_numpy(table(60, 3, scale))
    drawn = SpectralProjection(16.4, 1e-5, 5).project(X, torch.from_numpy(table(3, 5, 1.0, 2)))
    assert drawn.row_map is not None
    torch.testing.assert_close(drawn.row_map(X), drawn.rows, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("defect", ["rank", "wide"])
def test_lifted_null_directions_have_no_row_map(defect):
    X = table(60, 3, 1.0)
    X[:, 2] = X[:, 0] - X[:, 1]
    X = X[:2] if defect == "wide" else X
    drawn = SpectralProjection(1.0, 1e-5, 5).project(
        torch.from_numpy(X), torch.from_numpy(table(3, 5, 1.0, 2))
    )
    assert drawn.row_map is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1e-5, 3), "epsilon must be a finite number > 0, got 0.0"),
        ((1.0, 0.0, 3), r"delta must be a number in \(0, 1\), got 0.0"),
        ((1.0, 1e-5, None), "projection_dim must be an integer >= 1, got None"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SpectralProjection(*arguments)


def test_no_privacy_releases_the_records_and_says_so():
    X = torch.from_numpy(table(5, 3, 1.0))
    assert torch.equal(NoPrivacy().apply(X), X)
    guarantee = NoPrivacy().guarantee(5, 3)
    assert not guarantee.holds
    assert guarantee.at(1.0) == math.inf
    assert "Nothing is promised" in str(guarantee)
