"""The Mechanism protocol: scaled records in, released rows out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.memory import require_memory
from botorch_private.curator.mechanisms.entropy import Entropy
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import LARGEST_NORM

SEEDED = "the noise came from a seeded generator: whoever knows the seed can subtract it"

_LITTLE = 2**24  # bytes; nobody asks whether they are there


@dataclass(frozen=True)
class Drawn:
    """One application of a mechanism.

    Args:
        rows: ``n x r`` float64 released rows, in the order of the records.
        row_map: Map of any ``... x d`` scaled rows to ``... x r``, where the mechanism is one; None
            where a released row belongs to its record alone.
        more: Releases further ``m x d`` scaled records, ``m >= 1``, beside these: by the same
            projection, with noise of their own. None where that would cost the first records, or the
            further ones more than the guarantee says.

    Example:
        >>> drawn = mechanism.draw(scaling.transform(records))
        >>> drawn.rows.shape
        torch.Size([60, 2])
    """

    rows: Tensor = field(repr=False)  # in this order they are for the curator's eyes only
    row_map: Callable[[Tensor], Tensor] | None = None
    more: Callable[[Tensor], Tensor] | None = None


@runtime_checkable
class Mechanism(Protocol):
    """What turns scaled records into released rows.

    It may have two methods more, which are called before anything is spent: ``draw_memory(n, d)`` says
    how many bytes a draw takes at its peak, and ``warn(n, d, stacklevel=...)`` warns of what `draw`
    warns of, since a warning can be made an error.

    Attributes:
        isotropic: Whether released coordinates have no meaning of their own (they were rotated or
            projected), so that a kernel on them must have one length-scale.

    Example:
        >>> isinstance(NoisyProjection(epsilon=3.0), Mechanism)
        True
    """

    @property
    def isotropic(self) -> bool:
        """Whether a kernel on the released rows must have one length-scale."""
        ...

    def guarantee(self, n: int, d: int) -> PrivacyGuarantee:
        """What is promised for ``n`` records of ``d`` features, before any data are seen."""
        ...

    def noise_variance(self, d: int) -> float:
        """Variance of the noise along each direction that carries it, in squared units."""
        ...

    def noise_dim(self, d: int) -> int:
        """Number of directions that carry noise."""
        ...

    def draw(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Drawn:
        """Release once: ``n x d`` scaled records to ``n x r`` rows, order kept."""
        ...

    def apply(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Release once and return the rows alone."""
        ...


Maps = tuple[np.ndarray | None, np.ndarray | None]
"""Linear maps of a release, before and after its noise; None: none."""
NO_MAPS: Maps = (None, None)


@runtime_checkable
class RowByRow(Protocol):
    """A `Mechanism` whose released row is a matter of its own record: a table may come in pieces."""

    def draw_maps(self, d: int, entropy: Entropy) -> Maps:
        """Draw what all rows of a release share, before any of them."""
        ...

    def draw_rows(self, scaled: Tensor, maps: Maps, entropy: Entropy) -> Tensor:
        """Release some of the scaled records, each with noise of its own; order kept."""
        ...


def draw_memory(mechanism: Mechanism, n: int, d: int) -> int:
    """Bytes that `Mechanism.draw` takes at its peak, the released rows included; from sizes alone.

    A mechanism may say it itself, in a method ``draw_memory(n, d)``. Of any other one it is known only
    that the released rows must fit, as wide as its guarantee says they are.
    """
    own = getattr(mechanism, "draw_memory", None)
    if own is not None:
        return int(own(n, d))
    width = mechanism.guarantee(n, d).projection_dim
    return 8 * n * (d if width is None else width)


def require_draw_memory(mechanism: Mechanism, n: int, d: int, *, beside: int = 0) -> None:
    """Refuse a draw that needs more memory than there is: the system would end the process in silence.

    Args:
        mechanism: How rows are released.
        n: Number of records.
        d: Features of a record.
        beside: Further bytes that will be needed.

    Raises:
        MemoryError: If so.
    """
    refuse_draw(draw_memory(mechanism, n, d) + beside, n, d)


def refuse_draw(need: int, n: int, d: int) -> None:
    """Refuse a draw of ``n`` records of ``d`` features for which so many bytes are not there."""
    require_memory(
        need,
        what=f"releasing {n} records of {d} features in this way",
        remedy="choose a smaller projection_dim (None: no projection), or release fewer records at "
        "first and let others join later (Curator.add); nothing was drawn",
        unless_below=_LITTLE,
    )


def plain_numbers(mechanism: Any) -> None:
    """Turn NumPy scalars among validated settings into Python numbers, which files can hold."""
    for name, kind in (("epsilon", float), ("delta", float), ("projection_dim", int)):
        value = getattr(mechanism, name, None)
        if value is not None:
            object.__setattr__(mechanism, name, kind(value))


def check_scaled(scaled: Tensor, *, minimum_rows: int = 2) -> Tensor:
    """Refuse scaled records that no guarantee is calibrated for."""
    table = validate.matrix(scaled=scaled, minimum_rows=minimum_rows)
    if float(table.norm(dim=1).max()) > LARGEST_NORM:
        raise ValueError(
            f"scaled must have rows of norm at most {LARGEST_NORM:g}, got a longer one: "
            f"map the records through PublicScaling first"
        )
    return table
