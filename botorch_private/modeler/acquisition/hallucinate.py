"""hallucinate: condition any model on its own posterior mean at pending points."""

from __future__ import annotations

from typing import Any

from botorch.exceptions import UnsupportedError
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.model import Model, ModelList
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from torch import Tensor

from botorch_private.modeler.models.posterior import DiscretePosterior


def hallucinate(model: Any, X: Tensor) -> Model:
    """Model that counts ``m x d`` points as observed with its posterior mean there.

    Raises:
        UnsupportedError: If the model cannot be conditioned on observations.
    """
    if isinstance(model, ModelList):
        return type(model)(*[hallucinate(part, X) for part in model.models])
    if isinstance(model, DiscretePosterior):
        return model.hallucinate_points(X)
    if not isinstance(model, GPyTorchModel) or not hasattr(model, "get_fantasy_model"):
        raise UnsupportedError(
            f"pending rows and q > 1 need a model that can be conditioned on observations, got "
            f"{type(model).__name__}: choose one row at a time"
        )
    # The prediction also fills the caches that conditioning builds on.
    mean = model.posterior(X).mean
    likelihood = getattr(model, "likelihood", None)
    if not isinstance(likelihood, FixedNoiseGaussianLikelihood):
        return model.condition_on_observations(X, mean)
    # As in `fantasize`: a new observation has the average noise of the known ones.
    noise = likelihood.noise.mean(dim=-1).expand_as(mean)
    return model.condition_on_observations(X, mean, noise=noise)
