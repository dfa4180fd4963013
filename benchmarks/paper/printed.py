"""What the paper prints: 72 simple regrets, 12 gaps, and what they imply for each data set."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from botorch_private.theory import singular_value_floor

_FOLDER = Path(__file__).parent / "data"


class PrintedRegret(NamedTuple):
    """One entry of the paper's 12 tables: mean simple regret of 50 runs after the last round."""

    problem: str
    log_epsilon: float
    delta: float
    rounds: int
    projection_dim: int
    largest_dim_above_floor: int  # of those in the table
    simple_regret: float

    @property
    def above_floor(self) -> bool:
        """Whether Algorithm 1 left the singular values as they were ("if" branch)."""
        return self.projection_dim <= self.largest_dim_above_floor


class PrintedGap(NamedTuple):
    """One sentence about a figure: mean simple regret beyond that of the non-private search."""

    problem: str
    log_epsilon: float
    delta: float
    rounds: int
    projection_dim: int
    gap: float  # in sigma_y


def tables(problem: str) -> list[PrintedRegret]:
    """Return the 18 table entries of a problem."""
    return [
        PrintedRegret(*shared, int(row["largest_dim_above_floor"]), float(row["simple_regret"]))
        for shared, row in _rows("printed_tables.csv", problem)
    ]


def gaps(problem: str) -> list[PrintedGap]:
    """Return the 3 gaps that the text gives for a problem's figure."""
    return [
        PrintedGap(*shared, float(row["extra_simple_regret_over_nonprivate_in_sigma_y"]))
        for shared, row in _rows("printed_gaps.csv", problem)
    ]


def implied_interval(problem: str) -> tuple[float, float]:
    """Return where the smallest singular value of the paper's own table must lie.

    At least the floor at the largest dimension that each table calls above it, and below the floor
    at the next dimension of that table.
    """
    entries = tables(problem)
    below = max(_floor(entry) for entry in entries if entry.above_floor)
    return below, min(_floor(entry) for entry in entries if not entry.above_floor)


def _floor(entry: PrintedRegret) -> float:
    return singular_value_floor(math.exp(entry.log_epsilon), entry.delta, entry.projection_dim)


def _rows(name: str, problem: str) -> Iterator[tuple[tuple[Any, ...], dict[str, str]]]:
    """Yield each row of a problem: what both files have, in the order of the fields, and all of it."""
    with (_FOLDER / name).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["dataset"] == problem:
                level, delta = float(row["log_epsilon"]), float(row["delta"])
                yield (problem, level, delta, int(row["rounds"]), int(row["projection_dim"])), row
