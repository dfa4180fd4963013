"""NamedPosteriors: the posterior of each of several outcomes, over the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from botorch_private.modeler.models.label_posterior import LabelPosterior, discrete_posterior
from botorch_private.modeler.models.outcome_units import Ranking
from botorch_private.modeler.models.posterior import DiscretePosterior
from botorch_private.modeler.models.rows_of_labels import RowsOfLabels


class NamedPosteriors(dict[str, DiscretePosterior]):
    """Name of an outcome to its `DiscretePosterior`; all have the same candidates.

    Outcomes are modelled one by one: what one says of another is not used.
    """

    @classmethod
    def of(cls, models: dict[str, Any], candidates: Tensor, *, max_memory: int) -> NamedPosteriors:
        """Posterior of each model, which share the memory."""
        share = max(1, max_memory // len(models))
        return cls(
            (name, discrete_posterior(model, candidates, max_memory=share))
            for name, model in models.items()
        )

    @property
    def candidates(self) -> Tensor:
        """``n x d`` rows."""
        return next(iter(self.values())).candidates

    @property
    def rows_of_labels(self) -> RowsOfLabels | None:
        """Which rows have which label, where rows are labels."""
        first = next(iter(self.values()))
        return first.rows if isinstance(first, LabelPosterior) else None

    def update(self, models: dict[str, Any], *, max_memory: int) -> None:
        """Go on with other models, as `DiscretePosterior.update`."""
        for name, model in models.items():
            self[name].max_memory = max(1, max_memory // len(models))
            self[name].update(model)

    def hallucinate(self, rows: Sequence[int]) -> NamedPosteriors:
        """Copy that counts rows as observed with their posterior means."""
        return NamedPosteriors((name, each.hallucinate(rows)) for name, each in self.items())

    def assume(self, rows: list[int]) -> None:
        """The same in place: for copies."""
        for each in self.values():
            each.assume(rows)

    def rankings(self, *, shared: bool, by_label: bool = False) -> dict[str, Ranking]:
        """What rows are compared by, or what labels are, in each outcome's own unit."""
        return {
            name: each.label_ranking(shared=shared)
            if by_label and isinstance(each, LabelPosterior)
            else each.ranking(shared=shared)
            for name, each in self.items()
        }
