"""DiscreteStraddle: where a fixed candidate set crosses a level."""

from __future__ import annotations

import math

from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.schedule import SHARED
from botorch_private.modeler.models.memory import DEFAULT_MEMORY
from botorch_private.modeler.models.outcome_units import Ranking


class DiscreteStraddle(DiscreteUCB):
    """Straddle score ``sqrt(beta_t) * std - |mean - level|`` over a fixed candidate set.

    It is large where the model does not know on which side of the level a row is (Bryan et al. 2005,
    with 1.96 deviations in all rounds; Gotovos et al. 2013 with a schedule). It is also how far the
    level lies inside the confidence interval of a row. With a wanted value for a level, it is minus the
    lower confidence bound of the distance to it, which is not cut off at 0.

    The schedule, pending rows, batches, ties, labels, chunks and the deviation are those of
    `DiscreteUCB`. With 1.96 deviations lists of records above a level were worse in trials. A level
    above all means gives the choices of `DiscreteUCB`; one below all, those with ``maximize=False``.

    Args:
        model: As for `DiscreteUCB`.
        candidates: As for `DiscreteUCB`.
        t: As for `DiscreteUCB`.
        failure_probability: As for `DiscreteUCB`.
        level: Finite number, in outcome units.
        beta: As for `DiscreteUCB`.
        beta_scale: As for `DiscreteUCB`.
        exploration: As for `DiscreteUCB`.
        posterior_transform: As for `DiscreteUCB`.
        chunk_size: As for `DiscreteUCB`.
        max_memory: As for `DiscreteUCB`.
        X_pending: As for `DiscreteUCB`.

    Example:
        >>> acqf = DiscreteStraddle(model, candidates=release.candidates, t=1, level=1.0)
        >>> index = acqf.select(q=1, exclude=asked)
    """

    @on_cpu_by_default
    def __init__(
        self,
        model: Model,
        candidates: Tensor | None,
        t: int,
        failure_probability: float = 0.025,
        *,
        level: float,
        beta: float | None = None,
        beta_scale: float | None = None,
        exploration: str = SHARED,
        posterior_transform: PosteriorTransform | None = None,
        chunk_size: int = 2048,
        max_memory: int = DEFAULT_MEMORY,
        X_pending: Tensor | None = None,
    ) -> None:
        validate.finite(level=level)
        super().__init__(
            model,
            candidates,
            t,
            failure_probability,
            beta=beta,
            beta_scale=beta_scale,
            exploration=exploration,
            posterior_transform=posterior_transform,
            chunk_size=chunk_size,
            max_memory=max_memory,
            X_pending=X_pending,
        )
        self.level = float(level)
        self.mean_range: tuple[float, float] | None = None
        """Of a larger set that these candidates are of, in the units of a ranking; None: their own."""

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
        low, high = self.mean_range or map(float, ranking.mean.aminmax())
        return min(max((self.level - ranking.origin) / ranking.scale, low), high)
