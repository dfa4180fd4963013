"""ShardedPosterior: the posterior of rows that several processes hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from botorch_private._base.memory import require_memory
from botorch_private.modeler.models.outcome_units import Ranking
from botorch_private.modeler.sharded.sharded_rows import ShardedRows


class ShardedPosterior:
    """What a `Modeler` needs of a `DiscretePosterior`, of rows in `ShardedRows`.

    Nothing is computed before it is asked for. `select` sends O(t r) numbers to each shard, and gets its
    best score back.

    Args:
        model: Of all observations, in eval mode.
        candidates: The rows.
        max_memory: Bytes that V may take in each shard.
    """

    def __init__(self, model: Any, candidates: ShardedRows, *, max_memory: int) -> None:
        self.model, self.candidates, self.max_memory = model, candidates, max_memory
        self._pending: list[int] = []

    def update(self, model: Any) -> None:
        """Go on with another model of the same rows; shards keep what still holds of V."""
        self.model = model

    def hallucinate(self, rows: Sequence[int]) -> ShardedPosterior:
        """Copy that counts rows as observed with their posterior mean."""
        twin = copy(self)
        twin._pending = [*self._pending, *rows]
        return twin

    def ranking(self, *, shared: bool = False) -> Ranking:
        """What rows are compared by, of all rows: O(n) numbers come here.

        Raises:
            MemoryError: If they do not fit.
        """
        require_memory(
            4 * 8 * len(self.candidates),
            what=f"the posterior of {len(self.candidates)} rows in one process",
            remedy="ask for the next row alone, which needs none of it",
        )
        return self.candidates.ranking(self.model, self._pending, self.max_memory, shared=shared)

    def select(
        self,
        q: int,
        acquisition: Callable[[Any], Any],
        *,
        exclude: set[int],
        generator: torch.Generator,
        levelled: bool,
    ) -> Tensor:
        """Choose rows, as `DiscreteUCB.select` does where all are in one process; see `ShardedRows`."""
        return torch.tensor(
            self.candidates.select(
                self.model,
                acquisition,
                q,
                pending=self._pending,
                exclude=exclude,
                generator=generator,
                max_memory=self.max_memory,
                levelled=levelled,
            )
        )
