"""What a `PrivacyGuarantee` says, for a reader without mathematics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from botorch_private.privacy.adjacency import changes, kinds_of_outcomes, of_whole_records
from botorch_private.privacy.cautions import HIDES_NOTHING, cautions, delta_caution
from botorch_private.privacy.rounding import round_down, round_up
from botorch_private.privacy.units import different_units, in_own_units, unit_words

BUDGET = "a budget"
NOT_KEPT = "What follows is what the settings would promise, not what is kept."
_LARGEST_SPELLED_OUT = 50
_WORTH_SAYING = 0.95  # of the local epsilon: below it the central one is better
_SEVERAL = (2, 5)  # records of one person
_FACTORS = (
    "Where a unit is a factor, distance is counted in factors, up as well as down: D units are that "
    "factor to the power of D."
)


def sentences(guarantee: Any) -> Iterator[str]:
    """Put a `PrivacyGuarantee` into a few lines."""
    if guarantee.mechanism == BUDGET:
        yield (
            f"Privacy budget: at most epsilon {guarantee.epsilon:g} at 1 unit and delta "
            f"{guarantee.delta:g} may be spent on any record, over all releases and answers. It is a "
            f"limit, and promises nothing by itself."
        )
        if caution := delta_caution(guarantee.delta, guarantee.records):
            yield f"  {caution}"
        return
    holds = "HOLDS" if guarantee.holds else "DOES NOT HOLD"
    yield f"Privacy guarantee of {guarantee.mechanism}: {holds}"
    for reason in guarantee.reasons:
        yield f"  Why not: {reason}."
    if not guarantee.holds:
        yield f"  {NOT_KEPT}"
    for caution in cautions(guarantee):
        yield f"  {caution}"
    for sentence in promised(guarantee):
        yield f"  {sentence}"
    if math.isinf(guarantee.epsilon):
        return
    if of_whole_records(guarantee):
        yield from _before_questions(guarantee)
    elif guarantee.covers_features:
        yield from _units(guarantee)
        yield from _steps(guarantee)
        yield _other_distances(guarantee)
    yield from _several_records(guarantee)
    for sentence in clipped(guarantee):
        yield f"  {sentence}"
    if guarantee.law is not None:
        yield f"  {noise(guarantee)}"
    for assumption in guarantee.assumptions:
        yield f"  Note: {assumption}."


def promised(guarantee: Any) -> Iterator[str]:
    """Say between which tables, and by how much, nothing can be told apart."""
    if math.isinf(guarantee.epsilon):
        yield "Nothing is promised: epsilon is infinite."
        return
    yield f"Adjacency: {guarantee.adjacency}."
    whole = of_whole_records(guarantee)
    where = " at 1 unit" if guarantee.covers_features and not whole else ""
    what = "what is released and answered"
    if not guarantee.covers_outcomes:
        what = "these releases together" if len(guarantee.parts) > 1 else "this release"
    rounded = round_up(guarantee.delta_fp, 2)
    floating_point = f" (of which {rounded} is floating-point error)" if guarantee.delta_fp else ""
    changing = " and ".join(changes(guarantee)).capitalize()
    yield (
        f"Promise{where}: epsilon = {round_up(guarantee.epsilon)}, delta = "
        f"{round_up(guarantee.delta, 2)}. {changing} changes the chance of "
        f"anything computed from {what} by a factor of at most {_factor(guarantee.epsilon)}, up to "
        f"delta{floating_point}."
    )


def clipped(guarantee: Any) -> Iterator[str]:
    """Say to which ranges outcomes are clipped, where they are covered."""
    parts = (guarantee.parts or (guarantee,)) if guarantee.covers_outcomes else ()
    ranges = ((p.outcome_name, p.outcome_range) for p in parts if p.outcome_range is not None)
    for name, (low, high) in dict.fromkeys(ranges):
        what = "Outcomes are" if name is None else f"The outcome {name} is"
        yield f"{what} clipped to {low:g} ... {high:g}, a range that is public."


def _units(guarantee: Any) -> Iterator[str]:
    if not in_own_units(guarantee):
        yield f"  One unit is: {unit_words(guarantee)}."
        if guarantee.log_columns:
            yield f"  {_FACTORS}"
        return
    yield "  Each release has a unit of its own, and distance is measured in each by that one:"
    for i, part in enumerate(different_units(guarantee.parts), start=1):
        yield f"    {i}. One unit is: {unit_words(part)}."
    if any(part.log_columns for part in guarantee.parts):
        yield f"  {_FACTORS}"


def _steps(guarantee: Any) -> Iterator[str]:
    alike: dict[str, list[Any]] = {}
    for step in guarantee.steps:
        alike.setdefault(round_up(step.width), []).append(step)
    for width, steps in alike.items():
        *others, last = (step.name for step in steps)
        names = f"{', '.join(others)} or {last}" if others else last
        epsilon = guarantee.at(max(step.width for step in steps))
        yield (
            f"  A change of {names}, from any value to any other, moves a record by {width} units, "
            f"where epsilon is {round_up(epsilon)}{_meaning(epsilon)}."
        )


def _meaning(epsilon: float) -> str:
    return ": that is not hidden" if epsilon >= HIDES_NOTHING else ""


def _other_distances(guarantee: Any) -> str:
    distances = [0.5, 2.0, 5.0]
    if guarantee.radius is not None:
        distances.append(2 * guarantee.radius)
    costs = "; ".join(f"{d:g} units: {round_up(guarantee.at(d))}" for d in distances)
    if guarantee.radius is not None:
        costs += " (one record replaced by any other)"
    return f"  Epsilon at other distances: {costs}."


def before_questions(guarantee: Any) -> Any:
    """What the shuffled labels alone promise, at a delta far below ``1 / n``; None if it is no better.

    See `PrivacyGuarantee.shuffled`.
    """
    n = guarantee.records
    drawn = [part for part in guarantee.parts or (guarantee,) if part.outcome_range is None]
    if n is None or not guarantee.holds or any(part.law is None for part in drawn):
        return None
    central = guarantee.shuffled(10.0 ** min(-5, math.floor(-math.log10(10 * n))))
    return central if central.epsilon < _WORTH_SAYING * guarantee.at(1.0) else None


def _before_questions(guarantee: Any) -> Iterator[str]:
    central = before_questions(guarantee)
    if central is not None:
        yield (
            f"  Before the first question: epsilon = {round_up(central.epsilon)}, delta = "
            f"{central.delta:g}, since the labels of {guarantee.records:,} records are shuffled. From "
            f"then on the promise above is what holds."
        )


def _several_records(guarantee: Any) -> Iterator[str]:
    own, _ = kinds_of_outcomes(guarantee)
    if guarantee.covers_features or own:
        costs = "; ".join(f"{m} records: {round_up(guarantee.at(1.0, m))}" for m in _SEVERAL)
        near = guarantee.covers_features and not of_whole_records(guarantee)
        moved = " at 1 unit each" if near else ""
        yield f"  Epsilon of a person with several records{moved}: {costs}."


def _on(guarantee: Any) -> str:
    return "" if guarantee.outcome_name is None else f" on {guarantee.outcome_name}"


def noise(guarantee: Any) -> str:
    """Say how wide the noise of a guarantee with a law is."""
    law = guarantee.law
    if law.kind == "response":
        return (
            f"Labels: one of {law.cells} cells is told of each record, the true one with probability "
            f"{law.p:.4g} and each other one with {law.q:.4g}, drawn once and exactly."
        )
    deviation = math.sqrt(law.variance)
    if guarantee.outcome_range is not None:
        low, high = guarantee.outcome_range
        name = "Laplace" if law.exponential else "Gaussian"
        return (
            f"Noise{_on(guarantee)}: {name}, standard deviation {round_down(deviation * (high - low))} "
            f"in the outcome's own unit, drawn once for each record and kept."
        )
    linear = "grows in proportion" if law.pure else "grows faster than in proportion"
    record = "its record" if law.dim == law.features else "its record's projection"
    name = {"laplace": "l2 Laplace", "l2": "l2", "gaussian": "Gaussian"}[law.kind]
    pure = ""
    if law.kind == "l2":
        largest = round_up(law.pure_epsilon(1.0))
        pure = (
            f" At a delta of {round_up(law.delta_fp, 2)}, epsilon is {largest} at 1 unit, and grows in "
            f"proportion."
        )
    return (
        f"Noise: {name}, standard deviation {round_down(deviation)} units in each of {law.dim} "
        f"coordinates; epsilon {linear} to distance.{pure} In 95 % of cases a released row lies within "
        f"{round_down(guarantee.location_radius(0.95))} units of {record}; who knows more than the row "
        f"locates it better."
    )


def _factor(epsilon: float) -> str:
    exponent = f"e^{round_up(epsilon)}"
    return f"{exponent} = {round_up(math.exp(epsilon))}" if epsilon < _LARGEST_SPELLED_OUT else exponent
