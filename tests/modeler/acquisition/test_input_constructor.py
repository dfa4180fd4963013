"""DiscreteUCB built by BoTorch's registry, as Ax and other hosts build acquisition functions."""

import importlib
import math
import subprocess
import sys

import pytest
import torch
from botorch.acquisition.input_constructors import (
    ACQF_INPUT_CONSTRUCTOR_REGISTRY,
    get_acqf_input_constructor,
)
from botorch.acquisition.objective import LinearMCObjective, ScalarizedPosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.models import ModelListGP, SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from botorch.utils.datasets import SupervisedDataset
from gpytorch.kernels import RBFKernel, ScaleKernel
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
    ucb_beta,
)
from botorch_private.modeler.acquisition import input_constructor

X = torch.rand(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
Y = torch.sin(5 * X[:, :1]) + X[:, 1:2]
ASKED, PENDING = [0, 1, 2, 3, 4, 5, 6], [10, 20, 30]
MINUS = ScalarizedPosteriorTransform(torch.tensor([-1.0], dtype=torch.float64))


def plain():
    return SingleTaskGP(X[ASKED], Y[ASKED], covar_module=ScaleKernel(RBFKernel()))


def fixed_noise():
    noise = torch.full((len(ASKED), 1), 0.05, dtype=torch.float64)
    return SingleTaskGP(X[ASKED], Y[ASKED], noise, covar_module=ScaleKernel(RBFKernel()))


def private():
    transform = PrivateProjectionTransform(
        X,
        PublicScaling([0.0] * 3, [1.0] * 3),
        NoisyProjection(8.0, projection_dim=5),
        generator=torch.Generator().manual_seed(1),
    )
    kernel = ReleasedInputKernel.of(transform.release)
    return SingleTaskGP(X[ASKED], Y[ASKED], input_transform=transform, covar_module=kernel)


every_model = pytest.mark.parametrize("build", [plain, fixed_noise, private])
weighted = pytest.mark.parametrize("weights", [None, MINUS], ids=["fast", "posterior_transform"])


def dataset(rows=ASKED):
    return SupervisedDataset(
        X[rows], Y[rows], feature_names=["a", "b", "c"], outcome_names=["y"], validate_init=False
    )


def built(model, **kwargs):
    """Return what a host builds from its own arguments and from the options of the user."""
    inputs = get_acqf_input_constructor(DiscreteUCB)(
        model=model,
        training_data=kwargs.pop("training_data", dataset()),
        bounds=[(0.0, 1.0)] * 3,
        X_baseline=X[ASKED],
        objective_thresholds=None,
        **{"candidates": X, "constraints": None, "objective": None, **kwargs},
    )
    return DiscreteUCB(**inputs)


# --- what is built ---


@every_model
@weighted
def test_a_host_builds_what_the_user_would(build, weights):
    model = build()
    theirs = built(model, t=3, posterior_transform=weights, failure_probability=0.1, beta_scale=0.5)
    ours = DiscreteUCB(model, X, 3, 0.1, beta_scale=0.5, posterior_transform=weights)
    assert theirs.beta == ours.beta
    assert theirs.model is model
    assert torch.equal(theirs.scores(), ours.scores())
    smallest = built(model, beta=2.0, maximize=False, posterior_transform=weights)
    expected = DiscreteUCB(model, X, 1, beta=2.0, maximize=False, posterior_transform=weights)
    assert torch.equal(smallest.scores(), expected.scores())


def test_the_round_follows_from_the_observations_and_pending_points():
    assert built(plain()).beta == ucb_beta(8, 40)
    assert built(plain(), X_pending=X[PENDING]).beta == ucb_beta(11, 40)
    assert built(plain(), X_pending=X[[]]).beta == ucb_beta(8, 40)
    both = {"y": dataset(), "z": dataset([0, 1, 2, 3, 4, 5, 6, 7, 8])}
    assert built(plain(), training_data=both).beta == ucb_beta(10, 40)
    assert built(plain(), t=2, X_pending=X[PENDING]).beta == ucb_beta(2, 40)
    assert built(plain(), beta=0.3).beta == built(plain(), beta=0.3, training_data=None).beta == 0.3


def test_a_discrete_posterior_brings_its_own_candidates():
    posterior = DiscretePosterior(plain(), X)
    acqf = built(posterior, candidates=None)
    assert acqf.candidates is X
    assert torch.equal(acqf.scores(), DiscreteUCB(plain(), X, 8).scores())


# --- pending points ---


@every_model
@weighted
def test_pending_points_count_as_those_set_by_the_user(build, weights):
    model = build()
    theirs = built(model, t=3, posterior_transform=weights, X_pending=X[PENDING])
    ours = DiscreteUCB(model, X, 3, posterior_transform=weights)
    free = ours.scores()
    ours.set_X_pending(X[PENDING])
    assert_close(theirs.scores(), ours.scores(), rtol=1e-9, atol=1e-9)
    assert (theirs.scores() - free)[PENDING].abs().min() > 1e-3
    assert theirs.select(q=3, exclude=PENDING).tolist() == ours.select(q=3, exclude=PENDING).tolist()
    rows, _ = optimize_acqf_discrete(theirs, q=3, choices=X, X_avoid=X[PENDING])
    assert torch.equal(rows, X[theirs.select(q=3, exclude=PENDING)])


def test_later_pending_points_replace_those_of_the_host():
    theirs, free = built(plain(), t=3, X_pending=X[PENDING]), DiscreteUCB(plain(), X, 3)
    assert torch.equal(theirs.X_pending, X[PENDING])
    theirs.set_X_pending(X[[33]])
    assert_close(theirs.scores(), DiscreteUCB(plain(), X, 3, X_pending=X[[33]]).scores())
    theirs.set_X_pending(None)
    assert torch.equal(theirs.scores(), free.scores())


def test_pending_points_leave_the_model_of_the_host_as_it_is():
    model = private()
    before = model.posterior(X).variance
    built(model, X_pending=X[PENDING]).select(q=2)
    assert torch.equal(model.posterior(X).variance, before)
    assert torch.equal(model.train_targets, private().train_targets)


def test_pending_points_of_a_model_list_count():
    weights = ScalarizedPosteriorTransform(torch.tensor([0.5, 0.5], dtype=torch.float64))
    theirs = built(
        ModelListGP(plain(), fixed_noise()), X_pending=X[PENDING], posterior_transform=weights
    )
    free = built(ModelListGP(plain(), fixed_noise()), t=11, posterior_transform=weights)
    assert (theirs.scores() < free.scores() + 1e-9)[PENDING].all()


# --- what is refused ---


def test_missing_arguments_are_named():
    with pytest.raises(ValueError, match="candidates must be given.*botorch_acqf_options"):
        built(plain(), candidates=None)
    with pytest.raises(ValueError, match="t, beta or training_data must be given"):
        built(plain(), training_data=None)
    with pytest.raises(ValueError, match="candidates must have the dtype of the model"):
        built(plain(), candidates=X.float())
    with pytest.raises(TypeError, match="Unexpected keyword argument `best`"):
        built(plain(), best=1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", LinearMCObjective(torch.ones(1, dtype=torch.float64))),
        ("constraints", [lambda samples: samples[..., 0]]),
    ],
)
def test_what_would_be_ignored_is_refused(name, value):
    with pytest.raises(UnsupportedError, match=f"DiscreteUCB takes no {name}"):
        built(plain(), **{name: value})


# --- the registry ---


def test_a_second_registration_does_not_raise_and_keeps_what_is_there():
    registered = get_acqf_input_constructor(DiscreteUCB)
    importlib.reload(input_constructor)
    assert get_acqf_input_constructor(DiscreteUCB) is registered


def test_a_reload_puts_back_what_was_removed(monkeypatch):
    monkeypatch.delitem(ACQF_INPUT_CONSTRUCTOR_REGISTRY, DiscreteUCB)
    with pytest.raises(RuntimeError, match="not registered"):
        get_acqf_input_constructor(DiscreteUCB)
    importlib.reload(input_constructor)
    assert math.isfinite(built(plain()).scores().sum())


@pytest.mark.slow
def test_using_the_name_registers_it():
    code = (
        "from botorch_private import DiscreteUCB\n"
        "from botorch.acquisition.input_constructors import get_acqf_input_constructor\n"
        "print(get_acqf_input_constructor(DiscreteUCB) is not None)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "True"
