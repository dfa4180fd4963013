"""Nearest: the record whose outcome is nearest to a value."""

from __future__ import annotations

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
from botorch_private.modeler.regret_bound import least_margin


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
        """How much nearer than the nearest answer another record may answer.

        With ``d`` the distance of that answer, another record is nearer than ``d - e`` with a chance of
        at most ``sum_i Phi((v + d - e - m_i) / s_i) - Phi((v - d + e - m_i) / s_i)``. The bound is the
        least ``e >= 0`` at which that is at most the level; at ``e = d`` it is 0.
        """
        value = self.goal.value
        distance = min(abs(y - value) for y in values) / left.scale
        if not len(left.mean) or distance == 0:
            return 0.0
        gap = (left.mean - (value - left.origin) / left.scale).abs()

        def expected(margin: float) -> float:
            reach = max(distance - margin, 0.0)
            near = torch.special.ndtr((reach - gap) / deviation)
            return float((near - torch.special.ndtr((-reach - gap) / deviation)).sum())

        return least_margin(expected, 0.0, distance, level) * left.scale

    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """Of one record that is nearer."""
        much = f"{bound:.4g} {unit}".rstrip()
        return (
            f"If the fitted model is right, the chance that one of the unmeasured records would have "
            f"answered nearer to {self.goal.value:g} by more than {much} is at most "
            f"{100 * probability:.4g} %."
        )
