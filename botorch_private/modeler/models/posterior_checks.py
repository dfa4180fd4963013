"""What a DiscretePosterior refuses: models, candidates and observations that it could not take."""

from __future__ import annotations

import math
from typing import Any

from botorch.exceptions import UnsupportedError
from torch import Tensor

from botorch_private._base import validate
from botorch_private.modeler.models.exactness import why_not_exact
from botorch_private.modeler.models.observed import Observed


def exact(model: Any) -> None:
    """Refuse a model whose posterior is not the one that is computed here."""
    reason = why_not_exact(model)
    if reason:
        raise UnsupportedError(f"DiscretePosterior needs {reason}")


def candidates_of(model: Any, candidates: Tensor) -> None:
    """Refuse candidates that are not finite, or not of the dtype and device of a model."""
    validate.points(candidates=candidates)
    trained = model.train_inputs[0]
    if (candidates.dtype, candidates.device) != (trained.dtype, trained.device):
        raise ValueError(
            f"candidates must have the dtype and device of the model, {trained.dtype} on "
            f"{trained.device}, got {candidates.dtype} on {candidates.device}"
        )


def points_like(candidates: Tensor, X: Tensor) -> None:
    """Refuse points that are not finite, or not of the width, dtype and device of the candidates."""
    validate.points(X=X)
    if (X.shape[-1], X.dtype, X.device) != (candidates.shape[-1], candidates.dtype, candidates.device):
        raise ValueError(
            f"X must have {candidates.shape[-1]} columns like the candidates, {candidates.dtype} on "
            f"{candidates.device}, got {X.shape[-1]}, {X.dtype} on {X.device}"
        )


def same_kind(new: Any, old: Any) -> None:
    """Refuse a model of another dtype, or on another device, than an earlier one."""
    ours, theirs = old.train_inputs[0], new.train_inputs[0]
    if (ours.dtype, ours.device) != (theirs.dtype, theirs.device):
        raise ValueError(
            f"model must stay {ours.dtype} on {ours.device}, got {theirs.dtype} on {theirs.device}"
        )


def width(Z: Tensor, model: Any) -> None:
    """Refuse transformed candidates that are not as wide as those inputs of a model in eval mode."""
    columns = model.train_inputs[0].shape[-1]
    if Z.shape[-1] != columns:
        raise ValueError(
            f"candidates must have {columns} columns like the inputs of the model, got {Z.shape[-1]}"
        )


def outcome(observed: Observed, **named: Any) -> float:
    """Return the one named outcome as a number, if it is finite also in the model's units."""
    ((name, value),) = named.items()
    value = validate.number(**named)
    if not observed.has_place(value):
        transform = type(observed.model.outcome_transform).__name__
        raise ValueError(f"{name} must be finite after the model's {transform}, got {value}")
    return value


def noise_of_one(observed: Observed, noise_variance: float | None) -> float:
    """Return the noise variance of one observation: NaN where the model learns it, and none is given."""
    if not observed.known_noise:
        if noise_variance is not None:
            raise ValueError("noise_variance must be None for a model that learns its noise")
        return math.nan
    if noise_variance is None:
        raise ValueError("noise_variance must be given for a model with known noise, got None")
    validate.non_negative(noise_variance=noise_variance)
    return float(noise_variance)


def several(
    observed: Observed, candidates: Tensor, X: Tensor, Y: Tensor, noise: Tensor | None
) -> tuple[list[float], list[float]]:
    """Return outcomes and noise variances (NaN: not given) of ``m x d`` points."""
    given = [part for part in (X, Y, noise) if part is not None]
    if X.ndim != 2 or any(part.numel() != len(X) for part in given[1:]):
        raise ValueError(
            f"X and Y must be m x d points and m x 1 outcomes, and noise m x 1 variances of theirs, got "
            f"{[tuple(part.shape) for part in given]}"
        )
    if not len(X):
        return [], []
    points_like(candidates, X)
    values = validate.vector(Y=Y.reshape(-1)).tolist()
    for value in values:
        outcome(observed, Y=value)
    if noise is None:
        return values, [math.nan] * len(X)
    variances = validate.vector(noise=noise.reshape(-1)).tolist()
    validate.non_negative(noise=min(variances))
    return values, variances
