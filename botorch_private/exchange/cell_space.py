"""CellSpace: how the cells of a release lie to each other. Public; nothing of the table is in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.privacy.response_law import MOST_CELLS


@dataclass(frozen=True)
class CellSpace:
    """A grid of ordered and unordered parts; a cell is numbered as by `numpy.ravel_multi_index`.

    Args:
        shape: Number of cells along each part, at least 2 in one of them, 10,000 in all.
        ordered: For each part, whether neighbouring numbers are neighbours in meaning.
        names: What each part is; None: no names.

    Example:
        >>> CellSpace((3, 2), (True, False)).count
        6
    """

    shape: tuple[int, ...]
    ordered: tuple[bool, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "ordered", tuple(self.ordered))
        for length in self.shape:
            validate.count(shape=length)
        if len(self.ordered) != len(self.shape) or not all(isinstance(o, bool) for o in self.ordered):
            raise ValueError(f"ordered must hold {len(self.shape)} booleans, one for each part")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
            if len(self.names) != len(self.shape) or not all(isinstance(n, str) for n in self.names):
                raise ValueError(f"names must hold {len(self.shape)} names, one for each part")
        if not 2 <= self.count <= MOST_CELLS:
            raise ValueError(f"there must be 2 to {MOST_CELLS} cells in all, got {self.count}")

    @property
    def count(self) -> int:
        """Number of cells, ``K``."""
        return math.prod(self.shape)

    @property
    def telling(self) -> tuple[int, ...]:
        """Parts with more than one cell, by position."""
        return tuple(part for part, length in enumerate(self.shape) if length > 1)

    def coordinates(self, cells: Tensor) -> Tensor:
        """Where cells lie: in an ordered part from 0 to 1, in an unordered one its number.

        Args:
            cells: Cell numbers of any shape, int64.

        Returns:
            The same shape and one more axis for the parts of `telling`, float64.
        """
        places, rest = [], cells
        for part in reversed(range(len(self.shape))):
            length = self.shape[part]
            place = (rest % length).double()
            rest = torch.div(rest, length, rounding_mode="floor")
            if length > 1:
                places.append(place / (length - 1) if self.ordered[part] else place)
        return torch.stack(places[::-1], dim=-1)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {"shape": self.shape, "ordered": self.ordered, "names": self.names}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> CellSpace:
        """Restore from `to_json`."""
        names: Sequence[str] | None = values.get("names")
        return cls(
            tuple(values["shape"]), tuple(values["ordered"]), None if names is None else tuple(names)
        )
