"""Finished runs on disk: a file that only grows, so that a killed reproduction goes on where it was."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import botorch_private

# What no run depends on, of the package; the libraries that runs depend on; and what they depend on
# of this folder.
_WITHOUT = (  # files, and folders with a slash behind them
    *("__main__.py", "audit/", "cli/", "report/"),
    *("modeler/run.py", "modeler/keep_open.py", "modeler/remote/"),
    *("curator/service/", "curator/transform.py"),
    *(f"curator/features/{name}.py" for name in ("asking", "described", "encoding", "kinds")),
    *(f"curator/features/{name}.py" for name in ("ranges", "tables", "template")),
)
_LIBRARIES = ("botorch", "gpytorch", "linear_operator", "numpy", "scipy", "torch")
_OWN = (
    *("arms.py", "frontier.py", "frontier_tables.py", "hyperparameters.py", "hyperparameters.json"),
    *("preprocessing.py", "printed.py", "problems.py", "simulate.py", "streams.py", "tables.py"),
    "whole_record.py",
)


class RunsInTheWayError(Exception):
    """Runs on disk were made by other code, or another process is writing them."""


class RunStore:
    """What was asked in each run, by a key that says all that the run depends on.

    One line of JSON for each run. A line that a kill left unfinished is dropped when the file is
    opened again. Only one process at a time has the file, by an advisory lock.

    Args:
        path: The file; made if it does not exist.
        fingerprint: Of the code that makes the runs.

    Raises:
        RunsInTheWayError: If the file was begun by other code, or another process has it open.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path = path
        self._runs: dict[str, Any] = {}
        self._file = path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise RunsInTheWayError(
                f"another process is writing to {path}: wait for it, or choose another --output"
            ) from None
        try:
            whole = self._read(fingerprint)
        except RunsInTheWayError:
            self._file.close()
            raise
        self._file.truncate(whole)
        if whole == 0:
            self._write({"code": fingerprint})

    def __contains__(self, key: Iterable[Any]) -> bool:
        return _text(key) in self._runs

    def __getitem__(self, key: Iterable[Any]) -> Any:
        return self._runs[_text(key)]

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, results: Iterable[tuple[Iterable[Any], Any]]) -> None:
        """Keep results of runs by their keys, on disk before this returns."""
        for key, result in results:
            text = _text(key)
            if text not in self._runs:
                self._runs[text] = result
                self._write({"run": text, "result": result})
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def _read(self, fingerprint: str) -> int:
        """Read all whole lines; returns where they end."""
        end = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:
                    break  # a crash of the machine can leave rubbish; what follows is run again
                if end == 0 and entry.get("code") != fingerprint:
                    raise RunsInTheWayError(
                        f"{self._path} holds runs of other code or libraries: delete it to start "
                        f"anew, or choose another --output"
                    )
                if "run" in entry:
                    self._runs[entry["run"]] = entry["result"]
                end += len(line)
        return end


def fingerprint(folder: Path = Path(__file__).parent) -> str:
    """Hash of the code and data that runs depend on, and of the libraries' versions.

    Where the files lie does not matter.
    """
    package = Path(botorch_private.__file__).parent
    sources = {f"paper/{name}": folder / name for name in _OWN}
    sources |= {f"paper/{path.name}": path for path in (folder / "data").iterdir()}
    for path in package.rglob("*"):
        name = path.relative_to(package).as_posix()
        if path.suffix in (".py", ".npz", ".json") and not name.startswith(_WITHOUT):
            sources[name] = path
    versions = " ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    digest = hashlib.sha256(versions.encode())
    for name, path in sorted(sources.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _text(key: Iterable[Any]) -> str:
    return json.dumps(list(key))
