"""TopK: the k records with the largest outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from botorch_private._base import settings
from botorch_private.exchange.goals.goal import Goal, Value, with_unit


@dataclass(frozen=True)
class TopK(Goal):
    """Find the records with the ``k`` largest outcomes.

    Args:
        k: How many, >= 1, and at most the records of the release.

    Raises:
        ValueError: If it is no such number.

    Example:
        >>> modeler = Modeler(release, goal=TopK(3))
    """

    k: int
    kind: ClassVar[str] = "top_k"

    def __post_init__(self) -> None:
        settings.count(k=self.k)
        object.__setattr__(self, "k", int(self.k))

    def require(self, n: int) -> None:
        """Refuse more records than there are."""
        if self.k > n:
            raise ValueError(f"k must be at most the {n} records of the release, got {self.k}")

    @property
    def best_is(self) -> str:
        """In words."""
        return "the largest"

    def loss(self, value: Value) -> Value:
        """Minus the outcome."""
        return -value

    def progress(self, values: Sequence[float], unit: str = "") -> str:
        """The best one, and the last of the k best so far."""
        first = super().progress(values, unit)
        if self.k == 1 or len(values) < self.k:
            return first
        return f"{first}, number {self.k} of them {with_unit(sorted(values)[-self.k], unit)}"
