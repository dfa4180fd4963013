"""What the paper prints: 72 simple regrets, 12 gaps, and what they imply for each data set."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

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
        PrintedRegret(
            row["dataset"],
            float(row["log_epsilon"]),
            float(row["delta"]),
            int(row["rounds"]),
            int(row["projection_dim"]),
            int(row["largest_dim_above_floor"]),
            float(row["simple_regret"]),
        )
        for row in _rows("printed_tables.csv")
        if row["dataset"] == problem
    ]


def gaps(problem: str) -> list[PrintedGap]:
    """Return the 3 gaps that the text gives for a problem's figure."""
    return [
        PrintedGap(
            row["dataset"],
            float(row["log_epsilon"]),
            float(row["delta"]),
            int(row["rounds"]),
            int(row["projection_dim"]),
            float(row["extra_simple_regret_over_nonprivate_in_sigma_y"]),
        )
        for row in _rows("printed_gaps.csv")
        if row["dataset"] == problem
    ]


def implied_interval(problem: str) -> tuple[float, float]:
    """Return where the smallest singular value of the paper's own table must lie.

    At least the floor at the largest dimension that each table calls above it, and below the floor
    at the next dimension of that table.
    """
    entries = tables(problem)
    floors = [
        (entry.above_floor, singular_value_floor(math.exp(entry.log_epsilon), entry.delta, r))
        for entry in entries
        for r in [entry.projection_dim]
    ]
    return max(f for above, f in floors if above), min(f for above, f in floors if not above)


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
