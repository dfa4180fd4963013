"""search: what `botorch-private optimize` does."""

from __future__ import annotations

import argparse
import os
import secrets
import time
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from botorch_private._base.whole_file import require_folder
from botorch_private.cli.common import fail
from botorch_private.cli.optimize.progress import Progress
from botorch_private.cli.optimize.state import LARGEST_SEED, RunState, Settings
from botorch_private.cli.plots import plot_best, require_matplotlib
from botorch_private.modeler.keep_open import keep_open
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.remote.client import RemoteCurator
from botorch_private.modeler.remote.transport import RemoteError

TOKEN_VARIABLE = "BOTORCH_PRIVATE_TOKEN"
_INTERRUPTED = 130
_SECONDS_BETWEEN_PLOTS = 30.0


def search(options: argparse.Namespace) -> int:
    """Search until there are ``options.rounds`` measurements; returns the exit status."""
    try:
        token = _token(options.token_file)
        _check_paths(options)
        with _alone(options.state):
            return _search(options, token)
    except KeyboardInterrupt:
        print(f"\nStopped. {_how_to_go_on(options)}")
        return _INTERRUPTED
    except (OSError, ValueError, ImportError, RemoteError) as error:
        fail(options, error)


def _search(options: argparse.Namespace, token: str) -> int:
    state = RunState.load(options.state) if options.state.exists() else None
    settings = _settings(options, None if state is None else state.settings)
    with RemoteCurator(
        options.url,
        token,
        release_path=options.release,
        verify=True if options.ca_file is None else options.ca_file,
        insecure=options.insecure_http,
    ) as curator:
        if state is None:
            state = RunState(curator.identity, settings)
            print(f"{curator.guarantee}\n")
        elif state.history or state.pending:
            print(f"Going on from {options.state}: {len(state.history)} measured, ", end="")
            print(f"{len(state.pending)} asked.")
        modeler = state.modeler(curator.release)
        _check_rounds(options.rounds, modeler)
        running = _Running(options, settings, curator, modeler)
        try:
            running.go_on()
        except RemoteError as error:
            raise RemoteError(error.code, f"{error}\n{_how_to_go_on(options)}") from None
        finally:
            running.stop()
        print(_result(modeler, curator.outcome_unit))
        return 0


class _Running:
    def __init__(
        self,
        options: argparse.Namespace,
        settings: Settings,
        curator: RemoteCurator,
        modeler: Modeler,
    ) -> None:
        self._options, self._settings = options, settings
        self._curator, self._modeler = curator, modeler
        self._progress = Progress(modeler, options.rounds, curator.outcome_unit)
        self._drawn = -float("inf")

    def go_on(self) -> None:
        keep_open(
            self._curator,
            self._modeler,
            max(0, self._options.rounds - len(self._modeler.history)),
            pending=self._options.pending,
            changed=self._changed,
            waiting=self._progress.waiting,
        )

    def stop(self) -> None:
        self._progress.close()
        self._draw()

    def _changed(self) -> None:
        RunState.of(self._modeler, self._settings).save(self._options.state)
        self._progress.changed()
        if time.monotonic() - self._drawn > _SECONDS_BETWEEN_PLOTS:
            self._draw()

    def _draw(self) -> None:
        if self._options.plot is None or not len(self._modeler.history):
            return
        name, unit = self._curator.outcome_name, self._curator.outcome_unit
        plot_best(
            self._modeler.history.values.numpy(),
            self._options.plot,
            ylabel=f"{name} ({unit})" if unit else name,
        )
        self._drawn = time.monotonic()


def _token(path: Path | None) -> str:
    if path is not None:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        if not text:
            raise ValueError(f"--token-file must hold the curator's token, but {path} is empty")
        return text
    text = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not text:
        raise ValueError(
            f"a token must be given by --token-file or {TOKEN_VARIABLE}: the curator makes one by "
            f"'botorch-private curator token new DIR --role modeler'"
        )
    return text


def _check_paths(options: argparse.Namespace) -> None:
    for path in (options.state, options.release, options.plot):
        if path is not None:
            require_folder(path)
    if options.plot is not None:
        if options.plot.suffix.lower() not in (".png", ".pdf", ".svg"):
            raise ValueError(f"--plot must end in .png, .pdf or .svg, got {options.plot}")
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


def _settings(options: argparse.Namespace, kept: Settings | None) -> Settings:
    names = list(Settings.__dataclass_fields__)
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if kept is None:
        if given.setdefault("seed", secrets.randbelow(2**32)) > LARGEST_SEED:
            raise ValueError(f"--seed must be at most 2^63 - 1, got {given['seed']}")
        return Settings(**given)
    for name, value in given.items():
        settled = asdict(kept)[name]
        if value != settled:
            raise ValueError(
                f"--{name.replace('_', '-')} must be {settled} as in {options.state}, got {value}: "
                f"leave it out, or begin another search by another --state"
            )
    return kept


def _check_rounds(rounds: int, modeler: Modeler) -> None:
    rows = len(modeler.release.candidates) - len(modeler.skipped)
    if rounds > rows:
        raise ValueError(f"--rounds must be at most the {rows} rows of the release, got {rounds}")


def _result(modeler: Modeler, unit: str) -> str:
    best = modeler.best
    text = f"Best of {len(modeler.history)}: row {best.index}, {best.value:.6g} {unit}".rstrip() + "."
    if not modeler.release.outcome_variance:
        return text
    return (
        f"{text} Answers are noised, so that is mostly the luckiest one; by the posterior mean, the row "
        f"to act on is {modeler.recommend()}."
    )


def _how_to_go_on(options: argparse.Namespace) -> str:
    if not options.state.exists():
        return "Nothing was asked yet."
    return f"{options.state} holds the search: the same command goes on with it."
