"""Observation: the number that returns to the modeler, or the word that none will."""

from typing import NamedTuple


class Observation(NamedTuple):
    """One answer of the curator.

    Attributes:
        index: Released row that was asked for.
        value: Measured outcome.

    Example:
        >>> index, value = Observation(index=4, value=1.5)
    """

    index: int
    value: float


class WithdrawnError(RuntimeError):
    """The curator will not measure a row: its record was withdrawn.

    Args:
        index: The released row.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index

    def __str__(self) -> str:
        return (
            f"row {self.index} will not be measured: the curator has withdrawn the question; give the "
            f"row up by modeler.skip({self.index}), or ask for it again"
        )
