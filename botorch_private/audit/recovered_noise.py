"""The noise of a release, for who knows the records and the seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from botorch_private.privacy.noise_law import NoiseLaw

_LONG = 4096.0  # of the records that show the map: rounding to the grid is nothing beside them


class Recovered(NamedTuple):
    """The noise of one seeded release of ``n`` records.

    Attributes:
        noise: ``m x law.dim``, in the coordinates in which it was drawn. Where a record is cut into
            pieces with noise of their own, ``m`` is ``n`` times their number.
        at_zero: The same of a table of zeros, by the same seed.
        frame: ``d x r`` map of records to rows; None where coordinates are kept.
        off_grid: The most that the noise was off the grid, in steps, before it was put on it.
    """

    noise: np.ndarray
    at_zero: np.ndarray
    frame: np.ndarray | None
    off_grid: float


def released(mechanism: Any, table: np.ndarray, seed: int | None = None) -> np.ndarray:
    """Rows of one release: by the operating system's entropy, or by a seed."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return mechanism.apply(torch.from_numpy(table.copy()), generator=generator).numpy()


def frame_of(mechanism: Any, rows: int, d: int, seed: int) -> np.ndarray:
    """The map that a mechanism with random coordinates draws by a seed, ``d x r``.

    Equal seeds draw equal maps and equal noise, so that the difference of two releases shows the map.

    Args:
        mechanism: A mechanism whose rows are a linear map of the records, plus noise.
        rows: Of the tables, >= ``d``.
        d: Number of features.
        seed: Of the releases.
    """
    zeros = np.zeros((rows, d))
    probe = zeros.copy()
    np.fill_diagonal(probe, _LONG)
    return (released(mechanism, probe, seed) - released(mechanism, zeros, seed))[:d] / _LONG


def recovered_noise(mechanism: Any, table: np.ndarray, law: NoiseLaw, seed: int) -> Recovered:
    """Release a table by a seed, and subtract the records.

    Args:
        mechanism: Rows must be a record, or a linear map of it, rounded to the grid, plus noise.
        table: ``n x d`` scaled records; ``n >= d`` where the mechanism draws a map.
        law: The claimed law.
        seed: Of the releases.
    """
    rows, still = (released(mechanism, each, seed) for each in (table, np.zeros_like(table)))
    frame = None
    if not mechanism.isotropic:
        noise = rows - _rounded(table, law.grid)
    else:
        frame = frame_of(mechanism, len(table), table.shape[1], seed)
        if law.dim == table.shape[1]:  # a rotation, after the noise
            noise, still = rows @ frame.T - _rounded(table, law.grid), still @ frame.T
        else:
            noise = rows - _rounded(table @ frame, law.grid)
    noise, still = (each.reshape(-1, law.dim) for each in (noise, still))
    off_grid = max(float(np.abs(each - _rounded(each, law.grid)).max()) for each in (noise, still))
    return Recovered(_rounded(noise, law.grid), _rounded(still, law.grid), frame, off_grid / law.grid)


def _rounded(rows: np.ndarray, grid: float) -> np.ndarray:
    return np.rint(rows / grid) * grid
