"""Records that join although they are in the table already: found by distance, after clipping.

The same people would be released twice and charged once. Two rows are taken for one record where they
are within a step of the public grid in each scaled coordinate: the release rounds them to the same point
of it, or to neighbours. Rows that are much closer than a unit are suspicious. Rows that join together
are not compared with each other: they are in one table, as are those of a first release.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy.spatial import KDTree
from torch import Tensor

from botorch_private._base.record_index import RecordIndex
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.privacy.noise_law import GRID
from botorch_private.privacy.warnings import PrivacyLeakWarning

_CLOSE = 1e-3  # units
_CHUNK_ENTRIES = 2**21


def refuse_repeats(
    joining: Tensor, table: Tensor, scaling: PublicScaling | None, *, first_row: int = 0
) -> None:
    """Refuse records that are in the table already, and warn of some that nearly are.

    Both are for the curator's eyes only: they depend on the data.

    Args:
        joining: ``m x d`` raw records.
        table: ``n x d`` raw records that were released before.
        scaling: Of both; None: there is none, and only equal records are found.
        first_row: Number of the first joining record in messages.

    Raises:
        ValueError: If a joining record is within a step of the grid from one of the table.

    Warns:
        PrivacyLeakWarning: If one is within 0.001 units of one.
    """
    if scaling is None:
        same = RecordIndex(table.numpy()).find(joining.numpy()) >= 0
        close = np.zeros_like(same)
    else:
        same, close = _nearby(scaling.scale_rows(joining).numpy(), table, scaling)
    if same.any():
        raise ValueError(
            f"records must be of people who are not in the table, but {_which(same, first_row)} the "
            f"same, after clipping, as one of the table: those people would be released twice, and "
            f"charged once. Leave them out; or say repeats=True, which charges everybody for new rows"
        )
    if close.any():
        warnings.warn(
            f"records should be of people who are not in the table, but {_which(close, first_row)} "
            f"within {_CLOSE:g} units of one of the table: if they are of the same people, those people "
            f"are released twice, and are charged for one release only. Say repeats=True then",
            PrivacyLeakWarning,
            stacklevel=3,
        )


def _nearby(joining: np.ndarray, table: Tensor, scaling: PublicScaling) -> tuple[np.ndarray, np.ndarray]:
    """Which of the joining rows are the same as, or close to, one of the table; in bounded memory."""
    same, close = np.zeros(len(joining), dtype=bool), np.zeros(len(joining), dtype=bool)
    step = max(1, _CHUNK_ENTRIES // joining.shape[1])
    for start in range(0, len(table), step):
        some = scaling.scale_rows(table[start : start + step]).numpy()
        # Not balanced: columns of few different values would make that slow.
        tree = KDTree(some, balanced_tree=False, compact_nodes=False)
        for found, norm, radius in ((same, math.inf, GRID), (close, 2, _CLOSE)):
            # The bound is exclusive.
            bound = math.nextafter(radius, math.inf)
            distances, _ = tree.query(joining, p=norm, distance_upper_bound=bound)
            found |= np.isfinite(distances)
    return same, close


def _which(rows: np.ndarray, first_row: int) -> str:
    first, others = int(np.flatnonzero(rows)[0]) + first_row, int(rows.sum()) - 1
    return f"that in row {first}{f' and {others} more are' if others else ' is'}"
