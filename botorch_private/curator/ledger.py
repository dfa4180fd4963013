"""Ledger: what has been spent on which records, and whether one more release is within the budget."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from botorch_private._base import validate
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import require_folder, write_whole
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_up
from botorch_private.privacy.spending import compose, least_delta, total, total_delta

FORMAT = FileFormat(
    "botorch-private ledger",
    2,  # with labels or l2 noise; it reads the first as well
    "a ledger",
    "restore it rather than starting anew, since what was spent is known from it alone",
    digest=False,
)
FIRST_FORMAT = replace(FORMAT, version=1)  # written where its programs can read what is in it


class BudgetError(RuntimeError):
    """What was asked for exceeds what the curator has agreed to spend."""


@dataclass(frozen=True)
class Entry:
    """One thing that was spent.

    Args:
        guarantee: What it promises.
        start: First of the records that it is about, in the order in which they joined the table.
        stop: The record after the last one.
        time: When it was entered, UTC, ISO 8601.
    """

    guarantee: PrivacyGuarantee
    start: int
    stop: int
    time: str


class Ledger:
    """Everything that was released or promised about the records of one table.

    Entries about the same record compose (`compose`). Entries about different records do not: a change
    of one record changes only what is about it (parallel composition, McSherry 2009, Theorem 4), so a
    record that joined the table later is charged for what came after.

    Releases of different columns of the table, or by different ranges, share its ledger: their epsilons
    add up, at distances in the units of each release (`compose`). The budget is for that total.

    A ledger holds public facts alone: guarantees, counts and times, no record. Keep one for each table,
    and hand it to everything that releases it. With a file, entries survive the process, and several
    processes see each other's: an entry is on the disk before anything is drawn.

    Args:
        budget: Largest total on any record, for example ``PrivacyGuarantee.budget(epsilon=6.0)``: its
            epsilon at one unit and its delta count. None: no limit.
        path: JSON file to keep it in, made at once where there is a budget, else at the first entry.
            None: in memory.

    Raises:
        ValueError: If the file is not a ledger, or has another budget.

    Example:
        >>> ledger = Ledger(PrivacyGuarantee.budget(epsilon=6.0))
        >>> curator = Curator(records, scaling, NoisyProjection(3.0), outcomes, ledger=ledger)
        >>> round(ledger.total.epsilon, 3)
        3.0
    """

    def __init__(
        self,
        budget: PrivacyGuarantee | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        if budget is not None and not isinstance(budget, PrivacyGuarantee):
            raise TypeError(
                f"privacy_budget must be a PrivacyGuarantee, such as "
                f"PrivacyGuarantee.budget(epsilon=6.0), got {type(budget).__name__}"
            )
        self.budget = budget
        self.path = None if path is None else Path(path).resolve()  # one file, one lock, however named
        self._entries: list[Entry] = []
        self._lock = threading.RLock()
        if self.path is not None:
            require_folder(self.path)
            with self._exclusive():  # reads it, and refuses what is no ledger
                if self.budget is not None and not self.path.exists():
                    self._write([])  # whoever opens it next is bound by the budget

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was spent, in order."""
        with self._exclusive():
            return tuple(self._entries)

    @property
    def records(self) -> int:
        """How many records something was ever spent on."""
        return max((entry.stop for entry in self.entries), default=0)

    @property
    def totals(self) -> list[PrivacyGuarantee]:
        """What was spent on the records, once for each different history, at one delta.

        What does not hold comes first, then the largest epsilon at one unit.
        """
        histories = _histories(self.entries)
        shared = max(map(total_delta, histories), default=0.0)
        return sorted(
            (total(history, delta=shared) for history in histories),
            key=lambda spent: (spent.holds, -spent.epsilon),
        )

    @property
    def total(self) -> PrivacyGuarantee | None:
        """The most that was spent on a record at one unit; None where nothing was."""
        return next(iter(self.totals), None)

    def spend(
        self,
        *guarantees: PrivacyGuarantee,
        start: int,
        stop: int,
        everybody: bool = False,
        time: str | None = None,
    ) -> None:
        """Enter what is about to be released about the records ``start`` ... ``stop - 1``.

        Call it before anything is drawn. Where the process dies in between, too much is charged, never
        too little.

        Args:
            guarantees: Of all that is about to leave together.
            start: First record, in the order in which they joined the table: 0, `records`, or where
                records joined before, which are then charged again up to the last one.
            stop: The record after the last one.
            everybody: Whether these records may be of people who have records before ``start``: all of
                those are charged as well then, since nobody can say which.
            time: What to write as the time, UTC, ISO 8601; None: now. Who notes it before finds the
                entry again.

        Raises:
            BudgetError: If the total of any of the records would exceed the budget, or a guarantee does
                not hold while there is a budget; nothing is entered then.
            ValueError: If the ledger is of another table, by its number of records.
        """
        with self._exclusive():
            entries = self._after(guarantees, start, stop, everybody, time)
            self._write(entries)
            self._entries = entries

    def require(
        self, *guarantees: PrivacyGuarantee, start: int, stop: int, everybody: bool = False
    ) -> None:
        """Refuse what `spend` would refuse, and enter nothing; for a look before somebody is asked.

        Args and errors are those of `spend`. What others enter meanwhile counts when it is spent.
        """
        with self._exclusive():
            self._after(guarantees, start, stop, everybody)

    def _after(
        self,
        guarantees: tuple[PrivacyGuarantee, ...],
        start: int,
        stop: int,
        everybody: bool = False,
        time: str | None = None,
    ) -> list[Entry]:
        """All entries with the new ones, or a refusal."""
        validate.count(minimum=0, start=start)
        validate.count(minimum=start + 1, stop=stop)
        now = time or datetime.now(UTC).isoformat(timespec="seconds")
        self._refuse_other_table(start, stop)
        start = 0 if everybody else start
        new = [Entry(guarantee, start, stop, now) for guarantee in guarantees]
        entries = [*self._entries, *new]
        for history in _histories(entries, start, stop):
            self._refuse_excess(history, len(new))
        return entries

    def copy(self, path: Path) -> None:
        """Write what was entered so far to another file."""
        with self._exclusive():
            write_whole(path, self._content(self._entries))

    def __repr__(self) -> str:
        spent = self.total
        epsilon = "0" if spent is None else round_up(spent.epsilon)
        limit = "" if self.budget is None else f" of {self.budget.epsilon:g}"
        return f"Ledger(entries={len(self.entries)}, records={self.records}, epsilon={epsilon}{limit})"

    def _refuse_other_table(self, start: int, stop: int) -> None:
        known = max((entry.stop for entry in self._entries), default=0)
        # Records that joined are released again where another release of the table grows by them too, or
        # where they were charged and a process died before they were released.
        again = stop == known and start in {entry.start for entry in self._entries}
        if (start, stop) != (0, known) and start != known and not again:
            raise ValueError(
                f"ledger must be of this table, got one of {known} records for {stop}: keep one ledger "
                f"for each table"
            )

    def _refuse_excess(self, history: list[PrivacyGuarantee], new: int) -> None:
        after = total(history)
        if self.budget is None:
            return
        for guarantee in history:
            if not guarantee.holds:
                raise BudgetError(
                    f"nothing is released under a privacy budget without a guarantee that holds, but "
                    f"that of {guarantee.mechanism} does not: {'; '.join(guarantee.reasons)}"
                )
        floating_point = sum(part.delta_fp for part in after.parts or (after,))
        delta = max(self.budget.delta, floating_point)
        least = least_delta(after.parts or (after,))
        epsilon = compose(history, delta=delta).epsilon if least <= delta else math.inf
        if math.isinf(epsilon):
            raise BudgetError(_needs_delta(self.budget, after, again=len(history) > new))
        if not epsilon <= self.budget.epsilon:
            before = history[:-new]
            spent = compose(before, delta=delta).epsilon if before else 0.0
            raise BudgetError(
                f"the privacy budget is epsilon {self.budget.epsilon:g} at one unit and delta "
                f"{self.budget.delta:g}; of that {round_up(spent) if before else 0} is spent, and with "
                f"this epsilon would be {round_up(epsilon)}: serve what was released already, which "
                f"costs nothing, or agree to a larger budget"
            )

    # --- the file ---

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the ledger against other threads and processes, and see their entries."""
        with self._lock:
            if self.path is None:
                yield
                return
            with FileLock(f"{self.path}.lock"):
                if self.path.exists():
                    self._entries = self._read()
                elif self._entries:
                    raise ValueError(
                        f"path must be the file that the ledger was kept in, but {self.path} is gone: "
                        f"restore it, since what was spent is known from it alone"
                    )
                yield

    def _read(self) -> list[Entry]:
        assert self.path is not None
        content = FORMAT.loads(self.path.read_bytes(), self.path)
        try:
            budget = _guarantee(content["budget"])
            entries = [
                Entry(PrivacyGuarantee.from_json(json.dumps(each.pop("guarantee"))), **each)
                for each in content["entries"]
            ]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FORMAT.refusal(self.path, "is damaged") from None
        if self.budget is None:
            self.budget = budget
        elif budget != self.budget:
            agreed = "none" if budget is None else f"epsilon {budget.epsilon:g}, delta {budget.delta:g}"
            raise ValueError(
                f"budget must be the one that {self.path} was begun with, {agreed}, got epsilon "
                f"{self.budget.epsilon:g}, delta {self.budget.delta:g}"
            )
        return entries

    def _write(self, entries: list[Entry]) -> None:
        if self.path is not None:
            write_whole(self.path, self._content(entries))

    def _content(self, entries: list[Entry]) -> bytes:
        content = {
            "budget": None if self.budget is None else json.loads(self.budget.to_json()),
            "entries": [
                {
                    "time": entry.time,
                    "start": entry.start,
                    "stop": entry.stop,
                    "guarantee": json.loads(entry.guarantee.to_json()),
                }
                for entry in entries
            ],
        }
        known = all(entry.guarantee.known_at_first for entry in entries)
        return (FIRST_FORMAT if known else FORMAT).dumps(content, indent=1)


def _needs_delta(budget: PrivacyGuarantee, asked: PrivacyGuarantee, *, again: bool) -> str:
    """What to say where no epsilon at all is enough, as for Gaussian noise at a delta of 0."""
    agreed = f"a delta of {budget.delta:g} only" if budget.delta else "no delta"
    kinds = asked.kinds
    delta = round_up(asked.delta, 2)
    what = (
        "Gaussian noise" if "gaussian" in kinds else "l2 noise" if "l2" in kinds else "what is asked for"
    )
    what += ", with what was released before," if again else ""
    return (
        f"the privacy budget has {agreed}, and {what} needs {delta}: agree to a budget "
        f"with a delta, such as PrivacyGuarantee.budget({budget.epsilon:g}, delta={delta}), "
        f"or release with noise='laplace'"
    )


def _guarantee(value: Any) -> PrivacyGuarantee | None:
    return None if value is None else PrivacyGuarantee.from_json(json.dumps(value))


def _histories(
    entries: tuple[Entry, ...] | list[Entry], start: int = 0, stop: int | None = None
) -> list[list[PrivacyGuarantee]]:
    """What was spent on each of the records, once for each different history."""
    ends = sorted({end for entry in entries for end in (entry.start, entry.stop)})
    found: dict[tuple[PrivacyGuarantee, ...], list[PrivacyGuarantee]] = {}
    for record in reversed(ends[:-1]):  # of equal histories, the latest stands for all
        history = [entry.guarantee for entry in entries if entry.start <= record < entry.stop]
        inside = record >= start and (stop is None or record < stop)
        if history and inside:
            found.setdefault(tuple(map(_cost, history)), history)
    return list(found.values())


def _cost(guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
    """A guarantee without what does not bear on its cost: how large the table was, and notes."""
    return replace(guarantee, records=None, assumptions=())
