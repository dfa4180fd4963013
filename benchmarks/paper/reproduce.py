"""Run every cell of the paper's tables and figures, and collect the regrets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from arms import ARMS, Settings
from cells import cells, most_runs
from parallel import Job
from problems import PROBLEMS, Problem
from simulate import run_key, simulate


@lru_cache(maxsize=1)
def problem_named(name: str) -> Problem:
    """Make a problem once in a process."""
    return PROBLEMS[name]()


def jobs(name: str, seeds: range, rounds: int) -> Iterator[Job]:
    """Yield all runs of a problem, seed by seed; cells that share a run yield it again."""
    problem = problem_named(name)
    for seed in seeds:
        for cell in cells(name):
            if seed >= most_runs(cell.arm, len(seeds)):
                continue
            key = run_key(problem, ARMS[cell.arm], cell.settings, seed, rounds)
            yield Job(key, run_once, (name, cell.arm, cell.settings, seed, rounds))


def run_once(name: str, arm: str, settings: Settings, seed: int, rounds: int) -> list[int]:
    """Do one run in whatever process this is."""
    return simulate(problem_named(name), ARMS[arm], settings, seed, rounds)
