"""OneBest: the record with the largest outcome, of those that the model has."""

from __future__ import annotations

from botorch_private.exchange.goals import Goal
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Pursuit, ordered
from botorch_private.modeler.regret_bound import regret_bound, sentence


class OneBest(Pursuit[Goal]):
    """`Maximize`, and `Minimize`, whose outcomes the model has with the other sign."""

    def recommend(self, knowledge: Knowledge) -> int:
        """Measured row with the largest posterior mean."""
        ranking, told = knowledge.ranking, knowledge.told
        return told[ordered(ranking.mean[told], ranking.resolution)[0]]

    def bound(self, knowledge: Knowledge, probability: float) -> float:
        """How much better than the best answer another record may be."""
        best = knowledge.in_model_units(max(knowledge.values))
        left = knowledge.outcomes_left()
        return regret_bound(left.mean, left.deviation, best, probability) * knowledge.ranking.scale

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that is better."""
        return sentence(bound, probability, unit)
