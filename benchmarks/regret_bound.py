"""How often `Modeler.regret_bound` is wrong, and when it lets a search stop.

Each run releases a table once with seeded noise (which voids the guarantee: a benchmark), or without
noise, takes 5 random rows and 50 by the default rule, with hyperparameters that are learned. After each
answer from the 20th on, the bound for a chance of 5 % is compared with the truth: by how much the best
record that was not measured would have answered better. A bound below the truth is a violation. Units
are standard deviations of the table's outcomes.

With another goal the search goes by the rule of that goal. Truth is then by how much an unmeasured
record is better than the fifth best answer, or nearer to the target, or how many records above the
threshold (which a twentieth exceed) are not listed. A target is an outcome that 8 to 12 % of the records
exceed, and mostly none that a record has; or it is the very outcome of a record.

The search is the lean twin of `Modeler` in ``exploration.py``; the bounds are computed by the product's
own functions. Beside the bound stand two that are less cautious: the model as it is, and that with an
uncertain scale but without heavy tails. Seeds from 20,000 on chose the bound's form; those from 7,000 on
confirm it, and those from 9,000 on what was changed after that. What is done already is kept in
``regret_bound.jsonl`` beside the results.

    python benchmarks/regret_bound.py --runs 48
    python benchmarks/regret_bound.py --runs 48 --rule "theory 0.2" --tables "branin;hospital"
    python benchmarks/regret_bound.py --runs 48 --goal above --tables "branin;hospital"
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from exploration import INITIAL, RULES, Array, Belief, Cell, search_by, setting
from frontier_tables import TABLES
from tqdm import tqdm

from botorch_private import Above, Maximize, Target, TopK, ucb_beta
from botorch_private.modeler.goals import Goal, pursuit_of
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.regret_bound import cautious

KEPT = Path(__file__).parent / "results" / "regret_bound.jsonl"
SEEDS = {"choose": 20_000, "confirm": 7_000, "again": 9_000}
DEFAULT_RULE = "shared 1/0.2 from 10"
FIRST, ROUNDS, LEVEL = 20, 50, 0.05
BOUNDS = ("the bound", "uncertain scale", "the model as it is")
STOPS = (0.1, 0.5, 1.0)
GOALS: dict[str, Callable[[Array, float], Goal]] = {
    "maximize": lambda outcomes, share: Maximize(),
    "top 5": lambda outcomes, share: TopK(5),
    "target": lambda outcomes, share: Target(float(np.quantile(outcomes, 0.88 + 0.04 * share))),
    "target of a record": lambda outcomes, share: Target(
        float(np.quantile(outcomes, 0.9, method="nearest"))
    ),
    "above": lambda outcomes, share: Above(float(np.quantile(outcomes, 0.95))),
}


def run(cell: Cell, goal_name: str, rule_name: str, seed: int) -> list[list[float]]:
    """Checkpoints of one run: the number of answers, the truth, and each of `BOUNDS`."""
    given, rule = setting(cell, seed), RULES[rule_name]
    n, found = len(given.rows), []
    goal = GOALS[goal_name](given.outcomes, np.random.default_rng([seed, 3]).random())

    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        if len(asked) >= FIRST:
            found.append(_checkpoint(given.outcomes, goal, belief, asked))
        variance = belief.shared + (0.0 if rule.shared else belief.own)
        beta = rule.scale(t, ROUNDS) * ucb_beta(t, n)
        wide = math.sqrt(beta) * np.sqrt(np.maximum(variance, 1e-12))
        level = _level(goal)
        return wide + (
            belief.mean
            if level is None
            else -np.abs(belief.mean - (level - belief.center) / belief.unit)
        )

    search_by(given, score, ROUNDS, seed)
    return found


def _level(goal: Goal) -> float | None:
    """What rows are scored by their distance to."""
    if isinstance(goal, Above):
        return goal.threshold
    return goal.value if isinstance(goal, Target) else None


def _checkpoint(outcomes: Array, goal: Goal, belief: Belief, asked: list[int]) -> list[float]:
    there = np.ones(len(outcomes), dtype=bool)
    there[asked] = False
    mean = torch.from_numpy(belief.mean[there]).double()
    variance = torch.from_numpy(belief.shared[there]).double() + belief.own
    left = AnswersLeft(mean, variance, belief.noise, 0.0, belief.unit, belief.center)
    values = outcomes[asked].tolist()
    listed = belief.mean[there] * belief.unit + belief.center
    return [len(asked), truth(goal, values, outcomes[there], listed), *bounds(goal, left, values)]


def bounds(goal: Goal, left: AnswersLeft, values: list[float]) -> list[float]:
    """Each of `BOUNDS`, in the unit of the outcome."""
    count, known = len(values), left.known
    deviations = (
        cautious(left.variance, left.scatter, known, answers=count, level=LEVEL),
        cautious(left.variance + (left.scatter + known), 0.0, answers=count, level=LEVEL),
        (left.variance.clamp_min(0) + (left.scatter + known)).sqrt(),
    )
    return [pursuit_of(goal).bound(left, each, values, LEVEL) for each in deviations]


def truth(goal: Goal, told: list[float], left: Array, means: Array) -> float:
    """What a search misses, as the bound of its goal is meant.

    Args:
        goal: What was searched for.
        told: Answers so far.
        left: What the other records would answer.
        means: What the model expects of them.
    """
    if isinstance(goal, Above):
        return float(((left > goal.threshold) & (means < goal.threshold)).sum())
    if isinstance(goal, Target):
        nearest = min(abs(value - goal.value) for value in told)
        return max(0.0, nearest - float(np.abs(left - goal.value).min()))
    last = sorted(told)[-goal.k] if isinstance(goal, TopK) else max(told)
    return max(0.0, float(left.max()) - last)


def measure(
    cells: list[Cell], label: str, one: Callable[[Cell, int], list[list[float]]], seeds: range
) -> dict[Cell, Array]:
    """Run what is missing; ``runs x checkpoints x 5`` numbers of each cell."""
    kept = {}
    if KEPT.exists():
        lines = map(json.loads, KEPT.read_text(encoding="utf-8").splitlines())
        kept = {line["key"]: line["found"] for line in lines}
    found: dict[Cell, list[Any]] = {cell: [] for cell in cells}
    with KEPT.open("a", encoding="utf-8") as file:
        for cell, seed in tqdm([(cell, seed) for cell in cells for seed in seeds], mininterval=20):
            key = f"{label} | {cell.name} | {seed}"
            if key not in kept:
                kept[key] = one(cell, seed)
                file.write(json.dumps({"key": key, "found": kept[key]}) + "\n")
                file.flush()
            found[cell].append(kept[key])
    return {cell: np.array(runs) for cell, runs in found.items()}


# --- results ---


def violations(found: dict[Cell, Array]) -> str:
    """Share of checkpoints at which each bound was below the truth, and how wide the bounds are."""
    lines = [
        "| table | noise | " + " | ".join(f"{name}: wrong" for name in BOUNDS) + " | wrong before 30 | "
        "wrong from 40 | runs ever wrong | bound from 40 | as the model is | truth |",
        "| --- " * (2 + len(BOUNDS) + 6) + "|",
    ]
    for cell, runs in found.items():
        count, truth = runs[0, :, 0], runs[:, :, 1]
        wrong = [runs[:, :, 2 + i] < truth - 1e-9 for i in range(len(BOUNDS))]
        late = count >= 40
        shares = [f"{_percent(each.mean(axis=1))}" for each in wrong]
        shares += [f"{100 * wrong[0][:, part].mean():.1f}" for part in (count < 30, late)]
        shares.append(str(int(wrong[0].any(axis=1).sum())))
        sizes = [f"{np.median(runs[:, late, i]):.2f}" for i in (2, 4, 1)]
        lines.append("| " + " | ".join([cell.table, _noise(cell), *shares, *sizes]) + " |")
    return "\n".join(lines)


def stops(found: dict[Cell, Array]) -> str:
    """With ``stop_below`` X: how many runs stop, after how many answers, and how many are wrong."""
    lines = [
        "| table | noise | " + " | ".join(f"X = {x:g}" for x in STOPS) + " |",
        "| --- " * (2 + len(STOPS)) + "|",
    ]
    for cell, runs in found.items():
        each = []
        for limit in STOPS:
            low = runs[:, :, 2] <= limit
            twice = low[:, 1:] & low[:, :-1]
            ended = np.flatnonzero(twice.any(axis=1))
            at = twice.argmax(axis=1)[ended] + 1
            early = int((runs[ended, at, 1] > limit).sum())
            median = f" at {np.median(runs[ended, at, 0]):.0f}" if len(ended) else ""
            each.append(f"{len(ended)} of {len(runs)}{median}" + (f", {early} wrong" if early else ""))
        lines.append("| " + " | ".join([cell.table, _noise(cell), *each]) + " |")
    return "\n".join(lines)


def _noise(cell: Cell) -> str:
    return "none" if math.isinf(cell.epsilon) else f"epsilon {cell.epsilon:g}"


def _percent(shares: Array) -> str:
    """Mean over runs in percent, with its standard error; checkpoints of one run are not independent."""
    error = shares.std(ddof=1) / math.sqrt(len(shares)) if len(shares) > 1 else math.nan
    return f"{100 * shares.mean():.1f} ± {100 * error:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=[*SEEDS], default="confirm")
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--goal", choices=[*GOALS], default="maximize")
    parser.add_argument("--rule", choices=[*RULES], default=DEFAULT_RULE)
    parser.add_argument("--tables", help="names with ';' between them (default: all)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = options.tables.split(";") if options.tables else [*TABLES]
    cells = [Cell(name, epsilon) for name in names for epsilon in (3.0, math.inf)]
    first = SEEDS[options.set]
    goal, rule, seeds = options.goal, options.rule, range(first, first + options.runs)
    found = measure(cells, f"{goal} | {rule}", lambda cell, seed: run(cell, goal, rule, seed), seeds)
    print(f"\n{goal}, {rule}: {options.runs} runs, seeds from {first:,}; {ROUNDS + INITIAL} answers\n")
    print(violations(found))
    if goal in ("maximize", "top 5"):
        print("\n", stops(found), sep="")
    shares = {cell: float((runs[:, :, 2] < runs[:, :, 1] - 1e-9).mean()) for cell, runs in found.items()}
    worst = max(shares, key=lambda cell: shares[cell])
    print(f"\nWorst: {worst.table}, {_noise(worst)}: {100 * shares[worst]:.2f} %")


if __name__ == "__main__":
    main()
