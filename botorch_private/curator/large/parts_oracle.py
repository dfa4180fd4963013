"""PartsOracle: answers row indices of a release in parts in this process, reading a record at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.answers import Answers
from botorch_private.curator.large.row_map import Place, RowMap
from botorch_private.curator.large.source_values import require_columns
from botorch_private.curator.objective import Objective
from botorch_private.exchange.observation import Observation
from botorch_private.exchange.released_parts import ReleasedParts


class PartsOracle:
    """The measuring side of a release in parts, without a server: `run` takes it like a `Curator`.

    It measures a record once, and recalls the answer. What it answered is forgotten with the process: so
    a release that promises noise on its answers is refused, since a record must have one noise for good.
    A server keeps it: ``curator init --output-parquet``.

    Args:
        parts: The release.
        places: Its map, as `release_parquet` wrote it beside it; for the curator alone.
        objective: Name of a column of the table with the outcomes; or a callable that measures, from the
            `Place` of a record to a finite number. `RowMap.read` gives it further columns of the record.
        max_queries: Largest number of different records that are measured; None: no limit.

    Raises:
        TypeError: If the release or its map are something else.
        ValueError: If the map is of another release, a file of the table has no such column or was
            changed since the release was made, or the release promises noise on the answers, or several
            outcomes.

    Example:
        >>> import pandas
        >>> table = pandas.DataFrame(records.numpy(), columns=["age", "weight"])
        >>> table.assign(cost=outcomes.numpy()).to_parquet("stays.parquet")
        >>> named = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age", "weight"])
        >>> parts = release_parquet("stays.parquet", "released", named, mechanism, progress=False)
        >>> oracle = PartsOracle(parts, RowMap.load("released.map"), "cost", max_queries=6)
        >>> len(run(oracle, Modeler(parts), rounds=6))
        6
    """

    def __init__(
        self,
        parts: ReleasedParts,
        places: RowMap,
        objective: str | Callable[[Place], Any],
        *,
        max_queries: int | None = None,
    ) -> None:
        if not isinstance(parts, ReleasedParts):
            raise TypeError(f"parts must be ReleasedParts, got {type(parts).__name__}")
        if not isinstance(places, RowMap):
            raise TypeError(f"places must be a RowMap, got {type(places).__name__}")
        if places.release != parts.identity:
            raise ValueError("places must be the map of this release, got that of another one")
        if parts.public["outcome_guarantee"] is not None:
            raise ValueError(
                "parts must not promise noise on the answers, which must be the same for good: let a "
                "server keep it (curator init --output-parquet)"
            )
        if parts.public["outcome_names"]:
            raise ValueError(
                "parts must be of one outcome, got several: let a server answer (curator init "
                "--output-parquet)"
            )
        if max_queries is not None:
            validate.count(max_queries=max_queries)
        if isinstance(objective, str):
            for file in places.files:
                require_columns(file, [objective])
        self._places, self._process = places, os.getpid()
        self._answers = Answers(_Placed(places, objective), None, max_queries)
        self._lock = threading.RLock()

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        return self._answers.left

    @property
    def max_queries(self) -> int | None:
        """Largest number of different records that are measured; None: no limit."""
        return self._answers.max_queries

    @property
    def last_failure(self) -> BaseException | None:
        """What the objective raised last. For the curator's eyes only: it may name a record's values."""
        return self._answers.objective.last_failure

    def query(self, index: int) -> Observation:
        """Measure the record behind a released row, or recall its answer.

        Args:
            index: Released row in 0..n-1.

        Raises:
            ValueError: If there is no such row.
            MeasurementError: If the objective failed, or returned no finite number; where a file of the
                table was changed since, `last_failure` says so. The row may be asked for again.
            RuntimeError: In a forked copy.
            BudgetError: If the record was never measured and `max_queries` are spent.
        """
        if os.getpid() != self._process:
            raise RuntimeError(
                "an oracle answers in the process that made it: a forked copy would count its own "
                "answers"
            )
        row = validate.index(self._places.starts[-1], index=index)
        with self._lock:  # threads must neither measure twice nor exceed the budget together
            place = self._places.place(row)
            return Observation(row, self._answers.of(place.record, torch.tensor([row]), row))

    def __repr__(self) -> str:
        limit = "" if self.max_queries is None else f" of {self.max_queries}"
        return f"PartsOracle(n={self._places.starts[-1]}, measured={self._answers.given}{limit})"


class _Placed(Objective):
    """Measures by the place of a record: `Answers` hands over its released row."""

    def __init__(self, places: RowMap, objective: str | Callable[[Place], Any]) -> None:
        self._places, self._column = places, objective if isinstance(objective, str) else None
        super().__init__(self._of_column if isinstance(objective, str) else objective, None, 0)

    def _called(self, record: int, features: Tensor) -> Any:
        measure: Any = self._measure
        return measure(self._places.place(int(features)))

    def _of_column(self, place: Place) -> Any:
        assert self._column is not None
        return self._places.read(place, [self._column])[self._column]
