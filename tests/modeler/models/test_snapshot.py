"""Snapshot: every change that it promises is noticed, and what is no change is not taken for one."""

import copy
import math
import weakref

import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel, MaternKernel, PeriodicKernel, RBFKernel, RQKernel, ScaleKernel
from gpytorch.means import LinearMean, Mean, ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior
from helpers.draws import seeded, uniform
from torch.testing import assert_close

from botorch_private import DiscretePosterior, NoisyProjection, PrivateProjectionTransform, PublicScaling
from botorch_private.modeler.models.prior import StationaryPrior
from botorch_private.modeler.models.snapshot import Snapshot

X = uniform(30, 3)
Y = torch.sin(5 * X[:, 0]) + X[:, 1]
pytestmark = pytest.mark.filterwarnings("ignore::botorch.exceptions.OptimizationWarning")


def matern(nu=2.5):
    return ScaleKernel(MaternKernel(nu=nu, ard_num_dims=3))


def gp(indices=range(6), kernel=matern, inputs=lambda: Normalize(d=3), **settings):
    rows = list(indices)
    settings |= {"covar_module": kernel(), "input_transform": inputs()}
    return SingleTaskGP(X[rows], Y[rows, None], **settings).eval()


def unscaled(**settings):
    return gp(inputs=lambda: None, **settings)


def known_noise():
    return unscaled(train_Yvar=torch.full((6, 1), 0.1, dtype=torch.float64))


def with_table(table):
    """Return a model whose inputs are places in a table."""
    index = torch.arange(6, dtype=torch.float64)[:, None]
    settings = {"covar_module": RBFKernel(), "input_transform": Rows(table)}
    return SingleTaskGP(index, Y[:6, None], **settings).eval()


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


def assert_like_a_new_one(posterior, appended=()):
    fresh = DiscretePosterior(posterior.model, posterior.candidates)
    for index, value in appended:
        fresh.append(index, value)
    assert posterior.num_observations == fresh.num_observations
    assert_close(posterior.mean, fresh.mean, rtol=1e-10, atol=1e-10)
    assert_close(posterior.variance, fresh.variance, rtol=1e-10, atol=1e-10)
    assert posterior.resolution == fresh.resolution


def each(changes):
    return pytest.mark.parametrize("change", changes.values(), ids=changes)


# --- changes that must be noticed ---


def base(model):
    return model.covar_module.base_kernel


def raw(model):
    return base(model).raw_lengthscale


def loaded(model, source=None, **options):
    state = copy.deepcopy((source or model).state_dict())
    state["covar_module.base_kernel.raw_lengthscale"] += 0.7
    state["likelihood.noise_covar.raw_noise"] += 0.7
    model.load_state_dict(state, **options)


def refit(model):
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": 3}})


def bounds_of_the_inputs(model):
    model.input_transform._offset.sub_(0.3)
    model.input_transform._coefficient.mul_(1.7)


CHANGES = {
    "setter": lambda m: setattr(base(m), "lengthscale", 0.3),
    "in data": lambda m: raw(m).data.add_(0.5),
    "one entry in data": lambda m: raw(m).data[0, 1].add_(1e-3),
    "rounding": lambda m: raw(m).data[0, 2].add_(5e-324),
    "in place": lambda m: m.covar_module.raw_outputscale.detach().add_(0.5),
    "whole data": lambda m: setattr(raw(m), "data", raw(m).data + 0.5),
    "new parameter": lambda m: setattr(base(m), "raw_lengthscale", torch.nn.Parameter(raw(m) + 1)),
    "kernel": lambda m: setattr(m, "covar_module", ScaleKernel(RBFKernel(ard_num_dims=3)).double()),
    "general kernel": lambda m: setattr(m, "covar_module", ScaleKernel(PeriodicKernel()).double()),
    "base kernel": lambda m: setattr(m.covar_module, "base_kernel", RQKernel().double()),
    "mean": lambda m: setattr(m, "mean_module", LinearMean(3).double()),
    "constraint": lambda m: setattr(base(m), "raw_lengthscale_constraint", Interval(0.1, 0.9).double()),
    "constraint registered anew": lambda m: base(m).register_constraint(
        "raw_lengthscale", GreaterThan(0.5).double()
    ),
    "bounds of the inputs": bounds_of_the_inputs,
    "loaded state": loaded,
    "loaded state of all": lambda m: loaded(m, gp(range(10, 18)), keep_transforms=False),
    "refit": refit,
    "noise": lambda m: setattr(m.likelihood, "noise", 0.3),
    "constant": lambda m: setattr(m.mean_module, "constant", 1.5),
    "constant in data": lambda m: m.mean_module.raw_constant.data.fill_(-2.0),
}


def standardize(model):
    model.outcome_transform.means.fill_(3.0)
    model.outcome_transform.stdvs.fill_(2.0)
    model.outcome_transform._stdvs_sq.fill_(4.0)


def other_standardize(model):
    transform = Standardize(m=1)
    transform(10 * Y[:, None])
    model.outcome_transform = transform.eval()


OF_OUTCOMES = {"standardize": standardize, "other standardize": other_standardize}


@each(CHANGES)
def test_snapshot_holds_and_equals_that_of_a_twin_until_the_model_changes(change):
    model = gp()
    snapshot = Snapshot(model)
    assert snapshot.holds()
    assert snapshot == Snapshot(gp())
    change(model)
    assert not snapshot.holds()
    assert snapshot != Snapshot(model)
    assert Snapshot(model).holds()


@each(OF_OUTCOMES)
def test_a_change_of_the_outcome_transform_leaves_the_snapshot(change):
    model = gp()
    snapshot = Snapshot(model)
    change(model)
    assert snapshot.holds()
    assert snapshot == Snapshot(model)


@each(CHANGES | OF_OUTCOMES)
def test_a_posterior_and_its_copies_follow_every_change_of_their_model(change):
    posterior = DiscretePosterior(gp(), X)
    posterior.append(9, 1.0)
    before = posterior.moments()
    twin = posterior.condition_on_observations(X[[11]], torch.full((1, 1), -1.0, dtype=torch.float64))
    twin.append(4, 2.0)
    joint = posterior.hallucinate([])
    change(posterior.model)
    assert_like_a_new_one(twin, appended=((9, 1.0), (11, -1.0), (4, 2.0)))
    assert_like_a_new_one(posterior, appended=((9, 1.0),))
    with torch.no_grad():
        found, expected = (one.posterior(X[:5]).distribution for one in (joint, posterior))
    assert_close(found.mean, expected.mean, rtol=1e-10, atol=1e-10)
    assert_close(found.covariance_matrix, expected.covariance_matrix, rtol=1e-10, atol=1e-10)
    if change is not CHANGES["rounding"]:
        assert not torch.allclose(posterior.mean + posterior.variance, sum(before), rtol=1e-6)


class Settings(Mean):
    """A mean whose shape stands in plain attributes."""

    def __init__(self, **attributes):
        super().__init__()
        vars(self).update(attributes)

    def forward(self, X):
        slope = torch.as_tensor(self.slope, dtype=X.dtype).reshape(-1)
        return X[..., : len(slope)] @ slope


SLOPES = [
    (1.0, 2.0),
    (1, 2),
    ((1.0, 2.0), (1.0, 3.0)),
    (1.0, torch.tensor([1.0, 2.0])),
    (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6])),
    ([1.0, 2.0], [1.0, 3.0]),
]


@pytest.mark.parametrize(("before", "after"), SLOPES, ids=str)
def test_plain_attributes_count_when_update_is_called(before, after):
    posterior = DiscretePosterior(unscaled(mean_module=Settings(slope=before)), X)
    posterior.moments()
    posterior.model.mean_module.slope = after
    posterior.update(posterior.model)
    assert_like_a_new_one(posterior)
    posterior.update(unscaled(mean_module=Settings(slope=before)))
    assert_like_a_new_one(posterior)


def test_the_smoothness_of_a_kernel_counts_when_update_is_called():
    posterior = DiscretePosterior(gp(), X)
    posterior.moments()
    posterior.model.covar_module.base_kernel.nu = 0.5
    posterior.update(posterior.model)
    assert_like_a_new_one(posterior)


def test_a_list_that_changes_in_place_counts_when_update_is_called():
    posterior = DiscretePosterior(unscaled(mean_module=Settings(slope=[1.0, 2.0])), X)
    posterior.moments()
    posterior.model.mean_module.slope[1] = 3.0
    posterior.update(posterior.model)
    assert_like_a_new_one(posterior)


# --- the data ---


DATA = {
    "data": lambda m: m.set_train_data(X[10:14], Y[10:14], strict=False),
    "values": lambda m: m.set_train_data(targets=m.train_targets + 1),
    "values in place": lambda m: m.train_targets[2:4].fill_(7.0),
    "inputs in place": lambda m: m.train_inputs[0][2].copy_(X[20]),
}
KNOWN_NOISE = {
    "setter": lambda m: setattr(m.likelihood, "noise", torch.linspace(0.1, 0.9, 6).double()),
    "in place": lambda m: m.likelihood.noise_covar.noise[1:3].fill_(0.7),
}


@each(DATA)
def test_training_data_that_change_drop_what_was_appended_and_count_at_once(change):
    posterior = DiscretePosterior(unscaled(), X)
    posterior.append(9, 1.0)
    posterior.correct(1, 5.0)
    posterior.moments()
    change(posterior.model)
    assert posterior.num_observations == len(posterior.model.train_targets)
    assert_like_a_new_one(posterior)


@each(KNOWN_NOISE)
def test_known_noise_that_changes_is_noticed(change):
    posterior = DiscretePosterior(known_noise(), X)
    posterior.moments()
    change(posterior.model)
    assert_like_a_new_one(posterior)


# --- no changes ---


def training_and_back(model):
    model.train()
    model(*model.train_inputs)
    model.eval()


def gradients(model):
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)


NO_CHANGES = {
    "prediction": lambda m: m.posterior(X).mean.sum().backward(),
    "training and back": training_and_back,
    "prior": lambda m: base(m).register_prior("lengthscale_prior", GammaPrior(2.0, 2.0), "lengthscale"),
    "frozen": lambda m: m.requires_grad_(False),
    "gradients": gradients,
    "same state": lambda m: m.load_state_dict(copy.deepcopy(m.state_dict())),
}


@each(NO_CHANGES)
def test_what_does_not_change_the_function_does_not_cost_a_kernel(change, monkeypatch):
    posterior = DiscretePosterior(gp(), X)
    before = posterior.moments()
    monkeypatch.setattr(StationaryPrior, "covariance", None)
    change(posterior.model)
    assert all(map(torch.equal, posterior.moments(), before))


def test_data_modes_and_outcome_transforms_do_not_count():
    one, other = unscaled(), unscaled(indices=range(4, 20))
    other.posterior(X)
    assert Snapshot(one) == Snapshot(other)
    assert Snapshot(one) == Snapshot(unscaled(outcome_transform=None))
    assert Snapshot(one) == Snapshot(one.train())


def test_an_attribute_that_is_not_a_number_is_no_change():
    assert Snapshot(gp(mean_module=Settings(slope=1.0, note=math.nan))).holds()


# --- which models are equal ---


@pytest.mark.parametrize(
    "other",
    [
        lambda: gp(kernel=lambda: matern(1.5)),
        lambda: gp(kernel=lambda: MaternKernel(nu=2.5, ard_num_dims=3)),
        unscaled,
        lambda: gp(mean_module=ZeroMean()),
        known_noise,
        lambda: gp().to(torch.float32),
    ],
)
def test_models_of_other_parts_are_other_models(other):
    assert Snapshot(gp()) != Snapshot(other())


def test_a_snapshot_is_no_other_thing_and_no_key():
    snapshot = Snapshot(gp())
    assert snapshot != "a snapshot"
    with pytest.raises(TypeError, match="unhashable"):
        hash(snapshot)


def test_models_of_another_release_are_other_models():
    def snapshot(seed):
        scaling = PublicScaling([0.0] * 3, [1.0] * 3)
        private = PrivateProjectionTransform(X, scaling, NoisyProjection(8.0), generator=seeded(seed))
        return Snapshot(gp(kernel=RBFKernel, inputs=lambda: private))

    assert snapshot(1) == snapshot(1)
    assert snapshot(1) != snapshot(2)


def test_large_tables_are_compared_by_address_and_version():
    table = uniform(5000, 3)
    model = with_table(table)
    snapshot = Snapshot(model)
    copied = copy.deepcopy(snapshot)
    assert snapshot.holds()
    assert snapshot == Snapshot(with_table(table))
    assert not copied.holds()
    assert copied != copy.deepcopy(snapshot)
    model.input_transform.table = table.clone()
    assert not snapshot.holds()
    assert snapshot != Snapshot(model)
    model.input_transform.table = table
    assert snapshot.holds()
    table.add_(1.0)
    assert not snapshot.holds()


def test_no_large_table_gets_the_address_of_one_that_a_snapshot_has_seen():
    """Since the snapshot keeps that memory: which address is taken next is up to the allocator."""
    array = uniform(5000, 3).numpy()
    memory = weakref.ref(array)
    model = with_table(torch.from_numpy(array))
    snapshot = Snapshot(model)
    del array
    model.input_transform.table = None
    assert memory() is not None
    model.input_transform.table = uniform(5000, 3, seed=1)
    assert not snapshot.holds()
    del snapshot
    assert memory() is None


def test_appended_observations_follow_a_changed_input_transform():
    posterior = DiscretePosterior(
        with_table(uniform(5000, 3)), torch.arange(30, dtype=torch.float64)[:, None]
    )
    posterior.append(9, 1.0)
    posterior.moments()
    posterior.model.input_transform.table.mul_(0.5)
    assert_like_a_new_one(posterior, appended=((9, 1.0),))


@pytest.mark.parametrize(
    "kernel", [lambda: RBFKernel(ard_num_dims=5), lambda: RBFKernel(active_dims=[7])]
)
def test_a_change_that_cannot_be_computed_is_an_error_each_time(kernel):
    posterior = DiscretePosterior(gp(), X)
    before, good = posterior.mean, posterior.model.covar_module
    posterior.model.covar_module = kernel().double()
    for _ in range(2):
        with pytest.raises((RuntimeError, IndexError)):
            posterior.moments()
    posterior.model.covar_module = good
    assert_close(posterior.mean, before, rtol=1e-12, atol=1e-12)


class Shared(Kernel):
    """Two names for one module."""

    has_lengthscale = True

    def __init__(self):
        super().__init__()
        self.one = self.other = RBFKernel()

    def forward(self, x1, x2, diag=False, **params):
        return self.one.forward(x1, x2, diag=diag, **params)


def test_modules_that_share_a_part_work():
    posterior = DiscretePosterior(gp(kernel=Shared), X)
    posterior.moments()
    posterior.model.covar_module.other.lengthscale = 0.2
    assert_like_a_new_one(posterior)
