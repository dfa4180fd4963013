"""Knowledge: what a search knows of every row at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.models.outcome_units import Ranking
from botorch_private.modeler.models.posterior import DiscretePosterior


class Outcomes(NamedTuple):
    """What rows measure, without the noise that is added to answers; in the model's units.

    Attributes:
        mean: Posterior means, float64.
        deviation: Their posterior deviations, scatter included.
    """

    mean: Tensor
    deviation: Tensor

    def __neg__(self) -> Outcomes:
        return Outcomes(-self.mean, self.deviation)

    def chance_above(self, level: float) -> Tensor:
        """Chance of each that it is above a level in the same units."""
        return torch.special.ndtr((self.mean - level) / self.deviation)


class Knowledge:
    """Rows, answers and their posterior.

    Args:
        posterior: Of all rows, given the answers; of several outcomes `NamedPosteriors`, with which each
            is asked `about`.
        told: Measured rows.
        values: Their answers, as the goal turns them for the model.
        skipped: Rows that will not be measured.
    """

    def __init__(
        self,
        posterior: Any,
        told: Sequence[int],
        values: Sequence[Any],
        skipped: Iterable[int],
    ) -> None:
        self.told, self.values = list(told), list(values)
        self.posterior, self._closed = posterior, [*told, *skipped]

    def about(self, posterior: DiscretePosterior, values: Sequence[float]) -> Knowledge:
        """Of the same rows, but another outcome."""
        skipped = self._closed[len(self.told) :]
        return Knowledge(posterior, self.told, values, skipped)

    @cached_property
    def ranking(self) -> Ranking:
        """Moments of all rows, in the model's units."""
        return self.posterior.ranking()

    @cached_property
    def rows_left(self) -> Tensor:
        """Rows that may still be measured, in order."""
        there = torch.ones(len(self.posterior.candidates), dtype=torch.bool)
        there[self._closed] = False
        return there.nonzero().squeeze(-1)

    @cached_property
    def _left(self) -> AnswersLeft:
        return AnswersLeft.of(self.posterior, self._closed)

    def in_model_units(self, value: float) -> float:
        """An outcome, as the goal turns it, in the units of the ranking."""
        return (value - self.ranking.origin) / self.ranking.scale

    def outcomes_left(self) -> Outcomes:
        """Of the rows that may still be measured, in their order."""
        left = self._left
        return Outcomes(left.mean.double().cpu(), (left.variance.double() + left.scatter).sqrt().cpu())

    def outcomes_told(self) -> Outcomes | None:
        """Of measured rows, where answers are noised; None: they are the answers.

        With ``S = N + s`` for the known variance ``N`` of an answer's noise and the scatter ``s``, the
        residual ``r = y - f`` splits into both parts: the outcome is ``y - N/S r`` on average, with
        variance ``(N/S)^2 var(f) + N s / S``.
        """
        scatter, known = self._left.scatter, self._left.known
        if known == 0:
            return None
        answers = torch.tensor(
            [self.in_model_units(value) for value in self.values], dtype=torch.float64
        )
        mean, variance = (part.double().cpu()[self.told] for part in self.ranking[:2])
        share = known / (known + scatter)
        return Outcomes(
            answers - share * (answers - mean), (share**2 * variance + share * scatter).sqrt()
        )
