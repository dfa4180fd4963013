"""What is measured of a record: one number, or one for each of several names, and how it is stored."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from botorch_private.curator.service.question import Outcome, ServiceError
from botorch_private.privacy.outcome_grid import noised_answer


@dataclass(frozen=True)
class OutcomeFacts:
    """What was settled of one outcome when the folder was made.

    Args:
        name: What is measured.
        unit: Its unit; may be empty.
        plausible: Smallest and largest value that staff may enter without being asked again.
        range: Declared range that answers are clipped to; None: answers are not noised.
        grid: Step of the answers' grid, as a share of that range.
    """

    name: str
    unit: str = ""
    plausible: tuple[float, float] | None = None
    range: tuple[float, float] | None = None
    grid: float | None = None

    def is_plausible(self, value: float) -> bool:
        """Whether staff need not be asked again about a value."""
        return self.plausible is None or self.plausible[0] <= value <= self.plausible[1]

    def answer(self, value: float, grid_noise: int | None) -> float:
        """What a modeler is told of a value, with its record's noise where there is any."""
        if self.range is None:
            return value
        low, high = self.range
        assert self.grid is not None
        return float(
            noised_answer(np.array(value), np.array(grid_noise), low=low, high=high, grid=self.grid)
        )


def outcome_facts_from(values: Mapping[str, Any]) -> OutcomeFacts:
    """Read what ``asdict`` made of one, and JSON of that."""
    pairs = {name: tuple(values[name]) for name in ("plausible", "range") if values[name] is not None}
    return OutcomeFacts(**{**values, **pairs})


@dataclass(frozen=True)
class Outcomes:
    """All that is measured of a record.

    Args:
        each: One outcome, or several.
        several: Whether values are dicts of names to numbers; else they are numbers.
    """

    each: tuple[OutcomeFacts, ...]
    several: bool

    def named(self, value: Outcome) -> dict[str, float]:
        """The numbers of a value by their names, of one as of several.

        Raises:
            ServiceError: ``other_outcomes`` if it does not have one finite number for each. Declared
                names alone are repeated.
        """
        if isinstance(value, dict) != self.several:
            wanted = (
                f"an object with a number for each of {self._names}" if self.several else "one number"
            )
            raise ServiceError("other_outcomes", f"the value must be {wanted}")
        if not isinstance(value, dict):
            return {self.each[0].name: value}
        missing = [each.name for each in self.each if each.name not in value]
        if missing or len(value) != len(self.each):
            why = f"{', '.join(missing)} is missing" if missing else "it has more, which nobody declared"
            raise ServiceError(
                "other_outcomes", f"the value must have a number for each of {self._names}, but {why}"
            )
        if not all(map(math.isfinite, value.values())):
            raise ServiceError("other_outcomes", "the value must have finite numbers")
        return {each.name: float(value[each.name]) for each in self.each}

    def implausible(self, value: Outcome) -> list[str]:
        """Names of outcomes whose numbers are outside of their plausible ranges.

        Raises:
            ServiceError: As `named`.
        """
        numbers = self.named(value)
        return [each.name for each in self.each if not each.is_plausible(numbers[each.name])]

    def doubts(self, value: Outcome) -> str:
        """What is said of a value outside of a plausible range; empty where it is plausible.

        Raises:
            ServiceError: As `named`.
        """
        names = self.implausible(value)
        ranges = [
            f"{f'{each.name}: ' if self.several else ''}{each.plausible[0]:g} ... {each.plausible[1]:g}"
            for each in self.each
            if each.plausible is not None and each.name in names
        ]
        if not ranges:
            return ""
        return (
            f"the value is outside the plausible range {', '.join(ranges)}: look again, and confirm it "
            f"if it is right"
        )

    def answer(self, value: Outcome, noise: Any) -> Outcome:
        """What a modeler is told of a value.

        Args:
            value: What was measured.
            noise: As the database has it: None, an integer, or a list of those as JSON.

        Raises:
            ServiceError: As `named`.
        """
        numbers = self.named(value)
        if not self.several:
            return self.each[0].answer(numbers[self.each[0].name], noise)
        each_noise = [None] * len(self.each) if noise is None else json.loads(noise)
        return {
            each.name: each.answer(numbers[each.name], grid_noise)
            for each, grid_noise in zip(self.each, each_noise, strict=True)
        }

    @property
    def _names(self) -> str:
        return ", ".join(each.name for each in self.each)


def stored(value: Outcome | None) -> float | str | None:
    """A value as the database has it: a number, or those of several outcomes as JSON."""
    return json.dumps(value) if isinstance(value, dict) else value
