"""Goal: what a search is after, in the unit and sign that the curator answers with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from botorch_private._base import settings

if TYPE_CHECKING:  # the curator's server does without PyTorch
    from torch import Tensor

LARGEST_OUTCOME = 1e150  # its square is a number
Value = TypeVar("Value", float, "Tensor")
VERSION = 1  # of `to_dict`


class Goal(ABC):
    """What a search is after. It is declared, and must not be computed from the table.

    Outcomes are told, kept and shown as the curator measures them, whatever the goal.

    Attributes:
        kind: Its name in files.
        sign: What the model's outcomes are multiplied by: the model always looks for large ones.
    """

    kind: ClassVar[str]
    sign: ClassVar[float] = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outcomes that count, where records have several; empty where they have one."""
        return ()

    def checked(self, value: Any) -> Any:
        """Check an answer of the curator: a finite number, not too large for a model.

        Raises:
            ValueError: If it is none.
        """
        number = settings.number(value=value)
        if abs(number) > LARGEST_OUTCOME:
            raise ValueError(f"value must be at most {LARGEST_OUTCOME:g} in size: choose a larger unit")
        return number

    def turned(self, value: Any) -> Any:
        """An answer as the model has it."""
        return self.sign * value

    @abstractmethod
    def loss(self, value: Value) -> Value:
        """How bad an outcome is, alone: the smaller the better."""

    @property
    @abstractmethod
    def best_is(self) -> str:
        """What the best outcome is, as in "the largest so far"."""

    def require(self, n: int) -> None:  # noqa: B027 (most goals fit any table)
        """Refuse a goal that does not fit a release of ``n`` records.

        Raises:
            ValueError: If it does not.
        """

    def best_of(self, values: Sequence[float]) -> int:
        """Position of the best of some outcomes, the first of equal ones."""
        return min(range(len(values)), key=lambda i: self.loss(values[i]))

    def best_so_far(self, values: Sequence[float]) -> list[float]:
        """The best outcome up to each, as many."""
        best: list[float] = []
        for value in values:
            keeps = best and self.loss(best[-1]) <= self.loss(value)
            best.append(best[-1] if keeps else value)
        return best

    def gains(self, values: Sequence[Any]) -> list[float]:
        """One number for each answer: the outcome itself, or what counts of several."""
        return list(values)

    def progress(self, values: Sequence[float], unit: str = "") -> str:
        """How far a search has come with some outcomes, at least one, in a few words."""
        return f"best {with_unit(values[self.best_of(values)], unit)}"

    def to_dict(self) -> dict[str, Any]:
        """What `goal_from_dict` makes the goal of again; JSON takes it."""
        return {"version": VERSION, "kind": self.kind, **asdict(self)}  # pyright: ignore[reportArgumentType]


def with_unit(value: float, unit: str) -> str:
    """A number of six digits with its unit; 0 has no sign."""
    return f"{value + 0.0:.6g} {unit}".rstrip()
