"""Rules for goals other than the one best record, compared run by run on several tables.

Three questions. *Above*: which records are above ``h``, here the outcome that a tenth exceeds? All
records are sorted by what the model says after the last answer, and measured ones by their answers; the
F1 score tells how well. *The k best*: how many of the ten best records are measured? *Target*: how near
to ``v``, here the outcome that a twentieth exceeds, is the nearest record that was measured, and how
near are all that were?

Releases, first rows, ties and the lean search are those of ``exploration.py``. Seeds from 2,000 on choose
a rule; those from 6,000 on confirm it. All that a seed's rules do is paired.

    python benchmarks/goals.py --set choose --runs 16
    python benchmarks/goals.py --set confirm --runs 48 --rules "random,ucb,straddle,near"
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from exploration import FEW, INITIAL, Array, Belief, Cell, Setting, search_by, setting
from scipy.special import ndtr
from tqdm import tqdm

from botorch_private import ucb_beta

SEEDS = {"choose": 2_000, "confirm": 6_000}
CELLS = [Cell(table, e) for e in (3.0, 1.0) for table in ("branin", "grid", "hospital", FEW)]
ABOVE, BEST, TARGET = 0.9, 10, 0.95  # quantiles of all outcomes, and how many are wanted
MEASURES = {
    "F1 of the records above": 1,
    "measured above": 1,
    "of the ten best": 1,
    "nearest to the target": -1,
    "mean distance to the target": -1,
}  # and which sign is better
Score = Callable[[Belief, int, list[int]], Array]


class Wanted(NamedTuple):
    """What a run looks for, in the unit of the outcomes."""

    outcomes: Array
    h: float
    v: float

    @classmethod
    def of(cls, given: Setting) -> Wanted:
        """Quantiles of the outcomes of all records."""
        h, v = np.quantile(given.outcomes, [ABOVE, TARGET])
        return cls(given.outcomes, float(h), float(v))


def _deviation(belief: Belief, *, whole: bool = False) -> Array:
    return np.sqrt(np.maximum(belief.shared + (belief.own if whole else 0.0), 1e-12))


def _schedule(t: int, n: int, scale: float = 1.0) -> float:
    """As `Modeler` has it: the theory's, and a fifth of it after 10 rounds."""
    return scale * (1.0 if t <= 10 else 0.2) * ucb_beta(t, n)


def _ucb(wanted: Wanted, scale: float = 1.0) -> Score:
    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        return belief.mean + math.sqrt(_schedule(t, len(belief.mean), scale)) * _deviation(belief)

    return score


def _straddle(level: float, beta: Callable[[int, int], float], *, whole: bool = False) -> Score:
    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        gap = np.abs(belief.mean - (level - belief.center) / belief.unit)
        return math.sqrt(beta(t, len(gap))) * _deviation(belief, whole=whole) - gap

    return score


def _gain(wanted: Wanted) -> Score:
    """Expected gain in closeness: the mean of ``max(0, d - |y - v|)`` for the smallest ``d`` so far."""

    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        v = (wanted.v - belief.center) / belief.unit
        y = (wanted.outcomes[asked] - belief.center) / belief.unit
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


RULES: dict[str, Callable[[Wanted], Score | None]] = {
    "random": lambda w: None,
    "ucb": _ucb,
    "ucb 0.2": lambda w: _ucb(w, 0.2),
    "straddle": lambda w: _straddle(w.h, lambda t, n: 1.96**2),
    "straddle whole": lambda w: _straddle(w.h, lambda t, n: 1.96**2, whole=True),
    "straddle schedule": lambda w: _straddle(w.h, _schedule),
    "straddle 1": lambda w: _straddle(w.h, lambda t, n: 1.0),
    "straddle 3": lambda w: _straddle(w.h, lambda t, n: 9.0),
    "straddle and ucb": lambda w: _in_turn(_straddle(w.h, lambda t, n: 1.96**2), _ucb(w)),
    "near": lambda w: _straddle(w.v, _schedule),
    "near 1.96": lambda w: _straddle(w.v, lambda t, n: 1.96**2),
    "near 1": lambda w: _straddle(w.v, lambda t, n: 1.0),
    "near 0.2": lambda w: _straddle(w.v, lambda t, n: _schedule(t, n, 0.2)),
    "near gain": _gain,
}


def measures(wanted: Wanted, asked: list[int], belief: Belief) -> list[float]:
    """The numbers of `MEASURES`, of one run."""
    y, measured = wanted.outcomes, np.zeros(len(wanted.outcomes), dtype=bool)
    measured[asked] = True
    above = y > wanted.h
    said = np.where(measured, above, belief.mean > (wanted.h - belief.center) / belief.unit)
    both = int((said & above).sum())
    ten = np.argsort(-y, kind="stable")[:BEST]
    gaps = np.abs(y[asked] - wanted.v)
    return [
        2 * both / (int(said.sum()) + int(above.sum())),
        float((measured & above).sum()),
        float(measured[ten].mean()),
        float(gaps.min()),
        float(gaps[INITIAL:].mean()),
    ]


def table(found: dict[tuple[str, Cell], Array], rules: list[str], measure: int, base: str) -> str:
    """Means of each cell, and paired differences to a base, pooled over cells."""
    cells = list(dict.fromkeys(cell for _, cell in found))
    lines = [
        f"| rule | pooled, less {base} | " + " | ".join(cell.name for cell in cells) + " |",
        "| --- " * (2 + len(cells)) + "|",
    ]
    for rule in rules:
        own = np.array([found[rule, cell][:, measure] for cell in cells])
        gaps = own - np.array([found[base, cell][:, measure] for cell in cells])
        by_seed = gaps.mean(axis=0)
        error = by_seed.std(ddof=1) / math.sqrt(len(by_seed))
        pooled = "" if rule == base else f"{by_seed.mean():+.3f} ± {error:.3f}"
        each = [
            f"{mine.mean():.3f}"
            + ("" if rule == base else f" ({g.mean():+.3f} ± {g.std(ddof=1) / math.sqrt(len(g)):.3f})")
            for mine, g in zip(own, gaps, strict=True)
        ]
        lines.append(f"| {rule} | {pooled} | " + " | ".join(each) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=[*SEEDS], default="choose")
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rules, first = options.rules.split(","), SEEDS[options.set]
    numbers: dict[tuple[str, Cell], list[Any]] = {}
    for seed in tqdm(range(first, first + options.runs), mininterval=20):
        for cell in CELLS:
            given = setting(cell, seed)
            wanted = Wanted.of(given)
            for rule in rules:
                score = RULES[rule](wanted)
                asked, belief = search_by(given, score, options.rounds, seed, believe=True)
                assert belief is not None
                numbers.setdefault((rule, cell), []).append(measures(wanted, asked, belief))
    found = {key: np.array(values) for key, values in numbers.items()}
    print(f"{options.rounds} rounds, {options.runs} runs a cell, seeds from {first:,}")
    for i, (name, sign) in enumerate(MEASURES.items()):
        print(f"\n### {name} ({'more' if sign > 0 else 'less'} is better)\n")
        print(table(found, rules, i, "ucb"))


if __name__ == "__main__":
    main()
