"""Minimize: the record with the smallest outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from botorch_private.exchange.goals.goal import Goal, Value


@dataclass(frozen=True)
class Minimize(Goal):
    """Find the record with the smallest outcome.

    The model is of minus the outcome. So the picks are those of `Maximize` with the sign of every
    outcome changed, bit for bit.

    Example:
        >>> modeler = Modeler(release, goal=Minimize())
    """

    kind: ClassVar[str] = "minimize"
    sign: ClassVar[float] = -1.0

    @property
    def best_is(self) -> str:
        """In words."""
        return "the smallest"

    def loss(self, value: Value) -> Value:
        """The outcome."""
        return value
