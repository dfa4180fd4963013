"""A whole reproduction: run what is missing, then write tables, figures and the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bound
import figure
import frontier
import frontier_page
import frontier_summary
import page
import reproduce
import whole_record
import whole_record_page
from frontier_tables import TABLES, table_named
from parallel import complete
from problems import PROBLEMS
from store import RunStore, fingerprint
from summary import results_of, write_curves

# The frontier by the noise and the rule of before, as it was written then.
_BEFORE = Path(__file__).parent / "frontier_before.md"


@dataclass(frozen=True)
class Study:
    """What is run.

    Attributes:
        problems: Names of the paper's problems.
        frontier: Whether the privacy-utility frontier is run.
        runs: Runs of each cell, by problem.
        frontier_runs: Runs of each point of the frontier.
        whole_record_runs: Runs of each of its points for a whole record.
        rounds: Of each run; None: the paper's, and 50 for the frontier.
        quick: Whether two epsilons of the frontier are enough, and one of a whole record.
        finished: Whether nothing of the frontier is run, and points that are not finished are left out,
            or, for a whole record, taken from its tidy table of before.
    """

    problems: tuple[str, ...]
    frontier: bool
    runs: dict[str, int]
    frontier_runs: int
    whole_record_runs: int
    rounds: int | None
    quick: bool = False
    finished: bool = False

    @property
    def suffix(self) -> str:
        """What the files of a part of the study have in their names; nothing for the whole."""
        if set(self.problems) == set(PROBLEMS):
            return "" if self.frontier else "-paper"
        return "-".join(("", *self.problems)) if self.problems else "-frontier"


def run_study(study: Study, output: Path, *, workers: int | None = None) -> None:
    """Run what the folder lacks, and write everything.

    Args:
        study: What is run.
        output: A folder, made if missing.
        workers: Processes; None: one a core.
    """
    results = output / "results"
    results.mkdir(parents=True, exist_ok=True)
    store = RunStore(output / "runs.jsonl", fingerprint())
    try:
        sections = _paper(study, store, results, workers)
        if study.frontier:
            sections += _frontier(study, store, results, workers)
    finally:
        store.close()
    (output / f"RESULTS{study.suffix}.md").write_text("\n".join(sections) + "\n", encoding="utf-8")


def _paper(study: Study, store: RunStore, results: Path, workers: int | None) -> list[str]:
    found, bounds = {}, {}
    for name in study.problems:
        problem = reproduce.problem_named(name)
        seeds, rounds = range(study.runs[name]), study.rounds or problem.rounds
        jobs = list(reproduce.jobs(name, seeds, rounds))
        complete(store, jobs, workers=workers, label=name)
        found[name] = problem, results_of(problem, store, seeds, rounds)
        bounds[name] = list(bound.section(*found[name], store, seeds, rounds))
        write_curves(problem, found[name][1], results / f"{name}.csv")
    if not found:
        return []
    regrets = {name: regret for name, (_, regret) in found.items()}
    for quantity in ("simple_regret", "cumulative_regret"):
        name = f"{quantity}{study.suffix}.png"
        figure.draw(regrets, results / name, quantity=quantity)
    return page.write(found, bounds, study.suffix)


def _frontier(study: Study, store: RunStore, results: Path, workers: int | None) -> list[str]:
    rounds = study.rounds or frontier.ROUNDS
    found = {}
    for name in TABLES:
        seeds = range(study.frontier_runs)
        points = list(frontier.points(name, quick=study.quick))
        if study.finished:
            points = _finished(points, store, seeds, rounds, frontier.key)
        jobs = list(frontier.jobs(points, seeds, rounds))
        complete(store, jobs, workers=workers, label=f"frontier: {name}")
        found |= frontier_summary.regrets_of(table_named(name), points, store, seeds, rounds)
    frontier_summary.write(found, results / "frontier.csv")
    frontier_page.draw(found, results / "frontier.png")
    lines = [*_whole_record(study, found, store, results, workers), *frontier_page.write(found)]
    if study.finished:
        lines += ["", *_BEFORE.read_text(encoding="utf-8").splitlines()]
    return lines


def _finished(
    points: list[frontier.Point],
    store: RunStore,
    seeds: range,
    rounds: int,
    key: Callable[[frontier.Point, int, int], tuple[Any, ...]],
) -> list[frontier.Point]:
    """Points all of whose runs are kept."""
    return [point for point in points if all(key(point, seed, rounds) in store for seed in seeds)]


def _whole_record(
    study: Study, per_unit: frontier_summary.Found, store: RunStore, results: Path, workers: int | None
) -> list[str]:
    first, rounds = whole_record.FIRST_SEED, study.rounds or frontier.ROUNDS
    seeds = range(first, first + study.whole_record_runs)
    points = {name: list(whole_record.points(name, quick=study.quick)) for name in whole_record.TABLES}
    wanted = [point for each in points.values() for point in each]
    if study.finished:
        points = {
            name: _finished(each, store, seeds, rounds, whole_record.key)
            for name, each in points.items()
        }
    jobs = [job for each in points.values() for job in whole_record.jobs(each, seeds, rounds)]
    complete(store, jobs, workers=workers, label="whole record")
    found = {}
    for name, each in points.items():
        table = whole_record.searched(name)
        found |= frontier_summary.regrets_of(table, each, store, seeds, rounds, whole_record.key)
    rows = list(whole_record_page.rows_of(found, per_unit))
    table = results / "whole_record.csv"
    if study.finished:
        rows = whole_record_page.filled_up(rows, wanted, whole_record_page.read_table(table))
    whole_record_page.write_table(rows, table)
    whole_record_page.draw(rows, results / "whole_record.png")
    return whole_record_page.write(rows)
