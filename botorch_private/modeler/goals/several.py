"""BestOfSeveral: the search where records have several outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from botorch.models import ModelListGP
from torch import Tensor

from botorch_private.exchange.named_goals import NamedGoal
from botorch_private.exchange.observation import Observation
from botorch_private.exchange.release import Release
from botorch_private.modeler.acquisition.named_ucb import NamedUCB
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Exploring, Pursuit, ordered
from botorch_private.modeler.latest_fit import LatestFit
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.models.named_posterior import NamedPosteriors


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
                fit.model(_of(name, observations), fitted_to=fitted_to)
                for name, fit in self._fits.items()
            )
        ).eval()  # type: ignore[return-value]

    def kept(self, observations: Sequence[Observation]) -> dict[str, Any] | None:
        """As `LatestFit.kept`, of all outcomes; None where one of them has none."""
        found = {name: fit.kept(_of(name, observations)) for name, fit in self._fits.items()}
        counts = {None if each is None else each["observations"] for each in found.values()}
        if None in counts or len(counts) != 1:
            return None
        values = {
            f"{name}/{parameter}": value
            for name, each in found.items()
            for parameter, value in (each or {})["values"].items()
        }
        return {"observations": counts.pop(), "values": values}

    def keep(self, observations: Sequence[Observation], kept: Mapping[str, Any]) -> None:
        """Go on with what `kept` gave."""
        for name, fit in self._fits.items():
            start = f"{name}/"
            own = {
                key.removeprefix(start): value
                for key, value in kept["values"].items()
                if key.startswith(start)
            }
            fit.keep(_of(name, observations), {**kept, "values": own})


def _of(name: str, observations: Sequence[Observation]) -> list[Observation]:
    return [Observation(row, value[name]) for row, value in observations]


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
        beta = exploring.weight(t, len(posterior.candidates))
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

    def bound(
        self, left: AnswersLeft, deviation: Tensor, values: Sequence[float], level: float
    ) -> float:
        """Not there: what is left to find is said of one outcome alone."""
        raise ValueError("regret_bound is there for one outcome alone")

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Not there, as the bound."""
        raise ValueError("regret_sentence is there for one outcome alone")

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
