"""What may change in a curator's database: each method is one step inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from botorch_private.curator.service.asking import Asking
from botorch_private.curator.service.attempts import Attempts
from botorch_private.curator.service.schema import FolderFacts, write_changed
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import step


class Changes(Asking, Attempts):
    """Steps in which no value is lost, measured twice, or answered differently.

    Each returns a future, which is done once the change is on the disk; what a step raises comes through
    it. A step about a number that no query has raises ``no_query``.
    """

    @step
    def grow(
        self, connection: sqlite3.Connection, facts: FolderFacts, records: Sequence[tuple[Any, ...]]
    ) -> None:
        """Let records join: their rows of the database, and what the folder's release is from now on.

        Args:
            connection: Inside a transaction.
            facts: Of the longer release.
            records: Rows of the table ``record``, all beyond those that are there.
        """
        connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", records)
        write_changed(connection, self.facts, facts)
        before = f"{self.facts.identity} {self.facts.n} rows before, {facts.n} now"
        if facts.max_queries != self.facts.max_queries:
            before += f"; {self.facts.max_queries} measurements before, {facts.max_queries} now"
        note(connection, self.clock(), "grown", detail=before)
