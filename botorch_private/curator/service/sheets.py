"""Sheets: measurements that staff sent in a sheet and have not confirmed, until somebody does."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from typing import NamedTuple

from botorch_private.curator.service.drafts import ENDED
from botorch_private.curator.service.part import Part
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.writer import step

_OWN_OR_LEFT = f"(token = ?1 OR token IN (SELECT id FROM token WHERE {ENDED.replace('?', '?2')}))"


class KeptSheet(NamedTuple):
    """A sheet in the database.

    Attributes:
        token: Number of the token of whoever sent it.
        content: Its text.
        form: How it is written.
        time: When it was sent, UTC, ISO 8601.
    """

    token: int
    content: str
    form: SheetForm
    time: str


class Sheets(Part):
    """The sheets that wait, one for each person. They are the curator's data, as values are.

    Where the token of whoever sent one has ended, it belongs to all staff, as `Drafts` do.
    """

    @step
    def keep(self, connection: sqlite3.Connection, token: int, content: str, form: SheetForm) -> None:
        """Keep a sheet, in the place of what the same person sent before."""
        connection.execute(
            "INSERT OR REPLACE INTO sheet VALUES (?, ?, ?, ?)",
            (token, content, json.dumps(asdict(form)), self._clock()),
        )

    @step
    def drop(self, connection: sqlite3.Connection, token: int) -> None:
        """Forget a sheet, by the token of whoever sent it: it was stored, or thrown away."""
        connection.execute("DELETE FROM sheet WHERE token = ?", (token,))

    def find(self, token: int) -> KeptSheet | None:
        """What this person sent; else what somebody sent whose token has ended."""
        found = self._read(
            f"SELECT * FROM sheet WHERE {_OWN_OR_LEFT} ORDER BY token = ?1 DESC, time LIMIT 1",
            token,
            self._clock(),
        )
        if not found:
            return None
        form = SheetForm(**json.loads(found[0]["form"]))
        return KeptSheet(found[0]["token"], found[0]["content"], form, found[0]["time"])
