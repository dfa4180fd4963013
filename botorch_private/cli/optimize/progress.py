"""What somebody sees while a search goes on: a bar on a terminal, else a line an answer."""

from __future__ import annotations

import sys
import time
from typing import Any

from tqdm import tqdm

from botorch_private.cli.optimize.result import answer_words
from botorch_private.cli.streams import warn
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.stopping import BoundSoFar

_FIRST_SIGN = 60.0  # seconds without an answer; the next sign comes after twice as long, and so on
_LONGEST_SILENCE = 86_400.0


class Progress:
    """Shows the best value so far, the latest one, what may be left, and how long the next one takes.

    Args:
        modeler: Whose answers are shown.
        rounds: Measurements of the whole search.
        unit: Of the outcome; may be empty.
        bounds: What may be left to find.
    """

    def __init__(self, modeler: Modeler, rounds: int, unit: str, bounds: BoundSoFar) -> None:
        self._modeler, self._rounds, self._unit = modeler, rounds, f" {unit}" if unit else ""
        self._bounds = bounds
        self._known = dict(modeler.history)
        self._skipped = set(modeler.skipped)
        self._since = time.monotonic()
        self._bar = None
        self._next_sign: float | None = None  # seconds of waiting after which a line says so
        if sys.stderr.isatty():
            self._bar = tqdm(total=rounds, initial=len(self._known), desc="measured")

    def changed(self) -> None:
        """Show what the modeler knows since the last call."""
        for index, value in self._modeler.history:
            if self._known.get(index) != value:
                self._answer(index, value)
        for row in self._modeler.skipped:
            if row not in self._skipped:
                self._skipped.add(row)
                self._say(f"row {row} was withdrawn by the curator")

    def waiting(self) -> None:
        """Show that it still waits."""
        pending = len(self._modeler.pending)
        if not pending:
            return
        waited = time.monotonic() - self._since
        if self._bar is not None:
            self._bar.set_postfix_str(f"{self._best()}, waiting {_duration(waited)}")
        elif self._next_sign is None:
            self._next_sign = _FIRST_SIGN
            warn(f"Waiting for answers: {pending} open. Stop by Ctrl-C; the same command goes on.")
        elif waited >= self._next_sign:
            while self._next_sign <= waited:
                self._next_sign += min(self._next_sign, _LONGEST_SILENCE)
            warn(f"Still waiting after {_duration(waited)}: {pending} open.")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.close()

    def _answer(self, index: int, value: Any) -> None:
        before = self._known.get(index)
        self._known[index] = value
        self._since = time.monotonic()
        if self._next_sign is not None:
            self._next_sign = _FIRST_SIGN
        if before is not None:
            self._say(
                f"row {index} was corrected from {self._shown(before, '')} to {self._shown(value)}"
            )
        elif self._bar is None:
            count = f"{len(self._known)}/{self._rounds}"
            self._say(f"{count}: row {index} is {self._shown(value)}, {self._best()}")
        else:
            self._bar.update()
            self._bar.set_postfix_str(f"{self._best()}, last {self._shown(value)}")

    def _shown(self, value: Any, unit: str | None = None) -> str:
        return answer_words(value, self._unit.strip() if unit is None else unit)

    def _best(self) -> str:
        if not self._known:
            return "no value yet"
        unit = self._unit.strip()
        text = self._modeler.goal.progress(list(self._known.values()), unit)
        whole = len(self._known) == len(self._modeler.history)
        bound = self._bounds.latest() if whole else None
        return text if bound is None else f"{text}, {self._modeler.pursuit.in_short(bound, unit)}"

    def _say(self, text: str) -> None:
        if self._bar is None:
            print(text, flush=True)
        else:
            self._bar.write(text)


def _duration(seconds: float) -> str:
    for limit, length, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"
