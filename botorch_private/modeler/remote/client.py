"""RemoteCurator: a curator on another machine, reached over HTTP."""

from __future__ import annotations

import hashlib
import math
import ssl
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private._base import validate
from botorch_private.exchange.observation import Observation, WithdrawnError
from botorch_private.exchange.release import Release
from botorch_private.modeler.remote.download import download_release
from botorch_private.modeler.remote.transport import RemoteError, Transport

if TYPE_CHECKING:
    import httpx2

_LONG_POLL = 25.0  # seconds that one request waits for a measurement
_GLANCE = 5.0  # the same where several questions are open: any of them may be answered first
_PAGE = 1000


class RemoteCurator:
    """A curator's server, with the interface of a `Curator`: `run` takes either.

    Measurements take weeks, and machines fail. So every question has a key that is made of the release,
    the row, and how often the row was withdrawn before: a question that is sent again, because a reply
    was lost or the modeler was restarted, is the same question. `query` and `poll` wait through
    restarts of the server and of the network; only the first contact must succeed within ``patience``.

    Args:
        url: Address of the server, as the curator gave it.
        token: Token for a modeler, as the curator gave it.
        release_path: File to keep the release in; later it is only asked whether it is still the same.
        timeout: Seconds in which the server must react to a request.
        patience: Seconds in which the first contact must succeed.
        verify: True: the server's certificate must come from one of the usual authorities. A path:
            a PEM file with the certificate, or that of its authority. Also an ``ssl.SSLContext``.
        insecure: Allow a token without TLS to another machine, or ``verify=False``.
        session: An ``httpx2.Client`` of your own, such as one with a client certificate.

    Attributes:
        identity: SHA-256 of the release.
        max_queries: Largest number of records that are measured; None: no limit.
        outcome_name (str): What is measured.
        outcome_unit (str): Its unit; may be empty.

    Raises:
        RemoteError: If there is no such server, or it does not accept the token.
        ValueError: If an argument is unusable.
        ImportError: If httpx2 is not installed (extra ``client``).

    Example:
        >>> curator = RemoteCurator(url, token)  # such as "https://curator.example.org:8400"
        >>> modeler = Modeler(curator.release)
        >>> history = run(curator, modeler, rounds=6)
        >>> question = curator.submit(modeler.ask())  # or, without waiting
        >>> for index, value in curator.poll():
        ...     modeler.tell(index, value, correct=True)
        >>> curator.close()
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        release_path: str | Path | None = None,
        timeout: float = 10.0,
        patience: float = 5.0,
        verify: bool | str | Path | ssl.SSLContext = True,
        insecure: bool = False,
        session: httpx2.Client | None = None,
    ) -> None:
        validate.positive(patience=patience)
        self._transport = Transport(
            url, token, timeout=timeout, insecure=insecure, verify=verify, session=session
        )
        self._release_path = None if release_path is None else Path(release_path)
        self._pending: dict[int, int] = {}  # row -> number of its query
        self._told: dict[int, float] = {}
        self._withdrawn: dict[int, int] = {}  # row -> how often it was withdrawn
        try:
            facts = self._transport.get("/v1/release", patience=patience)
            self.identity, self._rows = str(facts["identity"]), int(facts["rows"])
            self.max_queries: int | None = facts["max_queries"]
            self.outcome_name, self.outcome_unit = str(facts["outcome"]), str(facts["unit"])
        except (KeyError, TypeError, ValueError):
            self.close()
            raise self._transport.no_curator("is not one") from None
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._transport.url

    @cached_property
    def release(self) -> Release:
        """What the curator released: downloaded once, and checked against its announced SHA-256."""
        return download_release(self._transport, self.identity, self._release_path)

    @cached_property
    def guarantee(self) -> str:
        """What release and answers promise together, in words."""
        return str(self._transport.get("/v1/guarantee")["words"])

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured, for all modelers together; None: no limit."""
        facts = self._transport.get("/v1/release")
        if facts["identity"] != self.identity:
            raise RemoteError(
                "other_release",
                f"{self.url} serves another release by now: its rows are others, so begin again with it",
            )
        return facts["queries_left"]

    @property
    def pending(self) -> list[int]:
        """Rows that were asked through this object and have no answer yet, in their order."""
        return list(self._pending)

    @property
    def withdrawn(self) -> list[int]:
        """Rows whose questions were withdrawn, as far as it is known here; `submit` asks again."""
        return [row for row in self._withdrawn if row not in self._pending and row not in self._told]

    def query(self, index: int) -> Observation:
        """Ask for a row, and wait until it is measured.

        If this is interrupted, the question stays open; asking again waits for the same measurement.

        Args:
            index: Row in 0..n-1.

        Raises:
            WithdrawnError: If the curator will not measure it. Asking again asks again.
            RemoteError: If the server refuses; ``code`` is "budget_spent" where all measurements are.
        """
        number = self.submit(index)
        while True:
            shown = self._transport.get(f"/v1/queries/{number}", wait=_LONG_POLL)
            answer = self._settle(shown)
            if answer is not None:
                return answer
            if shown["state"] == "withdrawn":
                raise WithdrawnError(shown["row"])

    def submit(self, index: int) -> int:
        """Ask for a row without waiting; `poll` brings the answer.

        A row that is open already, here or at the server, stays the same question.

        Args:
            index: Row in 0..n-1.

        Returns:
            The number of the question.

        Raises:
            RemoteError: If the server refuses; ``code`` is "budget_spent" where all measurements are.
        """
        row = validate.index(self._rows, index=index)
        if row not in self._pending:
            try:
                shown = self._transport.post("/v1/queries", {"row": row}, key=self._key(row))
            except RemoteError as error:
                if error.code != "budget_spent":
                    raise
                raise RemoteError(
                    error.code,
                    f"all max_queries={self.max_queries} measurements are spent; rows that were "
                    f"measured before are still answered",
                ) from None
            self._pending[row] = int(shown["id"])
        return self._pending[row]

    def poll(self, wait: float = 0.0) -> list[Observation]:
        """What was measured since the last time, in the order of the questions.

        Values that the curator corrected after they were told come again: tell them with
        ``modeler.tell(index, value, correct=True)``. Rows that were withdrawn leave `pending` and
        appear in `withdrawn`.

        Args:
            wait: Seconds to wait until there is something new, >= 0, or ``math.inf``. Without open
                questions there is no waiting.
        """
        if not wait >= 0:
            raise ValueError(f"wait must be a number of seconds >= 0, got {wait!r}")
        end = time.monotonic() + wait
        while True:
            before = len(self._pending)
            news = self._look()
            left = end - time.monotonic()
            if news or len(self._pending) < before or left <= 0 or not self._pending:
                return news
            # Who measures mostly begins with the oldest question.
            longest = _LONG_POLL if before == 1 else _GLANCE
            oldest = min(self._pending.values())
            self._transport.get(f"/v1/queries/{oldest}", wait=min(left, longest))

    def answers(self) -> Iterator[Observation]:
        """Answers as they come, in any order, until no question is open."""
        while self._pending:
            yield from self.poll(wait=math.inf)

    def remember(self, observations: Iterable[tuple[int, float]]) -> None:
        """Say what was told in an earlier process: `poll` then brings what was corrected since.

        Args:
            observations: Pairs of row and value, such as ``modeler.history``.
        """
        for index, value in observations:
            row = validate.index(self._rows, index=index)
            self._told.setdefault(row, validate.number(value=value))

    def close(self) -> None:
        """Close the connections; open questions stay open at the server."""
        self._transport.close()

    def __enter__(self) -> RemoteCurator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteCurator({self.url!r}, rows={self._rows}, pending={len(self._pending)})"

    def _key(self, row: int) -> str:
        """Key of a question: the same one after a crash, another one after a withdrawal.

        A restarted modeler does not know of withdrawals. It begins with the first key again, and is told
        of each withdrawal once more, as its predecessor was.
        """
        text = f"{self.identity} {row} {self._withdrawn.get(row, 0)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def _look(self) -> list[Observation]:
        """Read all questions, and settle what is known of them by now."""
        if not self._pending and not self._told:
            return []
        found: list[dict[str, Any]] = []
        while True:  # all pages before anything is settled: one that fails must not lose an answer
            after = found[-1]["id"] if found else 0
            page = self._transport.get("/v1/queries", after=after, limit=_PAGE)["queries"]
            found += page
            if len(page) < _PAGE:
                news = [self._settle(shown) for shown in found]
                return [each for each in news if each is not None]

    def _settle(self, shown: dict[str, Any]) -> Observation | None:
        """Note what became of a question; its answer, if that is new here."""
        row, state = shown["row"], shown["state"]
        ours = self._pending.get(row) == shown["id"]
        if state == "measured" and (ours or row in self._told):
            value = validate.number(value=shown["value"])
            known = self._told.get(row)
            self._told[row] = value
            self._pending.pop(row, None)
            return Observation(row, value) if ours or known != value else None
        if state == "withdrawn" and ours:
            del self._pending[row]
            self._withdrawn[row] = self._withdrawn.get(row, 0) + 1
        return None
