"""What a search found, in words."""

from __future__ import annotations

from typing import Any

from botorch_private.exchange.goals import Above, Maximize, TopK
from botorch_private.exchange.goals.goal import with_unit
from botorch_private.exchange.observation import Observation
from botorch_private.modeler.modeler import Modeler


def result(modeler: Modeler, unit: str) -> str:
    """What the goal asked for, as far as it is known.

    Args:
        modeler: With at least one value.
        unit: Of the outcome; may be empty.
    """
    if isinstance(modeler.goal, Above):
        return _above(modeler, modeler.goal.threshold, unit)
    if isinstance(modeler.goal, TopK):
        return _best(modeler, unit)
    if modeler.goal.names:
        return _of_several(modeler)
    best, noised = modeler.best, modeler.release.outcome_variance
    which = "" if isinstance(modeler.goal, Maximize) else f", {modeler.goal.best_is}"
    text = f"Best of {len(modeler.history)}{which}: row {best.index}, {with_unit(best.value, unit)}."
    if not noised:
        return text
    return (
        f"{text} Answers are noised, so that is mostly the luckiest one; by the posterior mean, the row "
        f"to act on is {modeler.recommend()}."
    )


def answer_words(value: Any, unit: str = "") -> str:
    """An answer of one number with its unit, or of several with their names."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {with_unit(each, '')}" for name, each in value.items())
    return with_unit(value, unit)


def best_that_is_allowed(modeler: Modeler) -> Observation | None:
    """The best answer; None where none keeps the limits."""
    goal: Any = modeler.goal
    if goal.names and not any(goal.allows(value) for _, value in modeler.history):
        return None
    return modeler.best


def _of_several(modeler: Modeler) -> str:
    best, row = best_that_is_allowed(modeler), modeler.recommend()
    if best is None:
        return (
            f"None of {len(modeler.history)} measured rows keeps the limits. Row {row} comes nearest, "
            f"by the posterior mean."
        )
    text = f"Best of {len(modeler.history)}: row {best.index}, {answer_words(best.value)}."
    if modeler.release.outcome_guarantee is None:
        return text
    return (
        f"{text} Answers are noised, so that is mostly the luckiest one; by the posterior mean, the row "
        f"to act on is {row}."
    )


def _best(modeler: Modeler, unit: str) -> str:
    rows = modeler.recommend()
    assert isinstance(rows, list)
    head = f"The {len(rows)} best of {len(modeler.history)}, by the posterior mean:"
    return "\n".join([head, *_lines(modeler, rows, unit)])


def _above(modeler: Modeler, threshold: float, unit: str) -> str:
    rows = modeler.above()
    mostly = ", more likely than not" if modeler.release.outcome_variance else ""
    level = with_unit(threshold, unit)
    head = f"{len(rows.measured)} of {len(modeler.history)} measured rows are above {level}{mostly}:"
    if not rows.measured:
        head = f"None of {len(modeler.history)} measured rows is above {level}{mostly}."
    left = ", ".join(map(str, rows.unmeasured)) or "none"
    return "\n".join(
        [
            head,
            *_lines(modeler, rows.measured, unit),
            f"If the model is right, others that are above it, each more likely than not: {left}",
        ]
    )


def _lines(modeler: Modeler, rows: list[int], unit: str) -> list[str]:
    known = dict(modeler.history)
    return [f"  row {row}: {with_unit(known[row], unit)}" for row in rows]
