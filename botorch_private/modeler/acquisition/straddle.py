"""DiscreteStraddle: where a fixed candidate set crosses a level."""

from __future__ import annotations

import math
from typing import Any

from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.schedule import SHARED
from botorch_private.modeler.models.memory import DEFAULT_MEMORY
from botorch_private.modeler.models.outcome_units import Ranking

STRADDLE_BETA = 1.96**2


class DiscreteStraddle(DiscreteUCB):
    """Straddle score ``sqrt(beta) * std - |mean - level|`` over a fixed candidate set.

    It is large where the model does not know on which side of the level a row is (Bryan et al. 2005,
    with ``sqrt(beta) = 1.96``; Gotovos et al. 2013 call ``2`` such scores the ambiguity). It is also how
    far the level lies inside the confidence interval of a row: with ``level`` a wanted value, minus the
    lower confidence bound of the distance to it.

    Pending rows, batches, ties, labels, chunks and the deviation are as in `DiscreteUCB`. A level above
    all means gives the choices of `DiscreteUCB` at the same beta; one below all, those with
    ``maximize=False``.

    Args:
        model: As for `DiscreteUCB`.
        candidates: As for `DiscreteUCB`.
        level: Finite number, in outcome units.
        beta: >= 0.
        exploration: As for `DiscreteUCB`.
        posterior_transform: As for `DiscreteUCB`.
        chunk_size: As for `DiscreteUCB`.
        max_memory: As for `DiscreteUCB`.
        X_pending: As for `DiscreteUCB`.

    Example:
        >>> acqf = DiscreteStraddle(model, candidates=release.candidates, level=1.0)
        >>> index = acqf.select(q=1, exclude=asked)
    """

    @on_cpu_by_default
    def __init__(
        self,
        model: Model,
        candidates: Tensor | None,
        level: float,
        *,
        beta: float = STRADDLE_BETA,
        exploration: str = SHARED,
        posterior_transform: PosteriorTransform | None = None,
        chunk_size: int = 2048,
        max_memory: int = DEFAULT_MEMORY,
        X_pending: Tensor | None = None,
    ) -> None:
        validate.finite(level=level)
        validate.non_negative(beta=beta)
        options: dict[str, Any] = {"chunk_size": chunk_size, "max_memory": max_memory}
        super().__init__(
            model,
            candidates,
            t=1,
            beta=beta,
            exploration=exploration,
            posterior_transform=posterior_transform,
            X_pending=X_pending,
            **options,
        )
        self.level = float(level)

    def _combined(self, mean: Tensor, deviation: Tensor) -> Tensor:
        return math.sqrt(self.beta) * deviation - (mean - self.level).abs()

    def _bound(self, ranking: Ranking) -> Tensor:
        mean, deviation = ranking.mean, ranking.variance.sqrt()
        return deviation.mul_(math.sqrt(self.beta)).sub_((mean - self._nearest(ranking)).abs_())

    def _in_outcome_units(self, scores: Tensor, ranking: Ranking) -> Tensor:
        left_out = abs((self.level - ranking.origin) - self._nearest(ranking) * ranking.scale)
        return scores.mul_(ranking.scale).sub_(left_out)

    def _nearest(self, ranking: Ranking) -> float:
        """The level, or the end of the means that is nearer to it: beyond, it adds but a constant.

        Beside a constant of many deviations, differences between rows would be rounded away.
        """
        low, high = map(float, ranking.mean.aminmax())
        return min(max((self.level - ranking.origin) / ranking.scale, low), high)
