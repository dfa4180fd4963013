"""AnswersLeft: what a posterior expects unmeasured rows to answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from torch import Tensor

from botorch_private.modeler.models.posterior import DiscretePosterior


class AnswersLeft(NamedTuple):
    """Moments of the answers of ``m`` rows, without unit and origin as in `Ranking`.

    Attributes:
        mean: ``m`` posterior means.
        variance: ``m`` posterior variances of the objective, a record's own part included.
        scatter: Learned variance of what no record explains, the same for all.
        known: Variance of the noise that the curator adds to an answer; 0 if none is stated.
        scale: Outcome units per unit of these numbers.
        origin: Outcome that is 0 in them.
    """

    mean: Tensor
    variance: Tensor
    scatter: float
    known: float
    scale: float
    origin: float

    @classmethod
    def of(cls, posterior: DiscretePosterior, closed: Iterable[int]) -> AnswersLeft:
        """Of all rows that are not closed; O(n).

        Args:
            posterior: Of all rows.
            closed: Rows that are left out: those that answered, or never will.
        """
        ranking = posterior.ranking()
        left = torch.ones(len(ranking.mean), dtype=torch.bool, device=ranking.mean.device)
        left[list(closed)] = False
        scatter, known = noise_of(posterior.model.likelihood)
        mean, variance = ranking.mean[left], ranking.variance[left]
        return cls(mean, variance, scatter, known, ranking.scale, ranking.origin)

    @property
    def deviation(self) -> Tensor:
        """``m`` standard deviations of answers, scatter and noise included."""
        return (self.variance + (self.scatter + self.known)).sqrt()


def noise_of(likelihood: Any) -> tuple[float, float]:
    """Learned and known variance of an answer, in the model's units."""
    if not isinstance(likelihood, FixedNoiseGaussianLikelihood):
        return likelihood.noise.item(), 0.0
    known: Any = likelihood.noise_covar
    scatter: Any = likelihood.second_noise
    return scatter.item(), known.noise.mean().item()
