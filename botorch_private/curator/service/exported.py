"""Exported: every question with its outcome and its answer, as CSV for the curator alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.service.question import Outcome
from botorch_private.curator.service.reading import Reading
from botorch_private.curator.service.written_sheet import written_sheet

_COLUMNS = ("state", "outcome", "answer", "revision", "asked", "settled")


def export_csv(store: Reading, dialect: Dialect = PLAIN) -> str:
    """Every question with its record's identifier, its outcome, and what the modeler was told.

    Texts that a spreadsheet would take for a formula are preceded by an apostrophe.
    """
    names = [each.name for each in store.facts.outcomes]
    heads = [f"{column} {name}" for column in ("outcome", "answer") for name in names]
    heads = [_COLUMNS[0], *heads, *_COLUMNS[3:]] if names else list(_COLUMNS)
    rows: list[Any] = [
        ("question", "row", "identifier", *heads, "reason", "date", "instrument", "comment")
    ]
    for query in store.queries():
        state, outcome, answer, *others = (getattr(query, name) for name in _COLUMNS)
        values = [*_numbers(outcome, names), *_numbers(answer, names)]
        cells = (query.id, query.row, store.identifier(query.row), state, *values, *others)
        rows.append((*cells, query.reason, *query.circumstances))
    return written_sheet(rows, dialect)


def _numbers(value: Outcome | None, names: Sequence[str]) -> list[float | None]:
    """A cell, or one for each name."""
    if isinstance(value, dict):
        return [value[name] for name in names]
    return [value] * max(1, len(names))
