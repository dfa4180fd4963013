"""The frontier for a whole record: regret against its epsilon, by noise and by cells.

Runs have seeds from 1,000 on, which no choice of a rule was made on. A run's pool is the table without
the records of its history.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from frontier import INITIAL, Point
from frontier_tables import table_named
from parallel import Job
from torch import Tensor

from botorch_private import (
    CellResponse,
    Cells,
    Encoding,
    Modeler,
    NoisyProjection,
    Number,
    PublicScaling,
    suggest_cells,
)
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.curator.publish import Domain, publish
from botorch_private.datasets import hospital

NOISE, CELLS, HISTORY = "noise", "cells", "cells of a history"
EPSILONS = {
    NOISE: (3.0, 5.0, 8.0),  # at 3 it is at chance nearly everywhere
    CELLS: (2.0, 3.0, 5.0, 8.0),
    HISTORY: (2.0, 3.0, 5.0, 8.0),
}
FIRST_SEED = 1_000
HISTORY_EPSILON, DELTA = 1.0, 1e-5


class Table(NamedTuple):
    """Records of a search, and what is declared of them.

    Attributes:
        records: ``n x d`` raw records.
        outcomes_of: The ``n`` outcomes of a run's seed, to be maximised.
        sigma_y: Regrets are reported in it.
        scaling: Declared ranges of all features.
        few: The two columns of the grid of cells, and of the noise.
        outcome_range: Declared ends of the outcome, for a history; None: no history is tried.
        history: How many records are of the history.
        cut: Share of the history below the one cut.
        public: Whether the history needs no noise, since it is of no people.
        beside: The frontier's table whose noise per unit is shown on the same axis.
    """

    records: Tensor
    outcomes_of: Callable[[int], Tensor]
    sigma_y: float
    scaling: PublicScaling
    few: tuple[int, int]
    beside: str
    outcome_range: tuple[float, float] | None = None
    history: int = 0
    cut: float = 0.97
    public: bool = False

    def draw_outcomes(self, seed: int) -> Tensor:
        """Outcomes of a run's pool."""
        return self.outcomes_of(seed)[self.halves(seed)[1]]

    def halves(self, seed: int) -> tuple[Tensor, Tensor]:
        """Records of a run's history, and of its pool."""
        order = torch.randperm(len(self.records), generator=_generator(seed, 1))
        return order[: self.history], order[self.history :]

    @property
    def arms(self) -> tuple[str, ...]:
        """What is tried."""
        return (NOISE, CELLS) if self.outcome_range is None else (NOISE, CELLS, HISTORY)


def _hospital() -> Table:
    """Day of stay on a log scale, since both ends of 1 to 100 days matter; all else as declared."""
    data = hospital()
    day, care = data.features.index("hday"), data.features.index("avtisst")
    records, lower, upper = data.records.clone(), list(data.lower), list(data.upper)
    records[:, day] = records[:, day].clamp(1, 100).log()
    lower[day], upper[day] = 0.0, math.log(100)
    sigma_y = float(data.outcomes.std(correction=0))
    scaling = PublicScaling(lower, upper, names=data.features)
    dollars = (math.log(1e3), math.log(1e6))
    return Table(
        records,
        lambda seed: data.outcomes,
        sigma_y,
        scaling,
        (day, care),
        "hospital, few",
        outcome_range=dollars,
        history=3_000,
    )


def _of_frontier(name: str, few: tuple[int, int] = (0, 1), **more: Any) -> Table:
    table = table_named(name)
    return Table(table.raw, table.draw_outcomes, table.sigma_y, table.scaling, few, name, **more)


TABLES: dict[str, Callable[[], Table]] = {
    "hospital": _hospital,
    "loans": lambda: _of_frontier("loan", outcome_range=(-3.0, 3.0), history=3_000),
    "branin": lambda: _of_frontier("branin"),
    "synthetic": lambda: _of_frontier("synthetic_gp"),
    "molecules": lambda: _of_frontier(
        "esol", outcome_range=(-4.0, 2.0), history=372, cut=0.9, public=True
    ),
    "voices": lambda: _of_frontier("telemonitoring", (0, 2), outcome_range=(-3.0, 3.0), history=1_958),
}


@lru_cache(maxsize=1)
def searched(name: str) -> Table:
    """Make a table once in a process."""
    return TABLES[name]()


def points(name: str, *, quick: bool = False) -> Iterator[Point]:
    """Yield what is run on a table; quick: at one epsilon."""
    for arm in searched(name).arms:
        for epsilon in (5.0,) if quick else EPSILONS[arm]:
            yield Point(name, arm, epsilon)


def jobs(points: list[Point], seeds: Iterable[int], rounds: int) -> Iterator[Job]:
    """Yield all runs, seed by seed."""
    for seed in seeds:
        for point in points:
            yield Job(key(point, seed, rounds), run_once, (*point, seed, rounds))


def key(point: Point, seed: int, rounds: int) -> tuple[Any, ...]:
    """What a run depends on."""
    return ("whole record", *point, seed, rounds)


def run_once(name: str, arm: str, epsilon: float, seed: int, rounds: int) -> list[int]:
    """Search once, and return the records of the pool asked: 5 random ones, then one for each round.

    The release is drawn with seeded noise, which voids its guarantee: a benchmark.
    """
    table, noise = searched(name), _generator(seed, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the seed
        columns, domain, mechanism = declared(table, arm, epsilon, seed, noise)
        records = table.records[table.halves(seed)[1]][:, columns]
        published = publish(records, domain, mechanism, generator=noise)
    values = table.draw_outcomes(seed)[published.permutation]
    modeler = Modeler(published.release, n_initial=INITIAL, generator=_generator(seed, 3))
    for _ in range(INITIAL + rounds):
        row = modeler.ask()
        modeler.tell(row, float(values[row]))
    return published.permutation[modeler.history.indices].tolist()


def declared(
    table: Table, arm: str, epsilon: float, seed: int, noise: torch.Generator
) -> tuple[list[int], Domain | None, Mechanism]:
    """Columns that are released, what scales them, and the mechanism at this epsilon."""
    few, (lower, upper) = list(table.few), (table.scaling.lower, table.scaling.upper)
    if arm == HISTORY:
        old, _ = table.halves(seed)
        assert table.outcome_range is not None
        cells = Cells.from_history(
            table.records[old],
            table.outcomes_of(seed)[old],
            table.scaling,
            outcome_range=table.outcome_range,
            cuts=[table.cut],
            epsilon=HISTORY_EPSILON,
            delta=DELTA,
            public=table.public,
            generator=noise,
        )
        return list(range(table.records.shape[1])), None, CellResponse(epsilon, cells)
    if arm == CELLS:
        numbers = [Number(f"x{i}", float(lower[i]), float(upper[i])) for i in few]
        cells = Cells.of_encoding(suggest_cells(epsilon, Encoding(numbers)))
        return few, None, CellResponse(epsilon, cells)
    scaling = PublicScaling(lower[few], upper[few])
    # Pure noise costs its epsilon at one unit times the diameter of the ball, whatever the unit is.
    return few, scaling, NoisyProjection(epsilon / (2 * scaling.radius) * (1 - 1e-3))


def _generator(seed: int, what: int) -> torch.Generator:
    return torch.Generator().manual_seed(10 * seed + what)
