"""run: ask, measure and tell, for a given number of rounds."""

from __future__ import annotations

import sys
from typing import Any

from botorch_private._base import validate
from botorch_private._base.progress import tqdm
from botorch_private.exchange.observation import NoValueError, WithdrawnError
from botorch_private.exchange.oracle import OpenCurator, Oracle
from botorch_private.modeler.history import History
from botorch_private.modeler.keep_open import keep_open, rows_left
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.stopping import BoundSoFar, StopRule

_QUIET_SECONDS = 2.0
_MOST_FAILURES = 10  # in a row, that are taken for failures of one row each


def run(
    curator: Oracle,
    modeler: Modeler,
    rounds: int,
    *,
    pending: int | None = None,
    failures: str = "raise",
    stop_below: float | None = None,
    progress: bool = True,
) -> History:
    """Ask, measure and tell, ``rounds`` times.

    Rows that the curator withdraws are skipped and do not count. Two kinds of failure are told apart:

    - *A row has no value*: a `NoValueError`, or an answer that is no finite number. The row stays the
      next one to ask for, so mend the objective and call `run` again; or let such rows be skipped. They
      are remembered in ``modeler.skipped``, also over `Modeler.save`.
    - *Anything else*, such as a connection that is gone, a spent budget or a bug, says nothing about
      the row. It is raised as it is, and never skipped, and the row stays the next one. A curator of
      your own says that one row failed by ``raise NoValueError(row=index) from error``.

    An objective that fails on every record would use up all rows without a word. So ten failures one
    after another are raised even where they are skipped; calling `run` again goes on with other rows.

    Args:
        curator: Answers row indices.
        modeler: Chooses them; it may have a history already, and keeps it if interrupted.
        rounds: Number of measurements.
        pending: None: one question after another. A number: so many are open at a time, answers may come
            in any order, and corrected values replace earlier ones; this takes a `RemoteCurator`.
        failures: What to do where a row has no value: "raise" a `NoValueError`, or "skip" the row, which
            then does not count. A failure may have used up a query of the curator. (With ``pending``,
            rows without a value are those that the curator withdraws.)
        stop_below: Stop before so many rounds, once `Modeler.regret_bound` is at most this after two
            answers in a row, the first of which is the 20th or later; in units of the outcome, > 0.
            Random rows, and answers from before a resume, count. What is open then stays open.
        progress: Whether to show a progress bar (only where the run takes more than two seconds).

    Returns:
        The modeler's whole history.

    Raises:
        ValueError: If the curator's budget or the number of rows is smaller than ``rounds``; nothing
            is measured then. The same if ``stop_below`` is not positive, or the modeler explores too
            little for it. Also if so many rows are withdrawn or skipped that none is left.
        NoValueError: If a measurement fails, with its ``row``, unless such rows are skipped; if they
            are, after ten of them. ``modeler.take_back(row)`` has a skipped row asked for again.

    Example:
        >>> history = run(curator, Modeler(curator.release), rounds=6)
        >>> len(history)
        6
    """
    validate.one_of(("raise", "skip"), failures=failures)
    _check(curator, modeler, rounds, pending)
    bounds = BoundSoFar(modeler)
    enough = StopRule(modeler, stop_below, bounds)
    disable = not (progress and _somebody_watches())
    before = len(modeler.history)
    with tqdm(total=rounds, desc="measuring", delay=_QUIET_SECONDS, disable=disable) as bar:

        def show() -> None:
            done = len(modeler.history) - before
            if done > bar.n:
                answers = [value for _, value in modeler.history]
                shown = [modeler.goal.progress(answers)]
                if not modeler.goal.names:
                    shown.append(f"last {answers[-1]:.4g}")
                if modeler.skipped:
                    shown.append(f"{len(modeler.skipped)} skipped")
                bound = None if disable else bounds.latest()
                if bound is not None:
                    shown.append(modeler.pursuit.in_short(bound))
                bar.set_postfix_str(", ".join(shown), refresh=False)
                bar.update(done - bar.n)

        if pending is not None:
            assert isinstance(curator, OpenCurator)
            keep_open(
                curator,
                modeler,
                rounds,
                pending=pending,
                changed=show,
                waiting=bar.refresh,
                enough=enough.reached,
            )
            return modeler.history
        failed: list[int] = []  # since the last answer
        while len(modeler.history) < before + rounds and not enough.reached():
            rows_left(modeler)
            index = modeler.ask()
            try:
                modeler.tell(index, _measured(curator, modeler, index))
                failed = []
            except WithdrawnError:
                modeler.skip(index)
            except NoValueError as error:
                if failures == "raise":
                    raise
                modeler.skip(index)
                failed.append(index)
                if len(failed) == _MOST_FAILURES:
                    raise _all_fail(failed) from error
            show()
    return modeler.history


def _measured(curator: Oracle, modeler: Modeler, index: int) -> Any:
    """The answer about a row.

    Raises:
        NoValueError: If it has none, or one that is no finite number.
        Exception: Whatever else the curator raises, with a note of the row.
    """
    try:
        answer = curator.query(index)
    except NoValueError:
        raise
    except Exception as error:
        error.add_note(f"Row {index} was asked for, and stays the next one.")
        raise
    try:
        return modeler.goal.checked(answer.value)
    except ValueError as error:
        raise NoValueError(f"row {index} has no value: {error}", index) from error


def _all_fail(rows: list[int]) -> NoValueError:
    return NoValueError(
        f"the last {len(rows)} rows all failed ({', '.join(map(str, rows))}), so what measures may have "
        f"failed, and no single row: mend it, and have rows asked for again by modeler.take_back(row), "
        f"or run again to go on without them",
        rows[-1],
    )


def _check(curator: Oracle, modeler: Modeler, rounds: int, pending: int | None) -> None:
    validate.count(rounds=rounds)
    if not isinstance(modeler, Modeler):
        raise TypeError(
            f"modeler must be a Modeler, got {type(modeler).__name__}: run(curator, modeler, rounds)"
        )
    release = getattr(curator, "release", modeler.release)
    if release is not modeler.release and release.identity != modeler.release.identity:
        raise ValueError("modeler must work on the curator's current release, got another one")
    unmeasured = len(modeler.release.candidates) - len(modeler.history) - len(modeler.skipped)
    if rounds > unmeasured:
        raise ValueError(f"rounds must be at most the {unmeasured} rows not measured yet, got {rounds}")
    if pending is not None:
        validate.count(pending=pending)
        if not isinstance(curator, OpenCurator):
            raise TypeError(
                f"curator must take questions without answering at once for pending={pending}, as a "
                f"RemoteCurator does, got {type(curator).__name__}: leave pending out"
            )
        return
    left = curator.queries_left
    waiting = curator.pending if isinstance(curator, OpenCurator) else []
    paid = sum(row in waiting for row in modeler.pending)
    if left is not None and rounds > left + paid:
        raise ValueError(
            f"rounds must be at most the curator's {left} queries left"
            f"{f' and {paid} that are open' if paid else ''}, got {rounds}"
        )


def _somebody_watches() -> bool:
    """Whether the output is a terminal or a notebook, rather than a file."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()
