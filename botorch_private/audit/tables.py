"""Two tables that differ in one record: what every audit starts from."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from botorch_private._base import validate


class Neighbours(NamedTuple):
    """Two scaled tables and the row in which they differ."""

    records: Tensor  # n x d
    neighbour: Tensor  # n x d
    row: int
    distance: float  # of that row to itself, in units


def neighbours(records: Any, neighbour: Any) -> Neighbours:
    """Check two scaled tables, or refuse them.

    Raises:
        ValueError: If they are not two finite tables of one shape that differ in exactly one row.
    """
    one = validate.matrix(records=records, minimum_rows=2)
    other = validate.matrix(neighbour=neighbour, minimum_rows=2)
    if one.shape != other.shape:
        raise ValueError(
            f"neighbour must have the shape of records, {tuple(one.shape)}, got {tuple(other.shape)}"
        )
    changed = (one != other).any(dim=1).nonzero().squeeze(-1)
    if len(changed) != 1:
        raise ValueError(f"neighbour must differ from records in exactly one row, got {len(changed)}")
    row = int(changed[0])
    return Neighbours(one, other, row, float((one[row] - other[row]).norm()))
