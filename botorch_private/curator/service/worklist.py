"""Worklist: open questions as a sheet to fill in, which `take_in` takes."""

from __future__ import annotations

from collections.abc import Iterable

from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.service.agenda import Item
from botorch_private.curator.service.sheet_columns import ARRANGED, headings
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.written_sheet import written_sheet


def worklist_csv(store: Store, items: Iterable[Item], dialect: Dialect = PLAIN) -> str:
    """CSV with a row for each question, and empty columns for what is measured.

    It holds identifiers: for the curator's staff alone.
    """
    facts = store.facts
    if facts.outcomes:
        to_fill_in = {each[-1]: "" for each in headings(facts.outcomes)}
    else:
        to_fill_in = {"value": "", "unit": facts.outcome_unit}
    to_fill_in |= {"date": "", "instrument": "", "comment": ""}
    names = {token.id: token.name for token in store.tokens.all()}
    rows: list[tuple[int | str | None, ...]] = [("question", "identifier", *ARRANGED[1:], *to_fill_in)]
    for query, identifier, arranged in items:
        by = names.get(arranged.taken_by or 0)
        known = (query.id, identifier, query.asked[:10], arranged.due, by, arranged.note)
        rows.append((*known, *to_fill_in.values()))
    return written_sheet(rows, dialect)
