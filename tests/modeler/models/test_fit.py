import copy
import logging
import math
import pickle
import warnings
from itertools import product

import numpy as np
import pytest
import torch
from botorch import fit_gpytorch_mll
from botorch.exceptions import InputDataWarning
from botorch.exceptions.errors import ModelFittingError
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Normalize, Warp
from botorch.models.transforms.outcome import Standardize
from gpytorch.constraints import GreaterThan, Interval, LessThan, Positive
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior, LogNormalPrior, NormalPrior
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import (
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
    make_model,
)
from botorch_private.curator.publish import publish
from botorch_private.modeler.models import fit as fit_module
from botorch_private.modeler.models.fit import _why_not_closed_form, fit_model, log_density
from botorch_private.modeler.models.log_density import LogDensity
from botorch_private.modeler.models.marginal_likelihood import MarginalLikelihood

properties = settings(derandomize=True, max_examples=150, deadline=None)
few = settings(derandomize=True, max_examples=12, deadline=None)

KERNELS = {
    "RBF": lambda d, **kwargs: RBFKernel(**kwargs),
    "RBF, ARD": lambda d, **kwargs: RBFKernel(ard_num_dims=d, **kwargs),
    "released": lambda d, **kwargs: ReleasedInputKernel(0.15, noise_dim=5, **kwargs),
    "released, ARD": lambda d, **kwargs: ReleasedInputKernel(0.15, ard_num_dims=d, **kwargs),
    "released without noise": lambda d, **kwargs: ReleasedInputKernel(0.0, **kwargs),
    "denoised": lambda d, **kwargs: ReleasedInputKernel([0.05 * (i + 1) for i in range(d)], **kwargs),
    "denoised, ARD": lambda d, **kwargs: ReleasedInputKernel([0.2] * d, ard_num_dims=d, **kwargs),
}
PRIORS = {
    "none": lambda: None,
    "log-normal": lambda: LogNormalPrior(-0.7, 1.3),
    "gamma": lambda: GammaPrior(1.7, 2.3),
}
CONSTRAINTS = {
    "positive": lambda: Positive(),
    "greater": lambda: GreaterThan(0.01),
    "greater, closed": lambda: GreaterThan(0.01, transform=None, initial_value=0.5),
    "interval": lambda: Interval(0.02, 7.0),
    "interval, closed": lambda: Interval(0.02, 7.0, transform=None, initial_value=0.5),
}


def rows(t, d=3, seed=0, repeats=0):
    X = torch.rand(t, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    X[: min(repeats, t)] = X[-1].clone()
    return X


def outcomes(X, seed=0):
    noise = torch.randn(len(X), generator=torch.Generator().manual_seed(seed), dtype=X.dtype)
    return (torch.sin(5 * X[:, :1]) + X[:, -1:].square() + 0.1 * noise.unsqueeze(-1)) * 1.3 + 0.4


def gp(X, Y, **kwargs):
    """Build a SingleTaskGP on unusual data without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputDataWarning)
        return SingleTaskGP(X, Y, **{"outcome_transform": None, **kwargs})


def supported(
    X,
    kernel="RBF",
    prior="log-normal",
    constraint="positive",
    scaled=True,
    mean="constant",
    noise="learned",
):
    """Build a model of the parts that the closed form knows."""
    base = KERNELS[kernel](
        X.shape[-1],
        lengthscale_prior=PRIORS[prior](),
        lengthscale_constraint=CONSTRAINTS[constraint](),
    )
    if scaled:
        base = ScaleKernel(
            base, outputscale_prior=PRIORS[prior](), outputscale_constraint=CONSTRAINTS[constraint]()
        )
    kwargs = {"covar_module": base, "mean_module": ZeroMean() if mean == "zero" else ConstantMean()}
    Y = outcomes(X)
    if noise == "learned":
        kwargs["likelihood"] = GaussianLikelihood(PRIORS[prior](), CONSTRAINTS[constraint]())
    elif noise == "known":
        kwargs["train_Yvar"] = torch.linspace(0.01, 0.2, len(X), dtype=X.dtype).unsqueeze(-1)
    else:
        kwargs["likelihood"] = FixedNoiseGaussianLikelihood(
            torch.linspace(0.01, 0.2, len(X), dtype=X.dtype),
            learn_additional_noise=True,
            noise_prior=PRIORS[prior](),
            noise_constraint=CONSTRAINTS[constraint](),
        )
    model = gp(X, Y, **kwargs)
    if mean == "frozen":
        model.mean_module.constant = 0.3
        model.mean_module.raw_constant.requires_grad_(False)
    return model


def released(seed=0, epsilon=1.0, t=12, ard=False, d=3, **kwargs):
    """Build the model of this package on a function of the records."""
    generator = torch.Generator().manual_seed(seed)
    records = torch.rand(60, d, dtype=torch.float64, generator=generator)
    scaling = PublicScaling([0.0] * d, [1.0] * d)
    published = publish(records, scaling, NoisyProjection(epsilon), generator=generator)
    values = torch.sin(4 * records[:, 0]) + records[:, -1] ** 2
    values += 0.1 * torch.randn(60, dtype=torch.float64, generator=generator)
    indices = torch.randperm(60, generator=generator)[:t].tolist()
    values = values[published.permutation][indices]
    return make_model(published.release, indices, values, ard=ard, **kwargs)


def by_botorch(model):
    return fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model)).model


def parts(model):
    """Return the positive hyperparameters of a model by module and name."""
    kernel, found = model.covar_module, []
    if isinstance(kernel, ScaleKernel):
        found.append((kernel, "outputscale"))
        kernel = kernel.base_kernel
    if isinstance(model.likelihood, GaussianLikelihood):
        found.append((model.likelihood.noise_covar, "noise"))
    elif model.likelihood.second_noise_covar is not None:
        found.append((model.likelihood.second_noise_covar, "noise"))
    return [(kernel, "lengthscale"), *found]


def slow_twin(model, mean):
    """Return GPyTorch's objective and autograd's gradient by logarithms, in nats."""
    model.train()
    if isinstance(model.mean_module, ConstantMean):
        model.mean_module.raw_constant.data.fill_(mean)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    t = len(model.train_targets)
    value = mll(model(*model.train_inputs), model.train_targets) * t
    gradient = []
    for module, name in parts(model):
        raw = getattr(module, f"raw_{name}")
        (by_raw,) = torch.autograd.grad(value, raw, retain_graph=True)
        moved = getattr(module, name)
        (slope,) = torch.autograd.grad(moved.sum(), raw)
        gradient.append((by_raw / slope * moved).detach().reshape(-1))
    model.eval()
    return value.item(), torch.cat(gradient).numpy()


def logarithms(model):
    return np.log(np.concatenate([getattr(m, n).detach().numpy().reshape(-1) for m, n in parts(model)]))


def move(model, seed):
    """Set random hyperparameters inside all constraints of this file."""
    generator = torch.Generator().manual_seed(seed)
    for module, name in parts(model):
        shape = getattr(module, name).shape
        exponent = torch.rand(shape, generator=generator, dtype=torch.float64)
        setattr(module, name, 0.1 * 30**exponent)


# --- objective and gradient ---


def assert_as_gpytorch(model, tolerance=1e-9):
    """Compare the closed form with the slow twin, and return the density in nats."""
    value, gradient, mean = LogDensity(model)(logarithms(model).astype(np.float64))
    expected, slope = slow_twin(model.double(), mean)
    assert value == pytest.approx(expected, rel=1e-9, abs=tolerance)
    assert gradient == pytest.approx(slope, rel=1e-9, abs=tolerance * max(1.0, np.abs(slope).max()))
    return value


@properties
@given(
    kernel=st.sampled_from(list(KERNELS)),
    prior=st.sampled_from(list(PRIORS)),
    constraint=st.sampled_from(list(CONSTRAINTS)),
    scaled=st.booleans(),
    mean=st.sampled_from(["constant", "zero", "frozen"]),
    noise=st.sampled_from(["learned", "known", "both"]),
    t=st.integers(1, 12),
    repeats=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_objective_and_gradient_equal_those_of_gpytorch(t, repeats, seed, **kinds):
    model = supported(rows(t, seed=seed, repeats=repeats), **kinds).eval()
    assert _why_not_closed_form(model) == ""
    move(model, seed)
    value = assert_as_gpytorch(model)
    assert value / t == pytest.approx(log_density(model), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_vanishes_by_the_profiled_mean(kernel):
    model = supported(rows(9), kernel).eval()
    *_, mean = LogDensity(model)(logarithms(model))
    model.train()
    model.mean_module.raw_constant.data.fill_(mean)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    value = mll(model(*model.train_inputs), model.train_targets)
    (slope,) = torch.autograd.grad(value, model.mean_module.raw_constant)
    assert abs(slope.item()) < 1e-12


def test_priors_may_differ_between_lengthscales():
    prior = LogNormalPrior(torch.tensor([0.1, -0.5, 1.0]), torch.tensor([0.5, 1.0, 2.0]))
    kernel = RBFKernel(ard_num_dims=3, lengthscale_prior=prior)
    model = gp(rows(8), outcomes(rows(8)), covar_module=kernel).eval()
    assert _why_not_closed_form(model) == ""
    assert_as_gpytorch(model)


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_models_are_evaluated_in_float64(kernel):
    model = supported(rows(10).float(), kernel).eval()
    assert _why_not_closed_form(model) == ""
    assert_as_gpytorch(model, tolerance=1e-5)


def test_a_singular_covariance_gets_the_jitter_of_gpytorch():
    X = np.zeros((4, 1))
    likelihood = MarginalLikelihood(X, np.zeros(4), mean=0.0)
    one = np.ones(1)
    value = likelihood(one, one, np.zeros(1)).value
    covariance = np.ones((4, 4)) + 1e-8 * np.eye(4)
    expected = -np.linalg.slogdet(covariance)[1] / 2 - 2 * math.log(2 * math.pi)
    assert value == pytest.approx(expected, rel=1e-6)
    with np.errstate(all="ignore"):
        assert likelihood(one, np.array([math.inf]), np.zeros(1)).value == -math.inf


# --- the optimum ---


def gain(build):
    """Return the density that `fit_model` reaches above BoTorch, in nats per observation."""
    return log_density(fit_model(build())) - log_density(by_botorch(build()))


@pytest.mark.parametrize(("epsilon", "t"), list(product([0.1, 1.0, 30.0], [3, 8, 25])))
def test_released_models_reach_the_optimum_of_botorch_or_a_better_one(epsilon, t):
    for seed in (0, 1):
        assert gain(lambda seed=seed: released(seed, epsilon, t)) > -1e-6


@pytest.mark.parametrize("d", [1, 2, 4])
def test_default_models_reach_the_optimum_of_botorch_or_a_better_one(d):
    for seed in (0, 1, 2):
        X = rows(10, d, seed)
        assert gain(lambda X=X: SingleTaskGP(X, outcomes(X))) > -1e-6
        Yvar = torch.full_like(X[:, :1], 0.02)
        assert gain(lambda X=X, Yvar=Yvar: SingleTaskGP(X, outcomes(X), Yvar)) > -1e-6


def test_ard_models_are_mostly_at_least_as_good_as_of_botorch():
    # Their density has many local maxima, and either search may end in a worse one.
    gains = [gain(lambda seed=seed: released(seed, 10.0, 15, ard=True)) for seed in range(10)]
    assert sum(each > -1e-6 for each in gains) >= 9
    assert np.mean(gains) > -1e-6


def test_float32_models_reach_the_optimum_of_float64():
    for seed in range(4):
        model = fit_model(released(seed, dtype=torch.float32))
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
        exact = log_density(fit_model(released(seed)))
        assert log_density(model.double()) == pytest.approx(exact, abs=1e-5)


@few
@given(
    kernel=st.sampled_from(list(KERNELS)),
    prior=st.sampled_from(["log-normal", "gamma"]),
    constraint=st.sampled_from(list(CONSTRAINTS)),
    noise=st.sampled_from(["learned", "known", "both"]),
    seed=st.integers(0, 50),
)
def test_no_hyperparameter_can_be_moved_to_a_better_value(seed, **kinds):
    model = fit_model(supported(rows(10, seed=seed), **kinds))
    best = log_density(model)
    for module, name in parts(model):
        value = getattr(module, name).detach().clone()
        constraint = getattr(module, f"raw_{name}_constraint")
        for factor in (0.9, 1.1):
            moved = value * factor
            if (moved > constraint.lower_bound).all() and (moved < constraint.upper_bound).all():
                setattr(module, name, moved)
                assert log_density(model) < best + 1e-9
        setattr(module, name, value)


def test_a_start_in_a_worse_maximum_is_left():
    X = rows(12, 1)
    Y = torch.sin(20 * X)

    def build(lengthscale):
        kernel = ScaleKernel(RBFKernel())
        kernel.base_kernel.lengthscale = lengthscale
        return gp(X, Y, covar_module=kernel, likelihood=GaussianLikelihood())

    one, other = (log_density(fit_model(build(length))) for length in (50.0, 0.1))
    assert one == pytest.approx(other, abs=1e-6)


# --- what a fit keeps ---


def test_same_model_and_data_give_the_same_bits_and_touch_no_random_state():
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        states.append(fit_model(released(3)).state_dict())
        assert torch.equal(torch.get_rng_state(), before[0])
        assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


@pytest.mark.parametrize(
    "name",
    [
        "covar_module.base_kernel.raw_lengthscale",
        "covar_module.raw_outputscale",
        "likelihood.noise_covar.raw_noise",
        "mean_module.raw_constant",
    ],
)
def test_frozen_parameters_stay_and_the_others_are_fitted(name):
    model = released(2)
    frozen = dict(model.named_parameters())[name].requires_grad_(False)
    with torch.no_grad():
        frozen += 0.123
    twin = copy.deepcopy(model)
    before = {key: value.detach().clone() for key, value in model.named_parameters()}
    fit_model(model)
    moved = {key for key, value in model.named_parameters() if not torch.equal(value, before[key])}
    assert moved == set(before) - {name}
    assert not frozen.requires_grad
    assert log_density(model) > log_density(by_botorch(twin)) - 1e-6


def test_a_model_with_nothing_to_fit_stays_as_it_is():
    model = released(2)
    model.requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    for name, value in fit_model(model).state_dict().items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(("lower", "upper"), [(1e-4, 2e-4), (30.0, 40.0)])
def test_values_stay_inside_their_bounds_where_the_optimum_is_outside(lower, upper, closed, dtype):
    X = rows(12).to(dtype)

    def interval():
        kwargs = {"transform": None, "initial_value": (lower + upper) / 2} if closed else {}
        return Interval(lower, upper, **kwargs)

    kernel = ScaleKernel(
        RBFKernel(ard_num_dims=3, lengthscale_constraint=interval()), outputscale_constraint=interval()
    )
    likelihood = GaussianLikelihood(noise_constraint=interval())
    model = gp(X, outcomes(X), covar_module=kernel, likelihood=likelihood)
    assert _why_not_closed_form(model.eval()) == ""
    fit_model(model)
    at_bound = 0
    for module, name in parts(model):
        value, constraint = getattr(module, name).detach(), getattr(module, f"raw_{name}_constraint")
        assert torch.isfinite(getattr(module, f"raw_{name}")).all()
        if closed:
            assert constraint.check(value)
        else:
            assert (value > constraint.lower_bound).all()
            assert (value < constraint.upper_bound).all()
        width = constraint.upper_bound - constraint.lower_bound
        near = torch.minimum(value - constraint.lower_bound, constraint.upper_bound - value)
        at_bound += int((near < 1e-3 * width).sum())
    assert at_bound >= 2
    assert math.isfinite(log_density(model))


@pytest.mark.parametrize("lower", [1e-4, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_least_noise_is_kept_by_a_softplus(lower, dtype):
    X = rows(12).to(dtype)
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(lower))
    model = fit_model(gp(X, X.sum(dim=1, keepdim=True), likelihood=likelihood))
    noise, bound = model.likelihood.noise, model.likelihood.noise_covar.raw_noise_constraint.lower_bound
    assert bound < noise < bound * 1.01
    assert torch.isfinite(model.likelihood.raw_noise).all()


def test_a_start_outside_closed_bounds_is_moved_inside():
    model = SingleTaskGP(rows(8), outcomes(rows(8)))
    with torch.no_grad():
        model.likelihood.noise_covar.raw_noise.fill_(1e-6)
    assert _why_not_closed_form(model.eval()) == ""
    assert fit_model(model).likelihood.noise >= 1e-4


def test_earlier_predictions_are_forgotten():
    model, other = released(4), released(4)
    before = model.posterior(model.train_inputs[0][:3]).mean
    fit_model(model)
    other.load_state_dict(model.state_dict())
    after, expected = (each.posterior(model.train_inputs[0][:3]) for each in (model, other))
    assert not torch.allclose(before, expected.mean)
    assert_close(after.mean, expected.mean)
    assert_close(after.variance, expected.variance)


def private_transform(X):
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    seed = torch.Generator().manual_seed(1)
    mechanism = NoisyProjection(8.0, projection_dim=5)
    return PrivateProjectionTransform(X, scaling, mechanism, generator=seed)


@pytest.mark.parametrize("transformed", ["normalized", "private"])
@pytest.mark.parametrize("training", [True, False])
def test_input_transforms_leave_the_training_data_right(transformed, training):
    X = rows(20)
    kwargs = {"input_transform": Normalize(d=3)}
    if transformed == "private":
        kwargs["input_transform"] = private_transform(X)
        kwargs["covar_module"] = ReleasedInputKernel.of(kwargs["input_transform"].release)
    train_X, train_Y = 2 * X[:9] if transformed == "normalized" else X[:9], outcomes(X[:9])
    model, twin = (gp(train_X, train_Y, outcome_transform=Standardize(m=1), **kwargs) for _ in range(2))
    assert _why_not_closed_form(model.eval()) == ""
    assert fit_model(model.train(training)) is model
    assert not model.training
    assert torch.equal(model.train_inputs[0], model.input_transform(train_X))
    assert log_density(model) > log_density(by_botorch(twin)) - 1e-6
    twin.load_state_dict(model.state_dict())
    assert_close(model.posterior(X[9:]).mean, twin.train().eval().posterior(X[9:]).mean)
    assert torch.equal(model.train().train_inputs[0], train_X)


def test_fitted_models_are_pickled_and_fitted_again():
    model = pickle.loads(pickle.dumps(released(1)))
    assert _why_not_closed_form(model.eval()) == ""
    again = copy.deepcopy(fit_model(model))
    assert _why_not_closed_form(again) == ""
    best = log_density(model)
    assert best - 1e-9 <= log_density(fit_model(again)) < best + 1e-6


def evaluations(model, monkeypatch):
    calls = []
    evaluate = LogDensity.__call__
    with monkeypatch.context() as patch:
        patch.setattr(LogDensity, "__call__", lambda self, u: calls.append(1) or evaluate(self, u))
        fit_model(model)
    return len(calls)


def test_a_fit_is_short_and_a_warm_start_shorter(monkeypatch):
    for ard in (False, True):
        model = released(0, t=40, ard=ard)
        cold = evaluations(model, monkeypatch)
        assert evaluations(model, monkeypatch) < cold < 120


# --- data that are hard ---

HARD_OUTCOMES = {
    "one": ([4], [3.0]),
    "two equal": ([4, 9], [3.0, 3.0]),
    "zeros": ([4, 9, 11], [0.0, 0.0, 0.0]),
    "offset 1e12": ([4, 9, 11], [1e12, 1e12 + 1, 1e12 + 0.5]),
    "tiny": ([4, 9, 11], [1e-300, 2e-300, 0.0]),
    "huge": ([4, 9, 11], [-1e150, 1e150, 0.0]),
    "repeats": ([4, 4, 4, 9], [1.0, 1.0, 1.0, 2.0]),
    "contradictions": ([4, 4, 9, 9], [1.0, 2.0, 2.0, 1.0]),
    "one row": ([4, 4, 4], [1.0, 2.0, 5.0]),
}


@pytest.mark.filterwarnings("ignore:Negative variance")  # GPyTorch's of 1e-600 is 0
@pytest.mark.parametrize("fit", [fit_model, by_botorch])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize(("indices", "values"), HARD_OUTCOMES.values(), ids=HARD_OUTCOMES)
def test_posteriors_are_finite_after_a_fit(indices, values, ard, fit):
    release = publish(
        rows(20), PublicScaling([0.0] * 3, [1.0] * 3), NoisyProjection(1.0), generator=torch.Generator()
    ).release
    model = make_model(release, indices, values, ard=ard)
    assert _why_not_closed_form(model.eval()) == ""
    posterior = fit(model).posterior(release.candidates)
    assert math.isfinite(log_density(model))
    assert torch.isfinite(posterior.mean).all()
    assert (posterior.variance >= 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1e6, 1e100, 1e150, 1e300])
@pytest.mark.parametrize("t", [1, 2, 7])
def test_outcomes_of_any_size_are_fitted_without_standardization(t, scale):
    X = rows(t)
    model = fit_model(gp(X, outcomes(X) * scale, covar_module=ScaleKernel(RBFKernel())))
    for parameter in model.parameters():
        assert torch.isfinite(parameter).all()


def test_noise_free_outcomes_without_priors_are_fitted():
    X = rows(30, 1)
    likelihood = GaussianLikelihood(noise_constraint=Positive())
    model = gp(X, X.square(), covar_module=ScaleKernel(RBFKernel()), likelihood=likelihood)
    before = log_density(model)
    fit_model(model)
    for module, name in parts(model):
        assert torch.isfinite(getattr(module, name)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GPyTorch says where it adds jitter
        assert log_density(model) > before + 1


def test_no_finite_density_keeps_the_start_and_says_so(caplog):
    model = gp(rows(5), outcomes(rows(5)) * 1e200, covar_module=ScaleKernel(RBFKernel()))
    before = copy.deepcopy(model.state_dict())
    fit_model(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert "hyperparameters keep their start values" in caplog.text


# --- other models ---


class OwnModel(SingleTaskGP):
    pass


class OwnKernel(RBFKernel):
    pass


class OwnPrior(LogNormalPrior):
    pass


X, Y = rows(6), outcomes(rows(6))


def with_prior_of_a_function():
    kernel = RBFKernel()
    kernel.register_prior("lengthscale_prior", LogNormalPrior(0.0, 1.0), lambda m: m.lengthscale.sqrt())
    return gp(X, Y, covar_module=kernel)


def with_own_parameter():
    model = gp(X, Y)
    model.register_parameter("extra", torch.nn.Parameter(torch.ones(1, dtype=X.dtype)))
    return model


OTHERS = {
    "subclass": (lambda: OwnModel(X, Y), "a plain SingleTaskGP, got OwnModel"),
    "two outcomes": (lambda: gp(X, Y.repeat(1, 2)), "one output and no batch"),
    "batch": (lambda: gp(X.repeat(2, 1, 1), Y.repeat(2, 1, 1)), "one output and no batch"),
    "Matern": (
        lambda: gp(X, Y, covar_module=ScaleKernel(MaternKernel())),
        "an RBFKernel, a ReleasedInputKernel or a LabelKernel, got MaternKernel",
    ),
    "own kernel": (lambda: gp(X, Y, covar_module=OwnKernel()), "got OwnKernel"),
    "sum": (lambda: gp(X, Y, covar_module=RBFKernel() + RBFKernel()), "got AdditiveKernel"),
    "twice scaled": (
        lambda: gp(X, Y, covar_module=ScaleKernel(ScaleKernel(RBFKernel()))),
        "got ScaleKernel",
    ),
    "active dims": (
        lambda: gp(X, Y, covar_module=RBFKernel(active_dims=(0, 1))),
        "a kernel of all coordinates",
    ),
    "linear mean": (lambda: gp(X, Y, mean_module=LinearMean(3)), "zero mean, got LinearMean"),
    "mean with constraint": (
        lambda: gp(X, Y, mean_module=ConstantMean(constant_constraint=Interval(-1, 1))),
        "a mean without constraint",
    ),
    "mean with prior": (
        lambda: gp(X, Y, mean_module=ConstantMean(constant_prior=NormalPrior(0.0, 1.0))),
        "got mean_module.mean_prior",
    ),
    "normal prior": (
        lambda: gp(X, Y, covar_module=RBFKernel(lengthscale_prior=NormalPrior(1.0, 1.0))),
        "got covar_module.lengthscale_prior, a NormalPrior",
    ),
    "own prior": (
        lambda: gp(X, Y, likelihood=GaussianLikelihood(noise_prior=OwnPrior(0.0, 1.0))),
        "got likelihood.noise_covar.noise_prior, a OwnPrior",
    ),
    "transformed prior": (
        lambda: gp(
            X, Y, covar_module=RBFKernel(lengthscale_prior=GammaPrior(2, 3, transform=torch.exp))
        ),
        "got covar_module.lengthscale_prior, a GammaPrior",
    ),
    "prior of a function": (with_prior_of_a_function, "got covar_module.lengthscale_prior"),
    "other bounds": (
        lambda: gp(X, Y, covar_module=RBFKernel(lengthscale_constraint=LessThan(3.0))),
        "a constraint to positive numbers between two bounds, got LessThan",
    ),
    "other transform": (
        lambda: gp(X, Y, covar_module=RBFKernel(lengthscale_constraint=Positive(torch.exp, torch.log))),
        "a constraint to positive numbers between two bounds, got Positive",
    ),
    "negative bound": (
        lambda: gp(X, Y, covar_module=RBFKernel(lengthscale_constraint=GreaterThan(-1.0))),
        "a constraint to positive numbers between two bounds, got GreaterThan",
    ),
    "known noise of others": (
        lambda: gp(X, Y, likelihood=FixedNoiseGaussianLikelihood(0.1 * torch.ones(1))),
        "known noise of each observation",
    ),
    "own parameter": (with_own_parameter, "no learned parameter of its own, got extra"),
    "learned transform": (
        lambda: gp(X, Y, input_transform=Warp(d=3, indices=[0])),
        "no learned parameter of its own, got input_transform",
    ),
    "float16": (lambda: gp(X, Y).half(), "float64 or float32 on the CPU, got torch.float16 on cpu"),
}
every_other = pytest.mark.parametrize(("build", "reason"), OTHERS.values(), ids=OTHERS)


@every_other
def test_other_models_are_fitted_by_botorch_and_the_log_says_why(build, reason, monkeypatch, caplog):
    fitted = []
    monkeypatch.setattr(fit_module, "fit_gpytorch_mll", lambda mll: fitted.append(mll.model))
    model = build()
    with caplog.at_level(logging.DEBUG, logger=fit_module.__name__):
        assert fit_model(model) is model
    assert fitted == [model]
    assert reason in _why_not_closed_form(model)
    assert f"fitting by fit_gpytorch_mll: the closed form needs {_why_not_closed_form(model)}" in (
        caplog.text
    )
    assert not model.training


def test_known_models_are_not_fitted_by_botorch(monkeypatch):
    monkeypatch.delattr(fit_module, "fit_gpytorch_mll")
    fit_model(released())
    fit_model(SingleTaskGP(X, Y))


def test_botorch_fits_other_models_without_touching_the_random_state():
    before = torch.get_rng_state()
    model = fit_model(gp(X, Y, covar_module=ScaleKernel(MaternKernel())))
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    expected = log_density(by_botorch(gp(X, Y, covar_module=ScaleKernel(MaternKernel()))))
    assert log_density(model) == pytest.approx(expected, abs=1e-9)


def test_every_fit_of_botorch_draws_the_same_random_numbers(monkeypatch):
    drawn = []
    monkeypatch.setattr(fit_module, "fit_gpytorch_mll", lambda mll: drawn.append(float(torch.rand(()))))
    for seed in (1, 2):
        torch.manual_seed(seed)
        fit_model(OwnModel(X, Y))
    assert drawn[0] == drawn[1]


def test_a_failed_fit_of_botorch_keeps_the_start_and_says_so(monkeypatch, caplog):
    def fail(mll):
        raise ModelFittingError("all attempts failed")

    monkeypatch.setattr(fit_module, "fit_gpytorch_mll", fail)
    model = OwnModel(X, Y)
    before = copy.deepcopy(model.state_dict())
    assert not fit_model(model).training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert "hyperparameters keep their start values, since the fit failed: all" in caplog.text


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_models_on_a_gpu_are_fitted_by_botorch_without_touching_its_random_state():
    model = released(device="cuda")
    assert "float64 or float32 on the CPU, got" in _why_not_closed_form(model.eval())
    before = torch.cuda.get_rng_state()
    assert log_density(fit_model(model)) == pytest.approx(log_density(fit_model(released())), abs=1e-4)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@pytest.mark.parametrize("function", [fit_model, log_density])
@pytest.mark.parametrize("model", [None, "model", SingleTaskGP, RBFKernel()])
def test_what_is_no_single_task_gp_is_refused(function, model):
    with pytest.raises(TypeError, match=r"model must be a SingleTaskGP of BoTorch, got "):
        function(model)


# --- log_density ---


@pytest.mark.parametrize("build", [build for build, _ in OTHERS.values()][:4], ids=list(OTHERS)[:4])
def test_log_density_is_the_objective_of_botorch(build):
    model = build()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    expected = mll(model(*model.train_inputs), model.train_targets).sum().item()
    assert log_density(model) == pytest.approx(expected, rel=1e-12)


def test_log_density_changes_nothing():
    model = released()
    assert model.training
    log_density(model)
    assert model.training
    model.posterior(model.train_inputs[0][:1])
    cache = model.prediction_strategy
    log_density(model)
    assert not model.training
    assert model.prediction_strategy is cache


def test_log_density_is_exact_for_many_observations():
    X = rows(850, 2)  # GPyTorch estimates it beyond 800
    model = supported(X).eval()
    value, _, mean = LogDensity(model)(logarithms(model))
    model.mean_module.raw_constant.data.fill_(mean)
    assert log_density(model) == pytest.approx(value / 850, rel=1e-9)
