"""What one unit is in the user's own features, and what a change of a feature costs."""

from __future__ import annotations

from dataclasses import dataclass

from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.steps import Step
from botorch_private.report.attacker import feature_names
from botorch_private.report.cost import Cost, cost_at, mixed


@dataclass(frozen=True)
class Ranges:
    """Declared ranges.

    Attributes:
        lower: Of each feature, in raw units.
        upper: Likewise.
        steps: Changes of a yes/no or a category.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Feature:
    """A feature in the user's own units.

    Attributes:
        name: Its name.
        unit: One unit of distance, in raw units; None where the release has none.
        lower: Lower end of the declared range; None where no ranges were given, as all that follows.
        upper: Upper end.
        width: The whole range, in units.
        whole: What is promised about two records at the two ends; None also where that takes too long,
            with different kinds of noise.
    """

    name: str
    unit: float | None
    lower: float | None = None
    upper: float | None = None
    width: float | None = None
    whole: Cost | None = None


@dataclass(frozen=True)
class Change:
    """A change of a yes/no or a category, from any value to any other.

    Attributes:
        step: What it is, and how far it moves a record.
        share: One unit, as a share of it.
        cost: What is promised about two records that differ in it; None where that takes too long, with
            different kinds of noise.
    """

    step: Step
    share: float
    cost: Cost | None


def features_of(guarantee: PrivacyGuarantee, ranges: Ranges | None) -> tuple[Feature, ...]:
    """Each column, with its width where the declared ranges are given."""
    names = feature_names(guarantee)
    if guarantee.unit is None:
        return tuple(Feature(name, None) for name in names)
    if ranges is None:
        return tuple(Feature(*each) for each in zip(names, guarantee.unit, strict=True))
    slow = mixed(guarantee)
    found = []
    for name, unit, low, high in zip(names, guarantee.unit, ranges.lower, ranges.upper, strict=True):
        width = (high - low) / unit
        found.append(Feature(name, unit, low, high, width, None if slow else cost_at(guarantee, width)))
    return tuple(found)


def changes_of(guarantee: PrivacyGuarantee, ranges: Ranges | None) -> tuple[Change, ...]:
    """Each yes/no and category."""
    steps = guarantee.steps
    if not steps and ranges is not None:  # releases of before guarantees held them
        steps = ranges.steps
    slow = mixed(guarantee)
    return tuple(
        Change(step, 1 / step.width, None if slow else cost_at(guarantee, step.width)) for step in steps
    )
