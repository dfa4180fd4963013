"""Queries and outcomes as CSV, for the curator's eyes only."""

from __future__ import annotations

import csv
import io

from botorch_private.curator.service.store import Store

COLUMNS = (
    "query",
    "row",
    "identifier",
    "state",
    "outcome",
    "answer",
    "revision",
    "asked",
    "settled",
    "reason",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_csv(store: Store) -> str:
    """Every query with its record's identifier, its outcome, and what the modeler was told.

    Texts that a spreadsheet would take for a formula are preceded by an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for query in store.queries():
        writer.writerow(
            (
                query.id,
                query.row,
                _plain(store.identifier(query.row)),
                query.state,
                query.outcome,
                query.answer,
                query.revision,
                query.asked,
                query.settled,
                _plain(query.reason),
            )
        )
    return text.getvalue()


def _plain(text: str | None) -> str | None:
    return f"'{text}" if text and text.startswith(_FORMULA) else text
