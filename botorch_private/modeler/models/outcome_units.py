"""Posteriors in outcome units: of all candidates one by one, and joint at any points."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from botorch.models.transforms.outcome import Standardize
from botorch.posteriors import GPyTorchPosterior
from gpytorch import settings
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

from botorch_private.modeler.models.memory import require_covariance
from botorch_private.modeler.models.sweep import CandidateSweep

_ROUNDING = {torch.float64: 1e-10, torch.float32: 1e-5}  # in prior deviations
_LEAST_VARIANCE = 1e-12  # of the prior's; as BoTorch's, where that is 1


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
    with torch.no_grad(), no_least_variance():
        normal = MultivariateNormal(mean.unsqueeze(-1), DiagLinearOperator(variance.unsqueeze(-1)))
        raw = transform.untransform_posterior(GPyTorchPosterior(normal), X=X)
        return raw.mean.reshape(-1), raw.variance.reshape(-1)


def no_least_variance() -> Any:
    """Context in which GPyTorch's least variance is the least normal number: its own has a unit."""
    half, single, double = (torch.finfo(d).tiny for d in (torch.half, torch.float32, torch.float64))
    return settings.min_variance(single, double, half)


class Ranking(NamedTuple):
    """Posterior moments up to one increasing affine map, by which candidates are compared.

    A choice must not depend on the unit of the outcomes or on a constant that was added to them. So
    what counts as rounding is a share of the posterior's own deviations, and a constant, beside which
    digits would be lost, is left out: moments of a model with `Standardize`, or without a transform,
    stay in the model's units. Other transforms have no one scale: theirs are in outcome units.

    Attributes:
        mean: ``n`` posterior means.
        variance: ``n`` posterior variances, each at least 1e-12 of the largest possible one: less is
            rounding, which must not tell equal rows apart.
        resolution: Difference up to which two scores are equal to rounding.
        scale: Outcome units per unit of these numbers.
        origin: Outcome that is 0 in them.
    """

    mean: Tensor
    variance: Tensor
    resolution: float
    scale: float
    origin: float

    def standard(self, outcome: float) -> float:
        """An outcome in these numbers."""
        return (outcome - self.origin) / self.scale


def ranking(model: Any, sweep: CandidateSweep, X: Tensor, *, own: Tensor | None = None) -> Ranking:
    """Moments of all candidates, fresh vectors.

    Args:
        model: As in `outcome_moments`.
        sweep: Moments in the model's units.
        X: As in `outcome_moments`.
        own: ``n`` variances to leave out, in the model's units, as `own_variance` gives them; other
            transforms than `Standardize` have no use for them. None: nothing is left out.
    """
    transform = getattr(model, "outcome_transform", None)
    rounding = _ROUNDING[X.dtype] * sweep.rounding_growth
    if transform is None or type(transform) is Standardize:
        scale, origin = (
            (1.0, 0.0) if transform is None else (float(transform.stdvs), float(transform.means))
        )
        deviation = sweep.prior_deviation
        mean, variance = sweep.mean.clone(), shared_of(sweep.variance, own, deviation)
    else:
        mean, variance = outcome_moments(model, sweep.mean, sweep.variance.clamp_min(0), X)
        scale, origin, deviation = 1.0, 0.0, math.sqrt(float(variance.max()))
        variance = variance.clamp_min_(_LEAST_VARIANCE * deviation**2)
    return Ranking(mean, variance, rounding * deviation, scale, origin)


def shared_of(variance: Tensor, own: Tensor | None, deviation: float) -> Tensor:
    """Variances without the records' own part, at least what rounding leaves of the prior's; fresh."""
    if own is None:
        return variance.clamp_min(_LEAST_VARIANCE * deviation**2)
    least = max(_LEAST_VARIANCE, 8 * torch.finfo(variance.dtype).eps)
    return (variance - own).clamp_min_(least * deviation**2)


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
