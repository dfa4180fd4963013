"""run: both parties in one process, for a given number of rounds."""

from __future__ import annotations

import sys
from typing import Protocol

from tqdm import tqdm

from botorch_private import _validate
from botorch_private.history import History
from botorch_private.modeler.modeler import Modeler
from botorch_private.observation import Observation

_QUIET_SECONDS = 2.0


class Oracle(Protocol):
    """What answers a row index: a `Curator`, or anything with its interface."""

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        ...

    def query(self, index: int) -> Observation:
        """Measure the record behind a released row."""
        ...


def run(curator: Oracle, modeler: Modeler, rounds: int, *, progress: bool = True) -> History:
    """Ask, measure and tell, ``rounds`` times.

    Args:
        curator: Answers row indices.
        modeler: Chooses them; it may have a history already, and keeps it if interrupted.
        rounds: Number of measurements.
        progress: Whether to show a progress bar (only where the run takes more than two seconds).

    Returns:
        The modeler's whole history.

    Raises:
        ValueError: If the curator's budget or the number of rows is smaller than ``rounds``; nothing
            is measured then.
    """
    _validate.count(rounds=rounds)
    if not isinstance(modeler, Modeler):
        raise TypeError(
            f"modeler must be a Modeler, got {type(modeler).__name__}: run(curator, modeler, rounds)"
        )
    release = getattr(curator, "release", modeler.release)
    if release is not modeler.release and release.identity != modeler.release.identity:
        raise ValueError("modeler must work on the curator's current release, got another one")
    left = curator.queries_left
    if left is not None and rounds > left:
        raise ValueError(f"rounds must be at most the curator's {left} queries left, got {rounds}")
    unmeasured = len(modeler.release.candidates) - len(modeler.history)
    if rounds > unmeasured:
        raise ValueError(f"rounds must be at most the {unmeasured} rows not measured yet, got {rounds}")
    disable = not (progress and _somebody_watches())
    with tqdm(total=rounds, desc="measuring", delay=_QUIET_SECONDS, disable=disable) as bar:
        for _ in range(rounds):
            index = modeler.ask()
            modeler.tell(index, curator.query(index).value)
            bar.set_postfix(best=f"{modeler.best.value:.4g}", refresh=False)
            bar.update()
    return modeler.history


def _somebody_watches() -> bool:
    """Whether the output is a terminal or a notebook, rather than a file."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()
