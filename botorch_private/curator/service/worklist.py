"""Worklist: open questions as a sheet to fill in, which `take_in` takes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from botorch_private.curator.service.agenda import Item
from botorch_private.curator.service.sheet import harmless
from botorch_private.curator.service.store import Store

_COLUMNS = (
    "question",
    "identifier",
    "asked",
    "due",
    "taken by",
    "note",
    "value",
    "unit",
    "date",
    "instrument",
    "comment",
)


def worklist_csv(store: Store, items: Iterable[Item]) -> str:
    """CSV with a row for each question, and empty columns for what is measured.

    It holds identifiers: for the curator's staff alone.
    """
    store.facts.measured.require_one()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    names = {token.id: token.name for token in store.tokens.all()}
    for query, identifier, arranged in items:
        known = [
            identifier,
            query.asked[:10],
            arranged.due,
            names.get(arranged.taken_by or 0),
            arranged.note,
        ]
        cells = [query.id, *map(harmless, known), "", harmless(store.facts.outcome_unit), "", "", ""]
        writer.writerow(cells)
    return text.getvalue()
