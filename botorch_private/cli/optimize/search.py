"""search: ask a curator elsewhere for measurements until there are enough."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from botorch_private._base.whole_file import require_folder
from botorch_private.cli.documents.optimize import OptimizeDocument
from botorch_private.cli.optimize.placed import keep_parts
from botorch_private.cli.optimize.progress import Progress
from botorch_private.cli.optimize.result import result
from botorch_private.cli.optimize.settings import (
    begun,
    new_modeler,
    require_as_many_initial,
    require_outcomes,
    require_the_same,
)
from botorch_private.cli.plots import plot_best, require_matplotlib
from botorch_private.exchange.goals import Above, Goal, Target, goal_from_dict
from botorch_private.modeler.history import History
from botorch_private.modeler.keep_open import BudgetError, keep_open
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.remote.client import RemoteCurator
from botorch_private.modeler.remote.download_parts import may_hold_parts
from botorch_private.modeler.remote.transport import RemoteError
from botorch_private.modeler.state import ModelerState
from botorch_private.modeler.stopping import PROBABILITY, BoundSoFar, StopRule, require_exploring

_SECONDS_BETWEEN_PLOTS = 30.0


def search(
    url: str,
    *,
    rounds: int,
    pending: int,
    token: str,
    state_file: Path,
    release_file: Path | None,
    plot_file: Path | None,
    known_file: Path | None,
    answered: bool,
    settings: Mapping[str, Any],
    ca_file: Path | None,
    insecure: bool,
    stop_below: float | None = None,
    placed: Mapping[str, Any] = MappingProxyType({}),
) -> OptimizeDocument:
    """Search until there are so many measurements, print what comes of it, and return it.

    Arguments are the options of the command, whose help says what they are; ``settings`` are the seed
    and the arguments of `Modeler` that were given, and ``placed`` those that say where rows are.

    Raises:
        ValueError: If an argument or a file is unusable, with the name of its option.
        OSError: If a file cannot be read or written.
        RemoteError: If the curator's server refuses, or cannot be reached.
    """
    _check_paths(state_file, release_file, plot_file)
    with _alone(state_file):
        state = ModelerState.load(state_file) if state_file.exists() else None
        settled = begun(settings) if state is None else {"seed": state.seed, **state.settings}
        if state is not None:
            require_the_same(settings, state_file, settled, state.goal)
        if stop_below is not None:
            require_exploring(settled.get("beta_scale"))
        with RemoteCurator(
            url,
            token,
            release_path=release_file,
            verify=True if ca_file is None else ca_file,
            insecure=insecure,
        ) as curator:
            keep_parts(curator, state_file, asked=bool(placed))
            release = curator.release
            if state is None:
                goal = settled.pop("goal", None)
                goal = curator.goal if goal is None else goal_from_dict(goal)
                require_outcomes(goal, curator, known_file, stop_below)
                modeler = new_modeler(release, settled, goal, placed)
                print(f"{curator.guarantee}\n")
            else:
                require_outcomes(state.goal, curator, known_file, stop_below)
                modeler = Modeler.load(state_file, release, **placed)
                require_as_many_initial(settings, state_file, modeler)
                print(_going_on(modeler, state_file, state))
            if answered and state is None:
                _tell(modeler, curator.all_answers(), "--answered", rounds)
            if known_file is not None:
                _tell_known(modeler, known_file, rounds, new=state is None)
            _check_rounds(rounds, modeler)
            if known_file is not None and state is not None:
                modeler.save(state_file)  # there may be nothing to ask any more
            bounds = BoundSoFar(modeler)
            enough = StopRule(modeler, stop_below, bounds)
            progress = Progress(modeler, rounds, curator.outcome_unit, bounds)
            plot = _Plot(plot_file, modeler, curator, bounds)

            def changed() -> None:
                modeler.save(state_file)
                progress.changed()
                plot.draw_now_and_then()

            left = max(0, rounds - len(modeler.history))
            try:
                keep_open(
                    curator,
                    modeler,
                    left,
                    pending=pending,
                    changed=changed,
                    waiting=progress.waiting,
                    enough=enough.reached,
                )
            except BudgetError as error:
                raise _too_many(rounds, len(modeler.history), error) from None
            except RemoteError as error:
                raise RemoteError(error.code, f"{error}\n{how_to_go_on(state_file)}") from None
            finally:
                progress.close()
                plot.draw()
            if enough.reached() and len(modeler.history) < rounds:
                print(_stopped(modeler, rounds))
            print(result(modeler, curator.outcome_unit))
            if modeler.skipped:
                print(f"Given up: {len(modeler.skipped)}, which the curator did not measure.")
            _tell_joined(curator)
            bound, sentence = bounds.latest(), None
            if bound is not None:
                sentence = modeler.pursuit.sentence(bound, PROBABILITY, curator.outcome_unit)
                print(sentence)
            return OptimizeDocument.of(
                modeler, curator, rounds=rounds, state=state_file, bound=bound, sentence=sentence
            )


def how_to_go_on(state_file: Path) -> str:
    """What somebody whose search was stopped should know."""
    if not state_file.exists():
        return "Nothing was asked yet."
    return f"{state_file} holds the search: the same command goes on with it."


class _Plot:
    """A picture of the best value so far, in a file if there is one to write."""

    def __init__(
        self, file: Path | None, modeler: Modeler, curator: RemoteCurator, bounds: BoundSoFar
    ) -> None:
        self._file, self._modeler, self._drawn = file, modeler, -float("inf")
        self._bounds = bounds
        name, unit = curator.outcome_name, curator.outcome_unit
        self._label = f"{name} ({unit})" if unit else name
        if curator.outcome_names:
            self._label = "weighted sum, as far as limits are kept"

    def draw_now_and_then(self) -> None:
        if time.monotonic() - self._drawn > _SECONDS_BETWEEN_PLOTS:
            self.draw()

    def draw(self) -> None:
        history = self._modeler.history
        if self._file is not None and len(history):
            goal, drawn = self._modeler.goal, self._modeler.pursuit.reaches
            gains = goal.gains([value for _, value in history])
            plot_best(
                np.array(gains),
                history.best_so_far.numpy(),
                self._file,
                bounds=[goal.sign * bound for bound in self._bounds.all()] if drawn else [],
                best_is=goal.best_is,
                wanted=_wanted(goal),
                ylabel=self._label,
            )
            self._drawn = time.monotonic()


def _wanted(goal: Goal) -> tuple[str, float] | None:
    if isinstance(goal, Above):
        return "threshold", goal.threshold
    return ("target", goal.value) if isinstance(goal, Target) else None


def _check_paths(state: Path, release: Path | None, plot: Path | None) -> None:
    for path in (state, release, plot):
        if path is not None:
            require_folder(path)
            if path.is_dir() and not (path == release and may_hold_parts(path)):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not os.access(path.parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if plot is not None:
        if plot.suffix.lower() not in (".png", ".pdf", ".svg"):
            raise ValueError(f"--plot must end in .png, .pdf or .svg, got {plot}")
        require_matplotlib()


def _alone(state: Path) -> FileLock:
    lock = FileLock(state.with_name(f".{state.name}.lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise ValueError(
            f"--state must be used by one command at a time, but another one uses {state}"
        ) from None
    return lock


def _going_on(modeler: Modeler, file: Path, state: ModelerState) -> str:
    skipped = f", {len(modeler.skipped)} given up" if modeler.skipped else ""
    text = (
        f"Going on from {file}: {len(modeler.history)} measured, {len(modeler.pending)} asked{skipped}."
    )
    rows = len(modeler.release.candidates)
    if state.rows is None or rows == state.rows[0]:
        return text
    joined = rows - state.rows[0]
    return (
        f"{text} Records joined the curator's table: {joined} of {rows} rows are new, and searched too."
    )


def _tell_joined(curator: RemoteCurator) -> None:
    """Say that there are rows by now that this search did not know; nobody needs to hear it."""
    with suppress(RemoteError):
        joined = curator.joined
        if joined:
            print(
                f"Records joined the curator's table meanwhile: {joined} further rows are searched when "
                f"the same command goes on with more --rounds."
            )


def _tell_known(modeler: Modeler, file: Path, rounds: int, *, new: bool) -> None:
    """Tell values that were measured before; all of them or none."""
    known = History.from_csv(file, rows=len(modeler.release.candidates))
    told = dict(modeler.history)
    for row, value in known:
        if told.get(row, value) != value:
            raise ValueError(
                f"--known must agree with the search, but {file} has another value for row {row} than "
                f"the search by now: correct the file, or leave --known out"
            )
    _tell(modeler, known, "--known", rounds if new else None)


def _tell(modeler: Modeler, values: Iterable[tuple[int, Any]], option: str, rounds: int | None) -> None:
    """Tell values of an option; with ``rounds``, at the beginning of a search that has more to do."""
    for row, value in values:
        modeler.tell(row, value)
    told = len(modeler.history)
    if rounds is not None and told >= rounds:
        raise ValueError(
            f"--rounds must be more than the {told} values of {option}, which count, got {rounds}"
        )


def _check_rounds(rounds: int, modeler: Modeler) -> None:
    rows = len(modeler.release.candidates) - len(modeler.skipped)
    if rounds > rows:
        raise ValueError(f"--rounds must be at most the {rows} rows of the release, got {rounds}")


def _too_many(rounds: int, there: int, error: BudgetError) -> ValueError:
    """The refusal of a budget in numbers that were typed: all measurements of the search count."""
    most = there + error.waiting + error.left
    return ValueError(
        f"--rounds must be at most {most}, got {rounds}: it counts values so far, those of --known "
        f"included ({there}), open questions ({error.waiting}), and what the curator's budget has left "
        f"({error.left})"
    )


def _stopped(modeler: Modeler, rounds: int) -> str:
    asked = len(modeler.pending)
    text = f"Stopped before {rounds} measurements, since the bound is small enough."
    return f"{text} Open questions that nobody waits for: {asked}." if asked else text
