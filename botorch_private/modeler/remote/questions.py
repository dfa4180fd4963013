"""Questions: what is asked of a curator's server, under which numbers, and what it knows of it."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from typing import Any

from botorch_private.modeler.remote.backoff import Backoff
from botorch_private.modeler.remote.shown import PENDING, Shown, read_shown
from botorch_private.modeler.remote.transport import RemoteError, Transport

READS: dict[str, Any] = {"outcomes": "several", "parts": "yes"}  # what this client says that it can read
_PAGE = 1000
_MOST_PAGES = 1000  # beyond those that hold a question for each row
_MOST_LOST = 10  # times that one question is lost: the pauses between are two minutes together
_log = logging.getLogger(__name__)


def earlier_of(facts: dict[str, Any]) -> dict[str, int]:
    """Releases that a server's release grew from, by their SHA-256: their numbers of rows.

    Raises:
        KeyError: If it says so in another way than a curator's server does; also TypeError, ValueError.
    """
    found = facts.get("earlier", [])  # servers of before do not say
    return {str(each["identity"]): int(each["rows"]) for each in found}


class Questions:
    """The open questions of one modeler.

    An answer belongs to a row by the row that the server names beside it, never by the number of the
    question: where the server's folder is restored from a backup, numbers are given anew. A question
    that the server does not know any more, or under whose number it has another row, is asked again
    under its key: after a pause, each longer than the one before, and not for ever. No loop here goes
    without a pause, whatever the server says.

    Args:
        transport: Sends the requests.
        identity: SHA-256 of the release that the rows are of.
        rows: How many rows it has.
        max_queries: Largest number of records that are measured, for a message; None: no limit.
        known_as: SHA-256 of the first release that these rows were in, before records joined: keys of
            questions are made of it.
        names: Of several outcomes; empty: a record has one.

    Attributes:
        numbers: Row -> number of its question, for rows that were asked and have no answer yet.
        withdrawn: Row -> how often its question was withdrawn.
    """

    def __init__(
        self,
        transport: Transport,
        identity: str,
        rows: int,
        max_queries: int | None,
        names: Sequence[str] = (),
        *,
        known_as: str | None = None,
    ) -> None:
        self._transport, self._identity = transport, identity
        self._known_as = known_as or identity
        self._rows, self._max_queries, self._names = rows, max_queries, names
        self._served = rows  # by now: others may ask for rows that joined meanwhile
        self.numbers: dict[int, int] = {}
        self.withdrawn: dict[int, int] = {}
        self._lost: dict[int, Backoff] = {}  # row -> pauses after its question was lost
        self._idle = Backoff()  # pauses where the server answers at once instead of waiting

    def ask(self, row: int) -> int:
        """Ask for a row that is not open yet; returns the number of its question.

        Raises:
            RemoteError: If the server refuses.
        """
        if row not in self.numbers:
            self.numbers[row] = self._ask(row)
        return self.numbers[row]

    def close(self, row: int) -> None:
        """Note that a row has its answer."""
        self.numbers.pop(row, None)
        self._lost.pop(row, None)

    def close_withdrawn(self, row: int) -> None:
        """Note that a row will not be measured; asked for again, it is another question."""
        self.close(row)
        self.withdrawn[row] = self.withdrawn.get(row, 0) + 1

    def facts(self) -> dict[str, Any]:
        """What the server says of its release, which must still be the same, or have grown from it.

        Raises:
            RemoteError: If it is another one.
        """
        facts = self._transport.get("/v1/release", **READS)
        try:
            known = {facts["identity"], *earlier_of(facts)}
        except (KeyError, TypeError, ValueError):
            raise self._transport.no_curator("is not one") from None
        if self._identity not in known:
            raise RemoteError(
                "other_release",
                f"{self._transport.url} serves another release by now: its rows are others, so begin "
                f"again with it",
            )
        return facts

    def wait(self, row: int, seconds: float) -> Shown | None:
        """Let the server wait until an open question is settled; None: it did not know it any more.

        A server that answers at once, though nothing is settled, is not asked again at once.
        """
        number, began = self.numbers[row], time.monotonic()
        try:
            shown = self._read(self._transport.get(f"/v1/queries/{number}", wait=seconds))
        except RemoteError as error:
            if error.code != "no_query":
                raise
            shown = None
        if shown is None or (shown.id, shown.row) != (number, row):
            self.ask_again([row])
            return None
        left = began + seconds - time.monotonic()
        if shown.state != PENDING or left < seconds / 2:
            self._idle.reset()
        else:
            time.sleep(min(self._idle.next(), left))
        return shown

    def look(self) -> tuple[list[Shown], list[int]]:
        """Read all questions that the server knows.

        Returns:
            These, in their order, and the open rows that are not among them under their numbers.
        """
        found: list[Shown] = []
        # All pages before anything is settled: one that fails must not lose an answer.
        for _ in range(self._rows // _PAGE + _MOST_PAGES):
            after = found[-1].id if found else 0
            page = self._transport.get("/v1/queries", after=after, limit=_PAGE).get("queries")
            if not isinstance(page, list):
                raise self._transport.no_curator("does not show its questions")
            for each in page:
                shown = self._read(each)
                if shown.id <= after:
                    raise self._transport.no_curator("shows its questions in no order")
                found.append(shown)
                after = shown.id
            if len(page) < _PAGE:
                known = {(shown.id, shown.row) for shown in found}
                return found, [row for row, number in self.numbers.items() if (number, row) not in known]
        raise self._transport.no_curator("shows no end of questions")

    def ask_again(self, rows: list[int]) -> None:
        """Ask for rows whose questions the server does not know any more, or knows for other rows.

        Raises:
            RemoteError: If the server refuses; the row is not open any more then. Also if it happens to
                one row again and again (``question_lost``), or the release is another one.
        """
        for row in rows:
            self._pause(row)
            self.facts()  # rows of another release are other rows
            try:
                self.numbers[row] = self._ask(row)
            except RemoteError:
                self.numbers.pop(row, None)
                raise

    def _ask(self, row: int) -> int:
        while True:
            try:
                found = self._transport.post("/v1/queries", {"row": row}, key=self._key(row))
            except RemoteError as error:
                if error.code != "budget_spent":
                    raise
                raise RemoteError(
                    error.code,
                    f"all max_queries={self._max_queries} measurements are spent; rows that were "
                    f"measured before are still answered",
                ) from None
            shown = self._read(found)
            if shown.row == row:
                return shown.id
            self._pause(row)

    def _key(self, row: int) -> str:
        """Key of a question: the same one after a crash, another one after a withdrawal.

        A restarted modeler does not know of withdrawals. It begins with the first key again, and is told
        of each withdrawal once more, as its predecessor was.
        """
        text = f"{self._known_as} {row} {self.withdrawn.get(row, 0)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def _pause(self, row: int) -> None:
        """Pause before a lost question is asked again, later and later, and not for ever."""
        backoff = self._lost.setdefault(row, Backoff())
        if backoff.tries == _MOST_LOST:
            raise RemoteError(
                "question_lost",
                f"the question about row {row} must stay known to the curator at {self._transport.url}, "
                f"but it was asked {_MOST_LOST} times, and each time it was gone or about another row "
                f"afterwards: several servers may answer at this address, or its folder is restored "
                f"again and again; tell the curator, and go on when that is mended (answers so far are "
                f"kept)",
            )
        if backoff.tries == 0:
            _log.warning(
                "the curator at %s does not know the question about row %s any more (was its folder "
                "restored from a backup?): asking again",
                self._transport.url,
                row,
            )
        time.sleep(backoff.next())

    def _read(self, found: Any) -> Shown:
        shown = read_shown(found, self._names)
        if shown is not None and shown.row >= self._served:
            rows = self.facts().get("rows")
            self._served = rows if isinstance(rows, int) else self._served
        if shown is None or not 0 <= shown.row < self._served:
            raise self._transport.no_curator("answers about a question with something else")
        return shown
