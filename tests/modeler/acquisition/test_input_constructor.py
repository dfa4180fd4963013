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
from botorch.optim import optimize_acqf_discrete
from botorch.utils.datasets import SupervisedDataset
from helpers.ucb_models import ASKED, X, Y, fixed_noise, private, single
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    ucb_beta,
)
from botorch_private.modeler.acquisition import input_constructor

PENDING = [10, 20, 30]
MINUS = ScalarizedPosteriorTransform(torch.tensor([-1.0], dtype=torch.float64))


every_model = pytest.mark.parametrize("build", [single, fixed_noise, private])
weighted = pytest.mark.parametrize("weights", [None, MINUS], ids=["fast", "posterior_transform"])


def dataset(rows=ASKED):
    return SupervisedDataset(
        X[rows], Y[rows, :1], feature_names=["a", "b", "c"], outcome_names=["y"], validate_init=False
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
    assert built(single()).beta == ucb_beta(8, 40)
    assert built(single(), X_pending=X[PENDING], exploration="theory").beta == ucb_beta(11, 40)
    assert built(single(), X_pending=X[[]]).beta == ucb_beta(8, 40)
    both = {"y": dataset(), "z": dataset([0, 1, 2, 3, 4, 5, 6, 7, 8])}
    assert built(single(), training_data=both).beta == ucb_beta(10, 40)
    assert built(single(), t=2, X_pending=X[PENDING]).beta == ucb_beta(2, 40)
    assert built(single(), beta=0.3).beta == built(single(), beta=0.3, training_data=None).beta == 0.3


def test_a_discrete_posterior_brings_its_own_candidates():
    posterior = DiscretePosterior(single(), X)
    acqf = built(posterior, candidates=None)
    assert acqf.candidates is X
    assert torch.equal(acqf.scores(), DiscreteUCB(single(), X, 8).scores())


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
    theirs, free = built(single(), t=3, X_pending=X[PENDING]), DiscreteUCB(single(), X, 3)
    assert torch.equal(theirs.X_pending, X[PENDING])
    theirs.set_X_pending(X[[33]])
    assert_close(theirs.scores(), DiscreteUCB(single(), X, 3, X_pending=X[[33]]).scores())
    theirs.set_X_pending(None)
    assert torch.equal(theirs.scores(), free.scores())


# --- what is refused ---


def test_missing_arguments_are_named():
    with pytest.raises(ValueError, match="candidates must be given.*botorch_acqf_options"):
        built(single(), candidates=None)
    with pytest.raises(ValueError, match="t, beta or training_data must be given"):
        built(single(), training_data=None)
    with pytest.raises(ValueError, match="candidates must have the dtype of the model"):
        built(single(), candidates=X.float())
    with pytest.raises(TypeError, match="Unexpected keyword argument `best`"):
        built(single(), best=1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", LinearMCObjective(torch.ones(1, dtype=torch.float64))),
        ("constraints", [lambda samples: samples[..., 0]]),
    ],
)
def test_what_would_be_ignored_is_refused(name, value):
    with pytest.raises(UnsupportedError, match=f"DiscreteUCB takes no {name}"):
        built(single(), **{name: value})


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
    assert math.isfinite(built(single()).scores().sum())


@pytest.mark.slow
def test_using_the_name_registers_it():
    code = (
        "from botorch_private import DiscreteUCB\n"
        "from botorch.acquisition.input_constructors import get_acqf_input_constructor\n"
        "print(get_acqf_input_constructor(DiscreteUCB) is not None)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "True"
