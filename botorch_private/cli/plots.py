"""Plots for people who would rather look than read. Needs matplotlib (extra ``plots``)."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

# Okabe & Ito's palette: told apart by colour-blind readers, and in grey by the line styles.
_COLOURS = ("#000000", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#999999", "#D55E00", "#56B4E9")
_STYLES = ("-", "-", "--", "-.", ":", (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (5, 1)))


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'botorch-private[plots]'") from error


def plot_regret(
    curves: Mapping[str, np.ndarray],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    ylabel: str = "simple regret",
) -> None:
    """Draw regret against rounds: the mean of several runs, and a band of one standard error.

    Args:
        curves: Label -> ``runs x rounds`` array.
        path: Image file to write; its ending decides the format.
        title: Title of the plot.
        ylabel: Label of the vertical axis, with the unit.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for i, (label, runs) in enumerate(curves.items()):
        rounds = np.arange(1, runs.shape[1] + 1)
        mean = runs.mean(axis=0)
        colour, style = _COLOURS[i % len(_COLOURS)], _STYLES[i % len(_STYLES)]
        axes.plot(rounds, mean, label=label, color=colour, linestyle=style, linewidth=1.8)
        if len(runs) > 1:
            error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            axes.fill_between(rounds, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0)
    axes.set(xlabel="measurements", ylabel=ylabel, title=title)
    axes.set_xlim(left=1)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def plot_best(values: np.ndarray, path: str | os.PathLike[str], *, ylabel: str = "outcome") -> None:
    """Draw the outcomes of one search, and the best one so far.

    Args:
        values: Outcomes, one a measurement, in their order.
        path: Image file to write; its ending decides the format.
        ylabel: Label of the vertical axis, with the unit.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    rounds = np.arange(1, len(values) + 1)
    axes.plot(rounds, values, ".", color=_COLOURS[5], label="measured")
    axes.step(
        rounds, np.maximum.accumulate(values), where="post", color=_COLOURS[1], label="best so far"
    )
    axes.set(xlabel="measurements", ylabel=ylabel)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
