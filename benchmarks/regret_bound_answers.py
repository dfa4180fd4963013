"""How often `Modeler.regret_bound` is wrong for labels of cells, and where answers are noised.

The lean twin of ``regret_bound.py`` has neither, so that these runs are of `Modeler` itself: 55 answers,
of which 5 are random. Labels are those of ``paper/whole_record.py``: cells of intensity of care and day
of stay, whose epsilon covers a whole record. Noised answers are those of a table at epsilon 3 for a
unit, with outcomes declared within 3 deviations. A bound is about noised answers, and so is the truth.

    python benchmarks/regret_bound_answers.py --runs 48
"""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from functools import lru_cache

import torch
from exploration import DELTA, INITIAL, Array, Cell
from frontier_tables import table_named
from regret_bound import FIRST, ROUNDS, SEEDS, bounds, measure, truth, violations
from whole_record import CELLS, declared, searched

from botorch_private import Maximize, Modeler, NoisyProjection, OutcomeMechanism
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.curator.publish import Domain, publish
from botorch_private.exchange.release import Release
from botorch_private.modeler.models.answers_left import AnswersLeft

LABELS, NOISED = "cells of two features", "hospital, few"
CELLS_TRIED = [
    *(Cell(LABELS, epsilon) for epsilon in (3.0, 5.0)),
    *(Cell(f"{NOISED}, {noise} answers", 5.0) for noise in ("laplace", "gaussian")),
]
UNIT_EPSILON = 3.0  # of the features, where answers are noised
RANGE = (-3.0, 3.0)  # of outcomes, in their deviations


def _generator(seed: int, what: int) -> torch.Generator:
    return torch.Generator().manual_seed(10 * seed + what)


@lru_cache
def _declared(epsilon: float) -> tuple[list[int], Domain | None, Mechanism]:
    """Cells look at no run."""
    return declared(searched("hospital"), CELLS, epsilon, 0, _generator(0, 2))


def labels(epsilon: float, seed: int) -> tuple[Release, Array]:
    """Labels of hospital stays, and what their rows answer."""
    table, noise = searched("hospital"), _generator(seed, 2)
    columns, domain, mechanism = _declared(epsilon)
    records = table.records[table.halves(seed)[1]][:, columns]
    published = publish(records, domain, mechanism, generator=noise)
    outcomes = table.draw_outcomes(seed)[published.permutation] / table.sigma_y
    return published.release, outcomes.numpy()


def noised(noise: str, epsilon: float, seed: int) -> tuple[Release, Array]:
    """Rows of hospital stays by two features, and the noised answers that a curator would give."""
    table, generator = table_named(NOISED), _generator(seed, 2)
    published = publish(
        table.raw, table.scaling, NoisyProjection(UNIT_EPSILON, DELTA, None), generator=generator
    )
    mechanism = OutcomeMechanism(epsilon, 0.0 if noise == "laplace" else DELTA, RANGE, noise)
    answers = mechanism.draw(table.draw_outcomes(seed)[published.permutation], generator=generator)
    promise = mechanism.guarantee(seeded=True)
    return dataclasses.replace(published.release, outcome_guarantee=promise), answers.numpy()


def run(cell: Cell, seed: int) -> list[list[float]]:
    """Checkpoints of one run, as ``regret_bound.py`` has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the seed
        if cell.table == LABELS:
            release, answers = labels(cell.epsilon, seed)
        else:
            release, answers = noised(cell.table.split()[-2], cell.epsilon, seed)
    outcome_noise = None if cell.table == LABELS else table_named(NOISED).outcome_noise
    modeler = Modeler(
        release, n_initial=INITIAL, outcome_noise=outcome_noise, generator=_generator(seed, 3)
    )
    found, goal = [], Maximize()
    there = torch.ones(len(answers), dtype=torch.bool)
    for count in range(INITIAL + ROUNDS):
        if count >= FIRST:
            told = list(modeler.history.indices)
            values = [float(value) for value in modeler.history.values]
            left = AnswersLeft.of(modeler.posterior(), told)
            missed = truth(goal, values, answers[there.numpy()], answers[:0])
            found.append([count, missed, *bounds(goal, left, values)])
        row = modeler.ask()
        modeler.tell(row, float(answers[row]))
        there[row] = False
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=[*SEEDS], default="confirm")
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--tables", help="names with ';' between them (default: all)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    first = SEEDS[options.set]
    names = options.tables.split(";") if options.tables else [cell.table for cell in CELLS_TRIED]
    cells = [cell for cell in CELLS_TRIED if cell.table in names]
    found = measure(cells, "Modeler", run, range(first, first + options.runs))
    print(f"\nModeler: {options.runs} runs, seeds from {first:,}; {ROUNDS + INITIAL} answers\n")
    print(violations(found))


if __name__ == "__main__":
    main()
