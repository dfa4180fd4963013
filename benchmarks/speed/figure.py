"""The figure: what a round costs, and what the same search costs elsewhere."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from experiments import Results, Runs
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator
from summary import a_round, total

mpl.use("Agg")

STYLES = {  # colour and marker of a library
    "NumPy floor": ("0.45", "s"),
    "ours": ("tab:blue", "o"),
    "scikit-learn": ("tab:orange", "^"),
    "PHYSBO": ("tab:green", "v"),
    "BoTorch": ("tab:red", "D"),
}


def draw(results: Results, path: Path) -> None:
    """Draw growth in n, t, columns and q, and the peers' searches as bars."""
    sizes = results.sizes
    figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    _curves(axes[0, 0], results.by_n)
    axes[0, 0].set(xlabel="candidates n", title=f"One round at t = {sizes.growth_t}")
    _curves(axes[0, 1], results.by_t)
    axes[0, 1].set(xlabel="measured rows t", title=f"One round at n = {sizes.n:,}")
    _curves(axes[1, 0], results.by_columns, " by columns r")
    by_q = [1e3 * a_round(runs) for runs in results.by_q.values()]
    axes[1, 0].plot(list(results.by_q), by_q, "o--", color=STYLES["ours"][0], mfc="w", label="ours by q")
    axes[1, 0].set(
        xlabel="columns r, or rows q a round",
        title=f"One round at n = {sizes.n:,}, t = {sizes.growth_t}",
    )
    for curves in (axes[0, 0], axes[0, 1], axes[1, 0]):
        curves.set(xscale="log", yscale="log", ylabel="CPU ms a round")
        _ticks(curves)
        curves.grid(visible=True, which="major", alpha=0.3)
        curves.margins(y=0.2)  # room for the legend
        curves.legend(frameon=False, loc="upper left")
    _bars(axes[1, 1], results.fixed)
    axes[1, 1].set(title=f"Search with n = {sizes.n:,}, T = {sizes.rounds}")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _curves(axes: Axes, growth: dict[str, dict[int, Runs]], suffix: str = "") -> None:
    for label, runs in growth.items():
        colour, marker = STYLES[label]
        costs = [1e3 * a_round(own) for own in runs.values()]
        axes.plot(list(runs), costs, marker=marker, color=colour, label=label + suffix)


def _ticks(axes: Axes) -> None:
    """Ticks where something was measured."""
    values = sorted({int(value) for line in axes.lines for value in line.get_xdata()})
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.xaxis.set_minor_locator(NullLocator())


def _bars(axes: Axes, searches: dict[str, Runs]) -> None:
    labels = list(searches)
    seconds = [total(searches[label]) for label in labels]
    colours = [STYLES[label.split(",")[0]][0] for label in labels]
    bars = axes.barh(labels, seconds, color=colours)
    axes.bar_label(bars, [f"{value:.3g} s" for value in seconds], padding=4)
    axes.set(xscale="log", xlabel="CPU seconds", xlim=(min(seconds) / 2, max(seconds) * 4))
    axes.invert_yaxis()
