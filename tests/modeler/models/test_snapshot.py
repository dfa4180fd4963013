"""Snapshot: every way to change a model is noticed, and what is no change is not taken for one."""

import copy
import math

import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel, MaternKernel, PeriodicKernel, RBFKernel, RQKernel, ScaleKernel
from gpytorch.means import ConstantMean, LinearMean, Mean, ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior
from helpers.draws import uniform
from torch.testing import assert_close

from botorch_private import DiscretePosterior, NoisyProjection, PrivateProjectionTransform, PublicScaling
from botorch_private.modeler.models.prior import StationaryPrior
from botorch_private.modeler.models.snapshot import Snapshot

X = uniform(30, 3)
Y = torch.sin(5 * X[:, 0]) + X[:, 1]


def matern():
    return ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=3))


def gp(indices=range(6), kernel=matern, inputs=lambda: Normalize(d=3), **settings):
    indices = list(indices)
    return SingleTaskGP(
        X[indices],
        Y[indices, None],
        covar_module=kernel(),
        input_transform=inputs(),
        **settings,
    ).eval()


def assert_like_a_new_one(posterior, appended=((9, 1.0), (11, -1.0))):
    fresh = DiscretePosterior(posterior.model, X)
    for index, value in appended:
        fresh.append(index, value)
    assert_close(posterior.mean, fresh.mean, rtol=1e-10, atol=1e-10)
    assert_close(posterior.variance, fresh.variance, rtol=1e-10, atol=1e-10)
    assert posterior.num_observations == fresh.num_observations
    assert posterior.resolution == fresh.resolution


# --- changes that must be noticed ---


def setter(model):
    model.covar_module.base_kernel.lengthscale = 0.3


def in_data(model):
    model.covar_module.base_kernel.raw_lengthscale.data.add_(0.5)


def one_entry_in_data(model):
    model.covar_module.base_kernel.raw_lengthscale.data[0, 1] += 1e-3


def rounding(model):
    raw = model.covar_module.base_kernel.raw_lengthscale.data
    raw[0, 2] = math.nextafter(float(raw[0, 2]), math.inf)


def in_place(model):
    with torch.no_grad():
        model.covar_module.raw_outputscale.add_(0.5)


def whole_data(model):
    raw = model.covar_module.base_kernel.raw_lengthscale
    raw.data = raw.data + 0.5


def new_parameter(model):
    kernel = model.covar_module
    kernel.raw_outputscale = torch.nn.Parameter(kernel.raw_outputscale.detach() + 1)


def smoothness(model):
    model.covar_module.base_kernel.nu = 0.5


def other_kernel(model):
    model.covar_module = ScaleKernel(RBFKernel(ard_num_dims=3)).double()


def general_kernel(model):
    model.covar_module = ScaleKernel(PeriodicKernel()).double()


def other_base_kernel(model):
    model.covar_module.base_kernel = RQKernel().double()


def other_mean(model):
    model.mean_module = LinearMean(3).double()


def other_constraint(model):
    kernel = model.covar_module.base_kernel
    kernel.raw_lengthscale_constraint = Interval(0.1, 0.9).double()


def bounds_of_the_inputs(model):
    model.input_transform._offset.sub_(0.3)
    model.input_transform._coefficient.mul_(1.7)


def loaded_state(model):
    state = copy.deepcopy(model.state_dict())
    state["covar_module.base_kernel.raw_lengthscale"] += 0.7
    state["likelihood.noise_covar.raw_noise"] += 0.7
    model.load_state_dict(state)


def loaded_state_of_all(model):
    state = copy.deepcopy(gp(range(10, 18)).state_dict())
    state["covar_module.base_kernel.raw_lengthscale"] += 0.7
    model.load_state_dict(state, keep_transforms=False)


def refit(model):
    fit_gpytorch_mll(
        ExactMarginalLogLikelihood(model.likelihood, model),
        optimizer_kwargs={"options": {"maxiter": 3}},
    )


def noise(model):
    model.likelihood.noise = 0.3


def constant(model):
    model.mean_module.constant = 1.5


def constant_in_data(model):
    model.mean_module.raw_constant.data.fill_(-2.0)


def standardize(model):
    model.outcome_transform.means.fill_(3.0)
    model.outcome_transform.stdvs.fill_(2.0)
    model.outcome_transform._stdvs_sq.fill_(4.0)


def other_standardize(model):
    transform = Standardize(m=1)
    transform(10 * Y[:, None])
    model.outcome_transform = transform.eval()


CHANGES = [
    setter,
    in_data,
    one_entry_in_data,
    rounding,
    in_place,
    whole_data,
    new_parameter,
    smoothness,
    other_kernel,
    general_kernel,
    other_base_kernel,
    other_mean,
    other_constraint,
    bounds_of_the_inputs,
    loaded_state,
    loaded_state_of_all,
    refit,
    noise,
    constant,
    constant_in_data,
    standardize,
    other_standardize,
]
OF_OUTCOMES = (standardize, other_standardize)
every_change = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
pytestmark = pytest.mark.filterwarnings("ignore::botorch.exceptions.OptimizationWarning")


@every_change
def test_snapshot_holds_until_the_model_changes(change):
    model = gp()
    snapshot = Snapshot(model)
    assert snapshot.holds()
    change(model)
    assert snapshot.holds() is (change in OF_OUTCOMES)
    assert Snapshot(model).holds()


@every_change
def test_posterior_follows_every_change_of_its_model(change):
    posterior = DiscretePosterior(gp(), X)
    posterior.append(9, 1.0)
    posterior.moments()
    posterior.append(11, -1.0)
    before = posterior.moments()
    change(posterior.model)
    assert_like_a_new_one(posterior)
    if change is not rounding:
        assert not torch.allclose(posterior.mean + posterior.variance, sum(before), rtol=1e-6)


@every_change
def test_copies_follow_every_change_of_their_model(change):
    posterior = DiscretePosterior(gp(), X)
    twin = posterior.condition_on_observations(X[[9]], Y[9:10, None] * 0 + 1)
    twin.append(11, -1.0)
    twin.moments()
    change(posterior.model)
    assert_like_a_new_one(twin)
    assert_like_a_new_one(posterior, appended=())


@every_change
def test_joint_posterior_follows_every_change_at_once(change):
    posterior = DiscretePosterior(gp(), X)
    posterior.moments()
    change(posterior.model)
    with torch.no_grad():
        ours, theirs = posterior.posterior(X[:5]), posterior.model.posterior(X[:5])
    assert_close(ours.mean, theirs.mean, rtol=1e-8, atol=1e-8)
    assert_close(ours.variance, theirs.variance, rtol=1e-8, atol=1e-8)


@every_change
def test_snapshots_of_two_models_differ_where_their_hyperparameters_do(change):
    one, other = gp(), gp()
    assert Snapshot(one) == Snapshot(other)
    change(other)
    assert (Snapshot(one) == Snapshot(other)) is (change in OF_OUTCOMES)


# --- the data ---


def test_replaced_training_data_drop_what_was_appended():
    posterior = DiscretePosterior(gp(), X)
    posterior.append(9, 1.0)
    posterior.correct(2, 5.0)
    posterior.moments()
    model = posterior.model
    model.set_train_data(model.input_transform(X[10:14]), Y[10:14], strict=False)
    assert_like_a_new_one(posterior, appended=())


def test_replaced_training_data_are_counted_at_once():
    posterior = DiscretePosterior(gp(), X)
    posterior.append(9, 1.0)
    posterior.moments()
    model = posterior.model
    model.set_train_data(model.input_transform(X[10:14]), Y[10:14], strict=False)
    assert posterior.num_observations == 4


def test_replaced_training_values_drop_what_was_appended():
    posterior = DiscretePosterior(gp(), X)
    posterior.append(9, 1.0)
    posterior.moments()
    posterior.model.set_train_data(targets=posterior.model.train_targets + 1)
    assert_like_a_new_one(posterior, appended=())


def test_training_values_that_change_in_place_are_noticed():
    posterior = DiscretePosterior(gp(), X)
    posterior.moments()
    posterior.model.train_targets[2] = 7.0
    assert_like_a_new_one(posterior, appended=())


def test_training_inputs_that_change_in_place_are_noticed():
    posterior = DiscretePosterior(gp(inputs=lambda: None), X)
    posterior.moments()
    posterior.model.train_inputs[0][2] = X[20]
    assert_like_a_new_one(posterior, appended=())


@pytest.mark.parametrize("way", ["setter", "in place"])
def test_known_noise_that_changes_is_noticed(way):
    model = SingleTaskGP(X[:6], Y[:6, None], torch.full((6, 1), 0.1, dtype=torch.float64))
    posterior = DiscretePosterior(model, X)
    posterior.moments()
    if way == "setter":
        model.likelihood.noise = torch.linspace(0.1, 0.9, 6, dtype=torch.float64)
    else:
        model.likelihood.noise_covar.noise[1:3] = 0.7
    assert_like_a_new_one(posterior, appended=())


# --- no changes ---


def prediction(model):
    model.posterior(X).mean.sum().backward()


def training_and_back(model):
    model.train()
    model(*model.train_inputs)
    model.eval()


def new_prior_of_a_hyperparameter(model):
    model.covar_module.base_kernel.register_prior(
        "lengthscale_prior", GammaPrior(2.0, 2.0), "lengthscale"
    )


def frozen(model):
    model.requires_grad_(False)


def gradients(model):
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)


def same_state(model):
    model.load_state_dict(copy.deepcopy(model.state_dict()))


NO_CHANGES = [
    prediction,
    training_and_back,
    new_prior_of_a_hyperparameter,
    frozen,
    gradients,
    same_state,
]


@pytest.mark.parametrize("change", NO_CHANGES, ids=lambda change: change.__name__)
def test_what_does_not_change_the_function_does_not_cost_a_kernel(change, monkeypatch):
    posterior = DiscretePosterior(gp(), X)
    before = posterior.moments()
    calls, evaluate = [], StationaryPrior.covariance
    monkeypatch.setattr(StationaryPrior, "covariance", lambda *all: calls.append(1) or evaluate(*all))
    change(posterior.model)
    assert all(map(torch.equal, posterior.moments(), before))
    assert calls == []


def test_data_and_outcome_transforms_do_not_count():
    one, other = gp(range(6), inputs=lambda: None), gp(range(4, 20), inputs=lambda: None)
    other.posterior(X)
    assert Snapshot(one) == Snapshot(other)
    assert Snapshot(one) == Snapshot(gp(range(6), inputs=lambda: None, outcome_transform=None))


def test_modes_do_not_count():
    one, other = gp(), gp()
    other.train()
    assert Snapshot(one) == Snapshot(other)


# --- which models are equal ---


@pytest.mark.parametrize(
    "other",
    [
        lambda: gp(kernel=lambda: ScaleKernel(MaternKernel(nu=1.5, ard_num_dims=3))),
        lambda: gp(kernel=lambda: ScaleKernel(RBFKernel(ard_num_dims=3))),
        lambda: gp(kernel=lambda: MaternKernel(nu=2.5, ard_num_dims=3)),
        lambda: gp(inputs=lambda: None),
        lambda: gp(mean_module=ZeroMean()),
        lambda: gp(train_Yvar=torch.full((6, 1), 0.1, dtype=torch.float64)),
        lambda: gp().to(torch.float32),
    ],
)
def test_models_of_other_parts_are_other_models(other):
    assert Snapshot(gp()) != Snapshot(other())


def test_a_snapshot_is_no_other_thing_and_no_key():
    snapshot = Snapshot(gp())
    assert snapshot != "a snapshot"
    assert snapshot is not None
    with pytest.raises(TypeError, match="unhashable"):
        hash(snapshot)


def private(seed):
    return PrivateProjectionTransform(
        X,
        PublicScaling([0.0] * 3, [1.0] * 3),
        NoisyProjection(8.0),
        generator=torch.Generator().manual_seed(seed),
    )


def test_models_of_another_release_are_other_models():
    one, same, other = (gp(kernel=RBFKernel, inputs=lambda s=seed: private(s)) for seed in (1, 1, 2))
    assert Snapshot(one) == Snapshot(same)
    assert Snapshot(one) != Snapshot(other)


class Rows(torch.nn.Module):
    """An input transform with a large table."""

    is_one_to_many = False
    transform_on_train = transform_on_eval = transform_on_fantasize = True

    def __init__(self, table):
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, X):
        return self.table[X[..., 0].long()]

    def preprocess_transform(self, X):
        return self(X)


def test_large_tables_are_compared_by_address_and_version():
    table = uniform(5000, 3)
    index = torch.arange(6, dtype=torch.float64)[:, None]

    def model():
        return SingleTaskGP(
            index, Y[:6, None], covar_module=RBFKernel(), input_transform=Rows(table)
        ).eval()

    one = model()
    snapshot = Snapshot(one)
    assert snapshot == Snapshot(model())
    assert snapshot.holds()
    one.input_transform.table.add_(1.0)
    assert not snapshot.holds()
    one.input_transform.table = table.clone()
    assert snapshot != Snapshot(one)


def test_a_large_table_at_the_address_of_one_that_was_freed_is_another():
    index = torch.arange(6, dtype=torch.float64)[:, None]
    model = SingleTaskGP(
        index, Y[:6, None], covar_module=RBFKernel(), input_transform=Rows(uniform(5000, 3))
    )
    posterior = DiscretePosterior(model, index)
    for seed in range(1, 6):
        posterior.moments()
        model.input_transform.table = None
        model.input_transform.table = uniform(5000, 3, seed=seed)
        assert_close(posterior.variance, DiscretePosterior(model, index).variance)


def test_a_copy_of_a_large_table_is_another():
    index = torch.arange(6, dtype=torch.float64)[:, None]
    table = uniform(5000, 3)
    model = SingleTaskGP(index, Y[:6, None], covar_module=RBFKernel(), input_transform=Rows(table))
    snapshot = Snapshot(model.eval())
    twin = copy.deepcopy(snapshot)
    assert snapshot.holds()
    assert not twin.holds()
    assert twin != copy.deepcopy(snapshot)


def test_appended_observations_follow_a_changed_input_transform():
    table = uniform(5000, 3)
    index = torch.arange(6, dtype=torch.float64)[:, None]
    candidates = torch.arange(30, dtype=torch.float64)[:, None]
    model = SingleTaskGP(index, Y[:6, None], covar_module=RBFKernel(), input_transform=Rows(table))
    posterior = DiscretePosterior(model, candidates)
    posterior.append(9, 1.0)
    posterior.append(11, -1.0)
    posterior.moments()
    model.input_transform.table.mul_(0.5)
    fresh = DiscretePosterior(model, candidates)
    for index, value in ((9, 1.0), (11, -1.0)):
        fresh.append(index, value)
    assert_close(posterior.mean, fresh.mean, rtol=1e-10, atol=1e-10)
    assert_close(posterior.variance, fresh.variance, rtol=1e-10, atol=1e-10)


# --- unusual attributes ---


class Settings(Mean):
    """A mean whose shape stands in plain attributes."""

    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, X):
        slope = torch.as_tensor(self.slope, dtype=X.dtype).reshape(-1)
        return X[..., : len(slope)] @ slope


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1.0, 2.0),
        (1, 2),
        ((1.0, 2.0), (1.0, 3.0)),
        (1.0, torch.tensor([1.0, 2.0])),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])),
        ([1.0, 2.0], [1.0, 3.0]),
    ],
    ids=str,
)
def test_plain_attributes_of_an_own_module_count(before, after):
    model = gp(inputs=lambda: None, mean_module=Settings(slope=before))
    posterior = DiscretePosterior(model, X)
    posterior.moments()
    model.mean_module.slope = after
    assert_like_a_new_one(posterior, appended=())


def test_an_attribute_that_is_not_a_number_is_no_change():
    model = gp(mean_module=Settings(slope=1.0, note=math.nan))
    assert Snapshot(model).holds()


@pytest.mark.parametrize(
    "kernel", [lambda: RBFKernel(ard_num_dims=5), lambda: RBFKernel(active_dims=[7])]
)
def test_a_change_that_cannot_be_computed_is_an_error_each_time(kernel):
    posterior = DiscretePosterior(gp(), X)
    before, good = posterior.moments(), posterior.model.covar_module
    posterior.model.covar_module = kernel().double()
    for _ in range(2):
        with pytest.raises((RuntimeError, IndexError)):
            posterior.moments()
    posterior.model.covar_module = good
    assert_close(posterior.mean, before[0], rtol=1e-12, atol=1e-12)


class Shared(Kernel):
    """Two names for one module."""

    has_lengthscale = True

    def __init__(self):
        super().__init__()
        self.one = self.other = RBFKernel()

    def forward(self, x1, x2, diag=False, **params):
        return self.one.forward(x1, x2, diag=diag, **params)


def test_modules_that_share_a_part_work():
    posterior = DiscretePosterior(gp(kernel=Shared, mean_module=ConstantMean()), X)
    posterior.moments()
    posterior.model.covar_module.other.lengthscale = 0.2
    assert_like_a_new_one(posterior, appended=())


def test_a_constraint_that_is_registered_anew_counts():
    posterior = DiscretePosterior(gp(), X)
    posterior.moments()
    kernel = posterior.model.covar_module.base_kernel
    kernel.register_constraint("raw_lengthscale", GreaterThan(0.5).double())
    assert_like_a_new_one(posterior, appended=())
