"""The plot of measured values, as SVG: a dot for each, a line for the best so far."""

from __future__ import annotations

import math
import sys

WIDTH, HEIGHT = 480.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 92.0, 12.0, 14.0, 46.0
_SMALLEST = 1e-280  # smaller values are drawn as 0


def draw(values: list[float], best: list[float], first: int) -> str:
    """Draw values in order.

    Args:
        values: Measured, at least one.
        best: Best value up to each, as many; NaN where there is none yet.
        first: Number of the first one.

    Returns:
        An SVG element, with classes that the style sheet colours.
    """
    reached = [each for each in best if not math.isnan(each)]
    low, high = _limits(min(values + reached), max(values + reached))
    count = len(values)

    def x(i: float) -> float:
        share = (i + 0.5) / count
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        share = (value / 4 - low / 4) / (high / 4 - low / 4)  # divided: the difference may overflow
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    ticks, decimals = _ticks(low, high)
    parts = []
    for tick in ticks:
        height = y(tick)
        parts.append(
            f'<line class="grid" x1="{_LEFT:g}" x2="{WIDTH - _RIGHT:g}" y1="{height:.1f}" '
            f'y2="{height:.1f}"/><text class="number" x="{_LEFT - 8:g}" y="{height:.1f}" '
            f'dy=".35em" text-anchor="end">{_label(tick, decimals)}</text>'
        )
    for i in sorted({0, count - 1} | ({(count - 1) // 2} if count > 8 else set())):
        parts.append(
            f'<text class="number" x="{x(i):.1f}" y="{HEIGHT - _BOTTOM + 26:g}" '
            f'text-anchor="middle">{first + i}</text>'
        )
    if reached:
        start = count - len(reached)
        steps = [f"M{x(start - 0.5 * (start == 0)):.1f} {y(best[start]):.1f}"]
        for i in range(start, count):
            steps.append(f"H{x(i):.1f}V{y(best[i]):.1f}")
        steps.append(f"H{x(count - 0.5):.1f}")
        parts.append(f'<path class="best" d="{"".join(steps)}"/>')
    radius = 4.5 if count <= 60 else 2.5
    for i, value in enumerate(values):
        parts.append(f'<circle class="dot" cx="{x(i):.1f}" cy="{y(value):.1f}" r="{radius}"/>')
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-labelledby="plot-title plot-description"><title id="plot-title">Measured values in the '
        f'order in which they were asked for</title><desc id="plot-description">{count} values; the '
        f"numbers are in the table below the plot.</desc>{''.join(parts)}</svg>"
    )


def _limits(low: float, high: float) -> tuple[float, float]:
    """Room below and above the values, also where all are equal."""
    size, margin = max(abs(low), abs(high)), (high / 4 - low / 4) * 0.2
    if margin <= size * 1e-14:
        margin = size * 0.1
    if size < _SMALLEST:
        margin = 1.0
    return max(low - margin, -sys.float_info.max), min(high + margin, sys.float_info.max)


def _ticks(low: float, high: float) -> tuple[list[float], int]:
    """Some round numbers between two numbers, and how many decimals they need."""
    rough = high / 4 - low / 4
    power = math.floor(math.log10(rough))
    base = rough / 10.0**power
    step = (1.0 if base < 1.5 else 2.0 if base < 3.5 else 5.0 if base < 7.5 else 10.0) * 10.0**power
    start = math.ceil(low / step)
    ticks = [tick for i in range(12) if low <= (tick := (start + i) * step) <= high]
    return ticks, max(0, -math.floor(math.log10(step) + 1e-9))


def _label(tick: float, decimals: int) -> str:
    if decimals <= 4 and abs(tick) < 1e7:
        return f"{tick + 0.0:.{decimals}f}"
    return f"{tick + 0.0:.4g}"
