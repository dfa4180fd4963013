"""From a model's own units to outcome units, for a vector of independent candidates."""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.transforms.outcome import Standardize
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from linear_operator.operators import DiagLinearOperator
from torch import Tensor


def outcome_moments(model: Any, mean: Tensor, variance: Tensor, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance in outcome units, fresh vectors.

    Args:
        model: A model with or without outcome transform.
        mean: ``n`` posterior means in the model's units.
        variance: ``n`` posterior variances; overwritten.
        X: ``n x d`` candidates, for transforms that ask for them.
    """
    transform = getattr(model, "outcome_transform", None)
    if transform is None:
        return mean.clone(), variance
    if type(transform) is Standardize:
        scale = transform.stdvs.to(mean).squeeze()
        return mean * scale + transform.means.to(mean).squeeze(), variance.mul_(scale.square())
    with torch.no_grad():
        normal = MultivariateNormal(mean.unsqueeze(-1), DiagLinearOperator(variance.unsqueeze(-1)))
        raw = transform.untransform_posterior(GPyTorchPosterior(normal), X=X)
        return raw.mean.reshape(-1), raw.variance.reshape(-1)


def outcome_scale(model: Any) -> float:
    """Outcome units per unit of the model; 1 for transforms that have no one scale."""
    transform = getattr(model, "outcome_transform", None)
    return float(transform.stdvs) if type(transform) is Standardize else 1.0
