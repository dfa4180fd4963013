"""History: what was asked and answered, and the regret where the optimum is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import cells, column_names, no_query, row_labels
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.exchange.goals import Goal, Maximize
from botorch_private.exchange.observation import Observation
from botorch_private.modeler.known_values import read_known_values

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("round", "index")
_WANTED = (
    "history must be pairs of row and value in the order in which they were told, a History, or a data "
    "frame with the columns index and value"
)


class History:
    """Observations in the order of the rounds.

    Args:
        observations: Pairs of row index and value, in the order in which they were told; or a data frame
            of pandas, polars or pyarrow with columns ``index`` and ``value``, as `to_frame` makes it.
            Its rows are taken in the order of the column ``round`` where there is one, and as they lie
            otherwise; further columns and row labels do not count.
        goal: What was looked for: it says which value is best, and what regret is. None: the largest.

    Raises:
        ValueError: If a row or a value is unusable, or there are no such pairs.

    Example:
        >>> history = History([(4, 0.5), (7, 1.5)])
        >>> history.simple_regret(optimum=2.0).tolist()
        [1.5, 0.5]
    """

    def __init__(
        self, observations: Iterable[tuple[int, float]] | Any = (), *, goal: Goal | None = None
    ) -> None:
        self.goal = Maximize() if goal is None else goal
        self._observations: list[Observation] = []
        for position, pair in enumerate(_pairs(observations, self.goal.names)):
            try:
                index, value = pair
            except (TypeError, ValueError):
                raise ValueError(f"{_WANTED}, but position {position} is no pair") from None
            if not isinstance(index, Integral):
                raise ValueError(f"index must be an integer >= 0, got a {type(index).__name__}")
            validate.count(minimum=0, index=index)
            self._observations.append(Observation(int(index), self.goal.checked(value)))

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], *, rows: int | None = None) -> History:
        """Read values that were measured before: what a search may begin with.

        Args:
            path: A .csv file with the columns ``row`` (or ``index``) and ``value``, names in its first
                line, such as ``to_frame().to_csv(path)`` writes. Lines are taken in the order of a
                column ``round`` where there is one; further columns do not count.
            rows: Rows of the release, to refuse others by their line; None: `Modeler` refuses them.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If a line has no row, no finite number, or another value for a row than one
                before: with its number, and nothing of its text.

        Example:
            >>> History([(4, 0.5), (7, 1.5)]).to_frame().to_csv("values.csv")
            >>> Modeler(release, history=History.from_csv("values.csv")).history.best
            Observation(index=7, value=1.5)
        """
        if rows is not None:
            validate.count(rows=rows)
        return cls(read_known_values(Path(path), rows))

    @property
    def indices(self) -> list[int]:
        """Asked rows, one a round."""
        return [observation.index for observation in self._observations]

    @property
    @on_cpu_by_default
    def values(self) -> Tensor:
        """Outcomes, one a round, float64; with several, ``t x m`` in the order of `outcome_names`."""
        names = self.outcome_names
        values = self._answers
        rows = [[value[name] for name in names] for value in values] if names else values
        return torch.tensor(rows, dtype=torch.float64)

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Names of the outcomes, where records have several."""
        if not self.goal.names:
            return ()
        return tuple(self._observations[0].value) if self._observations else self.goal.names

    @property
    def _answers(self) -> list[Any]:
        return [observation.value for observation in self._observations]

    @property
    def best(self) -> Observation:
        """Observation with the best value for the goal; the earliest of equal ones."""
        if not self._observations:
            raise ValueError("history must hold at least one observation to have a best one")
        return self._observations[self.goal.best_of(self._answers)]

    @property
    @on_cpu_by_default
    def best_so_far(self) -> Tensor:
        """The best value up to each round, float64; with several outcomes, the best weighted sum.

        NaN where no answer has kept the limits yet.
        """
        return torch.tensor(self.goal.best_so_far(self._answers), dtype=torch.float64)

    @on_cpu_by_default
    def simple_regret(self, optimum: float) -> Tensor:
        """Gap between the optimum and the best value so far, one number a round (``S_t``).

        With `Target`, how much farther from the target the best value is than the optimum.
        """
        least = self.goal.loss(validate.number(optimum=optimum))
        return self.goal.loss(self.best_so_far) - least

    @on_cpu_by_default
    def cumulative_regret(self, optimum: float) -> Tensor:
        """Sum of the gaps between the optimum and each value so far (``R_t``)."""
        if self.goal.names:
            raise ValueError("cumulative_regret is there for one outcome alone: see best_so_far")
        least = self.goal.loss(validate.number(optimum=optimum))
        return (self.goal.loss(self.values) - least).cumsum(dim=0)

    def to_frame(self) -> pd.DataFrame:
        """One row a round: ``round`` (from 1), ``index``, ``value``, ``best`` so far.

        Raises:
            ImportError: If pandas is not installed (extra ``frames``).
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install 'botorch-private[frames]'") from error
        return pd.DataFrame(
            {
                "round": range(1, len(self) + 1),
                "index": self.indices,
                **self._columns(),
                "best": self.best_so_far.numpy(),
            }
        )

    def _columns(self) -> dict[str, Any]:
        values, names = self.values.numpy(), self.outcome_names
        return {name: values[:, i] for i, name in enumerate(names)} if names else {"value": values}

    def __len__(self) -> int:
        return len(self._observations)

    def __iter__(self) -> Iterator[Observation]:
        return iter(self._observations)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, History) and self._observations == other._observations

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.goal.names:
            said = f", {self.goal.progress(self._answers)}" if self._observations else ""
            return f"History(rounds={len(self)}{said})"
        best = f", best={self.best.value:.6g} at row {self.best.index}" if self._observations else ""
        return f"History(rounds={len(self)}{best})"


def _pairs(observations: Any, outcomes: tuple[str, ...]) -> Iterable[Any]:
    """Pairs of row and value, whatever they came in."""
    no_query("history", observations)
    names = column_names(observations)
    if names is not None:
        return _of_frame(observations, names, outcomes)
    if row_labels(observations) is not None or not isinstance(observations, Iterable):
        raise ValueError(f"{_WANTED}: the labels of a Series may be rows or not")
    if isinstance(observations, (str, bytes, Mapping)):
        raise ValueError(f"{_WANTED}: the pairs of a dict are its items()")
    return observations


def _of_frame(frame: Any, names: list[Any], outcomes: tuple[str, ...]) -> list[tuple[Any, Any]]:
    if outcomes:  # all that were told, in their order, and not only those that count
        outcomes = tuple(name for name in names if name not in (*_COLUMNS, "best"))
    columns, values = {}, outcomes or ("value",)
    for name in ("index", *values, *(["round"] if "round" in names else [])):
        if names.count(name) != 1:
            raise ValueError(f"{_WANTED}: it must have the column {name} once")
        columns[name], missing = cells(frame, name)
        if missing.any():
            raise ValueError(f"{_WANTED}: the column {name} lacks a value at {int(missing.argmax())}")
    order = range(len(columns["index"]))
    if "round" in columns:
        order = sorted(order, key=columns["round"].__getitem__)
    if outcomes:
        return [(columns["index"][i], {name: columns[name][i] for name in outcomes}) for i in order]
    return [(columns["index"][i], columns["value"][i]) for i in order]
