"""OneBest: the record with the largest outcome, of those that the model has."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from botorch_private.exchange.goals import Goal
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Pursuit, ordered
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.regret_bound import regret_bound, sentence


class OneBest(Pursuit[Goal]):
    """`Maximize`, and `Minimize`, whose outcomes the model has with the other sign."""

    reaches = True

    def recommend(self, knowledge: Knowledge) -> int:
        """Measured row with the largest posterior mean."""
        ranking, told = knowledge.ranking, knowledge.told
        return told[ordered(ranking.mean[told], ranking.resolution)[0]]

    def bound(
        self, left: AnswersLeft, deviation: Tensor, values: Sequence[float], level: float
    ) -> float:
        """How much better than the best answer another record may answer."""
        best = (self.to_beat(values) - left.origin) / left.scale
        return regret_bound(left.mean, deviation, best, level) * left.scale

    def to_beat(self, values: Sequence[float]) -> float:
        """The largest answer."""
        return max(values)

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that is better."""
        return sentence(bound, probability, unit)
