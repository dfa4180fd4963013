"""RESULTS.md: our number beside the paper's in every cell, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from arms import (
    ARMS,
    AS_PRINTED,
    AS_PRINTED_SCALED,
    AS_RELEASED,
    LEARNED,
    NON_PRIVATE,
    NON_PRIVATE_SCALED,
    PRIVATE,
    PRIVATE_SAME_UNIT,
    PRIVATE_SCALED,
    REPAIRED,
    Arm,
    Settings,
)
from cells import MOST, NO_SETTINGS, Cell, baseline, most_runs, raised_settings, releases
from commentary import COMMENTARY
from figure import TITLES
from markdown import markdown
from printed import PrintedRegret, gaps, tables
from problems import Problem
from summary import Mean, Results, final, gap

COLUMNS = (AS_RELEASED, AS_PRINTED, PRIVATE, PRIVATE_SCALED, PRIVATE_SAME_UNIT)
# Where one extreme outcome decides the simple regret, how many records are better is shown, too.
RANKED = ("loan", "property")


def columns(problem: Problem) -> tuple[Arm, ...]:
    """Arms of a problem's tables: where both scalings agree, the paper's unit is no arm of its own."""
    same = torch.allclose(problem.records, problem.public_records)
    return COLUMNS[:-1] if same else COLUMNS


def section(problem: Problem, results: Results) -> Iterator[str]:
    """Yield a problem's part of the page."""
    runs = len(next(iter(results.values())).simple_regret)
    title = TITLES[problem.name]
    yield from (f"## {title[0].upper()}{title[1:]}", "")
    yield from (_description(problem, runs), "")
    yield from (f"- {sentence}" for sentence in (*problem.assumed, f"tail rule: {problem.tail_rule}"))
    yield from ("", _interval(problem), "", *COMMENTARY[problem.name].splitlines(), "")
    yield from ("### Without privacy", "")
    yield from _non_private(problem, results)
    yield from ("", f"### Tables: simple regret after {problem.rounds} rounds", "")
    if problem.name in RANKED:
        yield from (
            "In brackets: how many records are better than the best found, in the median run.",
            "",
        )
    for entries in _by_epsilon(problem.name):
        yield from (f"ε = exp({entries[0].log_epsilon:g}):", "")
        yield from _table(problem, results, entries)
        yield ""
    yield from (_fit(problem, results), "", "### Figure: regret beyond the non-private search", "")
    yield from _gaps(problem, results)
    yield ""
    if problem.name == "synthetic_gp":
        yield from _mismatch(problem, results)


# --- parts of a section ---


def _description(problem: Problem, runs: int) -> str:
    n, d = problem.records.shape
    return (
        f"{n:,} records of {d} features, T = {problem.rounds}, δ = {problem.delta:g}, {runs} runs of "
        f"each cell{_fewer(runs)}: mean ± standard error, in σ_y. What the paper leaves open, and what "
        f"was taken:"
    )


def _fewer(runs: int) -> str:
    """Say which arms have fewer runs."""
    names = [f'"{name}"' for name in ARMS if most_runs(name, runs) < runs]
    return f" ({MOST} of {', '.join(names)})" if names else ""


def _interval(problem: Problem) -> str:
    low, high = problem.interval
    inside = "inside" if problem.inside else "OUTSIDE"
    note = problem.sigma_min_note.removeprefix("inside, ").removeprefix("inside ")
    return (
        f"Smallest singular value: {problem.sigma_min:,.1f}; the paper's tables imply one in "
        f"[{low:,.1f}, {high:,.1f}). Ours is {inside}: {note}."
    )


def _non_private(problem: Problem, results: Results) -> list[str]:
    rows = []
    for arm in ARMS.values():
        if not releases(arm):
            cell = Cell(problem.name, arm.name, NO_SETTINGS)
            rows.append((arm.name, str(final(results, cell)), *_also(results, cell)))
    head = ("search", "simple regret", "cumulative regret", "better records left")
    return markdown(head, rows)


def _also(results: Results, cell: Cell) -> tuple[str, str]:
    """Cumulative regret, and how many records are better than the best found, in the median run."""
    found = results[cell]
    cumulative = Mean.of(found.cumulative_regret[:, -1])
    return (
        f"{cumulative.value:.1f} ± {cumulative.error:.1f}",
        f"{np.median(found.better_records[:, -1]):g}",
    )


def _by_epsilon(problem: str) -> list[list[PrintedRegret]]:
    entries = tables(problem)
    epsilons = sorted({entry.log_epsilon for entry in entries})
    return [[entry for entry in entries if entry.log_epsilon == epsilon] for epsilon in epsilons]


def _table(problem: Problem, results: Results, entries: list[PrintedRegret]) -> list[str]:
    rows = []
    for entry in entries:
        settings = Settings(entry.log_epsilon, entry.projection_dim)
        cells = (Cell(problem.name, arm.name, settings) for arm in columns(problem))
        found = [_shown(results, cell) for cell in cells]
        branch = "as they are" if entry.above_floor else "raised"
        rows.append((str(entry.projection_dim), branch, f"{entry.simple_regret:.3f}", *found))
    return markdown(("r", "singular values", "paper", *(arm.name for arm in columns(problem))), rows)


def _shown(results: Results, cell: Cell) -> str:
    mean = str(final(results, cell))
    if cell.problem not in RANKED:
        return mean
    return f"{mean} ({np.median(results[cell].better_records[:, -1]):g})"


def _fit(problem: Problem, results: Results) -> str:
    both = " and ".join(
        f"{rms(problem.name, results, arm.name):.3f} for {arm.name}" for arm in (AS_RELEASED, AS_PRINTED)
    )
    return f"Root mean square difference from the paper's 18 entries: {both}."


def rms(problem: str, results: Results, arm: str) -> float:
    """Root mean square difference of an arm from the paper's entries of a problem."""
    squares = [
        (
            final(results, Cell(problem, arm, Settings(entry.log_epsilon, entry.projection_dim))).value
            - entry.simple_regret
        )
        ** 2
        for entry in tables(problem)
    ]
    return math.sqrt(sum(squares) / len(squares))


def _gaps(problem: Problem, results: Results) -> list[str]:
    rows = []
    for entry in gaps(problem.name):
        settings = Settings(entry.log_epsilon, entry.projection_dim)
        found = []
        for arm in _gap_columns(problem):
            cell = Cell(problem.name, arm.name, settings)
            found.append(str(gap(results, cell, Cell(problem.name, baseline(arm.name), NO_SETTINGS))))
        rows.append(
            (f"exp({entry.log_epsilon:g})", str(entry.projection_dim), f"{entry.gap:.3f}", *found)
        )
    return markdown(("ε", "r", "paper", *(arm.name for arm in _gap_columns(problem))), rows)


def _gap_columns(problem: Problem) -> tuple[Arm, ...]:
    as_released, as_printed, *private = columns(problem)
    return as_released, as_printed, AS_PRINTED_SCALED, *private


_MISMATCH = """\
### Raised singular values are a length-scale mismatch

On a square grid raising both singular values multiplies all distances by sqrt(1 + ω² / σ_min²). A
modeler who keeps the length-scale searches too rough a function; one who knows the factor, or learns the
length-scale from the answers, loses nothing."""


def _mismatch(problem: Problem, results: Results) -> Iterator[str]:
    yield from _MISMATCH.splitlines()
    yield ""
    arms = (AS_PRINTED, REPAIRED, LEARNED)
    rows = []
    for settings in raised_settings(problem.name):
        found = [final(results, Cell(problem.name, arm.name, settings)) for arm in arms]
        rows.append((f"exp({settings.log_epsilon:g})", str(settings.projection_dim), *map(str, found)))
    yield from markdown(("ε", "r", *(arm.name for arm in arms)), rows)
    yield ""


# --- what must hold ---


def claims(problem: Problem, results: Results) -> Iterator[tuple[str, str, bool]]:
    """Yield what should hold for a problem, what was found, and whether it holds."""
    if problem.name == "synthetic_gp":
        off = rms(problem.name, results, AS_RELEASED.name)
        yield "as released: within 0.02 rms of the paper's 18 entries", f"{off:.3f}", off <= 0.02
    for arm in columns(problem)[2:]:
        for log_epsilon in sorted({entry.log_epsilon for entry in gaps(problem.name)}):
            yield _no_worse(problem, results, arm, log_epsilon)
        largest = max(entry.log_epsilon for entry in gaps(problem.name))
        own = _cell(problem, results, arm.name, largest)
        # The better of the searches without privacy by the package's rules: a rule that is worse on
        # the records themselves excuses nothing.
        rules = (NON_PRIVATE, NON_PRIVATE_SCALED)
        best = min(
            (Cell(problem.name, each.name, NO_SETTINGS) for each in rules),
            key=lambda cell: final(results, cell).value,
        )
        excess = gap(results, own, best)
        yield (
            f"{arm.name}, ε = exp({largest:g}): within 0.02 of the best search without privacy",
            f"{excess} over {best.arm}",
            excess.value <= 0.02,
        )


def _no_worse(problem: Problem, results: Results, arm: Arm, log_epsilon: float) -> tuple[str, str, bool]:
    """Against the printed arm at its best r, and by the same share of beta where that was run."""
    own = _cell(problem, results, arm.name, log_epsilon)
    rivals = [_cell(problem, results, AS_PRINTED.name, log_epsilon)]
    if arm.rule == AS_PRINTED_SCALED.rule:
        rivals.append(_cell(problem, results, AS_PRINTED_SCALED.name, log_epsilon))
    best = min(rivals, key=lambda cell: final(results, cell).value)
    excess = gap(results, own, best)
    return (
        f"{arm.name}, ε = exp({log_epsilon:g}): at or below Algorithm 1 at its best r, within an error",
        f"{final(results, own)} against {final(results, best)} ({best.arm}, r = "
        f"{best.settings.projection_dim}); by seeds {excess}",
        excess.value <= excess.error,  # not so where the error is unknown
    )


def _cell(problem: Problem, results: Results, arm: str, log_epsilon: float) -> Cell:
    """Cell of an arm with the lowest mean at an epsilon."""
    found = [cell for cell in results if cell.arm == arm and cell.settings.log_epsilon == log_epsilon]
    return min(found, key=lambda cell: final(results, cell).value)


def verdicts(found: Mapping[str, tuple[Problem, Results]]) -> list[str]:
    """Table of all claims."""
    rows = [
        (TITLES[name], claim, measured, "yes" if holds else "**no**")
        for name, (problem, results) in found.items()
        for claim, measured, holds in claims(problem, results)
    ]
    return markdown(("problem", "what should hold", "found", "holds?"), rows)


_HEAD = """\
# The paper's tables and figures, reproduced

Written by `botorch-private reproduce`. Kharkovskii, Dai & Low, Private Outsourced Bayesian Optimization,
ICML 2020: its 12 tables and 4 figures. Regrets are means of runs, ± one standard error, in standard
deviations of the outcomes. A run has its own initial record, projection and noise; arms share them.

- **as released**: Algorithm 1 as the authors' code has it: singular values `s + ω`, mean plus sqrt(β)
  times the *variance*, δ' = 0.1, no record asked twice. Not private.
- **as printed**: `SpectralProjection` and `DiscreteUCB`. Not private.
- **private**: `NoisyProjection` on declared ranges at the same ε and δ, the noise-aware kernel, and the
  schedule of β as printed. The release is private, but for the seeds that make a benchmark repeatable.
- **private, scaled**: the same with a fifth of β.
- **private, paper's unit**: the same again on the paper's preprocessing, so that one unit is as long
  as for Algorithm 1. The preprocessing is learned from the table, so that the whole is not private: it
  shows what the choice of ranges costs.

Hyperparameters are known and fixed, as in the paper: in every arm, length-scales, prior mean and
variances come from all records and outcomes without privacy. `NoisyProjection` does not project: its
columns do not depend on r. A gap to "non-private" is to the search on the records by the same rule.

## What should hold
"""


def write(
    found: Mapping[str, tuple[Problem, Results]], bounds: Mapping[str, list[str]], suffix: str = ""
) -> list[str]:
    """The part of the page, as lines.

    Args:
        found: Problem and results, by name.
        bounds: What is said of Theorem 3, by name.
        suffix: In the names of the figures.
    """
    return [
        *_HEAD.splitlines(),
        "",
        *verdicts(found),
        *("", f"![Simple regret](results/simple_regret{suffix}.png)", ""),
        *(f"![Cumulative regret](results/cumulative_regret{suffix}.png)", ""),
        *(
            line
            for name, (problem, results) in found.items()
            for line in (*section(problem, results), *bounds.get(name, []))
        ),
    ]
