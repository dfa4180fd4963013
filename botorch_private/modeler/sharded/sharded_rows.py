"""ShardedRows: all rows of a release in parts, wherever they are, as a search needs them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.engine import cpus_of_ray
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.modeler.acquisition.ties import tolerance
from botorch_private.modeler.models.memory import DEFAULT_MEMORY
from botorch_private.modeler.models.outcome_units import Ranking
from botorch_private.modeler.sharded.holders import Actors, Here, Holders
from botorch_private.modeler.sharded.shard import Question, Shard

_LEAST_SHARE = 0.01  # as in `Release.spread`


class ShardedRows:
    """Rows of a release in several shards; a round sends O(t r) numbers and gets the best score of each.

    Args:
        release: A release of noisy rows, in parts.
        engine: "ray": an actor for each shard. "process": all here, for tests.
        shards: How many; None: one for each CPU of the cluster. No more than parts.
        address: Of a cluster that runs; None: one is started on this machine.
        dtype: Of the rows and of V.

    Raises:
        ValueError: If rows are labels: their search does not grow with their number.
    """

    def __init__(
        self,
        release: ReleasedParts,
        *,
        engine: str = "ray",
        shards: int | None = None,
        address: str | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        validate.one_of(("process", "ray"), engine=engine)
        if shards is not None:
            validate.count(workers=shards)
        if release.cells is not None:
            raise ValueError("release must be one of noisy rows, got labels: search release.whole()")
        self._dtype, self._release = dtype, release
        if engine == "ray":
            shards = shards or cpus_of_ray(address=address)
        groups = _groups(len(release.parts), min(shards or 1, len(release.parts)))
        arguments = [(release, group, dtype) for group in groups]
        self._holders: Holders = (
            Actors(Shard, arguments, address=address) if engine == "ray" else Here(Shard, arguments)
        )
        counts = [sum(release.parts[i].rows for i in group) for group in groups]
        self._starts = list(accumulate(counts, initial=0))
        self._asked = 0
        self._known: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, r)``."""
        return len(self), self._release.width

    def __getitem__(self, indices: Sequence[int]) -> Tensor:
        """Some rows, ``m x r`` float64, each fetched once."""
        wanted = {row for row in map(int, indices) if row not in self._known}
        if wanted:
            places = self._by_shard(wanted)
            found = self._holders.ask("rows", [(some,) if some else None for some in places])
            for start, some, rows in zip(self._starts, places, found, strict=False):
                if some:
                    self._known.update(zip((start + place for place in some), rows, strict=True))
        rows = [self._known[int(row)].double() for row in indices]
        return torch.stack(rows) if rows else torch.empty(0, self.shape[1], dtype=torch.float64)

    @cached_property
    def spread(self) -> float:
        """As `Release.spread`."""
        everyone = [()] * len(self._holders)
        centre = sum(each.total for each in self._holders.ask("sums", everyone)) / len(self)
        noisy = sum(each.squares for each in self._ask_all("sums", centre)) / len(self)
        if noisy == 0:
            return 1.0
        public = self._release.public
        known = public["noise_dim"] * public["noise_variance"]
        return math.sqrt(max(noisy - known, _LEAST_SHARE * noisy))

    def select(
        self,
        model: Any,
        acquisition: Callable[[Any], Any],
        q: int = 1,
        *,
        pending: Sequence[int] = (),
        exclude: Iterable[int] = (),
        generator: torch.Generator | None = None,
        max_memory: int = DEFAULT_MEMORY,
        levelled: bool = False,
    ) -> list[int]:
        """Choose rows, as `DiscreteUCB.select` does where all are in one process.

        Args:
            model: Of all observations, in eval mode.
            acquisition: Makes what rows are scored by; it must not look at how many rows there are.
            q: How many different rows.
            pending: Rows that count as answered with their posterior mean.
            exclude: Rows that must not be chosen.
            generator: Breaks ties at random. None: the lowest index wins.
            max_memory: Bytes that V may take in each shard.
            levelled: Whether scores are made of distances to a level (`DiscreteStraddle`), so that
                shards must know between which means all rows lie.

        Raises:
            ValueError: If fewer than ``q`` rows are left, or a score is not finite.
        """
        closed = set(exclude)
        if len(self) - len(closed) < q:
            raise ValueError(f"q must be at most the {len(self) - len(closed)} candidates left, got {q}")
        chosen: list[int] = []
        while len(chosen) < q:
            question = self._question(model, [*pending, *chosen], max_memory, acquisition)
            if levelled:
                question = question._replace(mean_range=self._mean_range(question))
            chosen.append(self._best(question, closed.union(chosen), generator))
        return chosen

    def _best(self, question: Question, closed: set[int], generator: torch.Generator | None) -> int:
        shut = self._by_shard(closed)
        found = self._holders.ask("best", [(question, some) for some in shut])
        best = max(each.score for each in found if each is not None)
        resolution = max(each.resolution for each in found if each is not None)
        least = best - tolerance(best, resolution, self._dtype)
        near = [
            None if each is None or each.score < least else (question, some, least)
            for each, some in zip(found, shut, strict=True)
        ]
        counts = [count or 0 for count in self._holders.ask("close", near)]
        # The same draw as where all are in one process: one of so many, in the order of the rows.
        many = sum(counts)
        at = 0 if generator is None or many == 1 else int(torch.randint(many, (), generator=generator))
        shard = next(i for i, end in enumerate(accumulate(counts)) if at < end)
        nth = at - sum(counts[:shard])
        asked = [(*some, nth) if i == shard and some else None for i, some in enumerate(near)]
        return self._starts[shard] + self._holders.ask("nth", asked)[shard]

    def ranking(
        self,
        model: Any,
        pending: Sequence[int],
        max_memory: int,
        *,
        shared: bool = False,
        outcome: str = "",
    ) -> Ranking:
        """What all rows are compared by: O(n) numbers are sent."""
        question = self._question(model, pending, max_memory)._replace(outcome=outcome)
        found = self._holders.ask("ranking", [(question, shared)] * len(self._holders))
        first = found[0]
        return Ranking(
            torch.cat([each.mean for each in found]),
            torch.cat([each.variance for each in found]),
            max(each.resolution for each in found),
            first.scale,
            first.origin,
        )

    def stop(self) -> None:
        """Let the processes that hold the rows go."""
        if isinstance(self._holders, Actors):
            self._holders.stop()

    def _mean_range(self, question: Question) -> tuple[float, float]:
        found = self._ask_all("mean_range", question)
        return min(low for low, _ in found), max(high for _, high in found)

    def _ask_all(self, method: str, argument: Any) -> list[Any]:
        return self._holders.ask(method, [(argument,)] * len(self._holders))

    def _question(
        self,
        model: Any,
        pending: Sequence[int],
        max_memory: int,
        acquisition: Callable[[Any], Any] | None = None,
    ) -> Question:
        self._asked += 1
        return Question(self._asked, model, self[pending], max_memory, acquisition)

    def _by_shard(self, rows: set[int]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self._starts[1:]]
        for row in sorted(rows):
            shard = bisect_right(self._starts, row) - 1
            found[shard].append(row - self._starts[shard])
        return found


def _groups(parts: int, shards: int) -> list[list[int]]:
    """Consecutive parts for each shard, none without one; parts have about as many rows each."""
    ends = [i * parts // shards for i in range(shards + 1)]
    return [list(range(*pair)) for pair in pairwise(ends)]
