"""FirstK: the k records with the largest outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from botorch_private.exchange.goals import TopK
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Pursuit, ordered
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.regret_bound import regret_bound


class FirstK(Pursuit[TopK]):
    """`TopK`: the upper confidence bound, which goes on to the next best once the best is measured."""

    def recommend(self, knowledge: Knowledge) -> list[int]:
        """The ``k`` measured rows with the largest posterior means, or all, the best one first."""
        ranking, told = knowledge.ranking, knowledge.told
        order = ordered(ranking.mean[told], ranking.resolution)
        return [told[i] for i in order[: self.goal.k]]

    def bound(
        self, left: AnswersLeft, deviation: Tensor, values: Sequence[float], level: float
    ) -> float:
        """How much better than the k-th best answer another record may answer.

        The union bound of `regret_bound` with that answer in the place of the best; infinite while fewer
        than ``k`` rows are measured.
        """
        if len(values) < self.goal.k:
            return math.inf
        last = (self.to_beat(values) - left.origin) / left.scale
        return regret_bound(left.mean, deviation, last, level) * left.scale

    def to_beat(self, values: Sequence[float]) -> float:
        """The k-th largest answer, or the smallest of fewer."""
        return sorted(values)[-self.goal.k :][0]

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that belongs among the k."""
        if bound == math.inf:
            return (
                f"Nothing can be said of the unmeasured records yet: {self.goal.k} answers are needed, "
                f"and they must not all be equal."
            )
        much = f"{bound:.4g} {unit}".rstrip()
        return (
            f"If the fitted model is right, the chance that one of the unmeasured records would have "
            f"answered better than number {self.goal.k} of the measured ones by more than {much} is at "
            f"most {100 * probability:.4g} %."
        )
