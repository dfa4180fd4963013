"""The frontier for a whole record: its part of RESULTS.md, its tidy table, and its figure."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from frontier import BASE, INITIAL, NO_NOISE, ROUNDS, Point
from frontier import DELTA as UNIT_DELTA
from frontier_summary import Found
from frontier_tables import table_named
from markdown import markdown
from summary import Mean
from whole_record import (
    CELLS,
    DELTA,
    FIRST_SEED,
    HISTORY,
    HISTORY_EPSILON,
    NOISE,
    TABLES,
    declared,
    searched,
)

from botorch_private import CellResponse, NoisyProjection
from botorch_private.curator.publish import planned_guarantee

PER_UNIT = "noise, stated per unit"
ARMS = (NOISE, CELLS, HISTORY, PER_UNIT)


class Row(NamedTuple):
    """One point on the one axis.

    Attributes:
        table: One of `TABLES`.
        arm: One of `ARMS`.
        epsilon: Of a whole record.
        stated: What the curator asked for: of one unit for `PER_UNIT`, else of a whole record.
        central: Epsilon at `DELTA` of all labels together, before the first question; NaN for noise.
        runs: How many.
        regret: Simple, in sigma_y.
        chance: What as many records at random are expected to leave.
        before: Whether the runs were made by an earlier version, whose rule for noise was another one.
    """

    table: str
    arm: str
    epsilon: float
    stated: float
    central: float
    runs: int
    regret: Mean
    chance: float
    before: bool = False


def rows_of(found: Found, per_unit: Found) -> Iterator[Row]:
    """Put all points on the one axis.

    Args:
        found: Runs at an epsilon of a whole record.
        per_unit: Those of the frontier, at an epsilon of one unit.
    """
    for point, regrets in found.items():
        runs, mean, chance = len(regrets.simple), Mean.of(regrets.simple), float(regrets.chance.mean())
        yield row_of(point, runs, mean, chance)
    for name in TABLES:
        beside = searched(name).beside
        for point, regrets in per_unit.items():
            if point[:2] == (beside, BASE.name) and point.epsilon < NO_NOISE:
                runs, mean = len(regrets.simple), Mean.of(regrets.simple)
                chance = float(regrets.chance.mean())
                yield row_of(Point(name, PER_UNIT, point.epsilon), runs, mean, chance)


def row_of(point: Point, runs: int, regret: Mean, chance: float) -> Row:
    """Find what a point promises: of a whole record, and of all labels before the first question."""
    table = searched(point.table)
    if point.setup == PER_UNIT:
        of_unit = table_named(table.beside)
        mechanism = NoisyProjection(point.epsilon, UNIT_DELTA)
        promise = planned_guarantee(len(of_unit.raw), of_unit.scaling, mechanism)
        return Row(*point[:2], promise.whole_record, point.epsilon, math.nan, runs, regret, chance)
    central = math.nan
    if point.setup != NOISE:
        noise = torch.Generator().manual_seed(FIRST_SEED)  # the number of cells does not depend on it
        _, _, mechanism = declared(table, point.setup, point.epsilon, FIRST_SEED, noise)
        assert isinstance(mechanism, CellResponse)
        promise = mechanism.guarantee(len(table.records) - table.history, mechanism.cells.features)
        central = promise.shuffled(DELTA).epsilon
    return Row(*point[:2], point.epsilon, point.epsilon, central, runs, regret, chance)


def filled_up(rows: list[Row], wanted: list[Point], earlier: list[Row]) -> list[Row]:
    """Rows in the order of the points; those that lack are the ones of an earlier table."""
    known = {(*row[:2], row.stated): row._replace(before=True) for row in earlier}
    known |= {(*row[:2], row.stated): row for row in rows}
    filled = [known[tuple(point)] for point in wanted if tuple(point) in known]
    return filled + [row for row in rows if row.arm == PER_UNIT]


# --- the page ---

_INTRODUCTION = f"""\
What people mean by ε is a whole record: any change of it, yes/no and categories and all. Here every
mechanism stands on that axis. "Noise" is l2 Laplace noise on two features, as wide as their ranges
need. "Cells" are the suggested number of cells of the same two features, in equal steps of their
declared ranges, told by randomized response. "Cells of a history" are two cells: above and below one
cut of a score that was learned from other records, private for each of their people at
ε = {HISTORY_EPSILON:g} and δ = {DELTA:g}, but for molecules, which are public. Searches begin with
{INITIAL} random records and ask for T = {ROUNDS} more, with hyperparameters learned; regret is simple,
in σ_y: mean ± standard error, on seeds that no choice of a rule was made on. The pool is without the
records of the history.

The lines "central" are the ε at δ = {DELTA:g} of *all labels together, before the first question*
(`guarantee.shuffled({DELTA:g})`): rows are in a random order, so that a record hides among all
others. The smaller of the two numbers ends with the first question; the larger holds whatever is
asked."""

_WHY_NOT = """\
A search among labels finds the best cell, and then chooses at random among its records. So cells do
not help where the best record is a point, not a region, where the features of the cells say little of
the outcome, or where a label is a lie more often than not."""

_PER_UNIT_TEXT = f"""\
The next part of this page states ε for one unit, a small step. `guarantee.whole_record` is what
such a release costs on the axis above (δ = {UNIT_DELTA:g}): the first number of an entry, the
second is the regret. These are the runs of the next part, on the whole table; hospital
is the two features of "hospital, few", all others are all features."""

_BEFORE = """\
† Runs of an earlier version. Those of cells were made by the rule of today, those of noise by a fifth
of the theory's beta."""


def write(rows: list[Row]) -> list[str]:
    """The part of the page, as lines."""
    tables = [name for name in TABLES if any(row.table == name for row in rows)]
    runs = sorted({row.runs for row in rows if row.arm != PER_UNIT})
    many = f"{' or '.join(map(str, runs))} runs of each point."
    return [
        *("# Regret against the epsilon of a whole record", "", *_INTRODUCTION.splitlines(), "", many),
        *("", "![Regret against the epsilon of a whole record](results/whole_record.png)", ""),
        *_whole(rows, tables),
        *(("", *_BEFORE.splitlines()) if any(row.before for row in rows) else ()),
        *("", "## Where cells do not help", "", *_where_not(rows, tables), ""),
        *("## The promise per unit, on the same axis", "", *_PER_UNIT_TEXT.splitlines(), ""),
        *_per_unit(rows),
        "",
    ]


def _whole(rows: list[Row], tables: list[str]) -> list[str]:
    epsilons = sorted({row.epsilon for row in rows if row.arm != PER_UNIT})
    lines = []
    for name in tables:
        for arm in (NOISE, CELLS, HISTORY):
            line = {row.epsilon: row for row in rows if (row.table, row.arm) == (name, arm)}
            if not line:
                continue
            chance = f"{next(iter(line.values())).chance:.2f}"
            shown = [_regret(line[e]) if e in line else "" for e in epsilons]
            lines.append((name, chance, arm, *shown))
            if arm != NOISE:
                central = [_two_digits(line[e].central) if e in line else "" for e in epsilons]
                lines.append(("", "", "central", *central))
    head = ("table", "at random", "what is released", *(f"ε = {epsilon:g}" for epsilon in epsilons))
    return markdown(head, lines)


def _where_not(rows: list[Row], tables: list[str]) -> Iterator[str]:
    """Name every point of cells that is not below chance by two standard errors."""
    yield "Not below chance by two standard errors:"
    yield ""
    for name in tables:
        for arm in (CELLS, HISTORY):
            line = [row for row in rows if (row.table, row.arm) == (name, arm)]
            bad = [
                f"ε = {row.epsilon:g} ({_regret(row)})"
                for row in line
                if not row.regret.value + 2 * row.regret.error < row.chance
            ]
            if bad:
                yield f"- {name}, {arm} (at random {line[0].chance:.2f}): {', '.join(bad)}."
    yield ""
    yield from _WHY_NOT.splitlines()


def _per_unit(rows: list[Row]) -> list[str]:
    rows = [row for row in rows if row.arm == PER_UNIT]
    stated = sorted({row.stated for row in rows})
    lines = []
    for name in dict.fromkeys(row.table for row in rows):
        line = {row.stated: row for row in rows if row.table == name}
        # Rounded up: a promise is never shown as better than it is.
        cells = [
            f"{math.ceil(line[e].epsilon):,}: {_regret(line[e])}" if e in line else "" for e in stated
        ]
        lines.append((name, *cells, f"{next(iter(line.values())).chance:.2f}"))
    return markdown(("table", *(f"ε = {e:g} a unit" for e in stated), "at random"), lines)


def _regret(row: Row) -> str:
    return f"{row.regret.value:.2f} ± {row.regret.error:.2f}{' †' if row.before else ''}"


def _two_digits(number: float) -> str:
    """Two digits, rounded up: a promise is never shown as better than it is."""
    if number == 0:
        return "0"
    digits = 1 - math.floor(math.log10(number))
    return f"{math.ceil(number * 10**digits - 1e-9) / 10**digits:g}"


# --- the files ---


def write_table(rows: list[Row], path: Path) -> None:
    """Write one line for each point."""
    head = (*Row._fields[:6], "simple_regret", "simple_regret_error", "chance", "before")
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(head)
        for row in rows:
            central = "" if math.isnan(row.central) else row.central  # all digits: never rounded down
            shown = (*(f"{each:.6g}" for each in (*row.regret, row.chance)),)
            before = "yes" if row.before else ""
            lines.writerow((*row[:2], row.epsilon, f"{row.stated:g}", central, row.runs, *shown, before))


def read_table(path: Path) -> list[Row]:
    """Rows of a table that `write_table` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Row(
                *(line["table"], line["arm"], float(line["epsilon"]), float(line["stated"])),
                float(line["central"] or math.nan),
                int(line["runs"]),
                Mean(float(line["simple_regret"]), float(line["simple_regret_error"])),
                float(line["chance"]),
                line.get("before") == "yes",
            )
            for line in csv.DictReader(file)
        ]


_LOOKS = {
    NOISE: ("#000000", "s", "-"),
    CELLS: ("#0072B2", "o", "-"),
    HISTORY: ("#D55E00", "^", "-"),
    PER_UNIT: ("#999999", "D", "none"),
}


def draw(rows: list[Row], path: Path) -> None:
    """Draw one panel for each table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True).reshape(-1)
    shown = {}
    for axes, name in zip(panels, TABLES, strict=True):
        here = [row for row in rows if row.table == name]
        for arm in ARMS:
            line = sorted((row.epsilon, *row.regret) for row in here if row.arm == arm)
            if not line:
                continue
            colour, marker, style = _LOOKS[arm]
            shown[arm] = axes.errorbar(
                *zip(*line, strict=True),
                color=colour,
                marker=marker,
                linestyle=style,
                markersize=4,
                linewidth=1.4,
                capsize=2,
            )
        if here:
            shown["at random"] = axes.axhline(here[0].chance, color="0.7", linewidth=2, zorder=0)
        axes.set_xscale("log")
        ticks = (2, 3, 5, 8, 20, 100, 1000)
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_title(name, fontsize=10)
        axes.grid(alpha=0.25)
    figure.supxlabel("ε of a whole record")
    figure.supylabel("simple regret / σ_y")
    figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(path, dpi=100)
