"""How BoTorch's registry builds `DiscreteUCB`, for Ax and other hosts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from botorch.acquisition.input_constructors import (
    ACQF_INPUT_CONSTRUCTOR_REGISTRY,
    acqf_input_constructor,
)
from botorch.acquisition.objective import MCAcquisitionObjective, PosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.models.model import Model
from botorch.utils.datasets import SupervisedDataset
from torch import Tensor

from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.schedule import SHARED
from botorch_private.modeler.models.posterior import DiscretePosterior

Datasets = SupervisedDataset | Mapping[Hashable, SupervisedDataset]


def construct_inputs_discrete_ucb(
    model: Model,
    training_data: Datasets | None = None,
    candidates: Tensor | None = None,
    t: int | None = None,
    failure_probability: float = 0.025,
    beta: float | None = None,
    beta_scale: float | None = None,
    exploration: str = SHARED,
    posterior_transform: PosteriorTransform | None = None,
    maximize: bool = True,
    X_pending: Tensor | None = None,
    objective: MCAcquisitionObjective | None = None,
    constraints: list[Callable[[Tensor], Tensor]] | None = None,
) -> dict[str, Any]:
    """Arguments of `DiscreteUCB`, from those that BoTorch's hosts hand to every acquisition function.

    ``get_acqf_input_constructor(DiscreteUCB)`` returns it once `DiscreteUCB` was imported.

    Args:
        model: As for `DiscreteUCB`.
        training_data: The observations; only their number is used, where ``t`` is not given. One
            dataset for each outcome: the largest counts.
        candidates: As for `DiscreteUCB`; an option that the user passes on through the host.
        t: Round, counted from 1. None: one more than the observations and pending points. That counts
            warm-up points as rounds, so ``beta`` is at least that of the true round, but for
            ``exploration="shared"``, which explores for as many rounds less.
        failure_probability: As for `DiscreteUCB`.
        beta: As for `DiscreteUCB`.
        beta_scale: As for `DiscreteUCB`.
        exploration: As for `DiscreteUCB`.
        posterior_transform: As for `DiscreteUCB`.
        maximize: As for `DiscreteUCB`.
        X_pending: As for `DiscreteUCB`.
        objective: Refused: it needs samples of the posterior.
        constraints: Refused, rather than ignored.

    Returns:
        Keyword arguments of `DiscreteUCB`.

    Raises:
        ValueError: If `candidates` are missing, or ``t``, ``beta`` and `training_data` are.
        UnsupportedError: If there is an ``objective`` or there are ``constraints``.
    """
    for name, given in (("objective", objective), ("constraints", constraints)):
        if given is not None:
            raise UnsupportedError(
                f"DiscreteUCB takes no {name}: use a posterior_transform, or UCB by samples"
            )
    if candidates is None and not isinstance(model, DiscretePosterior):
        raise ValueError(
            "candidates must be given: the rows that DiscreteUCB chooses from are no part of the model; "
            "in Ax they are one of botorch_acqf_options"
        )
    pending = 0 if X_pending is None else len(X_pending)
    return {
        "model": model,
        "candidates": candidates,
        "t": _round(training_data, pending, beta) if t is None else t,
        "failure_probability": failure_probability,
        "beta": beta,
        "beta_scale": beta_scale,
        "exploration": exploration,
        "posterior_transform": posterior_transform,
        "maximize": maximize,
        "X_pending": X_pending,
    }


def _round(training_data: Datasets | None, pending: int, beta: float | None) -> int:
    """Round of the schedule after all observations."""
    if training_data is None:
        if beta is not None:
            return 1  # there is no schedule
        raise ValueError("t, beta or training_data must be given: the schedule depends on the round")
    datasets = training_data.values() if isinstance(training_data, Mapping) else [training_data]
    return 1 + pending + max(len(dataset.X) for dataset in datasets)


# A reload must not raise, and a constructor that somebody else registered stays.
if DiscreteUCB not in ACQF_INPUT_CONSTRUCTOR_REGISTRY:
    acqf_input_constructor(DiscreteUCB)(construct_inputs_discrete_ucb)
