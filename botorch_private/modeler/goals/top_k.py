"""FirstK: the k records with the largest outcomes."""

from __future__ import annotations

from botorch_private.exchange.goals import TopK
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Pursuit, ordered
from botorch_private.modeler.regret_bound import regret_bound


class FirstK(Pursuit[TopK]):
    """`TopK`: the upper confidence bound, which goes on to the next best once the best is measured."""

    def recommend(self, knowledge: Knowledge) -> list[int]:
        """The ``k`` measured rows with the largest posterior means, or all, the best one first."""
        ranking, told = knowledge.ranking, knowledge.told
        order = ordered(ranking.mean[told], ranking.resolution)
        return [told[i] for i in order[: self.goal.k]]

    def bound(self, knowledge: Knowledge, probability: float) -> float:
        """How much better than the k-th best answer another record may be.

        The union bound of `regret_bound` with that answer in the place of the best.

        Raises:
            ValueError: If fewer than ``k`` rows are measured.
        """
        if len(knowledge.values) < self.goal.k:
            raise ValueError(
                f"regret_bound needs as many measured rows as are wanted, {self.goal.k}, got "
                f"{len(knowledge.values)}"
            )
        last = knowledge.in_model_units(sorted(knowledge.values)[-self.goal.k])
        left = knowledge.outcomes_left()
        return regret_bound(left.mean, left.deviation, last, probability) * knowledge.ranking.scale

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that belongs among the k."""
        much = f"{bound:.4g} {unit}".rstrip()
        return (
            f"If the fitted model is right, the chance that one of the unmeasured records would have "
            f"answered better than number {self.goal.k} of the measured ones by more than {much} is at "
            f"most {100 * probability:.4g} %."
        )
