"""The tables of a curator's database, and its plain facts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from botorch_private._base.foreign import or_refuse
from botorch_private.curator.service.outcomes import OutcomeFacts, Outcomes, outcome_facts_from
from botorch_private.curator.service.parts.facts import PartsFacts, parts_facts_from
from botorch_private.curator.service.trail import begin_chain
from botorch_private.exchange.goals import Maximize, goal_from_dict

SCHEMA_VERSION = 3
FOREIGN = "it is not a curator's database, or damaged"

SCHEMA = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE record (
    row INTEGER PRIMARY KEY,            -- released row; in parts, of those that were asked
    record INTEGER NOT NULL UNIQUE,     -- its record, in the order of the table
    identifier TEXT NOT NULL,           -- what staff call it
    outcome REAL,                       -- where outcomes are known already
    noise INTEGER                       -- of its answer, in grid steps; NULL: no noise
);
CREATE TABLE query (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL REFERENCES record (row),
    state TEXT NOT NULL CHECK (state IN ('pending', 'measuring', 'failed', 'measured', 'withdrawn')),
    answer REAL,
    outcome REAL,
    revision INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    asked TEXT NOT NULL,
    settled TEXT,
    told INTEGER NOT NULL DEFAULT 0,
    CHECK ((state = 'measured') = (answer IS NOT NULL))
);
CREATE UNIQUE INDEX one_query_a_row ON query (row) WHERE state <> 'withdrawn';
CREATE INDEX query_state ON query (state);
CREATE TABLE idempotency (
    key TEXT NOT NULL,
    token INTEGER NOT NULL REFERENCES token (id),
    row INTEGER NOT NULL,
    query INTEGER NOT NULL REFERENCES query (id),
    PRIMARY KEY (token, key)
) WITHOUT ROWID;
CREATE TABLE token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,          -- SHA-256 of the token, which is shown once
    role TEXT NOT NULL CHECK (role IN ('modeler', 'staff')),
    name TEXT NOT NULL,
    made TEXT NOT NULL,
    expires TEXT,
    revoked TEXT
);
CREATE TABLE event (                    -- what happened, never changed
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    token INTEGER REFERENCES token (id),
    kind TEXT NOT NULL,
    query INTEGER REFERENCES query (id),
    detail TEXT
);
"""
_TABLES = re.findall(r"^CREATE TABLE (\w+)", SCHEMA, re.MULTILINE)

# Folders that were made before these were thought of get them when they are opened. Code of then reads
# such a folder as before.
ADDED = """
CREATE TABLE IF NOT EXISTS draft (      -- typed by staff, and neither stored nor thrown away yet
    token INTEGER NOT NULL REFERENCES token (id),
    kind TEXT NOT NULL CHECK (kind IN ('value', 'correction')),
    query INTEGER NOT NULL REFERENCES query (id),
    value TEXT NOT NULL,
    reason TEXT NOT NULL,
    time TEXT NOT NULL,
    PRIMARY KEY (token, kind, query)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS health (     -- one row, written to see whether anything can be
    id INTEGER PRIMARY KEY CHECK (id = 1),
    time TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS session (    -- who is logged in to the console
    hash BLOB PRIMARY KEY,              -- SHA-256 of the cookie
    token INTEGER NOT NULL REFERENCES token (id),
    began REAL NOT NULL,                -- seconds since 1970
    seen REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS known_said ( -- of an outcome that is known, as a sheet says it
    row INTEGER PRIMARY KEY REFERENCES record (row),
    measured_on TEXT,
    instrument TEXT,
    comment TEXT
);
"""

_IS_OPEN = "state IN ('pending', 'measuring', 'failed')"
# What turns a folder of the version before into one of this version. An index of open questions is as
# long as the queue, however many were settled. Its last columns let counts read nothing else.
MIGRATIONS = {
    2: f"""
ALTER TABLE query ADD COLUMN label TEXT;        -- its record's identifier, to find it by
ALTER TABLE query ADD COLUMN due TEXT;          -- day, YYYY-MM-DD
ALTER TABLE query ADD COLUMN note TEXT;         -- of staff, for staff
ALTER TABLE query ADD COLUMN taken_by INTEGER REFERENCES token (id);
ALTER TABLE query ADD COLUMN taken_until TEXT;  -- free again from then on
ALTER TABLE query ADD COLUMN measured_on TEXT;  -- day, as a sheet says it
ALTER TABLE query ADD COLUMN comment TEXT;      -- on the measurement, as a sheet says it
UPDATE query SET label = (SELECT identifier FROM record WHERE record.row = query.row);
CREATE INDEX open_in_turn ON query (state <> 'failed', id, state) WHERE {_IS_OPEN};
CREATE INDEX open_by_label ON query (label COLLATE NOCASE, id, label, state)
    WHERE {_IS_OPEN};
CREATE INDEX open_and_due ON query (due, id, state) WHERE {_IS_OPEN} AND due IS NOT NULL;
CREATE INDEX open_and_taken ON query (taken_by, id, taken_until, state)
    WHERE {_IS_OPEN} AND taken_by IS NOT NULL;
CREATE INDEX measured_last ON query (settled, id, state) WHERE state = 'measured';
CREATE INDEX withdrawn ON query (id, state) WHERE state = 'withdrawn';
CREATE INDEX keys_of_query ON idempotency (query, token);
CREATE INDEX record_identifier ON record (identifier);
CREATE TABLE sheet (                    -- sent by staff, and neither stored nor thrown away yet
    token INTEGER PRIMARY KEY REFERENCES token (id),
    content TEXT NOT NULL,
    form TEXT NOT NULL,                 -- how it is written, as JSON
    time TEXT NOT NULL
);
""",
    3: """
ALTER TABLE query ADD COLUMN instrument TEXT;   -- that measured it, as staff say it
ALTER TABLE draft ADD COLUMN day TEXT NOT NULL DEFAULT '';
ALTER TABLE draft ADD COLUMN instrument TEXT NOT NULL DEFAULT '';
ALTER TABLE draft ADD COLUMN comment TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN data TEXT;         -- JSON, see `trail`
ALTER TABLE event ADD COLUMN hash TEXT;         -- over the event before and this one
""",
}
_AFTERWARDS = {3: begin_chain}


@dataclass(frozen=True)
class FolderFacts:
    """What was settled when the folder was made.

    Args:
        n: Released rows.
        projection_dim: Width of a released row.
        identity: SHA-256 of the release.
        max_queries: Largest number of different records that are measured; None: no limit.
        outcome_name: What is measured.
        outcome_unit: Its unit; may be empty.
        plausible: Smallest and largest value that staff may enter without being asked again; None:
            anything finite.
        outcome_range: Declared range that answers are clipped to; None: answers are not noised.
        outcome_grid: Step of the answers' grid, as a share of that range.
        objective: "person", "column", or "module:function".
        time_limit: Seconds for one call of that function.
        guarantee: What release and answers promise together, as JSON.
        guarantee_words: The same in words.
        goal: What a search is after, as a goal's ``to_dict`` gives it.
        outcomes: Where records have several outcomes, those: each with a unit and ranges of its own,
            and ``outcome_name`` is all their names. Values lie in the database as JSON then. Empty: a
            record has one.
        parts: Of a release in parts, where the table ``record`` has the rows that were asked alone: what
            stands in files beside the database. None: the release is in one piece.
    """

    n: int
    projection_dim: int
    identity: str
    max_queries: int | None
    outcome_name: str
    outcome_unit: str
    plausible: tuple[float, float] | None
    outcome_range: tuple[float, float] | None
    outcome_grid: float | None
    objective: str
    time_limit: float
    guarantee: dict[str, Any]
    guarantee_words: str
    goal: dict[str, Any] = field(default_factory=lambda: Maximize().to_dict())
    outcomes: tuple[OutcomeFacts, ...] = ()
    parts: PartsFacts | None = None

    @property
    def measured(self) -> Outcomes:
        """What is measured: one outcome, or several."""
        one = (self.outcome_name, self.outcome_unit, self.plausible, self.outcome_range)
        each = self.outcomes or (OutcomeFacts(*one, self.outcome_grid),)
        return Outcomes(each, several=bool(self.outcomes))

    @property
    def is_noised(self) -> bool:
        """Whether answers are noised."""
        return any(each.range is not None for each in self.measured.each)


def migrate(
    connection: sqlite3.Connection,
    alone: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> None:
    """Make a database what this version writes: whole, or not at all.

    Args:
        connection: To the database.
        alone: Entered while it changes. It keeps servers of the version before out, or raises.
    """
    connection.executescript(ADDED)
    if _version(connection) != SCHEMA_VERSION:
        with alone():
            _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_version(connection) + 1, SCHEMA_VERSION + 1):  # nobody else was first
            for statement in re.sub("--.*", "", MIGRATIONS[version]).split(";"):
                connection.execute(statement)
            if version in _AFTERWARDS:
                _AFTERWARDS[version](connection)
            connection.execute(
                "INSERT OR REPLACE INTO fact VALUES ('schema_version', ?)", (json.dumps(version),)
            )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT value FROM fact WHERE name = 'schema_version'").fetchone()
    return 1 if found is None else json.loads(found["value"])


def write_facts(connection: sqlite3.Connection, facts: FolderFacts) -> None:
    """Store the facts, once."""
    values = {**asdict(facts), "schema_version": 1}  # see `migrate`
    if not facts.outcomes:  # else a version that knows one outcome alone refuses the folder
        del values["outcomes"]
    if facts.parts is None:
        del values["parts"]
    connection.executemany(
        "INSERT INTO fact VALUES (?, ?)", [(name, json.dumps(value)) for name, value in values.items()]
    )


def write_changed(connection: sqlite3.Connection, before: FolderFacts, now: FolderFacts) -> None:
    """Store facts that are others now."""
    new, old = asdict(now), asdict(before)
    connection.executemany(
        "UPDATE fact SET value = ? WHERE name = ?",
        [(json.dumps(new[name]), name) for name in new if new[name] != old[name]],
    )


def read_facts(connection: sqlite3.Connection) -> FolderFacts:
    """Read the facts of a database, or refuse it.

    Raises:
        ValueError: If it is of another version, or not a curator's database.
    """

    def read() -> tuple[dict[str, Any], set[str]]:
        found = connection.execute("SELECT name, value FROM fact").fetchall()
        there = connection.execute("SELECT name FROM sqlite_master").fetchall()
        return {str(row["name"]): json.loads(row["value"]) for row in found}, {
            row["name"] for row in there
        }

    values, there = or_refuse(read, lambda: ValueError(FOREIGN))
    version = values.pop("schema_version", None)
    if isinstance(version, bool) or version not in range(1, SCHEMA_VERSION + 1):
        if isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA_VERSION:
            raise ValueError(
                f"a newer botorch-private made it or opened it (version {version} of a folder, where "
                f"{SCHEMA_VERSION} is the last that can be read here): upgrade this one, or put the "
                f"folder back from a backup of before"
            )
        raise ValueError(f"its version is unknown, where 1 to {SCHEMA_VERSION} can be read")
    if not there.issuperset(_TABLES):
        raise ValueError(FOREIGN)
    return or_refuse(lambda: _facts(values), lambda: ValueError(FOREIGN))


def _facts(values: dict[str, Any]) -> FolderFacts:
    for name in ("plausible", "outcome_range"):
        if values[name] is not None:
            low, high = values[name]
            values[name] = (low, high)
    values["outcomes"] = tuple(map(outcome_facts_from, values.get("outcomes", ())))
    values["parts"] = parts_facts_from(values.get("parts"))
    facts = FolderFacts(**values)
    goal_from_dict(facts.goal)  # refuses what no goal is
    return facts
