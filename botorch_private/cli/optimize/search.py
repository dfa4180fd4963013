"""search: ask a curator elsewhere for measurements until there are enough."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from botorch_private._base import validate
from botorch_private._base.whole_file import require_folder
from botorch_private.cli.goal import option_of
from botorch_private.cli.optimize.progress import Progress
from botorch_private.cli.optimize.result import result
from botorch_private.cli.optimize.state import LARGEST_SEED, RunState, Settings
from botorch_private.cli.plots import plot_best, require_matplotlib
from botorch_private.exchange.goals import Maximize
from botorch_private.modeler.keep_open import keep_open
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.remote.client import RemoteCurator
from botorch_private.modeler.remote.transport import RemoteError
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
    settings: Mapping[str, Any],
    ca_file: Path | None,
    insecure: bool,
    stop_below: float | None = None,
) -> None:
    """Search until there are so many measurements, and print what comes of it.

    Arguments are the options of the command, whose help says what they are; ``settings`` are those of
    `Settings` that were given.

    Raises:
        ValueError: If an argument or a file is unusable, with the name of its option.
        OSError: If a file cannot be read or written.
        RemoteError: If the curator's server refuses, or cannot be reached.
    """
    _check_paths(state_file, release_file, plot_file)
    with _alone(state_file):
        state = RunState.load(state_file) if state_file.exists() else None
        settled = _settled(settings, state_file, None if state is None else state.settings)
        if stop_below is not None:
            require_exploring(settled.beta_scale)
        with RemoteCurator(
            url,
            token,
            release_path=release_file,
            verify=True if ca_file is None else ca_file,
            insecure=insecure,
        ) as curator:
            if settled.denoise and curator.release.cells is not None:
                raise ValueError(
                    "denoise must be left out for a release of labels: the model takes lies into "
                    "account by itself"
                )
            if state is None:
                if settled.goal is None:
                    settled = replace(settled, goal=curator.goal.to_dict())
                state = RunState(curator.identity, settled)
                print(f"{curator.guarantee}\n")
            elif state.history or state.pending:
                print(
                    f"Going on from {state_file}: {len(state.history)} measured, "
                    f"{len(state.pending)} asked."
                )
            modeler = state.modeler(curator.release)
            _check_rounds(rounds, modeler)
            bounds = BoundSoFar(modeler)
            enough = StopRule(modeler, stop_below, bounds)
            progress = Progress(modeler, rounds, curator.outcome_unit, bounds)
            plot = _Plot(plot_file, modeler, curator, bounds)

            def changed() -> None:
                RunState.of(modeler, settled).save(state_file)
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
            except RemoteError as error:
                raise RemoteError(error.code, f"{error}\n{how_to_go_on(state_file)}") from None
            finally:
                progress.close()
                plot.draw()
            if enough.reached() and len(modeler.history) < rounds:
                print(_stopped(modeler, rounds))
            print(result(modeler, curator.outcome_unit))
            bound = bounds.latest()
            if bound is not None:
                print(modeler.pursuit.sentence(bound, PROBABILITY, curator.outcome_unit))


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

    def draw_now_and_then(self) -> None:
        if time.monotonic() - self._drawn > _SECONDS_BETWEEN_PLOTS:
            self.draw()

    def draw(self) -> None:
        history = self._modeler.history
        if self._file is not None and len(history):
            sign, drawn = self._modeler.goal.sign, self._modeler.pursuit.reaches
            plot_best(
                history.values.numpy(),
                history.best_so_far.numpy(),
                self._file,
                bounds=[sign * bound for bound in self._bounds.all()] if drawn else [],
                ylabel=self._label,
            )
            self._drawn = time.monotonic()


def _check_paths(state: Path, release: Path | None, plot: Path | None) -> None:
    for path in (state, release, plot):
        if path is not None:
            require_folder(path)
            if path.is_dir():
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


def _settled(given: Mapping[str, Any], state: Path, kept: Settings | None) -> Settings:
    """The settings of a new search, or those it was begun with, which may be given again."""
    if kept is None:
        settings = Settings(**{"seed": secrets.randbelow(2**32), **given})
        if settings.beta_scale is not None:
            validate.positive(beta_scale=settings.beta_scale)  # before anybody is asked for anything
        if settings.outcome_noise is not None:
            validate.probability(outcome_noise=settings.outcome_noise)
        if settings.seed > LARGEST_SEED:
            raise ValueError(f"--seed must be at most 2^63 - 1, got {settings.seed}")
        return settings
    goal = kept.goal or Maximize().to_dict()
    if given.get("goal", goal) != goal:
        raise ValueError(
            f"{option_of(given['goal'])} must be left out: the search in {state} is for "
            f"{option_of(goal)}; begin another search by another --state"
        )
    for name, value in asdict(kept).items():
        if name != "goal" and given.get(name, value) != value:
            wanted = "left out" if value is None else value
            raise ValueError(
                f"--{name.replace('_', '-')} must be {wanted} as in {state}, got {given[name]}: "
                f"change that, or begin another search by another --state"
            )
    return kept


def _check_rounds(rounds: int, modeler: Modeler) -> None:
    rows = len(modeler.release.candidates) - len(modeler.skipped)
    if rounds > rows:
        raise ValueError(f"--rounds must be at most the {rows} rows of the release, got {rounds}")


def _stopped(modeler: Modeler, rounds: int) -> str:
    asked = len(modeler.pending)
    text = f"Stopped before {rounds} measurements, since the bound is small enough."
    return f"{text} Open questions that nobody waits for: {asked}." if asked else text
