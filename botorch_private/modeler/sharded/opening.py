"""Which rows a modeler works on: all in this process, or those that processes on Ray hold."""

from __future__ import annotations

from typing import Any

import torch

from botorch_private._base import validate
from botorch_private._base.engine import ENGINES
from botorch_private.exchange.release import Release
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.modeler.sharded.sharded_release import ShardedRelease
from botorch_private.modeler.sharded.sharded_rows import ShardedRows


def opened(
    release: Any,
    *,
    engine: str,
    address: str | None,
    workers: int | None,
    dtype: torch.dtype,
    device: torch.device | str | None,
    denoise: bool,
) -> Release:
    """The release that a modeler models.

    Args:
        release: As in `Modeler`, and so are the others.
        engine: Where rows are.
        address: Of a cluster.
        workers: Processes that hold rows.
        dtype: Of rows.
        device: Where models live.
        denoise: Whether rows are to be denoised.

    Raises:
        TypeError: If it is no release.
        ValueError: If it cannot be searched so.
        MemoryError: If a release in parts does not fit into this process.
    """
    if not isinstance(release, Release | ReleasedParts):
        raise TypeError(f"release must be a Release, got {type(release).__name__}")
    validate.one_of(ENGINES, engine=engine)
    if engine == "process":
        if address is not None or workers is not None:
            raise ValueError("address and workers must be None without engine='ray'")
        return release if isinstance(release, Release) else release.whole()
    if isinstance(release, Release):
        if isinstance(release, ShardedRelease):
            return release
        raise ValueError(
            "release must be in parts for engine='ray', as release_parquet writes them and "
            "ReleasedParts.load reads them, got one that is in this process already"
        )
    if release.cells is not None:  # their search does not grow with the number of rows
        return release.whole()
    if denoise:
        raise ValueError(
            "denoise must be False with engine='ray': search release.whole() in one process, which "
            "needs memory for all rows"
        )
    if device is not None and torch.device(device).type != "cpu":
        raise ValueError("device must be None with engine='ray': rows are held on CPUs")
    rows = ShardedRows(release, shards=workers, address=address, dtype=dtype)
    return ShardedRelease.of(release, rows)


def sharded(release: Release) -> bool:
    """Whether the rows of a release are elsewhere."""
    return isinstance(release, ShardedRelease)
