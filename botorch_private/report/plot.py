"""Epsilon against distance as an inline SVG. Needs matplotlib (extra ``report``)."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

from botorch_private.report.document import Plot
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import given

# Colours that the style of the page replaces, so that the plot is readable on light and on dark.
_INK, _LINE, _PART = "#010203", "#040506", "#070809"
_STYLE = {_INK: "currentColor", _LINE: "var(--accent)", _PART: "var(--muted)"}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "botorch-private",
    "font.family": "sans-serif",
    "font.size": 9,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(facts: PublicFacts, plot: Plot) -> str:
    """Return the plot as an ``<svg>`` element with title and description, the same on every run.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    distances, epsilons = zip(*facts.curve, strict=True)
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        for part in (figure, axes):
            part.patch.set_alpha(0)
        for release in facts.releases if len(facts.releases) > 1 else ():
            own = [release.guarantee.at(distance) for distance in distances]
            axes.plot(distances, own, color=_PART, linewidth=1, linestyle="--")
        axes.plot(distances, epsilons, color=_LINE, linewidth=2)
        if facts.pure:
            pure = [facts.total.pure_at(distance) for distance in distances]
            axes.plot(distances, pure, color=_LINE, linewidth=1, linestyle=":")
        axes.set(
            xscale="log", yscale="log", xlabel="distance of two records, in units", ylabel="epsilon"
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        marked = [(facts.unit_cost, " one unit", "left")]
        if facts.diameter is not None:
            marked.append((facts.costs[-1], "whole record ", "right"))
        low, high = axes.get_ylim()
        for cost, label, side in marked:
            axes.axvline(cost.distance, color=_INK, linewidth=0.8, linestyle=":")
            axes.plot([cost.distance], [min(cost.epsilon, high)], "o", color=_LINE, markersize=5)
            bottom = low * (high / low) ** 0.03
            axes.text(cost.distance, bottom, label, ha=side, va="bottom", color=_INK)
        axes.set_ylim(low, high)
        axes.grid(alpha=0.2, color=_INK)
        axes.set_xticks([tick for tick in axes.get_xticks() if distances[0] <= tick <= distances[-1]])
        if facts.diameter is not None:
            axes.set_xlim(distances[0], facts.diameter * 1.05)
            axes.set_title(f"up to {given(facts.diameter)} units", fontsize=9, loc="right")
        buffer = io.StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=metadata)
    opening, svg = re.split(r"(?<=>)", buffer.getvalue().partition("<svg")[2], maxsplit=1)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    for sentinel, colour in _STYLE.items():
        svg = svg.replace(sentinel, colour)
    box = "".join(re.findall(r'viewBox="[^"]*"', opening))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{box} role="img" aria-labelledby="plot-title plot-description">\n'
        f'<title id="plot-title">{escape(plot.title)}</title>\n'
        f'<desc id="plot-description">{escape(plot.description)}</desc>{svg}'
    )
