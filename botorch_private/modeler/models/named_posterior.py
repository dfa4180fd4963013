"""NamedPosteriors: the posterior of each of several outcomes, over the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from botorch_private.modeler.models.answers_left import noise_of
from botorch_private.modeler.models.label_posterior import LabelPosterior, discrete_posterior
from botorch_private.modeler.models.outcome_units import Ranking
from botorch_private.modeler.models.posterior import DiscretePosterior
from botorch_private.modeler.models.rows_of_labels import RowsOfLabels


class NamedPosteriors(dict[str, DiscretePosterior]):
    """Name of an outcome to its `DiscretePosterior`; all have the same candidates.

    Outcomes are modelled one by one: what one of them says of another is not used. Each needs memory and
    time of its own.
    """

    @classmethod
    def of(
        cls, names: Sequence[str], models: Any, candidates: Tensor, *, max_memory: int
    ) -> NamedPosteriors:
        """Posteriors of a `ModelListGP`, which share the memory.

        Args:
            names: Of its models, in order.
            models: The `ModelListGP`.
            candidates: As for `DiscretePosterior`.
            max_memory: As for `DiscretePosterior`, of all together.
        """
        share = max(1, max_memory // len(names))
        pairs = zip(names, models.models, strict=True)
        return cls((name, discrete_posterior(m, candidates, max_memory=share)) for name, m in pairs)

    @property
    def candidates(self) -> Tensor:
        """``n x d`` rows."""
        return self._first.candidates

    @property
    def rows_of_labels(self) -> RowsOfLabels | None:
        """Which rows have which label; None where rows are no labels."""
        first = self._first
        return first.rows if isinstance(first, LabelPosterior) else None

    @property
    def max_memory(self) -> int | None:
        """Bytes that all may keep."""
        share = self._first.max_memory
        return None if share is None else share * len(self)

    @max_memory.setter
    def max_memory(self, value: int) -> None:
        for each in self.values():
            each.max_memory = max(1, value // len(self))

    def update(self, models: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Go on with another `ModelListGP`, as `DiscretePosterior.update`."""
        for each, model in zip(self.values(), models.models, strict=True):
            each.update(model)

    def hallucinate(self, rows: Sequence[int]) -> NamedPosteriors:
        """Copy that counts rows as observed with their posterior means."""
        return NamedPosteriors((name, each.hallucinate(rows)) for name, each in self.items())

    def assume(self, rows: list[int]) -> None:
        """The same in place: for copies."""
        for each in self.values():
            each.assume(rows)

    def rankings(self, *, shared: bool, by_label: bool = False) -> dict[str, Ranking]:
        """What rows are compared by, or labels are, each outcome in numbers of its own."""
        return {
            name: each.label_ranking(shared=shared)
            if by_label and isinstance(each, LabelPosterior)
            else each.ranking(shared=shared)
            for name, each in self.items()
        }

    def log_chance(
        self, limits: Iterable[tuple[str, float, float]], rankings: dict[str, Ranking]
    ) -> Tensor:
        """Log of the chance that an unmeasured record keeps all limits, outcomes being independent.

        Args:
            limits: Name, 1 for a smallest and -1 for a largest allowed outcome, and which.
            rankings: With whole variances.
        """
        total = torch.zeros_like(next(iter(rankings.values())).mean)
        for name, sign, limit in limits:
            ranking, scatter = rankings[name], noise_of(self[name].model.likelihood)[0]
            gap = sign * (ranking.mean - ranking.standard(limit))
            total += torch.special.log_ndtr(gap / (ranking.variance + scatter).sqrt())
        return total

    @property
    def _first(self) -> DiscretePosterior:
        return next(iter(self.values()))
