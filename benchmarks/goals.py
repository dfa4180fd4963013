"""Rules for goals other than the one best record, compared run by run on several tables.

Three questions. *above*: which records are above ``h``, here the outcome that a tenth exceeds? All
records are sorted by what the model says after the last answer, and measured ones by their answers; the
F1 score tells how well. *best*: how many of the ten best records are measured? *target*: how near to
``v`` are the ten nearest records that were measured, for the outcomes that 95 % and half of the
records exceed?

Releases, first rows, ties and the lean search are those of ``exploration.py``. Seeds from 2,000 on
choose a rule; those from 6,000 on confirm it. All that a seed's rules do is paired.

    python benchmarks/goals.py --goal above --set choose --runs 16
    python benchmarks/goals.py --goal above --set confirm --rules "ucb,random,straddle,straddle 1.96"
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from exploration import FEW, Array, Belief, Cell, Setting, search_by, setting
from scipy.special import ndtr
from tqdm import tqdm

from botorch_private import ucb_beta

SEEDS = {"choose": 2_000, "confirm": 6_000}
CELLS = [Cell(table, e) for e in (3.0, 1.0) for table in ("branin", "grid", "hospital", FEW)]
ABOVE, BEST, TARGETS = 0.9, 10, (0.05, 0.5)  # quantiles of all outcomes, and how many are wanted
Score = Callable[[Belief, int, list[int]], Array]


class Search(NamedTuple):
    """What one run searches, and for what.

    Attributes:
        given: What the modeler has.
        level: The threshold, or the target, in the unit of the outcomes.
    """

    given: Setting
    level: float


def _deviation(belief: Belief, *, whole: bool = False) -> Array:
    return np.sqrt(np.maximum(belief.shared + (belief.own if whole else 0.0), 1e-12))


def _schedule(t: int, n: int, scale: float = 1.0) -> float:
    """As `Modeler` has it: the theory's, and a fifth of it after 10 rounds."""
    return scale * (1.0 if t <= 10 else 0.2) * ucb_beta(t, n)


def _ucb(scale: float = 1.0) -> Score:
    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        return belief.mean + math.sqrt(_schedule(t, len(belief.mean), scale)) * _deviation(belief)

    return score


def _straddle(level: float, beta: Callable[[int, int], float], *, whole: bool = False) -> Score:
    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        gap = np.abs(belief.mean - (level - belief.center) / belief.unit)
        return math.sqrt(beta(t, len(gap))) * _deviation(belief, whole=whole) - gap

    return score


def _gain(search: Search) -> Score:
    """Expected gain in closeness: the mean of ``max(0, d - |y - v|)`` for the smallest ``d`` so far."""

    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        v = (search.level - belief.center) / belief.unit
        y = (search.given.outcomes[asked] - belief.center) / belief.unit
        d = np.abs(y - v).min()
        s = np.sqrt(np.maximum(belief.shared, 1e-12) + belief.own + belief.noise)
        low, mid, high = ((edge - belief.mean) / s for edge in (v - d, v, v + d))

        def part(a: Array, b: Array, sign: float, edge: float) -> Array:
            # mean of (edge + sign y) where a < (y - m)/s < b
            density = (np.exp(-(a**2) / 2) - np.exp(-(b**2) / 2)) / math.sqrt(2 * math.pi)
            return (edge + sign * belief.mean) * (ndtr(b) - ndtr(a)) + sign * s * density

        return np.log(np.maximum(part(low, mid, 1, d - v) + part(mid, high, -1, d + v), 1e-300))

    return score


def _in_turn(one: Score, other: Score) -> Score:
    return lambda belief, t, asked: (one if t % 2 else other)(belief, t, asked)


def _straddling(beta: Callable[[int, int], float], **options: bool) -> Callable[[Search], Score]:
    return lambda search: _straddle(search.level, beta, **options)


RULES: dict[str, Callable[[Search], Score | None]] = {
    "ucb": lambda search: _ucb(),
    "random": lambda search: None,
    "ucb 0.2": lambda search: _ucb(0.2),
    "straddle": _straddling(_schedule),
    "straddle 0.2": _straddling(lambda t, n: _schedule(t, n, 0.2)),
    "straddle 1": _straddling(lambda t, n: 1.0),
    "straddle 1.96": _straddling(lambda t, n: 1.96**2),
    "straddle 3": _straddling(lambda t, n: 9.0),
    "straddle 1.96, whole": _straddling(lambda t, n: 1.96**2, whole=True),
    "straddle 1.96 and ucb": lambda search: _in_turn(
        _straddle(search.level, lambda t, n: 1.96**2), _ucb()
    ),
    "expected gain": _gain,
    "ucb of -abs(y - v)": lambda search: _ucb(),  # the outcomes are folded, too
}
FOLDED = "ucb of -abs(y - v)"


def measures(goal: str, search: Search, asked: list[int], belief: Belief) -> dict[str, float]:
    """What is compared, of one run."""
    y, measured = search.given.outcomes, np.zeros(len(search.given.outcomes), dtype=bool)
    measured[asked] = True
    if goal == "above":
        above = y > search.level
        likely = belief.mean > (search.level - belief.center) / belief.unit
        said = np.where(measured, above, likely)
        both = int((said & above).sum())
        return {
            "F1 of the records above": 2 * both / (int(said.sum()) + int(above.sum())),
            "Measured records that are above": float((measured & above).sum()),
        }
    if goal == "best":
        ten = np.argsort(-y, kind="stable")[:BEST]
        return {"Share of the ten best records that is measured": float(measured[ten].mean())}
    gaps = np.sort(np.abs(y[asked] - search.level))
    return {
        "Distance of the nearest record to the target": float(gaps[0]),
        "Mean distance of the ten nearest": float(gaps[:BEST].mean()),
    }


def levels(goal: str, given: Setting) -> list[float]:
    """Levels of the runs of a goal: one search for each."""
    shares = {"above": [ABOVE], "best": [ABOVE], "target": list(TARGETS)}[goal]
    return [float(level) for level in np.quantile(given.outcomes, shares)]


def run(goal: str, rule: str, search: Search, rounds: int, seed: int) -> dict[str, float]:
    """One search, and what came of it."""
    given = search.given
    if rule == FOLDED:
        given = given._replace(outcomes=-np.abs(given.outcomes - search.level))
    asked, belief = search_by(given, RULES[rule](search), rounds, seed, believe=True)
    assert belief is not None
    return measures(goal, search, asked, belief)


def table(found: dict[tuple[str, Cell], Array], rules: list[str], base: str) -> str:
    """Means of each cell, and paired differences to a base, pooled over cells."""
    cells = list(dict.fromkeys(cell for _, cell in found))
    lines = [
        f"| rule | pooled, less {base} | " + " | ".join(cell.name for cell in cells) + " |",
        "| --- " * (2 + len(cells)) + "|",
    ]
    for rule in rules:
        own = np.array([found[rule, cell] for cell in cells])
        gaps = own - np.array([found[base, cell] for cell in cells])
        pooled = "" if rule == base else _mean(gaps.mean(axis=0))
        each = [
            f"{mine.mean():.3f}" + ("" if rule == base else f" ({_mean(gap)})")
            for mine, gap in zip(own, gaps, strict=True)
        ]
        lines.append(f"| {rule} | {pooled} | " + " | ".join(each) + " |")
    return "\n".join(lines)


def _mean(gaps: Array) -> str:
    return f"{gaps.mean():+.3f} ± {gaps.std(ddof=1) / math.sqrt(len(gaps)):.3f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--goal", choices=["above", "best", "target"], required=True)
    parser.add_argument("--set", choices=[*SEEDS], default="choose")
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--rules", default="ucb,random")
    parser.add_argument("--epsilon", type=float, help="only the cells at this epsilon")
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rules, first = options.rules.split(","), SEEDS[options.set]
    numbers: dict[str, dict[tuple[str, Cell], list[float]]] = {}
    for seed in tqdm(range(first, first + options.runs), mininterval=20):
        for cell in CELLS:
            if options.epsilon not in (None, cell.epsilon):
                continue
            given = setting(cell, seed)
            searches = [Search(given, level) for level in levels(options.goal, given)]
            for rule in rules:
                runs = [run(options.goal, rule, each, options.rounds, seed) for each in searches]
                for name in runs[0]:
                    of_seed = numbers.setdefault(name, {}).setdefault((rule, cell), [])
                    of_seed.append(float(np.mean([each[name] for each in runs])))
    print(f"{options.rounds} rounds, {options.runs} runs a cell, seeds from {first:,}")
    for name, found in numbers.items():
        print(f"\n### {name}\n")
        print(table({key: np.array(values) for key, values in found.items()}, rules, rules[0]))


if __name__ == "__main__":
    main()
