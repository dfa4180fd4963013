"""Final regrets of the frontier, and their tidy table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from frontier import INITIAL, NO_NOISE, Point, key
from frontier_tables import FrontierTable
from store import RunStore
from summary import Array, Mean
from whole_record import Table

from botorch_private import History
from botorch_private.theory import expected_random_regret


class Regrets(NamedTuple):
    """Of all runs of a point, in sigma_y, after the last round."""

    simple: Array
    cumulative: Array  # of the chosen records, without the initial ones
    chance: Array  # simple regret that as many records chosen at random are expected to leave


Found = dict[Point, Regrets]


def regrets_of(
    table: FrontierTable | Table,
    points: list[Point],
    store: RunStore,
    seeds: range,
    rounds: int,
    key: Callable[[Point, int, int], tuple[Any, ...]] = key,
) -> Found:
    """Collect the regrets of all points of a table; ``key`` names a run in the store."""
    simple: dict[Point, list[float]] = {point: [] for point in points}
    cumulative: dict[Point, list[float]] = {point: [] for point in points}
    chance: dict[int, float] = {}
    for seed in seeds:
        outcomes = table.draw_outcomes(seed)
        optimum = float(outcomes.max())
        chance[seed] = expected_random_regret(outcomes, INITIAL + rounds) / table.sigma_y
        for point in points:
            asked = store[key(point, seed, rounds)]
            history = History(zip(asked, outcomes[asked].tolist(), strict=True))
            totals = history.cumulative_regret(optimum)
            simple[point].append(float(history.simple_regret(optimum)[-1]) / table.sigma_y)
            cumulative[point].append(float(totals[-1] - totals[INITIAL - 1]) / table.sigma_y)
    at_random = np.array([chance[seed] for seed in seeds])
    return {
        point: Regrets(np.array(simple[point]), np.array(cumulative[point]), at_random)
        for point in points
    }


def write(found: Mapping[Point, Regrets], path: Path) -> None:
    """Write one line for each point."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(
            (
                *("table", "setup", "epsilon", "runs", "simple_regret", "simple_regret_error"),
                *("cumulative_regret", "cumulative_regret_error", "chance"),
            )
        )
        for point, regrets in found.items():
            shown = "" if point.epsilon == NO_NOISE else f"{point.epsilon:g}"
            numbers = (*Mean.of(regrets.simple), *Mean.of(regrets.cumulative), regrets.chance.mean())
            lines.writerow(
                (
                    *(point.table, point.setup, shown, len(regrets.simple)),
                    *(f"{number:.6g}" for number in numbers),
                )
            )
