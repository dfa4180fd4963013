"""Store: every question and answer, on the disk before anybody is told of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

from botorch_private.curator.service.agenda import Agenda
from botorch_private.curator.service.changes import Changes
from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.drafts import Drafts
from botorch_private.curator.service.known import KnownOutcomes
from botorch_private.curator.service.queue_counts import QueueCounts
from botorch_private.curator.service.reading import Reading
from botorch_private.curator.service.schema import migrate, read_facts
from botorch_private.curator.service.sheets import Sheets
from botorch_private.curator.service.tokens import Tokens
from botorch_private.curator.service.writer import Writer, connect, open_plainly


class Store(KnownOutcomes):
    """Questions and answers of one release, in SQLite: how they are read, beside how they change.

    Changes go through one writer. Reading goes beside it.

    Args:
        path: The database that `make_folder` made.
        clock: Replaces the clock, for tests.
        alone: See `migrate`.

    Attributes:
        facts: What was settled when the folder was made.
        tokens: Who may do what.
        drafts: What staff typed and did not confirm.
        counts: How many questions wait.
        was_restored: What `restored` said when the database was opened.
        grew_from: What `earlier_releases` said then.
        agenda: The open questions, by page.
        sheets: Sheets that staff sent and did not confirm.
        in_place: Looks whether the files are still those that were opened.

    Raises:
        ValueError: If it is not such a database, or of another version.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[str | None], Clock] = Clock,
        alone: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        # Another program's file is refused before anything is written to it.
        with closing(open_plainly(path, "rw")) as connection:
            read_facts(connection)
        reader = connect(path)
        try:
            migrate(reader, alone)
            Reading.__init__(self, reader)
            latest = self.latest_time()
            writer = Writer(path)
        except BaseException:
            reader.close()
            raise
        Changes.__init__(self, self.facts, clock(latest), writer)
        self.in_place = writer.in_place
        self.tokens = Tokens(self._all, writer, self.clock)
        self.drafts = Drafts(self._all, writer, self.clock)
        self.was_restored = self.restored()
        self.grew_from = self.earlier_releases()
        self.counts = QueueCounts(self._one, self._all, by_program=":" in self.facts.objective)
        self.agenda = Agenda(self._all, writer, self.clock)
        self.sheets = Sheets(self._all, writer, self.clock)

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()
        self._writer.end(self._reader)
