"""RemoteCurator: a curator on another machine, reached over HTTP."""

from __future__ import annotations

import logging
import math
import ssl
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private._base import validate
from botorch_private.exchange.goals import Maximize, goal_from_dict
from botorch_private.exchange.named_outcomes import named_numbers
from botorch_private.exchange.named_outcomes import outcome_names as checked_names
from botorch_private.exchange.observation import Observation, WithdrawnError
from botorch_private.exchange.release import Release
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.modeler.remote.download import download_release
from botorch_private.modeler.remote.download_parts import download_parts
from botorch_private.modeler.remote.questions import READS, Questions, earlier_of
from botorch_private.modeler.remote.shown import MEASURED, WITHDRAWN, Shown
from botorch_private.modeler.remote.transport import Transport, printable

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger(__name__)
_LONG_POLL = 25.0  # seconds that one request waits for a measurement
_GLANCE = 5.0  # the same where several questions are open: any of them may be answered first


class RemoteCurator:
    """A curator's server, with the interface of a `Curator`: `run` takes either.

    Measurements take weeks, and machines fail. So every question has a key that is made of the release,
    the row, and how often the row was withdrawn before: a question that is sent again, because a reply
    was lost or the modeler was restarted, is the same question. `query` and `poll` wait through
    restarts of the server and of the network; only the first contact must succeed within ``patience``.

    Where the server's folder is restored from a backup, a question that it does not know any more is
    asked again, and answers that it does not know any more are kept here.

    Where records join the curator's table (``curator add``), a search goes on: its rows are the first of
    the longer release, and their questions stay the same. `joined` says how many rows there are beside
    these, and a new `RemoteCurator` has them.

    Args:
        url: Address of the server, as the curator gave it.
        token: Token for a modeler, as the curator gave it.
        release_path: File to keep the release in; later it is only asked whether it is still the same.
            For a release in parts a folder, which without this is a temporary one until `close`.
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
        outcome_names (tuple[str, ...]): Names of the outcomes, where records have several: answers are
            then dicts with a number for each.
        outcome_units (dict[str, str]): Their units, which may be empty.
        goal (Goal): What the curator is after: `Maximize`, `Minimize`, `Above`, `TopK` or `Target`; with
            several outcomes, `Scalarized` or `Constrained`. A `Modeler` has a goal of its own: pass
            ``goal=curator.goal``.
        restored (str | None): Of when the backup is that the server's folder was put back from last,
            UTC, ISO 8601; None: it never was.
        in_parts (bool): Whether the release is in parts (`ReleasedParts`).
        release_path (Path | None): As above; it may be set until `release` is read.
        earlier (dict[str, int]): SHA-256 and number of rows of releases that were served before records
            joined, oldest first: their rows are the first of this one.

    Raises:
        RemoteError: If there is no such server, or it does not accept the token.
        ValueError: If an argument is unusable.
        ImportError: If httpx2 is not installed (extra ``client``).

    Example:
        >>> curator = RemoteCurator(url, token)  # such as "https://curator.example.org:8400"
        >>> modeler = Modeler(curator.release)
        >>> for index, value in curator.all_answers():  # if any was before; it costs nothing more
        ...     modeler.tell(index, value)
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
        self.release_path = None if release_path is None else Path(release_path)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._told: dict[int, Any] = {}
        try:
            facts = self._transport.get("/v1/release", patience=patience, **READS)
            self.identity, self._rows = str(facts["identity"]), int(facts["rows"])
            self.max_queries: int | None = facts["max_queries"]
            self.outcome_name = printable(str(facts["outcome"]))
            self.outcome_unit = printable(str(facts["unit"]))
            self.outcome_units = {
                str(each["name"]): printable(str(each["unit"])) for each in facts.get("outcomes", ())
            }  # servers of before do not say
            self.outcome_names: tuple[str, ...] = ()
            if self.outcome_units:
                self.outcome_names = checked_names(outcomes=self.outcome_units)
            self.goal = goal_from_dict(facts.get("goal", Maximize().to_dict()))
            self.earlier = earlier_of(facts)
            parts = facts.get("parts")  # servers of before do not say, and have none
            self._size = None if parts is None else int(parts["bytes"])
            restored = facts.get("restored")  # servers of before do not say
            self.restored = printable(restored) if isinstance(restored, str) else None
        except (KeyError, TypeError, ValueError):
            self.close()
            raise self._transport.no_curator("is not one") from None
        except BaseException:
            self.close()
            raise
        if self.restored is not None:
            _log.warning(
                "the curator at %s put its folder back from a backup of %s: what was asked or measured "
                "after that time is not known there, and is asked again where it is open",
                self.url,
                self.restored,
            )
        known_as = next(iter(self.earlier), self.identity)
        self._questions = Questions(
            self._transport,
            self.identity,
            self._rows,
            self.max_queries,
            self.outcome_names,
            known_as=known_as,
        )

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._transport.url

    @property
    def in_parts(self) -> bool:
        """Whether the release is in parts."""
        return self._size is not None

    @cached_property
    def release(self) -> Release | ReleasedParts:
        """What the curator released: downloaded once, and checked against its announced SHA-256."""
        if self._size is None:
            return download_release(self._transport, self.identity, self.release_path, self.earlier)
        folder = self.release_path
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="botorch-private-")
            folder = Path(self._temporary.name) / "release"
        return download_parts(self._transport, self.identity, self._rows, self._size, folder)

    @cached_property
    def guarantee(self) -> str:
        """What release and answers promise together, in words."""
        return str(self._transport.get("/v1/guarantee")["words"])

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured, for all modelers together; None: no limit."""
        return self._questions.facts()["queries_left"]

    @property
    def joined(self) -> int:
        """How many rows joined the release since this object was made; a new one has them."""
        rows = self._questions.facts().get("rows")
        return max(0, rows - self._rows) if isinstance(rows, int) else 0

    @property
    def pending(self) -> list[int]:
        """Rows that were asked through this object and have no answer yet, in their order."""
        return list(self._questions.numbers)

    @property
    def withdrawn(self) -> list[int]:
        """Rows whose questions were withdrawn, as far as it is known here; `submit` asks again."""
        open_rows, told = self._questions.numbers, self._told
        return [row for row in self._questions.withdrawn if row not in open_rows and row not in told]

    def query(self, index: int) -> Observation:
        """Ask for a row, and wait until it is measured.

        If this is interrupted, the question stays open; asking again waits for the same measurement.

        Args:
            index: Row in 0..n-1.

        Raises:
            WithdrawnError: If the curator will not measure it. Asking again asks again.
            RemoteError: If the server refuses; ``code`` is "budget_spent" where all measurements are,
                and "question_lost" where it forgets the question again and again.
        """
        row = validate.index(self._rows, index=index)
        self.submit(row)
        while True:
            shown = self._questions.wait(row, _LONG_POLL)
            answer = None if shown is None else self._settle(shown)
            if answer is not None:
                return answer
            if shown is not None and shown.state == WITHDRAWN:
                raise WithdrawnError(row)

    def submit(self, index: int) -> int:
        """Ask for a row without waiting; `poll` brings the answer.

        A row that is open already, here or at the server, stays the same question.

        Args:
            index: Row in 0..n-1.

        Returns:
            The number of the question. It may become another one where the server's folder is restored.

        Raises:
            RemoteError: If the server refuses; ``code`` is "budget_spent" where all measurements are.
        """
        row = validate.index(self._rows, index=index)
        return self._questions.ask(row)

    def poll(self, wait: float = 0.0) -> list[Observation]:
        """What was measured since the last time, in the order of the questions.

        Values that the curator corrected after they were told come again: tell them with
        ``modeler.tell(index, value, correct=True)``. Rows that were withdrawn leave `pending` and
        appear in `withdrawn`. Questions that the server does not know any more are asked again.

        Args:
            wait: Seconds to wait until there is something new, >= 0, or ``math.inf``. Without open
                questions there is no waiting.

        Raises:
            RemoteError: If the server refuses, as in `query`. Rows that it refuses to be asked for again
                are not pending any more.
        """
        if not wait >= 0:
            raise ValueError(f"wait must be a number of seconds >= 0, got {wait!r}")
        end, numbers = time.monotonic() + wait, self._questions.numbers
        while True:
            before = len(numbers)
            news, lost = self._look()
            if lost and not news:  # news go first: an error about the others must not lose them
                self._questions.ask_again(lost)
            left = end - time.monotonic()
            if news or len(numbers) < before or left <= 0 or not numbers:
                return news
            # Who measures mostly begins with the oldest question.
            longest = _LONG_POLL if before == 1 else _GLANCE
            self._questions.wait(min(numbers, key=numbers.__getitem__), min(left, longest))

    def answers(self) -> Iterator[Observation]:
        """Answers as they come, in any order, until no question is open."""
        while self._questions.numbers:
            yield from self.poll(wait=math.inf)

    def all_answers(self) -> list[Observation]:
        """What the server has answered already, whoever asked, in the order of the questions.

        A search may begin with these: they were asked for by other modelers, by an earlier search, or
        told by the curator (``curator import --unasked tell``). They are spent, and cost nothing more.
        Rows that joined the curator's table after this object was made are left out.

        Raises:
            RemoteError: If the server refuses.
        """
        found, _ = self._questions.look()
        return [
            Observation(shown.row, shown.value)
            for shown in found
            if shown.state == MEASURED and shown.row < self._rows
        ]

    def remember(self, observations: Iterable[tuple[int, Any]]) -> None:
        """Say what was told in an earlier process: `poll` then brings what was corrected since.

        Args:
            observations: Pairs of row and value, such as ``modeler.history``.
        """
        for index, value in observations:
            row = validate.index(self._rows, index=index)
            if self.outcome_names:
                known: Any = named_numbers(self.outcome_names, value=value)
            else:
                known = validate.number(value=value)
            self._told.setdefault(row, known)

    def close(self) -> None:
        """Close the connections; open questions stay open at the server."""
        self._transport.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> RemoteCurator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteCurator({self.url!r}, rows={self._rows}, pending={len(self.pending)})"

    def _look(self) -> tuple[list[Observation], list[int]]:
        """What is new, and which open rows the server does not know any more."""
        if not self._questions.numbers and not self._told:
            return [], []
        found, lost = self._questions.look()
        news = [self._settle(shown) for shown in found]
        return [each for each in news if each is not None], lost

    def _settle(self, shown: Shown) -> Observation | None:
        """Note what became of a question; its answer, if that is new here."""
        row = shown.row
        ours = self._questions.numbers.get(row) == shown.id
        if shown.state == MEASURED and shown.value is not None and (ours or row in self._told):
            known = self._told.get(row)
            self._told[row] = shown.value
            self._questions.close(row)
            return Observation(row, shown.value) if ours or known != shown.value else None
        if shown.state == WITHDRAWN and ours:
            self._questions.close_withdrawn(row)
        return None
