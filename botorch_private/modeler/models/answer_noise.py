"""answer_noise: what an answer scatters by, and what noise was added to it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpytorch.likelihoods import FixedNoiseGaussianLikelihood


class AnswerNoise(NamedTuple):
    """Variances of an answer around what the rows explain, in the model's units.

    Attributes:
        scatter: Of the outcome itself.
        known: Of the noise that the curator adds; 0 without such noise.
    """

    scatter: float
    known: float


def answer_noise(model: Any) -> AnswerNoise:
    """The noise in a model that `make_model` made."""
    likelihood: Any = model.likelihood
    if not isinstance(likelihood, FixedNoiseGaussianLikelihood):
        return AnswerNoise(likelihood.noise.item(), 0.0)
    known: Any = likelihood.noise_covar
    scatter: Any = likelihood.second_noise
    return AnswerNoise(scatter.item(), known.noise.mean().item())
