"""Observation: the number that returns to the modeler, or the word that none will."""

from __future__ import annotations

from typing import Any, NamedTuple


class Observation(NamedTuple):
    """One answer of the curator.

    Attributes:
        index: Released row that was asked for.
        value: Measured outcome; where records have several, a dict of their names to numbers.

    Example:
        >>> index, value = Observation(index=4, value=1.5)
    """

    index: int
    value: Any


class NoValueError(RuntimeError):
    """A row has no value: its measurement failed, or its record was withdrawn.

    A `Modeler` asks for the same row again until it is told a value, or told to give the row up:
    ``modeler.skip(error.row)``, or ``run(..., failures="skip")``.

    Args:
        message: What happened; None where only the row is known.
        row: The released row, None where nobody said.

    Attributes:
        row: The released row.
    """

    def __init__(self, message: str | None = None, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row

    def __str__(self) -> str:
        return f"row {self.row} has no value" if self.args[0] is None else str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.row)


class WithdrawnError(NoValueError):
    """The curator will not measure a row: its record was withdrawn.

    Args:
        index: The released row.

    Attributes:
        row: The released row.
        index: The same.
    """

    def __init__(self, index: int) -> None:
        super().__init__(
            f"row {index} will not be measured: the curator has withdrawn the question; give the "
            f"row up by modeler.skip({index}), or ask for it again",
            index,
        )
        self.index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index,)
