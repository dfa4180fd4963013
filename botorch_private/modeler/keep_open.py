"""keep_open: several questions at a time, to a curator who answers in any order."""

from __future__ import annotations

import logging
from collections.abc import Callable

from botorch_private._base import validate
from botorch_private.exchange.oracle import OpenCurator
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.remote.transport import RemoteError

_SLICE = 25.0  # seconds of waiting after which somebody who watches sees a sign of life
_log = logging.getLogger(__name__)


class BudgetError(ValueError):
    """The curator's budget is smaller than the rounds that are wanted.

    Args:
        message: In the words of the library.
        left: Measurements that the curator allows for beside what is open.
        waiting: Questions that are open.
    """

    def __init__(self, message: str, left: int, waiting: int) -> None:
        super().__init__(message)
        self.left, self.waiting = left, waiting


def keep_open(
    curator: OpenCurator,
    modeler: Modeler,
    rounds: int,
    *,
    pending: int = 1,
    changed: Callable[[], None] = lambda: None,
    waiting: Callable[[], None] = lambda: None,
    enough: Callable[[], bool] = lambda: False,
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
        enough: Whether to stop before ``rounds``, asked whenever there may be answers. Questions that
            are open then stay open.

    Raises:
        BudgetError: If the curator's budget is smaller than ``rounds``; answers so far are told, and
            nothing new is asked then.
        ValueError: If the curator withdraws so many rows that none is left.
        RemoteError: If other modelers spend the budget meanwhile; first all that is open is waited for
            and told. Rows that were refused are no longer pending.
    """
    validate.count(pending=pending)
    validate.count(minimum=0, rounds=rounds)
    target = len(modeler.history) + rounds
    curator.remember(modeler.history)
    refusal = _send(curator, modeler, modeler.pending, changed)
    gone, refused = _hear(curator, modeler, 0.0, changed)
    refusal = refused or (None if gone else refusal)
    if refusal is None:
        _refuse_more_than_the_budget(curator, rounds, target - len(modeler.history))
    while True:
        missing = target - len(modeler.history)
        if missing <= 0 or enough():
            return
        if refusal is not None and not curator.pending:
            raise refusal
        new = []
        if refusal is None:
            asked = modeler.ask(max(1, min(pending, missing, rows_left(modeler))))
            new = [row for row in asked if row not in curator.pending]
            if new:
                changed()
                refusal = _send(curator, modeler, new, changed)
        waiting()
        # All that is answered is told before the next choice, also after a restart: it is the same then.
        gone, refused = _hear(curator, modeler, 0.0 if new else _SLICE, changed)
        # A row that is withdrawn gives its measurement back.
        refusal = refused or (None if gone else refusal)


def rows_left(modeler: Modeler) -> int:
    """How many rows may still be measured.

    Raises:
        ValueError: If no row is left.
    """
    rows, skipped = len(modeler.release.candidates), len(modeler.skipped)
    left = rows - len(modeler.history) - skipped
    if left == 0:
        raise ValueError(
            f"rounds cannot be reached: {skipped} of the {rows} rows were withdrawn by the curator or "
            f"skipped, and the other {rows - skipped} are measured"
        )
    return left


def _send(
    curator: OpenCurator, modeler: Modeler, rows: list[int], changed: Callable[[], None]
) -> RemoteError | None:
    """Ask for rows. Those that the budget does not allow for are forgotten; returns why."""
    refusal, forgotten = None, []
    for row in rows:
        try:
            curator.submit(row)
        except RemoteError as error:
            if error.code != "budget_spent":
                raise
            refusal = error
            forgotten.append(row)
    if refusal is None:
        return None
    return _forget(curator, modeler, forgotten, refusal, changed)


def _forget(
    curator: OpenCurator,
    modeler: Modeler,
    rows: list[int],
    refusal: RemoteError,
    changed: Callable[[], None],
) -> RemoteError:
    """Take back rows that the budget does not allow for; returns why."""
    for row in rows:
        modeler.take_back(row)
    changed()
    if curator.pending:
        _log.warning("%s; waiting for the %s that are open", refusal, len(curator.pending))
    return refusal


def _hear(
    curator: OpenCurator, modeler: Modeler, wait: float, changed: Callable[[], None]
) -> tuple[bool, RemoteError | None]:
    """Tell all that is answered; returns whether rows were withdrawn, and whether others were refused.

    A question that the curator lost is asked again, and others may have spent the budget meanwhile.
    """
    try:
        answers = curator.poll(wait)
    except RemoteError as error:
        if error.code != "budget_spent":
            raise
        lost = [row for row in modeler.pending if row not in curator.pending]
        return False, _forget(curator, modeler, lost, error, changed)
    for index, value in answers:
        modeler.tell(index, value, correct=True)
    gone = [row for row in modeler.pending if row in curator.withdrawn]
    for row in gone:
        modeler.skip(row)
    if answers or gone:
        changed()
    return bool(gone), None


def _refuse_more_than_the_budget(curator: OpenCurator, rounds: int, missing: int) -> None:
    left, waiting = curator.queries_left, len(curator.pending)
    # Open questions are counted as spent already.
    if left is not None and missing > left + waiting:
        answered = f", {rounds - missing} of which were answered just now" if missing < rounds else ""
        raise BudgetError(
            f"rounds must be at most the curator's {left} queries left and {waiting} that are open, got "
            f"{rounds}{answered}",
            left,
            waiting,
        )
