"""Posteriors in outcome units: of all candidates one by one, and joint at any points."""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.transforms.outcome import Standardize
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

from botorch_private.modeler.models.memory import require_covariance
from botorch_private.modeler.models.sweep import CandidateSweep


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


def joint_moments(model: Any, sweep: CandidateSweep, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance in the model's units, in float64, differentiable in the points.

    Args:
        model: The exact GP in eval mode.
        sweep: What was observed, under the model's present hyperparameters.
        X: ``batch_shape x q x r`` points after the model's input transform.

    Returns:
        ``batch_shape x q`` means and ``batch_shape x q x q`` covariances.

    Raises:
        MemoryError: If a ``q x q`` matrix does not fit.
    """
    require_covariance(X.shape[-2], X.shape[-2], X.shape[:-2], X, 8)
    prior = model.forward(X)
    known = sweep.prior.differentiable64(sweep.rows.X, X.reshape(-1, X.shape[-1]))
    # t x (batch q): columns of V, as for the candidates
    columns = torch.linalg.solve_triangular(sweep.factor, known, upper=False)
    mean = prior.mean.double() + (sweep.weights @ columns).reshape(X.shape[:-1])
    columns = columns.reshape(-1, *X.shape[:-1]).movedim(0, -2)
    covariance = prior.lazy_covariance_matrix.to_dense().double() - columns.mT @ columns
    return mean, covariance


def joint_posterior(
    model: Any, sweep: CandidateSweep, X: Tensor, observation_noise: bool | Tensor
) -> GPyTorchPosterior:
    """Posterior in outcome units; arguments as in `joint_moments` and ``Model.posterior``."""
    mean, covariance = joint_moments(model, sweep, X)
    if observation_noise is not False:
        noise = observation_noise
        if not isinstance(noise, Tensor):  # where each one's is known, the average, as in BoTorch
            known = sweep.rows.noise if len(sweep.rows.noise) else model.likelihood.noise
            noise = known.mean().reshape(1, 1)
        noise = noise.squeeze(-1)
        covariance = covariance + torch.diag_embed(noise.to(mean).expand_as(mean))
    # A linear operator: a plain tensor would be refused where a variance is 0 up to rounding.
    normal = MultivariateNormal(mean.to(X), to_linear_operator(covariance.to(X)))
    posterior: Any = GPyTorchPosterior(normal)
    if hasattr(model, "outcome_transform"):
        posterior = model.outcome_transform.untransform_posterior(posterior, X=X)
    return posterior
