"""run: ask, measure and tell, for a given number of rounds."""

from __future__ import annotations

import sys

from botorch_private._base import validate
from botorch_private._base.progress import tqdm
from botorch_private.exchange.observation import NoValueError, WithdrawnError
from botorch_private.exchange.oracle import OpenCurator, Oracle
from botorch_private.modeler.history import History
from botorch_private.modeler.keep_open import keep_open, rows_left
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.stopping import BoundSoFar, StopRule

_QUIET_SECONDS = 2.0


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

    Rows that the curator withdraws are skipped and do not count. A row whose measurement fails stays the
    next one to ask for: mend the objective and call `run` again, or let it be skipped.

    Args:
        curator: Answers row indices.
        modeler: Chooses them; it may have a history already, and keeps it if interrupted.
        rounds: Number of measurements.
        pending: None: one question after another. A number: so many are open at a time, answers may come
            in any order, and corrected values replace earlier ones; this takes a `RemoteCurator`.
        failures: What to do where a row has no value (`NoValueError`): "raise" the error, or "skip" the
            row, which then does not count. A failure may have used up a query of the curator.
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
        NoValueError: If a measurement fails, with its ``row``, unless such rows are skipped.

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
        while len(modeler.history) < before + rounds and not enough.reached():
            rows_left(modeler)
            index = modeler.ask()
            try:
                modeler.tell(index, curator.query(index).value)
            except NoValueError as error:
                if failures == "raise" and not isinstance(error, WithdrawnError):
                    raise
                modeler.skip(index)
            show()
    return modeler.history


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
