"""keep_open: several questions at a time, to a curator who answers in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from botorch_private import _validate
from botorch_private.modeler.modeler import Modeler
from botorch_private.observation import Observation

_SLICE = 25.0  # seconds of waiting after which somebody who watches sees a sign of life


@runtime_checkable
class OpenCurator(Protocol):
    """What takes questions without answering at once: a `RemoteCurator`, or its interface."""

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        ...

    @property
    def pending(self) -> list[int]:
        """Rows that were asked and have no answer yet."""
        ...

    @property
    def withdrawn(self) -> list[int]:
        """Rows that will not be measured."""
        ...

    def submit(self, index: int) -> int:
        """Ask for a row; asking again for an open one changes nothing."""
        ...

    def poll(self, wait: float = 0.0) -> list[Observation]:
        """Answers that are new, and earlier ones that were corrected."""
        ...

    def remember(self, observations: Iterable[tuple[int, float]]) -> None:
        """Say what was told earlier."""
        ...


def keep_open(
    curator: OpenCurator,
    modeler: Modeler,
    rounds: int,
    *,
    pending: int = 1,
    changed: Callable[[], None] = lambda: None,
    waiting: Callable[[], None] = lambda: None,
) -> None:
    """Measure ``rounds`` more rows, with up to ``pending`` questions open at a time.

    Values that the curator corrects meanwhile replace the earlier ones, and rows that it withdraws are
    skipped and do not count. The modeler's own pending rows come first: where they were asked before a
    crash, they are still the same questions.

    Args:
        curator: Takes questions.
        modeler: Chooses rows, counting open ones as answered with their posterior means.
        rounds: Measurements to add to the modeler's history, >= 0; with 0, only corrections are fetched.
        pending: Most questions that are open at a time.
        changed: Called whenever the modeler knows more: before new questions are sent, and after answers
            were told. Whoever keeps the modeler's state keeps it here.
        waiting: Called between two looks at what is answered.

    Raises:
        ValueError: If the curator's budget is smaller than ``rounds``; nothing new is asked then.
    """
    _validate.count(pending=pending)
    _validate.count(minimum=0, rounds=rounds)
    target = len(modeler.history) + rounds
    curator.remember(modeler.history)
    for row in modeler.pending:
        curator.submit(row)
    _refuse_more_than_the_budget(curator, rounds)
    wait = 0.0
    while True:
        # All that is answered is told before the next choice, also after a restart: it is the same then.
        answers = curator.poll(wait)
        for index, value in answers:
            modeler.tell(index, value, correct=True)
        gone = [row for row in modeler.pending if row in curator.withdrawn]
        for row in gone:
            modeler.skip(row)
        if answers or gone:
            changed()
        missing = target - len(modeler.history)
        if missing <= 0:
            return
        left = len(modeler.release.candidates) - len(modeler.history) - len(modeler.skipped)
        asked = modeler.ask(max(1, min(pending, missing, left)))
        new = [row for row in asked if row not in curator.pending]
        if new:
            changed()
            for row in new:
                curator.submit(row)
        waiting()
        wait = 0.0 if new else _SLICE


def _refuse_more_than_the_budget(curator: OpenCurator, rounds: int) -> None:
    left = curator.queries_left
    # Open questions are counted as spent already.
    if left is not None and rounds > left + len(curator.pending):
        raise ValueError(
            f"rounds must be at most the curator's {left} queries left and {len(curator.pending)} that "
            f"are open, got {rounds}"
        )
