"""take_in: store the measurements of a sheet, all or none."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from dataclasses import replace
from typing import NamedTuple

from botorch_private.curator.service.agenda import today
from botorch_private.curator.service.outcomes import Outcomes
from botorch_private.curator.service.question import Question, question_about
from botorch_private.curator.service.schema import FolderFacts
from botorch_private.curator.service.sheet import Refusal, SheetForm, SheetRow, read_sheet
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.taken_row import Fate, keep_row, settle_row
from botorch_private.curator.service.trail import note


class TakenIn(NamedTuple):
    """What became of a sheet.

    Attributes:
        stored: How many values were stored for questions; of a dry run, how many would be.
        corrected: How many corrections were, of values or of what is said about them.
        same: How many were stored before, with the same value.
        empty: How many rows have no value.
        refused: Rows that cannot be stored, in order; if there is any, nothing was stored.
        implausible: Rows that are refused only because their values are not plausible.
        unasked: Rows that are refused only because nobody asks for their records.
        kept: How many values are kept until somebody asks for their records.
        told: How many values were told that nobody had asked for.
    """

    stored: int
    corrected: int
    same: int
    empty: int
    refused: list[Refusal]
    implausible: int
    unasked: int
    kept: int
    told: int


class _UndoneError(Exception):
    """Nothing is to be stored."""


def take_in(store: Store, text: str, form: SheetForm, *, token: int | None, dry: bool) -> TakenIn:
    """Store the measurements of a sheet, in one transaction.

    A dry run does the same, and undoes it: it finds what the real run would.

    Args:
        store: Where.
        text: Of the sheet.
        form: How it is written.
        token: Number of the token of whoever sent it; None: the curator, at the command line.
        dry: Whether to store nothing.

    Raises:
        ValueError: If the sheet cannot be read as a whole.
        StorageError: If the disk refuses; nothing was stored then.
    """
    facts = store.facts
    sheet = read_sheet(
        text, form, unit=facts.outcome_unit, outcomes=facts.outcomes, today=today(store.clock())
    )
    measured = _with_range(facts.measured, form)
    refused, doubtful, unasked = list(sheet.refused), [], []
    counts = dict.fromkeys(Fate, 0)
    places = store.rows_of(row.identifier for row in sheet.rows)
    # By released rows: modelers see in which order values come, and a sheet's may be the table's.
    in_order = sorted(
        zip(sheet.rows, places, strict=True), key=lambda each: -1 if each[1] is None else each[1]
    )

    def store_all(connection: sqlite3.Connection) -> list[Question]:
        seen: dict[int, int] = {}
        changed = []
        for row, place in in_order:
            if place is None:
                refused.append(Refusal(row.row, _no_record(facts)))
                continue
            if (first := seen.setdefault(place, row.row)) != row.row:
                refused.append(Refusal(row.row, f"it is about the same record as row {first}"))
                continue
            query = question_about(connection, place)
            if query is not None:
                taken = settle_row(store, connection, query, row, token)
            elif form.unasked == "refuse":
                unasked.append(Refusal(row.row, "nobody asks for this record"))
                continue
            else:
                tell = form.unasked == "tell"
                taken = keep_row(store, connection, place, row, token, tell=tell)
            if isinstance(taken, Refusal):
                refused.append(taken)
                continue
            counts[taken.fate] += 1
            if taken.fate != Fate.SAME and not form.accepted and (doubts := _doubts(measured, row)):
                doubtful.append(Refusal(row.row, doubts))
            if taken.changed is not None:
                changed.append(taken.changed)
        if dry or refused or doubtful or unasked:
            raise _UndoneError
        return changed

    with contextlib.suppress(_UndoneError):
        store.submit(store_all).result()
    everything = sorted(refused + doubtful + unasked)
    if everything and not dry:
        data = {"why": "sheet", "place": "sheet", "rows": len(everything)}
        store.submit(
            lambda connection: note(connection, store.clock(), "refused", token=token, data=data)
        ).result()
    return TakenIn(
        **counts,
        empty=sheet.empty,
        refused=everything,
        implausible=len(doubtful),
        unasked=len(unasked),
    )


def _no_record(facts: FolderFacts) -> str:
    """Why an identifier leads nowhere; of a release in parts only those asked for are known."""
    asked = "" if facts.parts is None else " that was asked for"
    return f"no record{asked} has this identifier"


def _with_range(measured: Outcomes, form: SheetForm) -> Outcomes:
    """What is measured, with the plausible range that is declared for one sheet."""
    if form.low is None and form.high is None:
        return measured
    (one,) = measured.each  # a sheet of several outcomes declares none
    low, high = one.plausible or (-math.inf, math.inf)
    ends = (low if form.low is None else form.low, high if form.high is None else form.high)
    return replace(measured, each=(replace(one, plausible=ends),))


def _doubts(measured: Outcomes, row: SheetRow) -> str:
    """What is said of a value outside of a plausible range; empty where it is plausible."""
    names = measured.implausible(row.value)
    if not names:
        return ""
    which = f"value of {', '.join(names)}" if measured.several else "value"
    return f"its {which} is outside the plausible range: look again, and say so if it is right"
