"""Plots for people who would rather look than read. Needs matplotlib (extra ``plots``)."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private._base.whole_file import write_whole

# Okabe & Ito's palette: told apart by colour-blind readers, and in grey by the line styles.
_COLOURS = ("#000000", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#D55E00", "#56B4E9")
_STYLES = ("-", "-", "--", "-.", ":", (0, (3, 1, 1, 1)), (0, (5, 1)))
_CHANCE = "#999999"


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'botorch-private[plots]'") from error


@contextmanager
def _axes(path: str | os.PathLike[str], *, panels: int = 1, **labels: str) -> Iterator[Any]:
    """Axes over measurements, side by side, which are written to a file once they are drawn on."""
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8 if panels == 1 else 6 * panels, 5), layout="constrained")
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0].tolist()
    yield axes
    for each in axes:
        each.set(xlabel=labels.get("xlabel", "measurements"))
        each.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        each.grid(alpha=0.25)
        each.legend(frameon=False)
    axes[0].set(ylabel=labels["ylabel"])
    figure.suptitle(labels.get("title", ""))
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=Path(path).suffix[1:].lower() or None)
    write_whole(Path(path), picture.getvalue())


def plot_regret(
    panels: Mapping[str, Mapping[str, np.ndarray]],
    path: str | os.PathLike[str],
    *,
    chance: np.ndarray,
    initial: int,
    title: str = "",
    ylabel: str = "simple regret",
) -> None:
    """Draw regret against measurements: the mean of several runs, and a band of one standard error.

    Args:
        panels: Heading -> label -> ``runs x measurements`` array, the initial measurements included.
        path: Image file to write; its ending decides the format.
        chance: Expected regret of random choice, one number a measurement; in every panel.
        initial: How many measurements are of records chosen at random.
        title: Title of the plot.
        ylabel: Label of the vertical axis, with the unit.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    xlabel = f"measurements (the first {initial} at random)"
    with _axes(path, panels=len(panels), title=title, xlabel=xlabel, ylabel=ylabel) as all_axes:
        for axes, (heading, curves) in zip(all_axes, panels.items(), strict=True):
            axes.set_title(heading)
            _draw_regret(axes, curves, chance)
            axes.axvline(initial, color=_CHANCE, linewidth=0.8, linestyle=":")
            axes.set_xlim(1, len(chance))
        all_axes[0].set_ylim(bottom=0)


def _draw_regret(axes: Any, curves: Mapping[str, np.ndarray], chance: np.ndarray) -> None:
    measured = np.arange(1, len(chance) + 1)
    for (label, runs), colour, style in zip(curves.items(), _COLOURS, _STYLES, strict=False):
        mean = runs.mean(axis=0)
        axes.plot(measured, mean, label=label, color=colour, linestyle=style, linewidth=1.8)
        if len(runs) > 1:
            error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            axes.fill_between(
                measured, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0
            )
    axes.plot(measured, chance, color=_CHANCE, linewidth=1.8, label="chosen at random (expected)")


def plot_best(
    values: np.ndarray,
    best: np.ndarray,
    path: str | os.PathLike[str],
    *,
    bounds: Sequence[float] = (),
    best_is: str = "best",
    wanted: tuple[str, float] | None = None,
    ylabel: str = "outcome",
) -> None:
    """Draw the outcomes of one search, the best one so far, and what may be left beyond it.

    Args:
        values: Outcomes, one a measurement, in their order.
        best: The best of them up to each, as many.
        path: Image file to write; its ending decides the format.
        bounds: `Modeler.regret_bound` after each of the last measurements, up to the last one; minus
            the bound, where small outcomes are better.
        best_is: What the best outcome is, such as "the smallest".
        wanted: Label and height of a line for what the search is after, if that is a number.
        ylabel: Label of the vertical axis, with the unit.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    with _axes(path, ylabel=ylabel) as (axes,):
        measured = np.arange(1, len(values) + 1)
        axes.plot(measured, values, ".", color=_CHANCE, label="measured")
        axes.step(measured, best, where="post", color=_COLOURS[1], label=f"{best_is} so far")
        if wanted is not None:
            axes.axhline(wanted[1], color=_COLOURS[2], linestyle=":", label=wanted[0])
        left = np.asarray(bounds, dtype=float)
        if np.isfinite(left).any():
            last = len(values) - len(left)
            reach = best[last:] + np.where(np.isfinite(left), left, np.nan)
            label = f"{best_is} so far and the bound (5 %, if the model is right)"
            axes.plot(measured[last:], reach, color=_COLOURS[5], linestyle="--", label=label)
            axes.fill_between(measured[last:], best[last:], reach, color=_COLOURS[5], alpha=0.12)
