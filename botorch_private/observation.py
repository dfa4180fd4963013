"""Observation: the number that returns to the modeler."""

from typing import NamedTuple


class Observation(NamedTuple):
    """One answer of the curator.

    Args:
        index: Released row that was asked for.
        value: Measured outcome.
    """

    index: int
    value: float
