"""Above: all records with an outcome above a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from botorch_private._base import settings
from botorch_private.exchange.goals.goal import Goal, Value, with_unit


@dataclass(frozen=True)
class Above(Goal):
    """Find out which records have an outcome above a threshold.

    Args:
        threshold: Finite number, in the curator's unit. It is declared: a quantile of the table would
            tell the modeler of the table.

    Raises:
        ValueError: If it is not finite.

    Example:
        >>> modeler = Modeler(release, goal=Above(1.0))
    """

    threshold: float
    kind: ClassVar[str] = "above"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", settings.number(threshold=self.threshold))

    @property
    def best_is(self) -> str:
        """In words."""
        return "the largest"

    def loss(self, value: Value) -> Value:
        """Minus the outcome."""
        return -value

    def progress(self, values: Sequence[float], unit: str = "") -> str:
        """How many outcomes are above."""
        count = sum(value > self.threshold for value in values)
        return f"{count} above {with_unit(self.threshold, unit)}"
