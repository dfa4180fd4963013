"""Nearest: the record whose outcome is nearest to a value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from botorch_private.exchange.goals import Target
from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.straddle import DiscreteStraddle
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Exploring, Pursuit, ordered
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.models.posterior import DiscretePosterior
from botorch_private.modeler.regret_bound import sentence


class Nearest(Pursuit[Target]):
    r"""`Target`: by the lower confidence bound of the distance to the value.

    If ``|f - m| <= b s`` in all rows, then ``|f - v| >= |m - v| - b s``. The row with the smallest such
    bound is asked, by `DiscreteStraddle` with the schedule of `DiscreteUCB`. Below 0 the bound says how
    far the value lies inside the interval; it is not cut off there, since rows would tie.
    """

    levelled = True

    def acquisition(self, posterior: DiscretePosterior, t: int, exploring: Exploring) -> DiscreteUCB:
        """The lower confidence bound, as a score."""
        return DiscreteStraddle(posterior, None, t, level=self.goal.value, **exploring._asdict())

    def recommend(self, knowledge: Knowledge) -> int:
        """Measured row with the posterior mean that is nearest to the value."""
        ranking, told = knowledge.ranking, knowledge.told
        gaps = (ranking.mean[told] - knowledge.in_model_units(self.goal.value)).abs()
        return told[ordered(-gaps, ranking.resolution)[0]]

    def bound(
        self, left: AnswersLeft, deviation: Tensor, values: Sequence[float], level: float
    ) -> float:
        """How far the nearest answer is from the value, or 0 if no other record is likely to be nearer.

        With ``d`` that distance, another record is nearer with a chance of at most ``sum_i Phi((v + d -
        m_i) / s_i) - Phi((v - d - m_i) / s_i)``. If that is at most the level, the bound is 0. Otherwise
        it is ``d``: a record may answer the very value. Outcomes that come in steps do, which no density
        tells, so that nothing between is claimed.
        """
        value = self.goal.value
        distance = min(abs(y - value) for y in values)
        reach = distance / left.scale
        gap = (left.mean - (value - left.origin) / left.scale).abs()
        near = torch.special.ndtr((reach - gap) / deviation)
        nearer = float((near - torch.special.ndtr((-reach - gap) / deviation)).sum())
        return distance if nearer > level else 0.0

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that is nearer; of how much nearer, nothing."""
        value = f"{self.goal.value:g}"
        if bound == math.inf:
            return sentence(bound, probability, unit)
        if bound > 0:
            much = f"{bound:.4g} {unit}".rstrip()
            return (
                f"Nothing can be excluded: the nearest answer is {much} from {value}, and one of the "
                f"unmeasured records may well have answered nearer to it."
            )
        return (
            f"If the fitted model is right, the chance that one of the unmeasured records would have "
            f"answered nearer to {value} than the nearest answer is at most {100 * probability:.4g} %."
        )
