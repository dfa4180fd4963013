"""Worklist: open questions as a sheet to fill in, which `take_in` takes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from botorch_private.curator.service.agenda import Item
from botorch_private.curator.service.sheet_columns import ARRANGED, harmless, headings
from botorch_private.curator.service.store import Store


def worklist_csv(store: Store, items: Iterable[Item]) -> str:
    """CSV with a row for each question, and empty columns for what is measured.

    It holds identifiers: for the curator's staff alone.
    """
    facts = store.facts
    if facts.outcomes:
        to_fill_in = {each[-1]: "" for each in headings(facts.outcomes)}
    else:
        to_fill_in = {"value": "", "unit": facts.outcome_unit}
    to_fill_in |= {"date": "", "instrument": "", "comment": ""}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("question", "identifier", *ARRANGED[1:], *map(harmless, to_fill_in)))
    names = {token.id: token.name for token in store.tokens.all()}
    for query, identifier, arranged in items:
        known = [
            identifier,
            query.asked[:10],
            arranged.due,
            names.get(arranged.taken_by or 0),
            arranged.note,
        ]
        writer.writerow((query.id, *map(harmless, (*known, *to_fill_in.values()))))
    return text.getvalue()
