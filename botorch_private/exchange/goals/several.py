"""Scalarized and Constrained: what is wanted of several outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botorch_private._base import validate
from botorch_private.exchange.named_outcomes import outcome_names

Weights = Mapping[str, float]


@dataclass(frozen=True)
class NamedGoal:
    """A weighted sum of outcomes that is to be large, and limits that some of them must keep.

    Attributes:
        weights: Weight of each outcome in the sum, in 1 / its unit; none is 0.
        at_least: Smallest allowed outcome of some names, in their units.
        at_most: Largest allowed outcome of some names.
    """

    weights: dict[str, float]
    at_least: dict[str, float] = field(default_factory=dict)
    at_most: dict[str, float] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    @property
    def names(self) -> tuple[str, ...]:
        """Outcomes that count, each once."""
        return tuple(dict.fromkeys([*self.weights, *self.at_least, *self.at_most]))

    def gain(self, value: Mapping[str, float]) -> float:
        """The weighted sum, which is to be large."""
        return sum(weight * value[name] for name, weight in self.weights.items())

    def allows(self, value: Mapping[str, float]) -> bool:
        """Whether all limits are kept."""
        return all(value[name] >= least for name, least in self.at_least.items()) and all(
            value[name] <= most for name, most in self.at_most.items()
        )


class Scalarized(NamedGoal):
    """Look for the record whose weighted sum of outcomes is the largest.

    Args:
        weights: Name to weight: positive where an outcome is to be large, negative where small.

    Example:
        >>> Scalarized({"cost": -1.0, "safety": 0.5}).gain({"cost": 2.0, "safety": 1.0})
        -1.5
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__(_weights(weights=weights))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {"kind": "scalarized", "weights": self.weights}


class Constrained(NamedGoal):
    """Look for the best record among those that keep limits.

    Args:
        maximize: Name of the outcome that is to be large, or weights as in `Scalarized`.
        minimize: Name of the outcome that is to be small; one of both must be given.
        at_least: Name to the smallest outcome that is allowed, in its unit.
        at_most: Name to the largest outcome that is allowed.

    Example:
        >>> goal = Constrained(minimize="cost", at_least={"safety": 0.9})
        >>> goal.allows({"cost": 5.0, "safety": 0.95})
        True
    """

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
        sign, wanted = (1.0, maximize) if minimize is None else (-1.0, minimize)
        argument = "maximize" if minimize is None else "minimize"
        weights = _weights(**{argument: {wanted: 1.0} if isinstance(wanted, str) else wanted})
        least, most = _limits(at_least=at_least), _limits(at_most=at_most)
        if not least and not most:
            raise ValueError("at_least or at_most must hold a limit: without one, take Scalarized")
        for name in least.keys() & most.keys():
            if least[name] > most[name]:
                raise ValueError(f"at_least must be at most at_most, got the other way round for {name}")
        super().__init__({name: sign * weight for name, weight in weights.items()}, least, most)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {
            "kind": "constrained",
            "weights": self.weights,
            "at_least": self.at_least,
            "at_most": self.at_most,
        }


def _weights(**given: Any) -> dict[str, float]:
    ((argument, weights),) = given.items()
    if not isinstance(weights, Mapping):
        raise ValueError(f"{argument} must be a dict of names to weights, got {validate.shown(weights)}")
    outcome_names(**{argument: weights})
    for name, weight in weights.items():
        validate.finite(**{f"{argument}[{name}]": weight})
        if weight == 0:
            raise ValueError(f"{argument}[{name}] must not be 0: leave it out")
    return {name: float(weight) for name, weight in weights.items()}


def _limits(**given: Any) -> dict[str, float]:
    ((argument, limits),) = given.items()
    if limits is None:
        return {}
    if not isinstance(limits, Mapping):
        raise ValueError(f"{argument} must be a dict of names to limits, got {validate.shown(limits)}")
    outcome_names(**{argument: limits})
    return {name: validate.number(**{f"{argument}[{name}]": each}) for name, each in limits.items()}
