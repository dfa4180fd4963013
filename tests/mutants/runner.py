"""Plant one bug at a time into a copy of the package, and see whether its tests notice.

``python -m tests.mutants`` plants all of `mutants.toml`; with words behind it, those of a room
(``curator/service``) or with the word in their name. It prints what became of each, and ends with
status 1 where one was not noticed or cannot be planted any more. The tree itself is never changed.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import queue
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = "botorch_private"
CAUGHT, SURVIVED, STALE = "caught", "SURVIVED", "DOES NOT APPLY"
BROKEN, ENDLESS = "CANNOT BE TESTED", "TAKES TOO LONG"
_COPIED = (PACKAGE, "tests", "conftest.py", "pyproject.toml")
_LIMIT = 180.0  # seconds for the tests of one mutant
_PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "pytest_timeout")  # whose setting is in pyproject.toml
_LOG, _FAILURES = "tests.log", "failures.txt"
# Exit statuses of a process that tests: pytest's and a hundred. Others say that nothing was tested.
_TESTED = 100
_PASSED, _FAILED = _TESTED + 0, _TESTED + 1
# What takes seconds to import is imported once, in a process from which those that test are forked.
_HEAVY = ("botorch", "fastapi", "hypothesis", "pandas", "scipy.stats", "starlette.testclient", "torch")
_SETTINGS = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # they take seconds, too, and no test of the list needs one
}
_CONTEXT = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Args:
        name: What it does, in words.
        file: Path in the package.
        before: Text that stands exactly once in the file.
        after: What takes its place.
        tests: Files of tests, or tests (``file::name``), of which one must fail.
    """

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        """Folder of the package that it is in."""
        return Path(self.file).parent.as_posix()

    def applies(self, root: Path) -> bool:
        """Whether the text that it replaces stands exactly once in its file."""
        path = root / PACKAGE / self.file
        return path.is_file() and path.read_text(encoding="utf-8").count(self.before) == 1


def load(path: Path) -> list[Mutant]:
    """Read a list of mutants."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in found]


def chosen(mutants: Sequence[Mutant], words: Sequence[str]) -> list[Mutant]:
    """Mutants of a room that is named, or with a word in their name; without words, all."""
    return [
        mutant
        for mutant in mutants
        if not words
        or any(f"{mutant.room}/".startswith(f"{word}/") or word in mutant.name for word in words)
    ]


def run_tests(copy: Path, tests: Sequence[str], *options: str) -> int | None:
    """Run tests on a copy of the tree; the process's exit status, None if it took too long."""
    process = _CONTEXT.Process(target=_run, args=(copy, [*options, *tests]))
    process.start()
    process.join(_LIMIT)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return process.exitcode


class _Failures:
    """Part of pytest that notes which tests fail, without their parameters."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.names[report.nodeid.partition("[")[0]] = None


def _run(copy: Path, arguments: Sequence[str]) -> None:
    """Run pytest in this process, and end it."""
    log = os.open(copy / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(copy)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ |= {**_SETTINGS, "PYTHONPATH": str(copy)}
    sys.path.insert(0, str(copy))
    import pytest

    package = importlib.import_module(PACKAGE)
    if not Path(str(package.__file__)).is_relative_to(copy):
        raise ImportError(f"the package must be the one in {copy}, got {package.__file__}")
    failures = _Failures()
    status = pytest.main([*_PYTEST, *arguments], plugins=[failures])
    (copy / _FAILURES).write_text("\n".join(failures.names), encoding="utf-8")
    sys.exit(_TESTED + status)


def plant(mutant: Mutant, copy: Path) -> tuple[str, list[str]]:
    """Run a mutant's tests with the bug in a copy of the tree, and take it out again.

    Returns:
        What became of it, and which test failed.
    """
    if not mutant.applies(copy):
        return STALE, []
    path = copy / PACKAGE / mutant.file
    honest = path.read_text(encoding="utf-8")
    try:
        _write(path, honest.replace(mutant.before, mutant.after))
        status = run_tests(copy, mutant.tests, "-x")
    finally:
        _write(path, honest)
    if status is None:
        return ENDLESS, []
    if status == _FAILED:
        return CAUGHT, failures(copy)
    return SURVIVED if status == _PASSED else BROKEN, []


def failures(copy: Path) -> list[str]:
    """Tests that failed in a copy of the tree, when they were run last."""
    return (copy / _FAILURES).read_text(encoding="utf-8").splitlines()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    # A compiled file counts as fresh by size and second, which a small bug may leave as they are.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def copy_tree(root: Path, target: Path) -> Path:
    """Copy the package and its tests."""
    target.mkdir()
    for name in _COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, target / name)
    return target


def check(mutants: Sequence[Mutant], *, root: Path = ROOT, workers: int = 2) -> int:
    """Plant mutants, print what became of each, and return an exit status.

    A test that fails without a bug has caught none: those that failed are run again at the end.

    Args:
        mutants: Planted one at a time.
        root: The tree, of which copies are made.
        workers: How many are planted side by side, each in a copy of its own.
    """
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants.") as folder, ThreadPoolExecutor(workers) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(workers):
            copies.put(copy_tree(root, Path(folder, str(number))))

        def planted(mutant: Mutant) -> tuple[str, list[str], float]:
            copy, began = copies.get(), time.monotonic()
            try:
                return *plant(mutant, copy), time.monotonic() - began
            finally:
                copies.put(copy)

        bad, used = 0, {}
        for mutant, (verdict, failed, seconds) in zip(mutants, pool.map(planted, mutants), strict=True):
            bad += verdict != CAUGHT
            used |= dict.fromkeys(failed)
            print(f"{verdict:<16}{seconds:6.1f} s  {mutant.room}: {mutant.name}", flush=True)
        copy = copies.get()
        if used and run_tests(copy, list(used)) != _PASSED:
            bad += 1
            print((copy / _LOG).read_text(encoding="utf-8"))
            print(f"WITHOUT A BUG these fail, too, and catch nothing: {' '.join(failures(copy))}")
    verdict = f"{bad} must be looked at" if bad else "all caught"
    print(f"{len(mutants)} bugs in {time.monotonic() - start:.0f} s: {verdict}")
    return int(bad > 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Plant bugs into a copy of the package, and see whether the tests notice each.",
    )
    parser.add_argument("words", nargs="*", help="rooms, such as curator/service, or parts of names")
    parser.add_argument("--workers", type=int, default=2, help="bugs at a time (default: 2)")
    parser.add_argument("--list", action="store_true", help="print rooms and names, and plant nothing")
    options = parser.parse_args(arguments)
    if options.workers < 1:
        parser.error(f"argument --workers: must be at least 1, got {options.workers}")
    mutants = chosen(load(Path(__file__).with_name("mutants.toml")), options.words)
    if not mutants:
        parser.error(f"no room and no name has {' or '.join(options.words)}; see --list")
    if options.list:
        print("\n".join(f"{mutant.room}: {mutant.name}" for mutant in mutants))
        return 0
    os.environ |= _SETTINGS
    _CONTEXT.set_forkserver_preload(list(_HEAVY))
    return check(mutants, workers=options.workers)
