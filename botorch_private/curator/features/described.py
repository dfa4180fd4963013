"""What a file of ranges amounts to: one unit of each feature, and how many units wide each is."""

from __future__ import annotations

import math

from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, FeatureKind, Number, YesNo
from botorch_private.privacy.rounding import round_down, round_up
from botorch_private.privacy.units import factor_words


def describe(encoding: Encoding) -> str:
    """Say it in a table and a few sentences. What is protected is rounded down, what leaks up."""
    widths = encoding.widths
    header = ("feature", "kind", "one unit is", "width in units")
    rows = [
        (each.name, each.kind, _unit(each, widths[each.name]), round_up(widths[each.name]))
        for each in encoding.features
    ]
    sizes = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
        for row in (header, *rows)
    ]
    lines += [
        "",
        "Epsilon is for one unit; over more units it is larger, in proportion or faster.",
        f"Two records are at most {round_up(encoding.diameter)} units apart.",
    ]
    lines += [
        f"A missing {each.name} counts as {_value(each)}."
        for each in encoding.features
        if each.missing is not None
    ]
    lines += [f"{step.words} moves a record by {round_up(step.width)} units." for step in encoding.steps]
    if len(encoding.names) > len(encoding.features):
        lines.append(f"Columns that are scaled: {', '.join(encoding.names)}.")
    return "\n".join(lines)


def _value(feature: FeatureKind) -> str:
    """What a missing value counts as."""
    if isinstance(feature, YesNo):
        return "yes" if feature.missing else "no"
    return str(feature.missing) if isinstance(feature, Category) else f"{feature.missing:.12g}"


def _unit(feature: FeatureKind, width: float) -> str:
    if isinstance(feature, Number):
        if feature.scale == "log":
            size = factor_words(math.log(feature.upper / feature.lower) / width)
        else:
            size = round_down((feature.upper - feature.lower) / width)
        return f"{size} within {feature.lower:.12g} ... {feature.upper:.12g}"
    share = round_down(1 / width)
    if isinstance(feature, YesNo):
        return f"{share} of the step from no to yes"
    return f"{share} of the step between two of {len(feature.categories)}"
