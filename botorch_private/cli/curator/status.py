"""botorch-private curator status: what is asked, measured and left."""

from __future__ import annotations

import argparse
from typing import Any

from botorch_private.cli.curator.folder import add_folder_command, opened_to_read
from botorch_private.cli.documents.output import add_json, put_document
from botorch_private.cli.documents.promise import cells


def add(verbs: Any) -> None:
    """Add the command."""
    status = add_folder_command(
        verbs, "status", _status, "show what is asked, measured and left; nothing of any record"
    )
    add_json(status)


def _status(options: argparse.Namespace) -> int:
    with opened_to_read(options) as store:
        if options.json:
            from botorch_private.cli.documents.status import StatusDocument

            put_document(options, StatusDocument.of(store))
            return 0
        facts, left = store.facts, store.queries_left()
        states = [query.state for query in store.queries()]
        counts = ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states)) or "none"
        print(facts.guarantee_words)
        labels = cells(facts.guarantee)
        held = (
            f"{facts.projection_dim} numbers each" if labels is None else f"one of {labels} labels each"
        )
        print(f"\nReleased rows: {facts.n}, {held}")
        for earlier in store.earlier_releases():
            print(f"Records joined after the first {earlier['rows']} rows")
        print(f"Measured by: {facts.objective}")
        if facts.outcomes:
            names = (f"{each.name} ({each.unit})" if each.unit else each.name for each in facts.outcomes)
            print(f"Outcomes: {', '.join(names)}")
        print(f"Queries: {counts}")
        if known := store.known_waiting():
            print(f"Known, and not asked for yet: {known}")
        if answered := store.known_answered():
            print(f"Answered by what was known before: {answered}")
        print(f"Measurements left: {'no limit' if left is None else f'{left} of {facts.max_queries}'}")
        if last := store.last_hash():
            print(f"Events: {store.events_written()}, hash of the last one: {last}")
        if restored := store.restored():
            print(f"Put back from a backup of {restored[:10]} {restored[11:19]} UTC")
        for query in store.queries(states=("failed",)):
            print(f"Query {query.id} failed; why is in the console, and in 'curator export'")
    return 0
