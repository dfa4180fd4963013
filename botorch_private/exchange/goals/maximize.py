"""Maximize: the record with the largest outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from botorch_private.exchange.goals.goal import Goal, Value


@dataclass(frozen=True)
class Maximize(Goal):
    """Find the record with the largest outcome: the default.

    Example:
        >>> modeler = Modeler(release, goal=Maximize())
    """

    kind: ClassVar[str] = "maximize"

    @property
    def best_is(self) -> str:
        """In words."""
        return "the largest"

    def loss(self, value: Value) -> Value:
        """Minus the outcome."""
        return -value
