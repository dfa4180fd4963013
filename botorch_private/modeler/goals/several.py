"""BestOfSeveral: the search where records have several outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from botorch.models import ModelListGP
from torch import Tensor

from botorch_private.exchange.named_goals import NamedGoal
from botorch_private.exchange.observation import Observation
from botorch_private.exchange.release import Release
from botorch_private.modeler.acquisition.named_ucb import NamedUCB
from botorch_private.modeler.acquisition.schedule import scale_of_beta, ucb_beta
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Exploring, Pursuit, ordered
from botorch_private.modeler.latest_fit import LatestFit
from botorch_private.modeler.models.named_posterior import NamedPosteriors
from botorch_private.modeler.regret_bound import least_margin


class NamedFits:
    """Latest hyperparameters of each outcome's model.

    Args:
        fits: Name of an outcome to its `LatestFit`.
    """

    def __init__(self, fits: dict[str, LatestFit]) -> None:
        self._fits = fits

    def model(self, observations: Sequence[Observation], *, fitted_to: int) -> ModelListGP:
        """Models of all outcomes, as `LatestFit.model` makes them one by one."""
        return ModelListGP(
            *(
                fit.model(
                    [Observation(row, value[name]) for row, value in observations], fitted_to=fitted_to
                )
                for name, fit in self._fits.items()
            )
        ).eval()  # type: ignore[return-value]


class BestOfSeveral(Pursuit[NamedGoal]):
    """`Scalarized` and `Constrained`: by `NamedUCB`, with the schedule of `DiscreteUCB`."""

    def fit(self, make: Callable[..., Any], release: Release) -> NamedFits:
        """A fit of each outcome that counts, on the same rows."""
        fits = {}
        for name in self.goal.names:
            own = release.of_outcome(name) if release.outcome_names else release
            fits[name] = LatestFit(lambda rows, values, own=own: make(own, rows, values))
        return NamedFits(fits)

    def posterior(self, model: Any, candidates: Tensor, *, max_memory: int) -> NamedPosteriors:
        """Posterior of each outcome."""
        return NamedPosteriors.of(self.goal.names, model, candidates, max_memory=max_memory)

    def acquisition(self, posterior: Any, t: int, exploring: Exploring) -> NamedUCB:
        """What rows are chosen by in round ``t``."""
        beta = exploring.beta
        if beta is None:
            scale = exploring.beta_scale
            scale = scale_of_beta(t, exploring.exploration) if scale is None else scale
            beta = scale * ucb_beta(t, len(posterior.candidates), exploring.failure_probability)
        return NamedUCB(posterior, self.goal, beta=beta, exploration=exploring.exploration)

    def recommend(self, knowledge: Knowledge) -> int:
        """Measured row with the best posterior mean, of those that keep the limits more likely than not.

        Where none does, the one that is likeliest to; where answers are not noised, the one that lacks
        the least, over all limits in standard deviations of the answers.
        """
        each = self._each(knowledge)
        told, answers = knowledge.told, knowledge.values
        chance = torch.tensor([float(self.goal.allows(value)) for value in answers])
        if any(one.outcomes_told() is not None for one in each.values()):  # answers are noised
            chance = torch.ones(len(told), dtype=torch.float64)
            for name, sign, limit in self.goal.limits:
                outcomes = each[name].outcomes_told()
                assert outcomes is not None
                above = outcomes.chance_above(each[name].in_model_units(limit))
                chance *= above if sign > 0 else 1 - above
        elif not chance.any():
            chance = self._near(each)
            return told[ordered(chance, 0.0)[0]]
        likely = chance > 0.5
        if not likely.any():
            return told[ordered(chance, 0.0)[0]]
        gains, resolution = 0.0, 0.0
        for name, weight in self.goal.weights.items():
            ranking = each[name].ranking
            gains = gains + weight * ranking.scale * ranking.mean.double().cpu()[told]
            resolution += abs(weight) * ranking.scale * ranking.resolution
        assert isinstance(gains, Tensor)
        there = likely.nonzero().squeeze(-1)
        return told[int(there[ordered(gains[there], resolution)[0]])]

    def bound(self, knowledge: Knowledge, probability: float) -> float:
        """How much better than the best answer another record that keeps the limits may be.

        The expected number of unmeasured records that keep all limits and are better by ``e``, outcomes
        being independent of each other where the models are right: the least ``e >= 0`` at which that is
        at most the probability.

        Raises:
            ValueError: If no answer keeps the limits.
        """
        answers: Any = knowledge.values
        best = self.goal.gain(answers[self.goal.best_of(answers)])
        each = self._each(knowledge)
        if not len(knowledge.left):
            return 0.0
        chance: Any = 1.0
        for name, sign, limit in self.goal.limits:
            above = each[name].outcomes_left().chance_above(each[name].in_model_units(limit))
            chance = chance * (above if sign > 0 else 1 - above)
        mean: Any = 0.0
        variance: Any = 0.0
        for name, weight in self.goal.weights.items():
            left, ranking = each[name].outcomes_left(), each[name].ranking
            mean = mean + weight * (ranking.origin + ranking.scale * left.mean)
            variance = variance + (weight * ranking.scale * left.deviation).square()
        deviation = variance.sqrt()

        def expected(margin: float) -> float:
            return float((chance * torch.special.ndtr((mean - best - margin) / deviation)).sum())

        if expected(0.0) <= probability:
            return 0.0
        far = float((mean + 40 * deviation).max()) - best
        return least_margin(expected, 0.0, max(far, 0.0), probability)

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that keeps the limits and is better."""
        much, keeps = f"{bound:.4g} {unit}".rstrip(), "kept the limits and " if self.goal.limits else ""
        return (
            f"If the fitted models are right, the chance that one of the unmeasured records would have "
            f"{keeps}been better by more than {much} is at most {100 * probability:.4g} %."
        )

    def _near(self, each: dict[str, Knowledge]) -> Tensor:
        """How near answers that keep no limit come, in standard deviations of the outcomes."""
        gaps = []
        for name, sign, limit in self.goal.limits:
            about = each[name]
            answers = torch.tensor([about.in_model_units(value) for value in about.values])
            gaps.append(sign * (answers.double() - about.in_model_units(limit)))
        return torch.stack(gaps).clamp_max(0).sum(dim=0)

    def _each(self, knowledge: Knowledge) -> dict[str, Knowledge]:
        """What is known of each outcome."""
        return {
            name: knowledge.about(posterior, [value[name] for value in knowledge.values])
            for name, posterior in knowledge.posterior.items()
        }
