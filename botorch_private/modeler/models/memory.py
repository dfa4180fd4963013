"""How much of ``V`` a posterior keeps, and what to do about matrices that do not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from botorch_private._base.memory import require_memory

DEFAULT_MEMORY = 2**30  # bytes of V that are kept where the user does not say
NOTHING_KEPT = 1  # byte of V: everything is recomputed
MUCH = 2**26  # bytes; below it nobody asks whether memory is left
_COPIES = 5  # of a covariance matrix while it is computed and factorized


def require_covariance(rows: int, columns: int, batch: Sequence[int], like: Tensor, size: int) -> None:
    """Refuse a covariance matrix that does not fit, before any of it is computed.

    Args:
        rows: Its rows.
        columns: Its columns.
        batch: How many of them, as a shape.
        like: A tensor on its device.
        size: Bytes of a number.

    Raises:
        MemoryError: If so.
    """
    require_memory(
        _COPIES * size * rows * columns * math.prod(batch),
        what=f"a joint posterior with its covariance matrix of {rows} x {columns}",
        remedy="ask for fewer points at a time (Thompson sampling: a random part of the candidates); "
        "mean and variance of a DiscretePosterior, and the batches of DiscreteUCB.select, do without "
        "such a matrix",
        device=like.device,
        unless_below=MUCH,
    )
