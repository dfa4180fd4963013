"""NamedUCB: the next row where records have several outcomes, some of them with limits."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from botorch_private.exchange.named_goals import NamedGoal
from botorch_private.modeler.acquisition.schedule import SHARED
from botorch_private.modeler.acquisition.ties import best_index
from botorch_private.modeler.models.named_posterior import NamedPosteriors
from botorch_private.modeler.models.outcome_units import Ranking


class NamedUCB:
    r"""Upper confidence bound of a weighted sum, over the rows that may keep all limits.

    Outcomes ``y_k`` are modelled one by one, with means ``m_k`` and deviations ``s_k``, of the part that
    records share or whole (see `DiscreteUCB`). With ``b = sqrt(beta)``, the row is asked which has the
    largest

        sum_k w_k m_k + b sqrt(sum_k w_k^2 s_k^2)

    among those with ``m_k + b s_k >= l_k`` for each lower limit and ``m_k - b s_k <= u_k`` for each
    upper one: rows of which the model does not exclude that they keep the limits (Xu et al. 2023,
    "Constrained efficient global optimization of expensive black-box functions"). Where there are none
    such, it is the row with the largest chance to keep all: the product over the limits of
    ``Phi((m_k - l_k) / d_k)``, with ``d_k`` the deviation of the outcome of that record, its scatter
    included (Gelbart et al. 2014; Gardner et al. 2014).

    The choice does not depend on the units of the outcomes. O(n m) beside the posteriors.

    Args:
        posteriors: Of each outcome.
        goal: What is wanted of them.
        beta: Weight of the variances, >= 0.
        exploration: As in `DiscreteUCB`.
    """

    def __init__(
        self, posteriors: NamedPosteriors, goal: NamedGoal, *, beta: float, exploration: str = SHARED
    ) -> None:
        self.posteriors, self.goal, self.beta = posteriors, goal, beta
        self.exploration = exploration

    def select(
        self, q: int = 1, exclude: Iterable[int] = (), *, generator: torch.Generator | None = None
    ) -> Tensor:
        """Choose ``q`` different rows, as `DiscreteUCB.select`."""
        chosen: list[int] = []
        posteriors, closed = self.posteriors, set(exclude)
        while True:
            chosen.append(self._best(posteriors, closed.union(chosen), generator))
            if len(chosen) == q:
                return torch.tensor(chosen)
            if len(chosen) == 1:
                posteriors = posteriors.hallucinate(chosen)
            else:
                posteriors.assume(chosen[-1:])

    def scores(self) -> Tensor:
        """Scores of all rows, ``n`` numbers: those that may keep the limits are above all others."""
        return self._scores(self.posteriors, ())[0]

    def _best(
        self, posteriors: NamedPosteriors, closed: set[int], generator: torch.Generator | None
    ) -> int:
        rows = posteriors.rows_of_labels
        if rows is None:
            scores, resolution = self._scores(posteriors, closed)
            return best_index(scores, closed, generator, resolution)
        # Rows of one label do not differ: a label is chosen, and then one of its rows.
        used_up = (rows.left(closed) == 0).nonzero().squeeze(-1).tolist()
        scores, resolution = self._scores(posteriors, used_up, by_label=True)
        return rows.one_of(best_index(scores, used_up, generator, resolution), closed, generator)

    def _scores(
        self, posteriors: NamedPosteriors, closed: Iterable[int], *, by_label: bool = False
    ) -> tuple[Tensor, float]:
        """Scores without units, and the difference up to which two are equal to rounding."""
        shared = self.exploration == SHARED
        rankings = posteriors.rankings(shared=shared, by_label=by_label)
        bound, resolution = self._bound(rankings)
        open_rows = torch.ones(len(bound), dtype=torch.bool, device=bound.device)
        open_rows[list(closed)] = False
        slack = torch.full_like(bound, math.inf)
        for name, sign, limit in self.goal.limits:
            mean, deviation = rankings[name].mean, rankings[name].variance.sqrt()
            gap = sign * (mean - rankings[name].standard(limit))
            slack = torch.minimum(slack, gap.add(deviation, alpha=math.sqrt(self.beta)))
        may = slack >= 0
        if (may & open_rows).any():
            lowest = bound.min() - 1
            return torch.where(may, bound, lowest), resolution
        whole = posteriors.rankings(shared=False, by_label=by_label) if shared else rankings
        return posteriors.log_chance(self.goal.limits, whole), resolution

    def _bound(self, rankings: dict[str, Ranking]) -> tuple[Tensor, float]:
        """Upper confidence bound of the weighted sum, up to its unit and a constant."""
        weights = {name: w * rankings[name].scale for name, w in self.goal.weights.items()}
        size = math.hypot(*weights.values())
        mean: Tensor = sum(w / size * rankings[k].mean for k, w in weights.items())  # type: ignore[assignment]
        variance: Tensor = sum((w / size) ** 2 * rankings[k].variance for k, w in weights.items())  # type: ignore[assignment]
        resolution = sum(abs(w) / size * rankings[k].resolution for k, w in weights.items())
        return mean.add(variance.sqrt(), alpha=math.sqrt(self.beta)), resolution
