"""The frontier's part of RESULTS.md, and its figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from frontier import BASE, DELTA, EPSILONS, FEW_EPSILONS, INITIAL, NO_NOISE, SETUPS, Point
from frontier_summary import Found
from frontier_tables import table_named
from markdown import markdown
from summary import Mean

_INTRODUCTION = f"""\
The paper could not draw this: regret against ε of mechanisms that are private. ε is for one unit,
a small step. Every search starts
from {INITIAL} random records (the same for all lines of a run) and asks for T = 50 more; regret is
simple, in σ_y: mean ± standard error. "At random" is what {INITIAL} + T records chosen at random are
expected to leave, by order statistics. δ = {DELTA:g}. The base is what curator and modeler get without a
choice of their own, but for one that the kind of problem suggests: `NoisyProjection(epsilon, delta)`,
and `Modeler(release, outcome_noise=0.4)`, the latter for outcomes of people and markets
(0.1 for molecules, nothing for functions). Hyperparameters are learned from the answers. The other
tables change one thing each. Releases are private but for the seeds that make a benchmark repeatable."""

# What must hold of the hospital table, after 50 rounds with learned hyperparameters.
_TARGETS = {3.0: 0.15, 1.0: 0.4}
_HOSPITAL = (
    "hospital",
    "hospital, long stays",
    "hospital, weighted",
    "hospital, few",
    "hospital, few, same unit",
)


def write(found: Found) -> list[str]:
    """The part of the page, as lines."""
    tables = list(dict.fromkeys(point.table for point in found))
    runs = len(next(iter(found.values())).simple)
    return [
        *(
            "# Regret against the epsilon of one unit",
            "",
            f"{_INTRODUCTION} {runs} runs of each point.",
            "",
        ),
        *("![Regret against epsilon](results/frontier.png)", ""),
        *_base(found, tables),
        "",
        *(line for table in tables for line in _changes(found, table)),
        *_targets(found),
    ]


def _base(found: Found, tables: list[str]) -> Iterator[str]:
    yield from ("## The base, at every epsilon", "")
    run = {point.epsilon for point in found if point.setup == BASE.name}
    epsilons = [epsilon for epsilon in (*EPSILONS, NO_NOISE) if epsilon in run]
    head = ("table", *(_epsilon(epsilon) for epsilon in epsilons), "at random")
    rows = [
        (
            table,
            *(_cell(found, Point(table, BASE.name, epsilon)) for epsilon in epsilons),
            f"{_chance(found, table):.3f}",
        )
        for table in tables
    ]
    yield from markdown(head, rows)
    yield ""
    yield from (f"- {table}: {table_named(table).about}." for table in tables)


def _changes(found: Found, table: str) -> Iterator[str]:
    setups = [name for name in SETUPS if any(p.table == table and p.setup == name for p in found)]
    if len(setups) < 2:
        return
    yield from (f"## {table}: one change at a time", "")
    yield from ("In brackets: the difference to the base, paired by run.", "")
    epsilons = [e for e in FEW_EPSILONS if Point(table, BASE.name, e) in found]
    rows = []
    for name in setups:
        changes = SETUPS[name].changes or "nothing: the base"
        cells = (_beside(found, Point(table, name, epsilon)) for epsilon in (*epsilons, NO_NOISE))
        rows.append((changes, *cells))
    yield from markdown(("change", *(_epsilon(e) for e in (*epsilons, NO_NOISE))), rows)
    yield ""


_DISCLOSURE = """\
The targets ask for one choice that public knowledge suggests. Features and ranges of the choices below
are a clinician's (cost is how intensive care is, times how long it lasts), but they were made with this
table at hand, which a curator must not do; read them as what a good guess is worth. Note the units: the
fewer and the narrower the features, the smaller the step that ε is for."""


def _targets(found: Found) -> Iterator[str]:
    rows = [
        (
            name,
            _unit(name),
            f"at or below {target} at ε = {epsilon:g}",
            str(mean),
            _verdict(mean.value <= target),
        )
        for name in _HOSPITAL
        for epsilon, target in _TARGETS.items()
        if (point := Point(name, BASE.name, epsilon)) in found
        for mean in [Mean.of(found[point].simple)]
    ]
    yield from ("## Hospital, hyperparameters learned: what must hold for one choice of features", "")
    yield from (*_DISCLOSURE.splitlines(), "")
    yield from markdown(("features", "one unit is", "target", "found", "holds?"), rows)


def _unit(table: str) -> str:
    """One unit in the two features that matter most to cost."""
    scaling = table_named(table).scaling
    sizes = dict(zip(scaling.names or (), scaling.unit.tolist(), strict=True))
    return f"{sizes['avtisst']:.2g} TISS points or {sizes['hday']:.2g} days"


def _verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _epsilon(epsilon: float) -> str:
    return "no noise" if epsilon == NO_NOISE else f"ε = {epsilon:g}"


def _cell(found: Found, point: Point) -> str:
    return str(Mean.of(found[point].simple)) if point in found else ""


def _beside(found: Found, point: Point) -> str:
    """A cell of a change, with its paired difference to the base."""
    base = point._replace(setup=BASE.name)
    if point not in found or base not in found or point == base:
        return _cell(found, point)
    return f"{_cell(found, point)} ({Mean.of(found[point].simple - found[base].simple)})"


def _chance(found: Found, table: str) -> float:
    return float(next(r.chance for p, r in found.items() if p.table == table).mean())


def draw(found: Found, path: Path) -> None:
    """Draw one panel for each table: regret against epsilon, by setup."""
    from matplotlib.figure import Figure

    tables = list(dict.fromkeys(point.table for point in found))
    rows = math.ceil(len(tables) / 4)
    figure = Figure(figsize=(15, 3.3 * rows), layout="constrained")
    panels = figure.subplots(rows, 4, squeeze=False).reshape(-1)
    for axes, table in zip(panels, tables, strict=False):
        _panel(axes, found, table)
    for axes in panels[len(tables) :]:
        axes.set_visible(False)
    figure.savefig(path, dpi=100)


_COLOURS = dict(
    zip(
        SETUPS,
        (
            "#000000",
            "#0072B2",
            "#009E73",
            "#E69F00",
            "#CC79A7",
            "#56B4E9",
            "#D55E00",
            "#999999",
            "#7B3F00",
            "#F0E442",
        ),
        strict=True,
    )
)
_MARKERS = dict(zip(SETUPS, "osv^DP*Xhp", strict=True))


def _panel(axes, found: Found, table: str) -> None:
    for name in SETUPS:
        line = {p.epsilon: Mean.of(r.simple) for p, r in found.items() if p[:2] == (table, name)}
        finite = [epsilon for epsilon in line if epsilon < NO_NOISE]
        if not finite:
            continue
        means = np.array([line[epsilon] for epsilon in finite])
        axes.errorbar(
            *(finite, means[:, 0], means[:, 1]),
            label=name,
            color=_COLOURS[name],
            marker=_MARKERS[name],
            markersize=4,
            linewidth=1.6 if SETUPS[name].everywhere else 0.7,
        )
        if name == BASE.name and NO_NOISE in line:
            axes.axhline(
                line[NO_NOISE].value, color="black", linestyle=":", linewidth=1, label="no noise"
            )
    axes.axhline(_chance(found, table), color="0.7", linewidth=2, zorder=0, label="at random")
    axes.set_xscale("log")
    axes.set_xticks([0.25, 1, 3, 8, 20], ["0.25", "1", "3", "8", "20"])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_title(table, fontsize=10)
    axes.set_xlabel("ε at one unit of distance")
    axes.set_ylabel("simple regret / σ_y")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=6)
