"""Cells: a declared partition of what a record can be; what `CellResponse` tells of a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.cells.fit_score import fit_score
from botorch_private.curator.cells.history_score import HistoryScore
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Number, middle_of
from botorch_private.curator.features.scaling import PublicScaling, checked_records
from botorch_private.exchange.cell_space import CellSpace
from botorch_private.privacy.history_promise import HistoryPromise

CELL_NUMBER = torch.int16
"""Holds the number of a cell: there are 10,000 at most."""
_CHUNK_ROWS = 2**18
_TRIED_ALONE = 16  # records of a block that a batched function numbers once more, each by itself
_FEW = 64  # ends of cells up to which comparing with each of them is faster than bisecting
_Assign = Callable[[np.ndarray], np.ndarray]


class _Part(NamedTuple):
    """A direction of the grid: which of its places a record is in, -1 for none or several."""

    name: str
    length: int
    ordered: bool
    assign: _Assign  # n x d records -> n places


class Cells:
    """A public partition of what a record can be into ``K`` cells: a grid over features.

    All of it is declared, from what the features mean, never from the table. A number outside its
    declared ends counts as the nearest end, as in `PublicScaling`.

    Args:
        edges: For each feature the ends of its cells, rising, the outer ends of the range among them:
            ``[18, 40, 65, 100]`` makes three cells, and a value of 40 is in the second. ``[18, 100]``
            makes one: nothing is told of this feature. A mapping from the names of all features, in the
            order of the columns; or a sequence, without names. `of_encoding` takes yes/no and categories
            as well, and `of` any function.

    Raises:
        ValueError: If edges are not finite and rising, there are fewer than 2 cells in all, or more than
            10,000.

    Example:
        >>> cells = Cells({"age": [18, 40, 65, 100], "weight": [0, 80, 200]})
        >>> cells.count
        6
        >>> cells.of_records([[39.0, 90.0], [70.0, 250.0]]).tolist()
        [1, 5]
    """

    public = True

    def __init__(self, edges: Mapping[str, Sequence[float]] | Sequence[Sequence[float]]) -> None:
        named = isinstance(edges, Mapping)
        if isinstance(edges, str) or not edges or not isinstance(edges, Mapping | Sequence):
            raise ValueError(
                "edges must map each feature to the ends of its cells, such as [18, 40, 100]"
            )
        given = list(edges.items()) if isinstance(edges, Mapping) else list(enumerate(edges))
        parts = []
        for column, (name, ends) in enumerate(given):
            called = repr(name) if named else f"feature {name}"
            parts.append(_bins(str(name), column, _rising(ends, called)))
        names = tuple(str(name) for name in edges) if named else None
        ends = [list(each) for _, each in given]
        ranges = PublicScaling([each[0] for each in ends], [each[-1] for each in ends], names=names)
        self._adopt(parts, features=len(parts), names=names, ranges=ranges)

    @classmethod
    def of(
        cls,
        function: Callable[[Any], Any],
        count: int,
        *,
        features: int | None = None,
        names: Sequence[str] | None = None,
        ordered: bool = False,
        batched: bool = False,
    ) -> Cells:
        """Cells by a function of a record, such as a rule, or a model of *other* records.

        The function must not come from the table that is released, nor look at it: then a record's cell
        is a matter of that record alone.

        Args:
            function: From a ``d`` float64 tensor of raw features to a whole number in 0..count-1.
            count: Number of cells, ``K``.
            features: Number of features of a record; None: as many as there are names.
            names: Of the features.
            ordered: Whether neighbouring numbers are neighbours in meaning.
            batched: Whether the function takes ``n x d`` records at once, and returns ``n`` numbers,
                each from its own record alone. It is asked once more for some of them, one by one.

        Raises:
            ValueError: If it is not callable, or ``count`` is not in 2..10,000. What the function does
                with records is seen when they come: an error of its own, or a number that is no cell, is
                refused by its row, and its text is not shown.

        Example:
            >>> old = Cells.of(lambda record: int(record[0] > 65), 2, names=["age", "weight"])
        """
        if not callable(function):
            raise ValueError(f"function must be callable, got {type(function).__name__}")
        validate.count(count=count, minimum=2)
        if features is not None:
            validate.count(features=features)
        labels = None if names is None else tuple(names)
        if labels is not None and features not in (None, len(labels)):
            raise ValueError(f"names must be {features}, one for each feature, got {len(labels)}")
        width = features if labels is None else len(labels)
        if width is None:
            raise ValueError("features must be given where there are no names: how many a record has")
        made = cls.__new__(cls)
        part = _Part("cell", int(count), bool(ordered), _by(function, int(count), batched))
        made._adopt([part], features=width, names=labels, ranges=None)
        return made

    @classmethod
    def of_encoding(cls, encoding: Encoding, *, source: str = "") -> Cells:
        """Cells of declared features: a yes/no has 2, a category one for each value.

        Args:
            encoding: The declared features; its numbers have `edges`. Records are what its `encode`
                returns.
            source: What messages begin with.

        Raises:
            ValueError: If a number has no edges.

        Example:
            >>> features = [Number("age", 18, 100, edges=(40, 65)), YesNo("diabetes")]
            >>> Cells.of_encoding(Encoding(features)).count
            6
        """
        parts: list[_Part] = []
        column = 0
        for each in encoding.features:
            width = len(each.columns)
            if isinstance(each, Number):
                if not each.edges:
                    raise ValueError(
                        f"{source}feature {each.name!r} must have edges between its cells, such as "
                        f"edges = "
                        f"[{middle_of(each):g}]; or leave the feature out"
                    )
                ends = np.array([each.lower, *each.edges, each.upper], dtype=np.float64)
                parts.append(_bins(each.name, column, ends))
            else:
                parts.append(_choice(each.name, slice(column, column + width), max(width, 2)))
            column += width
        made = cls.__new__(cls)
        made._adopt(parts, features=column, names=encoding.names, ranges=encoding.scaling)
        return made

    @classmethod
    def from_history(
        cls,
        records: Any,
        outcomes: Any,
        scaling: PublicScaling,
        *,
        outcome_range: tuple[float, float],
        cuts: Sequence[float] = (0.97,),
        epsilon: float = 1.0,
        delta: float = 1e-5,
        public: bool = False,
        generator: torch.Generator | None = None,
    ) -> Cells:
        """Cells by a score that is learned from *other* people, whose outcomes are known.

        The score is a ridge regression on second moments that were released once with Gaussian noise:
        private for each person of the history, for any change of the whole record, outcome included.
        It is cut at normal quantiles of its mean and variance, which follow from the same release.

        Args:
            records: ``m x d`` raw records of the history, ``m >= 50``; the first 100,000 count, fewer
                where there are more than 1,000 features. Nobody among them may be in the table that is
                released. Each is taken for a person: who has several is protected less.
            outcomes: Their ``m`` outcomes.
            scaling: Declared ranges of the features, the same for the history and the table.
            outcome_range: Declared smallest and largest outcome.
            cuts: Rising shares of the history below each cut: 0.97 makes a cell of about the top 3 %.
            epsilon: For a record of the history, > 0. Each call spends it anew on the same history.
            delta: In (0, 1).
            public: True: the history is public, or its people agree. No noise is added then, and
                ``epsilon`` and ``delta`` do nothing; the guarantee says so.
            generator: None: operating-system entropy. A generator voids the promise to the history.

        Raises:
            ValueError: If an argument is unusable; nothing has been drawn then.

        Example:
            >>> cells = Cells.from_history(
            ...     records, outcomes, scaling, outcome_range=(0.0, 4.0), cuts=[0.5, 0.9], epsilon=1.0
            ... )
            >>> cells.count
            3
        """
        score = fit_score(
            records,
            outcomes,
            scaling,
            outcome_range=outcome_range,
            cuts=cuts,
            epsilon=epsilon,
            delta=delta,
            public=public,
            generator=generator,
        )
        return cls.of_score(score)

    @classmethod
    def of_score(cls, score: HistoryScore) -> Cells:
        """Cells by a score of a history, lowest first; `from_history` learns one."""
        made = cls.__new__(cls)
        part = _Part("score", len(score.cuts) + 1, True, score.places)
        ranges = PublicScaling(score.lower, score.upper, names=score.names, scale=score.scale)
        made._adopt([part], features=len(score.lower), names=score.names, ranges=ranges)
        made.score = score
        return made

    def _adopt(
        self,
        parts: list[_Part],
        *,
        features: int,
        names: tuple[str, ...] | None,
        ranges: PublicScaling | None,
    ) -> None:
        self._parts, self.features, self.names = tuple(parts), features, names
        self.ranges = ranges
        """Declared ranges of the features; None where a function numbers the cells."""
        self.score: HistoryScore | None = None
        called = tuple(part.name for part in parts) if names is not None else None
        self.space = CellSpace(
            tuple(part.length for part in parts), tuple(part.ordered for part in parts), called
        )

    @property
    def promise(self) -> HistoryPromise | None:
        """To people of a history, from whose records the score or the features come; None: nobody."""
        if self.score is not None:
            return self.score.promise
        return None if self.ranges is None else self.ranges.history

    @property
    def count(self) -> int:
        """Number of cells, ``K``."""
        return self.space.count

    def of_records(self, records: Any) -> Tensor:
        """Cell of each record.

        Args:
            records: ``n x d`` raw records: tensor, array, or data frame.

        Returns:
            ``n`` numbers in 0..K-1, int64. For the curator's eyes only.

        Raises:
            ValueError: If a value is missing, the width is wrong, or a record is in no cell or in
                several: the message says its row, and nothing of its values.
        """
        return self.number_rows(self.check(records))

    def check(self, records: Any, *, minimum_rows: int = 1) -> Tensor:
        """Return a table as a finite ``n x d`` float64 tensor, or refuse it, as `PublicScaling` does."""
        table = checked_records(records, self.features, self.names, minimum_rows)
        if self.ranges is not None:
            self.ranges.refuse_not_positive(table)
        return table

    def scale_rows(self, table: Tensor) -> Tensor:
        """Cells of a validated table as the ``n x 1`` numbers that `CellResponse` takes, int16."""
        return self.number_rows(table, CELL_NUMBER).unsqueeze(-1)

    def number_rows(self, table: Tensor, dtype: torch.dtype = torch.int64) -> Tensor:
        """Cells of a validated ``n x d`` table; see `of_records`."""
        numbers = torch.empty(len(table), dtype=dtype)
        for start in range(0, len(table), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            numbers[rows] = torch.from_numpy(self._numbered(table[rows].numpy(), start))
        return numbers

    def clipped(self, records: Any) -> Tensor:
        """Say which records have a number outside its declared ends, as `PublicScaling` does."""
        table = self.check(records)
        if self.ranges is None:
            return torch.zeros(len(table), dtype=torch.bool)
        return self.ranges.clipped(table)

    def _numbered(self, rows: np.ndarray, start: int) -> np.ndarray:
        total = np.zeros(len(rows), dtype=np.int64)
        for part in self._parts:
            if part.length == 1:  # everybody is in it: the table is finite
                continue
            places = part.assign(rows)
            lost = np.flatnonzero(places < 0)
            if len(lost):
                row = start + int(lost[0])
                raise ValueError(
                    f"records must each be in one cell, but row {row} is in none or in several, by "
                    f"{part.name!r}: correct the record, or the declaration of cells"
                )
            total = total * part.length + places
        return total

    def __repr__(self) -> str:
        grid = " x ".join(str(length) for length in self.space.shape)
        return f"Cells(count={self.count}, grid={grid})"


def _rising(ends: Any, called: str) -> np.ndarray:
    numbers = validate.vector(edges=ends).numpy()
    if len(numbers) < 2:
        raise ValueError(f"edges of {called} must hold at least both ends of its range")
    if not (np.diff(numbers) > 0).all():
        raise ValueError(f"edges of {called} must rise from end to end of its declared range")
    return numbers


def _bins(name: str, column: int, ends: np.ndarray) -> _Part:
    inner = ends[1:-1].copy()

    def assign(rows: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(rows[:, column])
        if len(inner) > _FEW:
            return np.searchsorted(inner, values, side="right")
        places = np.zeros(len(values), dtype=np.int8)
        for end in inner:
            places += values >= end
        return places

    return _Part(name, len(inner) + 1, True, assign)


def _choice(name: str, columns: slice, length: int) -> _Part:
    """A yes/no in one column of 0 and 1, or a category with a column for each value."""

    def assign(rows: np.ndarray) -> np.ndarray:
        codes = rows[:, columns]
        sound = np.isin(codes, (0.0, 1.0)).all(axis=1)
        if codes.shape[1] == 1:
            places = codes[:, 0].astype(np.int64)
        else:
            sound &= codes.sum(axis=1) == 1
            places = codes.argmax(axis=1)
        return np.where(sound, places, -1)

    return _Part(name, length, False, assign)


def _by(function: Callable[[Any], Any], count: int, batched: bool) -> _Assign:
    def assign(rows: np.ndarray) -> np.ndarray:
        table = torch.from_numpy(rows.copy())  # whatever the function does, records stay as they are
        if batched:
            places = _whole_numbers(function, table)
            if places is None or places.shape != (len(rows),):
                raise ValueError(
                    "function must return one whole number for each record, but it failed or returned "
                    "something else; what it said is not shown, since it may hold values of records"
                )
            if _otherwise_alone(function, rows, places) > 1:  # one may lie on an edge, and be rounded
                raise ValueError(
                    "function must number each record by itself, but some have another cell alone than "
                    "among others: then a label would tell of other records as well"
                )
        else:
            places = np.array([_one(function, record) for record in table], dtype=np.int64)
        return np.where((places >= 0) & (places < count), places, -1)

    return assign


def _otherwise_alone(function: Callable[[Any], Any], rows: np.ndarray, places: np.ndarray) -> int:
    """How many records of a few have another cell where no other record is asked for."""
    tried = np.unique(np.linspace(0, len(rows) - 1, _TRIED_ALONE).astype(np.int64))
    alone = [_one(function, torch.from_numpy(rows[row : row + 1].copy())) for row in tried]
    return int((np.array(alone) != places[tried]).sum())


def _one(function: Callable[[Any], Any], record: Tensor) -> int:
    places = _whole_numbers(function, record)
    return -1 if places is None or places.size != 1 else int(places.reshape(-1)[0])


def _whole_numbers(function: Callable[[Any], Any], rows: Tensor) -> np.ndarray | None:
    """What the function returns, where these are whole numbers; None otherwise."""
    try:
        found = np.asarray(function(rows))
        if found.dtype.kind == "b" or found.dtype.kind not in "iuf":
            return found.astype(np.int64) if found.dtype.kind == "b" and found.size == 1 else None
        whole = np.isfinite(found) & (found == np.rint(found)) & (np.abs(found) < 2**53)
        return np.where(whole, found, -1).astype(np.int64)
    except Exception:  # its text may hold values of records
        return None
