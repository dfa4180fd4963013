"""Which cells are run: every entry of the paper's tables and figures, each arm, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from arms import (
    ARMS,
    AS_PRINTED_SCALED,
    BASELINES,
    LEARNED,
    NON_PRIVATE_PUBLIC,
    PRIVATE_SAME_UNIT,
    REPAIRED,
    Arm,
    Settings,
)
from printed import gaps, tables

# A non-private search depends on no setting; it is listed under one that no table has.
NO_SETTINGS = Settings(float("inf"), 0)
# Arms that keep to the paper's 50 runs: those that fit each round are ten times slower, and the others
# stand beside one that has more.
MOST = 50
ENOUGH = (REPAIRED, LEARNED, AS_PRINTED_SCALED, PRIVATE_SAME_UNIT, NON_PRIVATE_PUBLIC)


class Cell(NamedTuple):
    """One arm under one setting of one problem."""

    problem: str
    arm: str
    settings: Settings


def settings_of(problem: str) -> list[Settings]:
    """All settings that the paper's tables and figures have for a problem, in order."""
    entries = [*tables(problem), *gaps(problem)]
    return sorted({Settings(entry.log_epsilon, entry.projection_dim) for entry in entries})


def figure_settings(problem: str) -> list[Settings]:
    """The settings of a problem's figure, the largest epsilon first."""
    return [Settings(gap.log_epsilon, gap.projection_dim) for gap in gaps(problem)]


def raised_settings(problem: str) -> list[Settings]:
    """The settings of a problem's tables at which the paper's singular values were raised."""
    return [
        Settings(entry.log_epsilon, entry.projection_dim)
        for entry in tables(problem)
        if not entry.above_floor
    ]


def cells(problem: str) -> Iterator[Cell]:
    """Yield all cells of a problem."""
    for arm in ARMS.values():
        for settings in _settings(problem, arm):
            yield Cell(problem, arm.name, settings)


def _settings(problem: str, arm: Arm) -> list[Settings]:
    if not releases(arm):
        return [NO_SETTINGS]
    if arm is PRIVATE_SAME_UNIT and problem == "synthetic_gp":
        return []  # both scalings agree: it is the scaled arm
    if arm in (REPAIRED, LEARNED):
        # On a square grid one factor repairs all distances; elsewhere there is none to know.
        return raised_settings(problem) if problem == "synthetic_gp" else []
    return figure_settings(problem) if arm is AS_PRINTED_SCALED else settings_of(problem)


def most_runs(arm: str, runs: int) -> int:
    """How many runs an arm gets where the others get a number of them."""
    return min(runs, MOST) if ARMS[arm] in ENOUGH else runs


def releases(arm: Arm) -> bool:
    """Whether an arm's release depends on the settings."""
    return not arm.name.startswith("non-private")


def baseline(arm: str) -> str:
    """Name of the non-private arm that chooses by the same rule."""
    return BASELINES[ARMS[arm].rule].name
