"""What runs come to: mean and standard error of each cell, round by round, and its tidy table."""

from __future__ import annotations

import csv
import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arms import ARMS
from cells import Cell, cells, most_runs
from problems import Problem
from simulate import Curves, curves, run_key

Array = np.ndarray
Results = dict[Cell, Curves]  # of each cell: runs x (rounds + 1) arrays


class Mean(NamedTuple):
    """Mean of runs and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, runs: Array) -> Mean:
        """Mean of the numbers of some runs; the error of one run is unknown."""
        error = runs.std(ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else math.nan
        return cls(float(runs.mean()), float(error))

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def results_of(
    problem: Problem, runs: Mapping[Hashable, list[int]], seeds: range, rounds: int
) -> Results:
    """Collect the regrets of all cells of a problem.

    Args:
        problem: One of `problems.PROBLEMS`, made.
        runs: What was asked, by `run_key`.
        seeds: Those of the runs, from 0.
        rounds: Rounds of a run.
    """
    wanted = list(cells(problem.name))
    found: dict[Cell, list[Curves]] = {cell: [] for cell in wanted}
    for seed in seeds:
        outcomes = problem.draw_outcomes(seed)
        known: dict[Hashable, Curves] = {}  # cells share runs
        for cell in wanted:
            if seed >= most_runs(cell.arm, len(seeds)):
                continue
            key = run_key(problem, ARMS[cell.arm], cell.settings, seed, rounds)
            if key not in known:
                known[key] = curves(problem, outcomes, runs[key])
            found[cell].append(known[key])
    return {
        cell: Curves(*(np.stack([each.numpy() for each in part]) for part in zip(*parts, strict=True)))
        for cell, parts in found.items()
    }


def final(results: Results, cell: Cell) -> Mean:
    """Simple regret after the last round."""
    return Mean.of(results[cell].simple_regret[:, -1])


def gap(results: Results, cell: Cell, other: Cell) -> Mean:
    """Simple regret beyond another cell's, after the last round; runs of a seed are paired."""
    runs = [results[each].simple_regret[:, -1] for each in (cell, other)]
    shared = min(map(len, runs))  # from the first seed on
    return Mean.of(runs[0][:shared] - runs[1][:shared])


def write_curves(problem: Problem, results: Results, path: Path) -> None:
    """Write one line for each cell and round."""
    head = (
        *("problem", "arm", "log_epsilon", "delta", "projection_dim", "round", "runs"),
        *("simple_regret", "simple_regret_error", "cumulative_regret", "cumulative_regret_error"),
        "better_records",
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(head)
        for cell, arrays in results.items():
            for t in range(arrays.simple_regret.shape[1]):
                simple, cumulative = (Mean.of(part[:, t]) for part in arrays[:2])
                lines.writerow(
                    [
                        *(cell.problem, cell.arm, *_shown(cell, problem), t, len(arrays.simple_regret)),
                        *(f"{number:.6g}" for number in (*simple, *cumulative)),
                        f"{arrays.better_records[:, t].mean():.6g}",
                    ]
                )


def _shown(cell: Cell, problem: Problem) -> tuple[str, str, str]:
    """Log epsilon, delta and r of a cell; empty for a search that has none."""
    if not cell.settings.projection_dim:
        return "", "", ""
    log_epsilon, r = cell.settings
    return f"{log_epsilon:g}", f"{problem.delta:g}", str(r)
