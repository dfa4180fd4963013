"""What staff typed and nobody stored yet: it waits until a person stores it or throws it away.

What cannot be read as a value is kept by the session, for another try. What waits to be confirmed, or
for the other outcomes of its record, is in the database: neither a restart nor the end of a session
drops it. It is shown to whoever typed it, and to all staff once the token of that person has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from botorch_private.curator.service.console.measured_how import is_change
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.console.shown import in_words
from botorch_private.curator.service.console.typed_outcomes import (
    differ,
    missing,
    typed_numbers,
)
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.store import Store

PLACES = {"value": "questions", "correction": "measured"}


class Typed(NamedTuple):
    """A value that waits to be confirmed, for a page.

    Attributes:
        identifier: Of the record.
        value: With its unit.
        missing: Names of outcomes that are still to be typed.
        who: Name of whoever typed it.
        is_own: Whether that is who reads the page.
        time: When, UTC, ISO 8601.
        corrects: Whether there is a value already.
        place: Address of the question, or of the value that it corrects.
    """

    identifier: str
    value: str
    missing: list[str]
    who: str
    is_own: bool
    time: str
    corrects: bool
    place: str


def typed(store: Store, session: Session, kind: str, number: int) -> Draft | None:
    """What was typed for a question and not stored yet."""
    own = session.draft(kind, number)
    if own is not None or kind not in PLACES:
        return own
    kept = store.drafts.find(kind, number, session.token)
    return None if kept is None else kept.draft


async def keep(
    store: Store, session: Session, kind: str, number: int, draft: Draft, *, waits: bool
) -> None:
    """Keep what was typed; ``waits``: it can be read, and waits to be confirmed or for the rest."""
    session.keep(kind, number, draft)
    kept = store.drafts.find(kind, number, session.token) if waits else None
    if waits and (kept is None or (kept.token, kept.draft) != (session.token, draft)):
        with contextlib.suppress(StorageError):  # the session has it, and storing it will fail as well
            await asyncio.wrap_future(store.drafts.keep(kind, number, session.token, draft))


async def drop(store: Store, session: Session, kind: str, number: int, *, stored: bool) -> None:
    """Forget what was typed: it was stored, or a person threw it away."""
    if store.drafts.find(kind, number, session.token) is not None:
        dropped = store.drafts.drop(kind, number, session.token, stored=stored)
        if stored:
            # The value is on the disk. Where this is refused, `waiting` knows by the value that it is.
            with contextlib.suppress(StorageError):
                await asyncio.wrap_future(dropped)
        else:
            await asyncio.wrap_future(dropped)
    session.drop(kind, number)


def typed_by(store: Store, session: Session, kind: str, number: int) -> str:
    """Whose value a confirmation is about, if it is somebody else's; else empty."""
    kept = store.drafts.find(kind, number, session.token)
    if session.draft(kind, number) is not None or kept is None or kept.token == session.token:
        return ""
    return names_of(store)[kept.token]


def waiting(store: Store, session: Session) -> list[Typed]:
    """The values that wait for this person, oldest first."""
    names, found, measured = names_of(store), [], store.facts.measured
    for kept in store.drafts.all(session.token):
        query, text = store.query(kept.query), kept.draft.value
        numbers = typed_numbers(measured, text)
        # Else it was stored, by whomever.
        if differ(measured, numbers, query.outcome) or (
            kept.kind == "correction" and is_change(store, query, kept.draft)
        ):
            found.append(
                Typed(
                    store.identifier(query.row),
                    in_words(measured, numbers),
                    missing(measured, text),
                    names[kept.token],
                    kept.token == session.token,
                    kept.time,
                    kept.kind == "correction",
                    f"/console/{PLACES[kept.kind]}/{query.id}",
                )
            )
    return found


def names_of(store: Store) -> dict[int, str]:
    """Number of a token -> whose it is."""
    return {token.id: token.name for token in store.tokens.all()}
