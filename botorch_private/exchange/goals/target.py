"""Target: the record with the outcome nearest to a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from botorch_private._base import settings
from botorch_private.exchange.goals.goal import Goal, Value


@dataclass(frozen=True)
class Target(Goal):
    """Find the record whose outcome is nearest to a value.

    Args:
        value: Finite number, in the curator's unit. It is declared, and not computed from the table.

    Raises:
        ValueError: If it is not finite.

    Example:
        >>> modeler = Modeler(release, goal=Target(0.5))
    """

    value: float
    kind: ClassVar[str] = "target"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", settings.number(value=self.value))

    @property
    def best_is(self) -> str:
        """In words."""
        return f"the nearest to {self.value:g}"

    def loss(self, value: Value) -> Value:
        """Distance to the target."""
        return abs(value - self.value)  # pyright: ignore[reportReturnType]
