"""ShardedPosterior: the posterior of rows that several processes hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from botorch_private._base.memory import require_memory
from botorch_private.modeler.models.named_posterior import NamedPosteriors
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
        outcome: Which one it is of, where there are several.
    """

    def __init__(
        self, model: Any, candidates: ShardedRows, *, max_memory: int, outcome: str = ""
    ) -> None:
        self.model, self.candidates, self.max_memory = model, candidates, max_memory
        self._outcome = outcome
        self._pending: list[int] = []

    def update(self, model: Any) -> None:
        """Go on with another model of the same rows; shards keep what still holds of V."""
        self.model = model

    def hallucinate(self, rows: Sequence[int]) -> ShardedPosterior:
        """Copy that counts rows as observed with their posterior mean."""
        twin = copy(self)
        twin.assume(rows)
        return twin

    def assume(self, rows: Sequence[int]) -> None:
        """The same in place: for copies."""
        self._pending = [*self._pending, *rows]

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
        return self.candidates.ranking(
            self.model, self._pending, self.max_memory, shared=shared, outcome=self._outcome
        )

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


def sharded_posterior(
    names: Sequence[str], model: Any, candidates: ShardedRows, *, max_memory: int
) -> ShardedPosterior | NamedPosteriors:
    """The posterior of rows that several processes hold; of several outcomes one of each.

    Where there are several, a round sends the moments of all rows here, O(n) numbers for each outcome:
    which row is the best is not a matter of each row alone, but of whether any row may keep the limits.

    Args:
        names: Of the outcomes; empty where there is one.
        model: Of all observations; of several outcomes a `ModelListGP`.
        candidates: The rows.
        max_memory: Bytes that V may take in each shard, of all outcomes together.
    """
    if not names:
        return ShardedPosterior(model, candidates, max_memory=max_memory)
    share = max(1, max_memory // len(names))
    pairs = zip(names, model.models, strict=True)
    each: Any = {
        name: ShardedPosterior(own, candidates, max_memory=share, outcome=name) for name, own in pairs
    }
    return NamedPosteriors(each)
