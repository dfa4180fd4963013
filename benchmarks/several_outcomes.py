"""As good as possible within limits: `Constrained` against a search that knows no limits, and chance.

Each run releases once with seeded noise (which voids the guarantee: a benchmark), takes 5 random rows
and then 50 by a rule, with hyperparameters that are learned and refitted after every third answer. Rules
meet the same noise and the same first rows, so that they are compared by paired differences.

The regret of a search is the gap between the best answer that keeps the limits and the best record that
keeps them, in standard deviations of the outcome. Where no answer keeps them, it is that of the worst
record that does. Seeds below 5,000 chose the rule; those from 5,000 on confirm it.

    python benchmarks/several_outcomes.py --table islands --runs 48
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "paper"))

from frontier_tables import SCATTER, table_named  # noqa: E402 (benchmarks/paper is a folder of modules)

from botorch_private import (  # noqa: E402
    Constrained,
    Maximize,
    Minimize,
    Modeler,
    NoisyProjection,
    PublicScaling,
)
from botorch_private.curator.publish import publish  # noqa: E402

FIRST, INITIAL, ROUNDS, DELTA = 5_000, 5, 50, 1e-5
READ = (10, 20, 50)  # rounds
RULES = ("Constrained", "no limits", "random")


class Problem(NamedTuple):
    """A table with two outcomes, and what is wanted of them."""

    records: Tensor
    scaling: PublicScaling
    outcomes: Mapping[str, Tensor]
    goal: Constrained
    without: Maximize | Minimize
    wanted: str
    outcome_noise: float | None


def islands() -> Problem:
    """Gardner et al. (2014), first simulation, on a grid of 45 x 45: a third of the records is right."""
    side = torch.linspace(0, 6, 45, dtype=torch.float64)
    records = torch.cartesian_prod(side, side)
    x, y = records.T
    outcomes = {
        "loss": (2 * x).cos() * y.cos() + x.sin(),
        "strain": x.cos() * y.cos() - x.sin() * y.sin() + 0.5,
    }
    goal = Constrained(minimize="loss", at_most={"strain": 0.0})
    scaling = PublicScaling([0.0, 0.0], [6.0, 6.0])
    return Problem(records, scaling, outcomes, goal, Minimize(), "loss", None)


def voices() -> Problem:
    """Parkinson's telemonitoring: the worst movement among visits whose whole score is mild."""
    table = table_named("telemonitoring")
    raw = np.load(HERE / "paper" / "data" / "parkinsons_telemonitoring.npz")
    outcomes = {"score": torch.tensor(raw["y"]).double(), "motor": torch.tensor(raw["y_motor"]).double()}
    limit = float(outcomes["score"].quantile(0.3))
    goal = Constrained(maximize="motor", at_most={"score": limit})
    return Problem(table.raw, table.scaling, outcomes, goal, Maximize(), "motor", SCATTER)


TABLES = {"islands": islands, "voices": voices}


def search(problem: Problem, rule: str, epsilon: float, seed: int) -> list[dict[str, float]]:
    """All outcomes of the rows that were asked, in their order."""
    made = torch.Generator().manual_seed(seed)
    published = publish(
        problem.records, problem.scaling, NoisyProjection(epsilon, DELTA, None), generator=made
    )
    values = {name: each[published.permutation] for name, each in problem.outcomes.items()}

    def measured(row: int) -> dict[str, float]:
        return {name: float(each[row]) for name, each in values.items()}

    modeler = Modeler(
        published.release,
        goal=problem.goal if rule == "Constrained" else problem.without,
        n_initial=INITIAL + ROUNDS if rule == "random" else INITIAL,
        refit_every=3,
        outcome_noise=problem.outcome_noise,
        generator=torch.Generator().manual_seed(seed),
    )
    answers = []
    for _ in range(INITIAL + ROUNDS):
        row = modeler.ask()
        answers.append(measured(row))
        modeler.tell(row, answers[-1] if rule == "Constrained" else answers[-1][problem.wanted])
    return answers


def read(problem: Problem, answers: list[dict[str, float]]) -> list[float]:
    """Regret after some rounds, and the share of all chosen rows that keep the limits."""
    goal, names = problem.goal, list(problem.outcomes)
    columns = zip(*(each.tolist() for each in problem.outcomes.values()), strict=True)
    table = [dict(zip(names, record, strict=True)) for record in columns]
    allowed = [goal.gain(record) for record in table if goal.allows(record)]
    deviation = float(problem.outcomes[problem.wanted].std())
    kept = []
    for rounds in READ:
        found = [goal.gain(each) for each in answers[: INITIAL + rounds] if goal.allows(each)]
        kept.append((max(allowed) - max(found, default=min(allowed))) / deviation)
    return [*kept, float(np.mean([goal.allows(each) for each in answers[INITIAL:]]))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--table", choices=[*TABLES], default="islands")
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--first", type=int, default=FIRST)
    options = parser.parse_args()
    torch.set_num_threads(1)
    problem = TABLES[options.table]()
    seeds = range(options.first, options.first + options.runs)
    found: dict[str, Any] = {rule: [] for rule in RULES}
    for seed in tqdm(seeds, mininterval=20):
        for rule in RULES:
            found[rule].append(read(problem, search(problem, rule, options.epsilon, seed)))
    print(f"\n### {options.table}, epsilon {options.epsilon:g}, {options.runs} runs from {seeds[0]:,}\n")
    heads = [*(f"regret after {rounds} rounds" for rounds in READ), "answers within limits"]
    print("| rule |", " | ".join(heads), "|\n" + "| --- " * (1 + len(heads)) + "|")
    base = np.array(found[RULES[0]])
    for rule in RULES:
        mine = np.array(found[rule])
        gap = mine - base
        error = gap.std(axis=0, ddof=1) / math.sqrt(len(gap))
        cells = [f"{each:.3f}" for each in mine.mean(axis=0)]
        if rule != RULES[0]:
            cells = [
                f"{c} ({g:+.3f} ± {e:.3f})" for c, g, e in zip(cells, gap.mean(0), error, strict=True)
            ]
        print(f"| {rule} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
