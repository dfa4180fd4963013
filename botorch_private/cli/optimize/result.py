"""What a search found, in words."""

from __future__ import annotations

from botorch_private.exchange.goals import Above, Maximize, TopK
from botorch_private.exchange.goals.goal import with_unit
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
    best, noised = modeler.best, modeler.release.outcome_variance
    which = "" if isinstance(modeler.goal, Maximize) else f", {modeler.goal.best_is}"
    text = f"Best of {len(modeler.history)}{which}: row {best.index}, {with_unit(best.value, unit)}."
    if not noised:
        return text
    return (
        f"{text} Answers are noised, so that is mostly the luckiest one; by the posterior mean, the row "
        f"to act on is {modeler.recommend()}."
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
