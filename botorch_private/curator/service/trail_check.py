"""check_trail: whether a trail is the one that was written, and at which event it is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from botorch_private.curator.service.question import Question, State
from botorch_private.curator.service.reading import Reading
from botorch_private.curator.service.trail import data_of, event_of, next_hash

_BROKEN = (
    "does not follow from the one before it: it was changed, or the one before it was changed, removed "
    "or moved, or it was put in"
)
_OF_EVENTS = ("row", "before", "from")  # what an event says beside what is stored
_SETTLING = ("asked", "known", "measured", "corrected", "withdrawn")


@dataclass(frozen=True)
class Checked:
    """What was found.

    Args:
        count: How many events follow from one another, from the first one on.
        last: Hash of the last of these; of no event, the SHA-256 of the release.
        older: How many were written before there were hashes: what changed them before then does not
            show.
        problem: What is wrong, in words; empty: nothing.
        kept: Number of the event whose hash was kept elsewhere; None: none was, or no event has it.
    """

    count: int
    last: str
    older: int
    problem: str
    kept: int | None


def check_trail(
    identity: str, events: Iterable[tuple[dict[str, Any], Any]], kept: str | None = None
) -> Checked:
    """Follow a trail until it breaks.

    Args:
        identity: SHA-256 of the release.
        events: Each with its hash, in order.
        kept: A hash of the trail that was kept elsewhere: some event must have it; None: none was.
    """
    count, last, older, problem, place = 0, identity, 0, "", None
    for event, hashed in events:
        if event.get("id") != count + 1:
            problem = _gap(count, event.get("id"))
            break
        expected = _next(last, event)
        if expected is None or hashed != expected:
            problem = f"event {count + 1} {_BROKEN}"
            break
        count, last = count + 1, expected
        if event.get("kind") == "chained":
            older = count - 1
        if kept == last:
            place = count
    if not problem and kept is not None and place is None:
        problem = (
            "no event has the hash that was kept: the trail was made anew before that event, or cut off"
        )
    return Checked(count, last, older, problem, place)


def _next(last: str, event: dict[str, Any]) -> str | None:
    try:
        return next_hash(last, event)
    except (ValueError, RecursionError):  # nobody here wrote that
        return None


def _gap(count: int, found: Any) -> str:
    if isinstance(found, int) and found > count + 1:
        return (
            f"events {count + 1} to {found - 1} are missing, or event {found} stands in the wrong place"
        )
    return f"after event {count} stands one with another number: events were moved, put in or removed"


def require_chain(reading: Reading) -> None:
    """Refuse a folder whose events have no hashes.

    Raises:
        ValueError: If it has none, since it is of an earlier version and was only read so far.
    """
    if not reading.has_chain():
        raise ValueError(
            "events must have hashes, but an earlier version wrote them: they get them when the folder "
            "is opened by a command that writes, such as 'serve'"
        )


def check_database(reading: Reading, kept: str | None = None) -> Checked:
    """Check the trail of a database, and that questions and values are those that it tells of.

    Raises:
        ValueError: If the folder is of a version whose events have no hashes.
    """
    require_chain(reading)
    events = reading.events()
    stored = ((event_of(each), each["hash"]) for each in events)
    checked = check_trail(reading.first_identity(), stored, kept)
    if checked.problem:
        return checked
    if reading.events_written() != checked.count:
        problem = f"events after event {checked.count} were removed"
    else:
        problem = _other_than_told(reading, events)
    return replace(checked, problem=problem)


def _other_than_told(reading: Reading, events: Iterable[Any]) -> str:
    """Which question is not as the trail tells; empty: none. What has no data is older than that."""
    told: dict[int, tuple[str, Any]] = {}
    rows: dict[int, int] = {}
    known: dict[int, Any] = {}
    for event in events:
        number, data = event["query"], data_of(event)
        if event["kind"] == "asked" and data is not None:
            rows[number] = data["row"]
        if event["kind"] == "known" and number is None and data is not None:
            known[data["row"]] = data
        if event["kind"] in _SETTLING and number is not None:
            told[number] = (event["kind"], data)
    questions = {query.id: query for query in reading.queries()}
    for number in sorted(told.keys() | questions.keys()):
        query = questions.get(number)
        if query is None:
            return f"query {number} was removed, which the events tell of"
        if number not in told:
            return f"query {number} was put in, which no event tells of"
        if rows.get(number, query.row) != query.row or not _is_as_told(query, *told[number]):
            return f"query {number} is not as the events tell: it was changed"
    now = reading.known()
    for row, data in known.items():
        if now.get(row) != {name: data[name] for name in data if name not in _OF_EVENTS}:
            return f"the outcome that is known of row {row} is not as the events tell: it was changed"
    return ""


def _is_as_told(query: Question, kind: str, data: Any) -> bool:
    measured = query.state == State.MEASURED
    if kind == "withdrawn":
        return query.state == State.WITHDRAWN
    if data is None:  # an event that is older than its data
        return measured if kind != "asked" else True
    if "value" not in data:
        return not measured and query.state != State.WITHDRAWN
    now = {"value": query.outcome, "answer": query.answer, **query.circumstances.named()}
    return measured and now == {name: data[name] for name in data if name not in _OF_EVENTS}
