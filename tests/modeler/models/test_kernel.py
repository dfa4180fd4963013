import math
from dataclasses import replace

import pytest
import torch
from gpytorch.kernels import RBFKernel
from gpytorch.settings import lazily_evaluate_kernels
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import NoisyProjection, ReleasedInputKernel
from botorch_private.curator.publish import publish

properties = settings(derandomize=True, max_examples=60, deadline=None)


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def kernel(noise_variance, noise_dim=None, lengthscale=1.0, **kwargs):
    """Return a float64 kernel with the given length-scale."""
    result = ReleasedInputKernel(noise_variance, noise_dim, **kwargs).double()
    result.lengthscale = torch.as_tensor(lengthscale, dtype=torch.float64)
    return result


def released(records, scaling, mechanism, seed=1):
    return publish(records, scaling, mechanism, generator=torch.Generator().manual_seed(seed)).release


def by_hand(x1, x2, lengthscale, noise_variance):
    """Evaluate the closed form of the docstring pair by pair, in Python floats."""
    matrix = torch.empty(len(x1), len(x2), dtype=torch.float64)
    for i, z in enumerate(x1.tolist()):
        for j, w in enumerate(x2.tolist()):
            value = 1.0
            for a, b, length in zip(z, w, lengthscale, strict=True):
                wide = length**2 + 2 * noise_variance
                value *= math.sqrt(length**2 / wide) * math.exp(-((a - b) ** 2) / (2 * wide))
            matrix[i, j] = 1.0 if z == w else value
    return matrix


# --- values ---


@pytest.mark.parametrize("noise_variance", [0.0, 0.3, 40.0])
@pytest.mark.parametrize("lengthscale", [[0.7] * 3, [0.4, 1.0, 5.0]], ids=["isotropic", "ard"])
def test_kernel_equals_the_closed_form(lengthscale, noise_variance):
    x1, x2 = normal(6, 3, seed=1), normal(5, 3, seed=2)
    x2[1] = x1[4]
    expected = by_hand(x1, x2, lengthscale, noise_variance)
    three = kernel(noise_variance, lengthscale=lengthscale, ard_num_dims=3)
    assert_close(three(x1, x2).to_dense(), expected, rtol=1e-12, atol=1e-14)
    if len(set(lengthscale)) == 1:
        one = kernel(noise_variance, 3, lengthscale[0])
        assert_close(one(x1, x2).to_dense(), expected, rtol=1e-12, atol=1e-14)


def monte_carlo(z, w, lengthscale, noise_variance, noise, seed):
    """Average the RBF kernel over true inputs that the rows leave possible; with standard error.

    Under a flat prior on the inputs, a row ``z = x + e`` leaves ``x = z - e``.
    """
    first, second = noise(seed), noise(seed + 1)
    scale = math.sqrt(noise_variance)
    difference = (z - scale * first) - (w - scale * second)
    values = torch.exp(-(difference / lengthscale).square().sum(dim=-1) / 2)
    return float(values.mean()), float(values.std() / math.sqrt(len(values)))


@pytest.mark.parametrize("noise_variance", [0.1, 1.0])
@pytest.mark.parametrize("lengthscale", [[0.8] * 3, [0.5, 1.0, 3.0]], ids=["isotropic", "ard"])
def test_kernel_is_the_expectation_of_rbf_over_gaussian_noise_on_both_rows(lengthscale, noise_variance):
    # 400,000 draws; the average lies within 4 standard errors of the closed form, itself below 1%.
    z, w = normal(3, seed=3) / 2, normal(3, seed=4) / 2
    widths = torch.tensor(lengthscale, dtype=torch.float64)
    average, error = monte_carlo(
        z, w, widths, noise_variance, lambda seed: normal(400_000, 3, seed=seed), seed=10
    )
    built = kernel(noise_variance, lengthscale=lengthscale, ard_num_dims=3)
    exact = float(built(z[None], w[None]).to_dense().detach())
    assert error < 0.01 * exact
    assert abs(average - exact) < 4 * error


def test_kernel_with_noise_in_a_subspace_is_the_expectation_over_that_noise():
    # Rows in R^5, noise in the plane of a rotation (r > d). 400,000 draws, 4 standard errors.
    frame = torch.linalg.qr(normal(5, 2, seed=5)).Q
    z, w = normal(2, seed=6) @ frame.T, normal(2, seed=7) @ frame.T
    average, error = monte_carlo(
        z, w, 0.9, 0.4, lambda seed: normal(400_000, 2, seed=seed) @ frame.T, seed=20
    )
    exact = float(kernel(0.4, 2, 0.9)(z[None], w[None]).to_dense().detach())
    assert error < 0.01 * exact
    assert abs(average - exact) < 4 * error


@pytest.mark.parametrize("ard_num_dims", [None, 4], ids=["isotropic", "ard"])
def test_kernel_without_noise_is_the_rbf_kernel(ard_num_dims):
    x1, x2 = normal(8, 4, seed=1), normal(6, 4, seed=2)
    lengthscale = torch.tensor([0.3, 0.7, 1.0, 9.0][: ard_num_dims or 1], dtype=torch.float64)
    rbf = RBFKernel(ard_num_dims=ard_num_dims).double()
    rbf.lengthscale = lengthscale
    silent = kernel(0.0, 4, lengthscale, ard_num_dims=ard_num_dims)
    assert_close(silent(x1, x2).to_dense(), rbf(x1, x2).to_dense(), rtol=1e-12, atol=1e-14)
    assert_close(silent(x1).to_dense(), rbf(x1).to_dense(), rtol=1e-12, atol=1e-14)


# --- positive semi-definite ---


@st.composite
def rows_with_repeats(draw):
    """Up to 25 rows near each other or far apart, many of them equal."""
    d = draw(st.integers(1, 4))
    spread = draw(st.sampled_from([1e-12, 1e-6, 1e-2, 1.0, 1e3]))
    rows = spread * normal(draw(st.integers(1, 15)), d, seed=draw(st.integers(0, 10**6)))
    repeats = draw(st.lists(st.integers(0, len(rows) - 1), max_size=10))
    return torch.cat([rows, rows[torch.tensor(repeats, dtype=torch.long)]])


@properties
@given(
    x=rows_with_repeats(),
    noise_variance=st.sampled_from([0.0, 1e-8, 0.1, 1.0, 1e4]),
    lengthscale=st.sampled_from([1e-3, 0.1, 1.0, 50.0]),
    ard=st.booleans(),
)
def test_covariance_of_duplicate_and_measured_rows_is_positive_semi_definite(
    x, noise_variance, lengthscale, ard
):
    d = x.shape[1]
    built = kernel(noise_variance, d, lengthscale, ard_num_dims=d if ard else None)
    covariance = built(x, x.clone()).to_dense().detach()
    assert torch.equal(covariance, covariance.T)
    assert float(torch.linalg.eigvalsh(covariance)[0]) >= -1e-10
    assert torch.equal(covariance.diagonal(), torch.ones(len(x), dtype=torch.float64))


# --- shapes ---


@pytest.mark.parametrize("ard_num_dims", [None, 3], ids=["isotropic", "ard"])
@pytest.mark.parametrize("kernel_batch", [(), (2,)], ids=["one kernel", "two kernels"])
@pytest.mark.parametrize("x_batch", [(), (2,), (4, 2)], ids=["n x d", "2 x n x d", "4 x 2 x n x d"])
def test_diagonal_equals_the_diagonal_of_the_matrix(x_batch, kernel_batch, ard_num_dims):
    built = kernel(0.5, 3, batch_shape=torch.Size(kernel_batch), ard_num_dims=ard_num_dims)
    built.lengthscale = normal(*built.lengthscale.shape, seed=8).exp()
    x1, x2 = normal(*x_batch, 5, 3, seed=1), normal(*x_batch, 5, 3, seed=2)
    x2[..., 1, :] = x1[..., 1, :]
    for a, b in ((x1, x2), (x1, x1)):
        matrix, diagonal = built(a, b).to_dense(), built(a, b, diag=True)
        assert matrix.shape == (*torch.broadcast_shapes(x_batch, kernel_batch), 5, 5)
        assert_close(diagonal, matrix.diagonal(dim1=-2, dim2=-1), rtol=1e-13, atol=0)


@pytest.mark.parametrize("ard_num_dims", [None, 3], ids=["isotropic", "ard"])
def test_each_kernel_of_a_batch_equals_that_kernel_alone(ard_num_dims):
    built = kernel(0.5, 3, batch_shape=torch.Size([2]), ard_num_dims=ard_num_dims)
    built.lengthscale = normal(*built.lengthscale.shape, seed=8).exp()
    x = normal(2, 6, 3)
    for i in range(2):
        alone = kernel(0.5, 3, built.lengthscale[i].detach(), ard_num_dims=ard_num_dims)
        assert_close(built(x).to_dense()[i], alone(x[i]).to_dense(), rtol=1e-13, atol=0)
        assert_close(built[i](x[i]).to_dense(), alone(x[i]).to_dense(), rtol=1e-13, atol=0)


def test_active_dimensions_are_those_that_count():
    x = normal(5, 4)
    assert torch.equal(
        kernel(0.5, 2, active_dims=(0, 2))(x).to_dense(), kernel(0.5, 2)(x[:, [0, 2]]).to_dense()
    )


# --- gradients and dtype ---


@pytest.mark.parametrize("noise_variance", [0.0, 0.5])
@pytest.mark.parametrize("ard_num_dims", [None, 3], ids=["isotropic", "ard"])
def test_gradient_in_the_lengthscale_equals_finite_differences(ard_num_dims, noise_variance):
    built = kernel(noise_variance, 3, ard_num_dims=ard_num_dims)
    x = normal(5, 3)
    x[3] = x[1]  # a duplicate row, where a distance has no derivative of its own

    def covariance(raw):
        with lazily_evaluate_kernels(False):
            parameters = {"raw_lengthscale": raw}
            return torch.func.functional_call(built, parameters, (x, x.clone())).to_dense()

    raw = normal(*built.raw_lengthscale.shape, seed=9).requires_grad_()
    assert torch.isfinite(torch.autograd.grad(covariance(raw).sum(), raw)[0]).all()
    assert torch.autograd.gradcheck(covariance, raw)


def test_gradient_in_the_inputs_is_finite_at_duplicates_and_right_elsewhere():
    built = kernel(0.5, 3)
    x = normal(4, 3)
    x[3] = x[1]
    leaf = x.clone().requires_grad_()
    assert torch.isfinite(torch.autograd.grad(built(leaf, x).to_dense().sum(), leaf)[0]).all()
    apart = normal(3, 3, seed=11).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: built(z, x).to_dense(), apart)


@pytest.mark.parametrize("ard_num_dims", [None, 3], ids=["isotropic", "ard"])
def test_float32_kernel_equals_float64_to_its_precision(ard_num_dims):
    built = kernel(0.5, 3, 0.8, ard_num_dims=ard_num_dims)
    x = normal(6, 3).float().double()
    x[4] = x[2]
    expected = built(x).to_dense()
    short = built.float()(x.float()).to_dense()
    assert short.dtype == torch.float32
    assert_close(short, expected.float(), rtol=1e-5, atol=1e-6)
    assert_close(built(x.float(), diag=True), torch.ones(6), rtol=0, atol=0)


# --- of a release ---


def test_kernel_of_a_release_takes_its_public_settings(records, scaling):
    release = released(records, scaling, NoisyProjection(3.0, projection_dim=5))
    built = ReleasedInputKernel.of(release)
    assert float(built.noise_variance) == release.noise_variance > 0
    assert built.noise_dim == release.noise_dim == 3
    assert built.ard_num_dims is None
    assert built.lengthscale.shape == (1, 1)


def root_mean_square(rows):
    return math.sqrt(float((rows - rows.mean(dim=0)).square().sum(dim=1).mean()))


@pytest.mark.parametrize("projection_dim", [None, 2, 5], ids=["no projection", "r < d", "r > d"])
def test_kernel_of_a_release_starts_at_the_spread_of_the_true_inputs(projection_dim, scaling):
    # 5,000 uniform records; the spread is known to the modeler up to noise, here to 5%.
    records = scaling.lower + (scaling.upper - scaling.lower) * torch.rand(
        5000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    mechanism = NoisyProjection(0.8, delta=1e-5, projection_dim=projection_dim, noise="laplace")
    release = released(records, scaling, mechanism)
    true = root_mean_square(scaling.transform(records))
    if projection_dim == 2:  # a plane keeps squared distances on average only
        true = math.sqrt(root_mean_square(release.candidates) ** 2 - 2 * release.noise_variance)
    assert root_mean_square(release.candidates) > 1.02 * true  # the noise shows
    built = ReleasedInputKernel.of(release)
    assert built.lengthscale.item() == pytest.approx(true, rel=0.05)


def test_kernel_of_a_release_has_the_stated_prior_and_bound(records, scaling):
    built = ReleasedInputKernel.of(released(records, scaling, NoisyProjection(3.0)))
    (_, _, prior, closure, _) = next(iter(built.named_priors()))
    spread = built.lengthscale.item()
    assert float(prior.loc) == pytest.approx(math.log(2 * spread), rel=1e-6)
    assert float(prior.scale) == pytest.approx(0.75, rel=1e-6)
    assert torch.equal(closure(built), built.lengthscale)
    assert built.raw_lengthscale_constraint.lower_bound.item() == pytest.approx(1e-4 * spread, rel=1e-5)


def test_kernel_keeps_a_tenth_of_the_spread_where_noise_drowns_the_inputs(scaling):
    records = torch.tensor([[0.5, 0.0, 200.0]] * 50, dtype=torch.float64)
    release = released(records, scaling, NoisyProjection(1.0))
    spread = root_mean_square(release.candidates)
    lengthscale = ReleasedInputKernel.of(release).lengthscale.item()
    assert 0.0999 * spread < lengthscale < spread


def test_kernel_of_equal_rows_starts_at_one(records, scaling):
    release = released(records, scaling, NoisyProjection(3.0))
    equal = replace(release, candidates=torch.ones_like(release.candidates))
    assert ReleasedInputKernel.of(equal).lengthscale.item() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("projection_dim", [2, 3, 5])
def test_ard_is_refused_for_rotated_or_projected_rows(projection_dim, records, scaling):
    mechanism = NoisyProjection(3.0, delta=1e-5, projection_dim=projection_dim)
    release = released(records, scaling, mechanism)
    with pytest.raises(
        ValueError, match=r"ard must be False for rotated or projected rows.*projection_dim"
    ):
        ReleasedInputKernel.of(release, ard=True)


def test_batch_of_kernels_of_a_release_has_lengthscales_of_its_own(records, scaling):
    release = released(records, scaling, NoisyProjection(3.0))
    built = ReleasedInputKernel.of(release, ard=True, batch_shape=torch.Size([4]))
    assert built.lengthscale.shape == (4, 1, 3)
    assert built.noise_dim == 3
    assert built(release.candidates.float()).shape == (4, 24, 24)


def test_state_dict_round_trip_keeps_the_lengthscale_and_the_noise():
    x = normal(5, 3)
    donor, heir = kernel(0.5, 3, 0.3), kernel(2.0, 3, 7.0)
    heir.load_state_dict(donor.state_dict())
    assert torch.equal(heir(x).to_dense(), donor(x).to_dense())
    assert set(donor.state_dict()) >= {"raw_lengthscale", "noise_variance"}


def test_a_variance_for_each_coordinate_equals_the_closed_form():
    x1, x2 = normal(6, 3, seed=1), normal(5, 3, seed=2)
    x2[1] = x1[4]
    variances = [0.0, 0.4, 3.0]
    expected = torch.ones(6, 5, dtype=torch.float64)
    for m, variance in enumerate(variances):
        expected *= by_hand(x1[:, [m]], x2[:, [m]], [0.7], variance)
    for sequence in (variances, tuple(variances), torch.tensor(variances, dtype=torch.float64)):
        assert_close(
            kernel(sequence, lengthscale=0.7)(x1, x2).to_dense(), expected, rtol=1e-12, atol=1e-14
        )
    same = kernel([0.3] * 3, lengthscale=0.7)(x1, x2).to_dense()
    assert_close(same, kernel(0.3, 3, lengthscale=0.7)(x1, x2).to_dense(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("built", [{"ard_num_dims": 1}, {"noise_dim": 1}, {}])
def test_one_coordinate_shares_as_much_however_the_kernel_is_built(built):
    variance = 0.5 if built else [0.5]
    x1, x2 = normal(4, 1, seed=1), normal(3, 1, seed=2)
    found = kernel(variance, lengthscale=0.7, **built)(x1, x2).to_dense()
    assert_close(found, by_hand(x1, x2, [0.7], 0.5), rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise_variance": -1.0}, "noise_variance must be a finite number >= 0, got -1.0"),
        ({"noise_variance": float("nan")}, "noise_variance must be a finite number >= 0, got nan"),
        ({"noise_variance": float("inf")}, "noise_variance must be a finite number >= 0, got inf"),
        ({"noise_variance": 1.0}, "noise_dim must be an integer >= 1, got None"),
        ({"noise_variance": 1.0, "noise_dim": 0}, "noise_dim must be an integer >= 1, got 0"),
        ({"noise_variance": 1.0, "ard_num_dims": 0}, "ard_num_dims must be an integer >= 1, got 0"),
        (
            {"noise_variance": 1.0, "noise_dim": 2, "ard_num_dims": 3},
            "noise_dim must equal ard_num_dims=3",
        ),
        ({"noise_variance": [1.0, 2.0], "noise_dim": 3}, "noise_dim must equal 2"),
        (
            {"noise_variance": [1.0, 2.0], "ard_num_dims": 3},
            "noise_variance must be one number, or ard_num_dims=3 numbers, got 2 numbers",
        ),
        ({"noise_variance": [1.0, -2.0]}, r"noise_variance\[1\] must be a finite number >= 0, got -2.0"),
        ({"noise_variance": "1"}, "noise_variance must be a finite number >= 0, got '1'"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ReleasedInputKernel(**arguments)
