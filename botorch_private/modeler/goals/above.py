"""AllAbove: which records are above a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from botorch_private.exchange.goals import Above
from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.straddle import DiscreteStraddle
from botorch_private.modeler.goals.knowledge import Knowledge, Outcomes
from botorch_private.modeler.goals.pursuit import Exploring, Pursuit
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.models.posterior import DiscretePosterior
from botorch_private.modeler.regret_bound import sentence

LIKELIER_THAN_NOT = 0.5


class RowsAbove(NamedTuple):
    """Rows whose outcome is above a threshold with some probability.

    Attributes:
        measured: Of the measured rows, in the order in which they were told. Where answers are not
            noised this is certain.
        unmeasured: Of those that may still be measured, if the model is right; the likeliest first.

    Example:
        >>> modeler = Modeler(release, goal=Above(1.0), history=[(4, 0.5), (7, 1.5), (9, 1.0)])
        >>> modeler.above().measured
        [7]
    """

    measured: list[int]
    unmeasured: list[int]


def rows_above(
    knowledge: Knowledge, threshold: float, confidence: float, *, sign: float = 1.0
) -> RowsAbove:
    """Rows whose outcome is above a threshold with a probability of at least a confidence.

    Args:
        knowledge: What is known of all rows.
        threshold: In the curator's unit and sign.
        confidence: In (0, 1).
        sign: That of the goal.
    """
    told, left = knowledge.outcomes_told(), knowledge.outcomes_left()
    level = knowledge.in_model_units(sign * threshold)
    if sign < 0:
        told, left, level = None if told is None else -told, -left, -level
    if told is None:  # compared as they are: the model's units would round them
        above = [sign * value > threshold for value in knowledge.values]
    else:
        above = (told.chance_above(level) >= confidence).tolist()
    chance = left.chance_above(level)
    found = (chance >= confidence).nonzero().squeeze(-1)
    order = chance[found].argsort(descending=True, stable=True)
    return RowsAbove(
        [row for row, is_above in zip(knowledge.told, above, strict=True) if is_above],
        knowledge.rows_left[found[order]].tolist(),
    )


class AllAbove(Pursuit[Above]):
    """`Above`: by `DiscreteStraddle` at the threshold, with the schedule of `DiscreteUCB`."""

    levelled = True

    def acquisition(self, posterior: DiscretePosterior, t: int, exploring: Exploring) -> DiscreteUCB:
        """The straddle score."""
        return DiscreteStraddle(posterior, None, t, level=self.goal.threshold, **exploring._asdict())

    def recommend(self, knowledge: Knowledge) -> list[int]:
        """The measured rows that are above, more likely than not."""
        return rows_above(knowledge, self.goal.threshold, LIKELIER_THAN_NOT).measured

    def bound(
        self, left: AnswersLeft, deviation: Tensor, values: Sequence[float], level: float
    ) -> float:
        """How many records above the threshold may be missing in the list of those that are likely.

        The unmeasured rows that are less likely above than not have ``E = sum_i P(y_i > h)`` answers
        above on average. Whatever they have to do with each other, more than ``M`` of them are above
        with a chance of at most ``E / (M + 1)`` (Markov). The bound is the least such ``M``.
        """
        there = (self.goal.threshold - left.origin) / left.scale
        chance = Outcomes(left.mean.double(), deviation).chance_above(there)
        missing = chance < LIKELIER_THAN_NOT
        expected = float(chance[missing].sum())
        return float(min(int(missing.sum()), max(0, math.ceil(expected / level) - 1)))

    def in_short(self, bound: float, unit: str = "") -> str:
        """Of records, whatever the unit of the outcome."""
        return f"at most {bound:.0f} missing"

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of the records that the list lacks."""
        if bound == math.inf:
            return sentence(bound, probability, unit)
        level = f"{self.goal.threshold:g} {unit}".rstrip()
        return (
            f"If the fitted model is right, the chance that more than {bound:.0f} of the unmeasured "
            f"records that are not listed as above {level} would have answered above it is at most "
            f"{100 * probability:.4g} %."
        )
