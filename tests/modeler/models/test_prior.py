"""Priors: the fast one against GPyTorch's kernels and mpmath, and which models get it."""

import math

import mpmath
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, RQKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from gpytorch.models import ExactGP
from helpers.draws import uniform
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import ReleasedInputKernel
from botorch_private.modeler.models.prior import (
    ForwardPrior,
    StationaryPrior,
    prior_of,
    stationary_kernel,
)

properties = settings(derandomize=True, max_examples=80, deadline=None, report_multiple_bugs=False)
EPS = torch.finfo(torch.float64).eps

pytestmark = pytest.mark.usefixtures("no_gradients")


@pytest.fixture
def no_gradients():
    """As `DiscretePosterior` calls all of it."""
    with torch.no_grad():
        yield


FAST = {
    "RBF": RBFKernel,
    "RBF ARD": lambda: RBFKernel(ard_num_dims=3),
    "Matern 0.5": lambda: MaternKernel(nu=0.5),
    "Matern 1.5": lambda: MaternKernel(nu=1.5),
    "Matern 2.5": lambda: MaternKernel(nu=2.5),
    "Matern 2.5 ARD": lambda: MaternKernel(nu=2.5, ard_num_dims=3),
    "released without noise": lambda: ReleasedInputKernel(0.0),
    "released": lambda: ReleasedInputKernel(0.05, noise_dim=2),
    "released ARD": lambda: ReleasedInputKernel(0.05, ard_num_dims=3),
    "denoised": lambda: ReleasedInputKernel([0.0, 0.05, 0.2]),
}
SLOW = {
    "linear": LinearKernel,
    "periodic": PeriodicKernel,
    "rational quadratic": RQKernel,
    "active dimensions": lambda: RBFKernel(active_dims=[0, 2]),
    "sum": lambda: RBFKernel() + MaternKernel(),
    "product": lambda: RBFKernel() * RQKernel(),
    "two scales": lambda: ScaleKernel(ScaleKernel(RBFKernel())),
    "scaled sum": lambda: ScaleKernel(RBFKernel() + PeriodicKernel()),
    "own subclass": lambda: type("OwnKernel", (RBFKernel,), {})(),
}
fast_kernels = pytest.mark.parametrize("kernel", FAST.values(), ids=FAST)
scaled = pytest.mark.parametrize("scale", [None, 2.5])


X, Z = uniform(20, 3), uniform(50, 3, seed=1)
Z[7] = Z[30] = X[3]
Z[8] = X[19]


def model_of(kernel, scale=None, mean=ConstantMean, dtype=torch.float64):
    kernel = kernel()
    model = SingleTaskGP(
        X[:2].to(dtype),
        X[:2, :1].to(dtype),
        covar_module=kernel if scale is None else ScaleKernel(kernel),
        mean_module=mean(),
        outcome_transform=None,
    )
    if kernel.has_lengthscale:
        kernel.lengthscale = torch.linspace(0.4, 0.7, kernel.lengthscale.shape[-1])
    if scale is not None:
        model.covar_module.outputscale = scale
    for parameter in model.mean_module.parameters():
        parameter.data.fill_(0.3)
    return model.eval()


@fast_kernels
@scaled
@pytest.mark.parametrize("m", [1, 2, 15, 16, 20])
def test_fast_covariance_is_that_of_the_kernel(kernel, scale, m):
    model = model_of(kernel, scale)
    fast = prior_of(model)
    assert type(fast) is StationaryPrior
    expected = model.covar_module(X[:m], Z).to_dense()
    tolerance = 1e-7 if model_nu(model) == 0.5 else 1e-14  # GPyTorch's own distances of equal rows
    assert_close(fast.covariance(X[:m], Z), expected, rtol=0, atol=tolerance * (scale or 1))
    assert_close(fast.covariance64(X[:m], Z), expected, rtol=0, atol=tolerance * (scale or 1))
    slow = ForwardPrior(model)
    assert_close(slow.covariance(X[:m], Z), expected, rtol=0, atol=1e-7 * (scale or 1))


def model_nu(model):
    kernel = model.covar_module
    return getattr(getattr(kernel, "base_kernel", kernel), "nu", None)


@pytest.mark.parametrize("kernel", [*FAST.values(), *SLOW.values()], ids=[*FAST, *SLOW])
@pytest.mark.parametrize(
    "mean", [ConstantMean, ZeroMean, lambda: LinearMean(3)], ids=["constant", "zero", "linear"]
)
def test_mean_and_variance_are_those_of_the_model(kernel, mean):
    model = model_of(kernel, mean=mean)
    expected = model.forward(Z)
    for prior in (prior_of(model), ForwardPrior(model)):
        assert_close(prior.mean(Z), expected.mean)
        assert_close(prior.variance(Z), expected.covariance_matrix.diagonal())


def exact(kernel, x, z, scale=1):
    """Covariance of two rows in 40 digits."""
    with mpmath.workdps(40):
        numbers = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), z.tolist(), strict=True)]
        lengthscale = kernel.lengthscale.detach().double().reshape(-1).tolist()
        lengthscale = [mpmath.mpf(each) for each in (lengthscale * 3)[: len(numbers)]]
        s2 = getattr(kernel, "noise_variance", torch.zeros(1)).reshape(-1).tolist()
        s2 = [mpmath.mpf(each) for each in (s2 * 3)[: len(numbers)]]
        widths = [each**2 + 2 * noise for each, noise in zip(lengthscale, s2, strict=True)]
        d2 = sum((a - b) ** 2 / width for (a, b), width in zip(numbers, widths, strict=True))
        if isinstance(kernel, MaternKernel):
            d = mpmath.sqrt(2 * mpmath.mpf(kernel.nu) * d2)
            polynomial = {0.5: 1, 1.5: 1 + d, 2.5: 1 + d + d**2 / 3}[kernel.nu]
            return scale * polynomial * mpmath.exp(-d)
        shared = mpmath.mpf(1)
        if any(s2) and d2:
            ratios = [each**2 / width for each, width in zip(lengthscale, widths, strict=True)]
            shared = (
                ratios[0] ** (mpmath.mpf(kernel.noise_dim) / 2)
                if kernel.ard_num_dims is None and kernel.noise_variance.numel() == 1
                else mpmath.sqrt(mpmath.fprod(ratios))
            )
        return scale * shared * mpmath.exp(-d2 / 2)


@properties
@given(
    name=st.sampled_from(list(FAST)),
    m=st.sampled_from([1, 16]),
    shift=st.sampled_from([0.0, 1.0, 30.0, 1e4]),
    spread=st.sampled_from([1e-6, 0.1, 1.0, 30.0]),
    seed=st.integers(0, 1000),
)
def test_covariance_has_an_absolute_error_of_at_most_60_eps(name, m, shift, spread, seed):
    """Also where rows are far from 0 and near each other, where GPyTorch loses digits."""
    model = model_of(FAST[name])
    kernel = model.covar_module
    rows, columns = (
        shift + spread * uniform(m, 3, seed=seed),
        shift + spread * uniform(5, 3, seed=seed + 1),
    )
    columns[2] = rows[-1]
    covariance = prior_of(model).covariance(rows, columns)
    # Rows are divided before they are subtracted where each coordinate has a length of its own.
    distance = 1 + shift if "ARD" in name or name == "denoised" else 1.0
    for i in (0, m - 1):
        for j in range(5):
            error = mpmath.mpf(float(covariance[i, j])) - exact(kernel, rows[i], columns[j])
            assert abs(float(error)) < 60 * EPS * distance


@fast_kernels
@scaled
@pytest.mark.parametrize("m", [2, 20])
def test_equal_rows_have_the_prior_variance_to_the_last_digits_and_no_others_do(kernel, scale, m):
    model = model_of(kernel, scale)
    prior = prior_of(model)
    variance = prior.variance(X[:m])
    equal = prior.covariance(X[:m], X[:m].clone()).diagonal()
    assert_close(equal, variance, rtol=100 * EPS, atol=0)
    base = getattr(model.covar_module, "base_kernel", model.covar_module)
    shared = float(base.shared_variance.detach()) if isinstance(base, ReleasedInputKernel) else 1.0
    near = X[:m] + torch.tensor([1e-9, 0.0, 0.0], dtype=torch.float64)
    assert_close(prior.covariance(X[:m], near).diagonal(), shared * variance, rtol=1e-7, atol=0)


def test_equal_rows_are_found_among_many_where_neighbours_share_little_and_much():
    for noise in (1e-12, 1e-9, 1e-4, 1.0, 100.0):
        model = model_of(lambda noise=noise: ReleasedInputKernel(noise, noise_dim=3), 2.0)
        assert_close(
            prior_of(model).covariance(X, Z), model.covar_module(X, Z).to_dense(), rtol=0, atol=1e-13
        )


def test_chunks_and_strides_do_not_change_a_covariance():
    for kernel in FAST.values():
        prior = prior_of(model_of(kernel))
        whole = prior.covariance(X, Z)
        pieces = torch.cat([prior.covariance(X, part) for part in Z.split(7)], dim=1)
        assert_close(pieces, whole, rtol=0, atol=1e-14)
        assert_close(prior.covariance(X, Z.T.contiguous().T), whole, rtol=0, atol=1e-14)
        assert_close(prior.covariance(X[::2], Z[::3]), whole[::2, ::3], rtol=0, atol=1e-14)


@fast_kernels
def test_arguments_are_left_as_they_are(kernel):
    for m in (1, 20):
        rows, columns = X[:m].clone(), Z.clone()
        prior = prior_of(model_of(kernel))
        prior.covariance(rows, columns)
        prior.covariance64(rows, columns)
        assert torch.equal(rows, X[:m])
        assert torch.equal(columns, Z)


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@fast_kernels
@scaled
def test_covariance64_of_a_float32_model_is_exact_in_float64(kernel, scale):
    single = model_of(kernel, scale, dtype=torch.float32)
    double = model_of(kernel, scale)
    for one, other in zip(double.parameters(), single.parameters(), strict=True):
        one.data.copy_(other.data)
    rows, columns = X.float(), Z.float()
    prior = prior_of(single)
    assert prior.covariance(rows, columns).dtype == torch.float32
    # the hyperparameters themselves are softplus of raw ones, in float32
    assert prior.covariance64(rows, columns).dtype == torch.float64
    gram = prior.covariance64(rows, rows)
    assert float(torch.linalg.eigvalsh(gram).min()) > -1e-13 * (scale or 1)
    assert_close(
        prior.covariance64(rows, columns),
        prior_of(double).covariance(rows.double(), columns.double()),
        rtol=2e-6,
        atol=2e-6,
    )


@pytest.mark.parametrize("kernel", SLOW.values(), ids=SLOW)
def test_kernels_that_are_no_known_function_of_distance_go_through_the_model(kernel):
    model = model_of(kernel)
    assert not stationary_kernel(model.covar_module)
    assert type(prior_of(model)) is ForwardPrior
    covariance = prior_of(model).covariance(X, Z)
    assert_close(covariance, model.covar_module(X, Z).to_dense())


class Own(ExactGP, GPyTorchModel):
    """A model with a mean of its own, which only its `forward` knows."""

    _num_outputs = 1

    def __init__(self, train_X, train_Y):
        super().__init__(train_X, train_Y.squeeze(-1), GaussianLikelihood())
        self.mean_module, self.covar_module = ConstantMean(), RBFKernel()
        self.to(train_X)

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x) + x[..., 0].sin(), self.covar_module(x) * 2)


class OwnForward(SingleTaskGP):
    def forward(self, x):
        return MultivariateNormal(self.mean_module(x) - 1, self.covar_module(x))


@pytest.mark.parametrize("model", [Own, lambda *data: OwnForward(*data, covar_module=RBFKernel())])
def test_models_with_a_forward_of_their_own_go_through_it(model):
    model = model(X[:2], X[:2, :1]).eval()
    prior = prior_of(model)
    assert type(prior) is ForwardPrior
    both = model.forward(torch.cat([X, Z]))
    assert_close(prior.mean(Z), both.mean[20:])
    assert_close(prior.covariance(X, Z), both.covariance_matrix[:20, 20:], rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", [PeriodicKernel, RQKernel, lambda: RBFKernel() + MaternKernel()])
def test_only_the_wanted_corner_is_evaluated(kernel):
    """100,000 columns: all pairs would take 80 GB."""
    prior = prior_of(model_of(kernel))
    many = uniform(100_000, 3, seed=2)
    assert prior.covariance(X[:2], many).shape == (2, 100_000)
    assert prior.variance(many).shape == (100_000,)
    assert prior.mean(many).shape == (100_000,)


@pytest.mark.parametrize("m", [1, 100, 10**6])
def test_chunks_are_at_least_1024_candidates_and_fit_the_cache_where_they_can(m):
    size = prior_of(model_of(RBFKernel)).chunk(m)
    assert size == 1024 or size * m <= 2**18
    assert size >= 1024


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@fast_kernels
def test_a_device_gives_the_covariance_of_the_cpu(kernel):
    model = model_of(kernel)
    expected = prior_of(model).covariance(X, Z)
    assert_close(
        prior_of(model.cuda()).covariance(X.cuda(), Z.cuda()).cpu(), expected, rtol=0, atol=1e-13
    )


def test_far_rows_have_no_covariance_and_no_nan():
    for kernel in FAST.values():
        prior = prior_of(model_of(kernel))
        for m in (1, 20):
            far = prior.covariance(X[:m], 1e100 * torch.ones(2, 3, dtype=torch.float64))
            assert torch.equal(far, torch.zeros(m, 2, dtype=torch.float64))
            assert math.isfinite(float(prior.covariance(1e3 * X[:m], Z).sum()))
