"""Regret against the epsilon of a whole record: noise on coordinates, cells, and cells from a history.

Each run releases once with seeded noise (which voids the guarantee: a benchmark) and searches for 50
rounds after 5 random rows. Seeds from 1,000 on were used by no choice of a rule. What is done already is
kept in ``whole_record.jsonl`` beside the results, so that it can be stopped and goes on.

    python benchmarks/whole_record.py [--runs 48] [--tables hospital,branin]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "paper"))

from frontier_tables import table_named  # noqa: E402 (benchmarks/paper is a folder of modules)

from botorch_private import (  # noqa: E402
    CellResponse,
    Cells,
    Curator,
    Encoding,
    Modeler,
    NoisyProjection,
    Number,
    PublicScaling,
    suggest_cells,
)
from botorch_private.datasets import hospital  # noqa: E402
from botorch_private.theory import expected_random_regret  # noqa: E402

RESULTS = HERE / "results"
KEPT = RESULTS / "whole_record.jsonl"
EPSILONS = (3.0, 5.0, 8.0)
FIRST_SEED, ROUNDS, INITIAL = 1_000, 50, 5
HISTORY_EPSILON, DELTA = 1.0, 1e-5


class Table(NamedTuple):
    """Records of a search, and what is declared of them.

    Attributes:
        records: ``n x d`` raw records.
        outcomes: ``n`` outcomes, or None where each seed draws its own.
        scaling: Declared ranges of all features.
        few: Columns of the grid of cells, and of the noise.
        outcome_range: Declared ends of the outcome, for a history; None: no history is tried.
        history: How many records are of the history.
        cut: Share of the history below the one cut.
        public: Whether the history needs no noise, since it is of no people.
    """

    records: Tensor
    outcomes: Any
    sigma: float
    scaling: PublicScaling
    few: tuple[int, ...]
    outcome_range: tuple[float, float] | None = None
    history: int = 0
    cut: float = 0.97
    public: bool = False


def _hospital() -> Table:
    """Day of stay on a log scale, since both ends of 1 to 100 days matter; all else as declared."""
    data = hospital()
    day, care = data.features.index("hday"), data.features.index("avtisst")
    records, lower, upper = data.records.clone(), list(data.lower), list(data.upper)
    records[:, day] = records[:, day].clamp(1, 100).log()
    lower[day], upper[day] = 0.0, math.log(100)
    sigma = float(data.outcomes.std(correction=0))
    dollars = (math.log(1e3), math.log(1e6))
    scaling = PublicScaling(lower, upper, names=data.features)
    return Table(records, data.outcomes, sigma, scaling, (day, care), dollars, 3_000)


def _of_frontier(name: str, few: tuple[int, ...], **more: Any) -> Table:
    table = table_named(name)
    return Table(table.raw, table.draw_outcomes, table.sigma_y, table.scaling, few, **more)


TABLES = {
    "hospital": _hospital,
    "branin": lambda: _of_frontier("branin", (0, 1)),
    "synthetic": lambda: _of_frontier("synthetic_gp", (0, 1)),
    "loans": lambda: _of_frontier("loan", (0, 1), outcome_range=(-3.0, 3.0), history=3_000),
    "molecules": lambda: _of_frontier(
        "esol", (0, 1), outcome_range=(-4.0, 2.0), history=372, cut=0.9, public=True
    ),
    "voices": lambda: _of_frontier("telemonitoring", (0, 2), outcome_range=(-3.0, 3.0), history=1_958),
}


def pool_of(table: Table, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Records and outcomes of the pool, and of the history, by a seed."""
    outcomes = table.outcomes(seed) if callable(table.outcomes) else table.outcomes
    order = torch.randperm(len(outcomes), generator=_generator(seed, 1))
    old, new = order[: table.history], order[table.history :]
    return table.records[new], outcomes[new], table.records[old], outcomes[old]


def curator_of(arm: str, table: Table, epsilon: float, seed: int) -> tuple[Curator, Tensor]:
    """Release the pool, and its outcomes."""
    records, outcomes, old, old_outcomes = pool_of(table, seed)
    few = list(table.few)
    lower, upper = table.scaling.lower, table.scaling.upper
    noise = _generator(seed, 2)
    if arm == "history":
        assert table.outcome_range is not None
        cells = Cells.from_history(
            old,
            old_outcomes,
            table.scaling,
            outcome_range=table.outcome_range,
            cuts=[table.cut],
            epsilon=HISTORY_EPSILON,
            delta=DELTA,
            public=table.public,
            generator=noise,
        )
        return Curator(records, None, CellResponse(epsilon, cells), outcomes, generator=noise), outcomes
    chosen = records[:, few]
    if arm == "cells":
        numbers = [Number(f"x{i}", float(lower[i]), float(upper[i])) for i in few]
        cells = Cells.of_encoding(suggest_cells(epsilon, Encoding(numbers)))
        return Curator(chosen, None, CellResponse(epsilon, cells), outcomes, generator=noise), outcomes
    scaling = PublicScaling(lower[few], upper[few])
    # Pure noise costs its epsilon at one unit times the diameter of the ball, whatever the unit is.
    mechanism = NoisyProjection(epsilon / (2 * scaling.radius) * (1 - 1e-3))
    return Curator(chosen, scaling, mechanism, outcomes, generator=noise), outcomes


def run(arm: str, table: Table, epsilon: float, seed: int) -> dict[str, float]:
    """Search once: simple regret, the gap of the mean answer, and chance, in sigma."""
    curator, outcomes = curator_of(arm, table, epsilon, seed)
    noise = {} if arm != "noise" else {"beta_scale": 0.2}
    modeler = Modeler(
        curator.release,
        exploration="theory",
        generator=_generator(seed, 3),
        **noise,
    )
    for _ in range(INITIAL + ROUNDS):
        row = modeler.ask()
        modeler.tell(row, curator.query(row).value)
    values = np.array([value for _, value in modeler.history])
    best = float(outcomes.max())
    return {
        "regret": (best - values.max()) / table.sigma,
        "gap": (best - values[INITIAL:].mean()) / table.sigma,
        "chance": expected_random_regret(outcomes, INITIAL + ROUNDS) / table.sigma,
        "whole_record": curator.release.guarantee.whole_record,
    }


def _generator(seed: int, what: int) -> torch.Generator:
    return torch.Generator().manual_seed(10 * seed + what)


def arms_of(table: Table) -> list[str]:
    """What is tried on a table."""
    return ["noise", "cells"] + ([] if table.outcome_range is None else ["history"])


def main() -> None:
    """Run what is missing, and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--arms", default="noise,cells,history")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    done = {tuple(json.loads(line)["key"]) for line in _kept()}
    for name in options.tables.split(","):
        table = TABLES[name]()
        jobs = [
            (name, arm, epsilon, seed)
            for seed in range(FIRST_SEED, FIRST_SEED + options.runs)
            for arm in arms_of(table)
            if arm in options.arms.split(",")
            for epsilon in EPSILONS
        ]
        with KEPT.open("a", encoding="utf-8") as file:
            for job in tqdm([job for job in jobs if job not in done], desc=name, unit="run"):
                _, arm, epsilon, seed = job
                line = {"key": job, **run(arm, table, epsilon, seed)}
                file.write(json.dumps(line) + "\n")
                file.flush()
    write()


def _kept() -> list[str]:
    return KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []


def write() -> None:
    """Write ``whole_record.md`` and ``whole_record.png`` from all runs that are kept."""
    found: dict[tuple[str, str, float], list[dict[str, Any]]] = defaultdict(list)
    for line in map(json.loads, _kept()):
        name, arm, epsilon, _ = line["key"]
        found[name, arm, epsilon].append(line)
    lines = [
        "# Regret against the epsilon of a whole record",
        "",
        "`python benchmarks/whole_record.py`. Simple regret in sigma of the outcome, mean +- standard",
        "error, after 5 random and 50 chosen rows; seeds that no rule was chosen on. Cells: the",
        "suggested number, in equal steps of the declared ranges of two features. History: one cut of a",
        "score that was learned from other records; for each of them at epsilon",
        f"{HISTORY_EPSILON:g} and delta {DELTA:g}, but molecules, which are public. Noise: l2 Laplace",
        "on the two features.",
        "",
        "| table | runs | random | arm | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS) + " |",
        "| --- " * (4 + len(EPSILONS)) + "|",
    ]
    for name in TABLES:
        for arm in ("noise", "cells", "history"):
            cells = [found.get((name, arm, epsilon), []) for epsilon in EPSILONS]
            if not any(cells):
                continue
            chance = np.mean([line["chance"] for each in cells for line in each])
            shown = [_mean([line["regret"] for line in each]) for each in cells]
            runs = max(map(len, cells))
            lines.append(f"| {name} | {runs} | {chance:.2f} | {arm} | " + " | ".join(shown) + " |")
    (RESULTS / "whole_record.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _draw(found)


def _mean(values: list[float]) -> str:
    if len(values) < 2:
        return ""
    return f"{np.mean(values):.2f} +- {np.std(values, ddof=1) / math.sqrt(len(values)):.2f}"


def _draw(found: dict[tuple[str, str, float], list[dict[str, Any]]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in TABLES if any(key[0] == name for key in found)]
    figure, axes = plt.subplots(2, 3, figsize=(10, 6), sharex=True, layout="constrained")
    for axis, name in zip(axes.flat, names, strict=False):
        for arm, colour in (("noise", "tab:gray"), ("cells", "tab:blue"), ("history", "tab:orange")):
            points = [(e, found[name, arm, e]) for e in EPSILONS if found.get((name, arm, e))]
            if not points:
                continue
            means = [np.mean([line["regret"] for line in each]) for _, each in points]
            errors = [np.std([line["regret"] for line in each]) / len(each) ** 0.5 for _, each in points]
            axis.errorbar([e for e, _ in points], means, errors, label=arm, color=colour, capsize=3)
        chance = [line["chance"] for key, each in found.items() if key[0] == name for line in each]
        axis.axhline(float(np.mean(chance)), color="black", linestyle=":", label="random")
        axis.set_title(name)
        axis.set_ylim(bottom=0)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    figure.supxlabel("epsilon of a whole record")
    figure.supylabel("simple regret after 55 measurements, in sigma")
    figure.savefig(RESULTS / "whole_record.png", dpi=110)


if __name__ == "__main__":
    main()
