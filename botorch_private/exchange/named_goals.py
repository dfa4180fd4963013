"""Scalarized and Constrained: what is wanted of several outcomes."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from botorch_private._base import settings
from botorch_private.exchange.goals.goal import LARGEST_OUTCOME, Goal, Value
from botorch_private.exchange.named_outcomes import outcome_names

Weights = Mapping[str, float]


@dataclass(frozen=True)
class NamedGoal(Goal):
    """A weighted sum of outcomes that is to be large, and limits that some of them must keep.

    Attributes:
        weights: Name to the weight of that outcome in the sum, in 1 / its unit; none is 0.
        at_least: Name to the smallest outcome that is allowed, in its unit.
        at_most: Name to the largest outcome that is allowed.
    """

    weights: dict[str, float]
    at_least: dict[str, float] = field(default_factory=dict)
    at_most: dict[str, float] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    @property
    def names(self) -> tuple[str, ...]:
        """Outcomes that count, each once."""
        return tuple(dict.fromkeys([*self.weights, *self.at_least, *self.at_most]))

    @property
    def limits(self) -> list[tuple[str, float, float]]:
        """Name, 1 for a smallest and -1 for a largest allowed outcome, and which."""
        least = [(name, 1.0, limit) for name, limit in self.at_least.items()]
        return least + [(name, -1.0, limit) for name, limit in self.at_most.items()]

    @property
    def best_is(self) -> str:
        """In words."""
        return "the best that keeps the limits" if self.limits else "the largest weighted sum"

    def gain(self, value: Mapping[str, float]) -> float:
        """The weighted sum, which is to be large; the least there is where no number can hold it."""
        try:
            gain = math.fsum([weight * value[name] for name, weight in self.weights.items()])
        except (OverflowError, ValueError):
            return -sys.float_info.max
        return gain if math.isfinite(gain) else -sys.float_info.max

    def allows(self, value: Mapping[str, float]) -> bool:
        """Whether all limits are kept; equal to a limit is allowed."""
        return all(sign * (value[name] - limit) >= 0 for name, sign, limit in self.limits)

    def checked(self, value: Any) -> dict[str, float]:
        """Check an answer: a dict with a finite number for each outcome; others are kept as well.

        Raises:
            ValueError: If one that counts is missing, or a number is unusable.
        """
        if not isinstance(value, Mapping):
            raise ValueError(f"value must be a dict with a number for each of {', '.join(self.names)}")
        missing = [name for name in self.names if name not in value]
        if missing:
            raise ValueError(f"value must have a number for {', '.join(missing)} as well")
        outcome_names(value=value)
        numbers = {name: settings.number(**{f"value[{name}]": each}) for name, each in value.items()}
        for name, number in numbers.items():
            if abs(number) > LARGEST_OUTCOME:
                raise ValueError(
                    f"value[{name}] must be at most {LARGEST_OUTCOME:g} in size: choose a larger unit"
                )
        return numbers

    def turned(self, value: dict[str, float]) -> dict[str, float]:
        """As they are: weights have the signs."""
        return value

    def loss(self, value: Value) -> Value:
        """Minus a weighted sum."""
        return -value

    def best_of(self, values: Sequence[Any]) -> int:
        """Position of the best that keeps all limits, the first of equal ones.

        Raises:
            ValueError: If none does.
        """
        allowed = [i for i, value in enumerate(values) if self.allows(value)]
        if not allowed:
            raise ValueError(
                f"none of the {len(values)} answers so far keeps the limits: there is no best one; "
                f"recommend() says which comes nearest"
            )
        return max(allowed, key=lambda i: self.gain(values[i]))

    def best_so_far(self, values: Sequence[Any]) -> list[float]:
        """Largest weighted sum among those that keep the limits, up to each; NaN where none does."""
        return list(self._gains(values))

    def _gains(self, values: Sequence[Any]) -> Iterator[float]:
        best = math.nan
        for value in values:
            if self.allows(value) and not self.gain(value) <= best:
                best = self.gain(value)
            yield best

    def gains(self, values: Sequence[Any]) -> list[float]:
        """The weighted sum of each."""
        return [self.gain(value) for value in values]

    def progress(self, values: Sequence[Any], unit: str = "") -> str:
        """The best answer so far, in a few words."""
        if not any(map(self.allows, values)):
            return "none keeps the limits yet"
        best = values[self.best_of(values)]
        return "best " + ", ".join(f"{name} {best[name]:.6g}" for name in self.names)


class Scalarized(NamedGoal):
    """Find the record whose weighted sum of several outcomes is the largest.

    Args:
        weights: Name to weight, in 1 / the unit of that outcome: positive where it is to be large,
            negative where it is to be small.

    Raises:
        ValueError: If there is none, or one is 0 or not finite.

    Example:
        >>> Scalarized({"cost": -1.0, "safety": 0.5}).gain({"cost": 2.0, "safety": 1.0})
        -1.5
    """

    kind: ClassVar[str] = "scalarized"

    def __init__(self, weights: Weights) -> None:
        super().__init__(_weights(weights=weights))

    def to_dict(self) -> dict[str, Any]:
        """As of any `Goal`."""
        values = super().to_dict()
        return {name: values[name] for name in ("version", "kind", "weights")}


class Constrained(NamedGoal):
    """Find the best record among those that keep limits: "as cheap as possible, safety at least 0.9".

    Args:
        maximize: Name of the outcome that is to be large, or weights as in `Scalarized`.
        minimize: Name of the outcome that is to be small, or weights. One of both must be given.
        at_least: Name to the smallest outcome that is allowed, in its unit.
        at_most: Name to the largest outcome that is allowed.

    Raises:
        ValueError: If there is nothing to look for, or no limit, or a limit that no outcome can keep.

    Example:
        >>> goal = Constrained(minimize="cost", at_least={"safety": 0.9})
        >>> goal.allows({"cost": 5.0, "safety": 0.95})
        True
    """

    kind: ClassVar[str] = "constrained"

    def __init__(
        self,
        *,
        maximize: str | Weights | None = None,
        minimize: str | Weights | None = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
    ) -> None:
        if (maximize is None) == (minimize is None):
            raise ValueError("maximize or minimize must be given, and not both")
        wanted, argument, sign = (
            (maximize, "maximize", 1.0) if minimize is None else (minimize, "minimize", -1.0)
        )
        weights = _weights(**{argument: {wanted: 1.0} if isinstance(wanted, str) else wanted})
        least, most = _limits(at_least=at_least), _limits(at_most=at_most)
        if not least and not most:
            raise ValueError("at_least or at_most must hold a limit: without one, take Scalarized")
        if any(least[name] > most[name] for name in least.keys() & most.keys()):
            raise ValueError("at_least must not be above at_most for the same outcome")
        super().__init__({name: sign * weight for name, weight in weights.items()}, least, most)
        outcome_names(goal=self.names)

    def to_dict(self) -> dict[str, Any]:
        """As of any `Goal`."""
        values = super().to_dict()
        values["maximize"] = values.pop("weights")
        return values


KINDS = {goal.kind: goal for goal in (Scalarized, Constrained)}


def _weights(**given: Any) -> dict[str, float]:
    ((argument, weights),) = given.items()
    if not isinstance(weights, Mapping):
        raise ValueError(f"{argument} must be a dict of names to weights, got {settings.shown(weights)}")
    outcome_names(**{argument: weights})
    for name, weight in weights.items():
        settings.finite(**{f"{argument}[{name}]": weight})
        if weight == 0:
            raise ValueError(f"{argument}[{name}] must not be 0: leave it out")
    return {name: float(weight) for name, weight in weights.items()}


def _limits(**given: Any) -> dict[str, float]:
    ((argument, limits),) = given.items()
    if limits is None:
        return {}
    if not isinstance(limits, Mapping):
        raise ValueError(f"{argument} must be a dict of names to limits, got {settings.shown(limits)}")
    if limits:
        outcome_names(**{argument: limits})
    return {name: settings.number(**{f"{argument}[{name}]": each}) for name, each in limits.items()}
