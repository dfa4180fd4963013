"""The paper's four figures, for each arm: regret against rounds, by epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from arms import AS_PRINTED, AS_RELEASED, PRIVATE, PRIVATE_SAME_UNIT, PRIVATE_SCALED
from cells import NO_SETTINGS, Cell, baseline, figure_settings
from summary import Results

TITLES = {
    "synthetic_gp": "synthetic GP",
    "loan": "loans",
    "property": "property",
    "branin": "Branin-Hoo",
}
ROWS = (AS_PRINTED, AS_RELEASED, PRIVATE, PRIVATE_SCALED, PRIVATE_SAME_UNIT)
_COLOURS = ("#0072B2", "#E69F00", "#CC79A7")  # Okabe & Ito, also told apart by their style
_STYLES = ("-", "--", ":")


def draw(results: Mapping[str, Results], path: Path, *, quantity: str = "simple_regret") -> None:
    """Draw one panel for each arm and problem.

    Args:
        results: Problem -> results.
        path: Image file.
        quantity: A field of `simulate.Curves`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(results), 2.7 * len(ROWS)), layout="constrained")
    panels = figure.subplots(len(ROWS), len(results), sharex="col", sharey="col", squeeze=False)
    for column, (problem, found) in enumerate(results.items()):
        for row, arm in enumerate(ROWS):
            axes = panels[row, column]
            if all(cell.arm != arm.name for cell in found):
                axes.set_axis_off()  # both units are one
                continue
            _band(axes, found, Cell(problem, baseline(arm.name), NO_SETTINGS), quantity, "black", "-")
            for settings, colour, style in zip(figure_settings(problem), _COLOURS, _STYLES, strict=True):
                _band(axes, found, Cell(problem, arm.name, settings), quantity, colour, style)
            axes.grid(alpha=0.25)
            axes.set_title(f"{TITLES[problem]}: {arm.name}", fontsize=9)
            axes.legend(frameon=False, fontsize=7)
        panels[-1, column].set_xlabel("rounds")
    for row in panels:
        row[0].set_ylabel(f"{quantity.replace('_', ' ')} / σ_y")
    if quantity == "simple_regret":
        _zoom(panels, results)
    figure.savefig(path, dpi=110)


def _band(axes: Any, found: Results, cell: Cell, quantity: str, colour: str, style: str) -> None:
    runs = getattr(found[cell], quantity)
    rounds, mean = np.arange(runs.shape[1]), runs.mean(axis=0)
    log_epsilon, r = cell.settings
    label = f"ε = exp({log_epsilon:g}), r = {r}" if r else "non-private"
    axes.plot(rounds, mean, label=label, color=colour, linestyle=style, linewidth=1.4)
    if len(runs) > 1:
        error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        axes.fill_between(rounds, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)


def _zoom(panels: Any, results: Mapping[str, Results]) -> None:
    """Cut the first rounds off at the top, where all searches are alike."""
    for column, found in enumerate(results.values()):
        tenth = [c.simple_regret.mean(axis=0)[c.simple_regret.shape[1] // 10] for c in found.values()]
        panels[0, column].set_ylim(0, 1.15 * max(tenth))
