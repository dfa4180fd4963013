"""extend_cholesky: against NumPy's factor of the whole matrix, and the jitter rule."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private.modeler.models.cholesky import extend_cholesky

properties = settings(derandomize=True, max_examples=60, deadline=None, report_multiple_bugs=False)
EPS = np.finfo(np.float64).eps


def gram(X, lengthscale=0.5):
    """Return the covariance of RBF kernel, exact for equal rows."""
    return torch.exp(-((X[:, None] - X[None]) / lengthscale).square().sum(dim=-1) / 2)


def rows(t, seed=0, distinct=None):
    X = torch.rand(distinct or t, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return X[torch.arange(t) % len(X)]


def grown(K, noise, sizes):
    """Build a factor step by step; return it and what was added to the noise in each step."""
    factor, added = K.new_zeros(0, 0), []
    for size in sizes:
        t, m = len(factor), size
        new = slice(t, t + m)
        below, triangle, raised = extend_cholesky(factor, K[new, :t], K[new, new], noise[new])
        top = torch.cat([factor, K.new_zeros(t, m)], dim=1)
        factor = torch.cat([top, torch.cat([below, triangle], dim=1)])
        added.append(raised)
    return factor, added


@properties
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    distinct=st.integers(1, 40),
    scale=st.floats(1e-6, 1e6),
    noises=st.lists(st.floats(1e-6, 10), min_size=1, max_size=5),
)
def test_factor_grown_in_any_steps_is_that_of_numpy(sizes, distinct, scale, noises):
    t = sum(sizes)
    K = scale * gram(rows(t, distinct=distinct))
    noise = scale * torch.tensor(noises, dtype=torch.float64).repeat(t)[:t]
    factor, added = grown(K, noise, sizes)
    assert added == [0] * len(sizes)
    expected = np.linalg.cholesky((K + noise.diag()).numpy())
    np.testing.assert_allclose(factor.numpy(), expected, rtol=1e-6, atol=1e-9 * math.sqrt(scale))
    np.testing.assert_allclose(
        (factor @ factor.T).numpy(), (K + noise.diag()).numpy(), rtol=1e-13, atol=1e-13 * scale
    )
    assert torch.equal(factor, factor.tril())


@pytest.mark.parametrize("sizes", [[1] * 12, [12], [3, 4, 5], [11, 1]], ids=str)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_pivot_of_a_repeated_row_without_noise_is_raised_to_the_floor(scale, sizes):
    """To 8 (t + m) eps times the variance, and that is the only change of the matrix."""
    K = scale * gram(rows(12, distinct=11), 0.05)  # the last row is the first one
    factor, added = grown(K, K.new_zeros(12), sizes)
    floor = 8 * 12 * EPS * scale
    assert float(factor[-1, -1]) ** 2 == pytest.approx(floor, rel=1e-12)
    assert added[:-1] == [0] * (len(sizes) - 1)
    assert 0 < added[-1] < 1.1 * floor + 12 * EPS * scale
    change = factor @ factor.T - K
    assert 0 < float(change[-1, -1]) < 2 * floor
    change[-1, -1] = 0
    assert float(change.abs().max()) < 12 * EPS * scale


@pytest.mark.parametrize("sizes", [[60], [1] * 60, [20] * 3], ids=["at once", "one by one", "by 20"])
@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-14])
@pytest.mark.parametrize(("distinct", "lengthscale"), [(1, 1.0), (7, 0.3), (60, 100.0)])
def test_jitter_adds_noise_to_some_rows_and_changes_nothing_else(distinct, lengthscale, noise, sizes):
    K = gram(rows(60, distinct=distinct), lengthscale)
    noises = torch.full((60,), noise, dtype=torch.float64)
    factor, added = grown(K, noises, sizes)
    floor = 8 * 60 * EPS
    assert torch.isfinite(factor).all()
    assert float(factor.diagonal().min()) > 0
    change = factor @ factor.T - K - noises.diag()
    assert float((change - change.diagonal().diag()).abs().max()) < 60 * EPS
    assert float(change.diagonal().min()) > -60 * EPS
    assert float(change.diagonal().max()) < 2 * floor
    assert max(added) == pytest.approx(float(change.diagonal().max()), abs=60 * EPS)


def test_floor_at_500_observations_is_9e_13_as_stated():
    _, added = grown(gram(rows(500, distinct=499), 0.02), torch.zeros(500, dtype=torch.float64), [500])
    assert added[0] == pytest.approx(9e-13, rel=0.05)


def test_noise_of_1e_12_of_the_variance_needs_no_jitter_even_for_a_row_repeated_300_times():
    noise = torch.full((300,), 1e-12, dtype=torch.float64)
    _, added = grown(gram(rows(300, distinct=1)), noise, [1] * 300)
    assert max(added) == 0


def test_only_the_row_in_need_gets_noise():
    X = rows(9)
    X[4] = X[1]
    K = gram(X, 0.05)
    factor, _ = grown(K, K.new_zeros(9), [9])
    others = [0, 1, 2, 3, 5, 6, 7, 8]
    alone = np.linalg.cholesky(K[others][:, others].numpy())
    np.testing.assert_allclose(factor[others][:, others].numpy(), alone, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("place", ["cross", "corner", "noise"])
def test_a_nan_stays_a_nan_and_becomes_no_number(place):
    K = gram(rows(6))
    parts = {"cross": K[4:, :4].clone(), "corner": K[4:, 4:].clone(), "noise": K.new_ones(2)}
    parts[place].view(-1)[-1] = math.nan
    factor = torch.linalg.cholesky(K[:4, :4] + torch.eye(4, dtype=torch.float64))
    _, triangle, _ = extend_cholesky(factor, *parts.values())
    assert triangle[-1].isnan().any()


def test_arguments_are_left_as_they_are():
    K, noise = gram(rows(6, distinct=3)), torch.zeros(6, dtype=torch.float64)
    factor, _ = grown(K, noise, [4])
    parts = [factor, K[4:, :4], K[4:, 4:], noise[4:]]
    before = [part.clone() for part in parts]
    extend_cholesky(*parts)
    for part, kept in zip(parts, before, strict=True):
        assert torch.equal(part, kept)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_device_gives_the_factor_of_the_cpu():
    K = gram(rows(20, distinct=15))
    here, added = grown(K, K.new_zeros(20), [10, 10])
    there, added_there = grown(K.cuda(), K.new_zeros(20).cuda(), [10, 10])
    assert_close(there.cpu(), here, rtol=1e-6, atol=1e-6)
    assert added_there == pytest.approx(added, abs=1e-14)
