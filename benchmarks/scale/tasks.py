"""What is measured, each in a fresh process: a release, a search, the floors."""

from __future__ import annotations

import math
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from meter import Meter

from botorch_private import (
    CellResponse,
    Cells,
    Modeler,
    NoisyProjection,
    PublicScaling,
    ReleasedParts,
    RowMap,
    release_parquet,
)
from botorch_private._base.engine import InProcess, OnRay
from botorch_private.curator.mechanisms.base import NO_MAPS
from botorch_private.curator.mechanisms.entropy import OSEntropy

FEATURES, ROUNDS, INITIAL = 10, 20, 5
NAMES = [f"f{i}" for i in range(FEATURES)]
SCALING = PublicScaling([0.0] * FEATURES, [1.0] * FEATURES, names=NAMES)
STAGES = {"check_file": "check", "scatter": "noise", "gather": "order"}
_AT_A_TIME = 2**16  # rows, for the floor


def mechanism_of(kind: str) -> Any:
    """Noise, or labels of 8 cells along three features."""
    if kind != "cells":
        return NoisyProjection(3.0, 1e-5)
    edges = {name: [0.0, 0.5, 1.0] if i < 3 else [0.0, 1.0] for i, name in enumerate(NAMES)}
    return CellResponse(3.0, Cells(edges))


def source(folder: str, rows: int, in_a_file: int) -> dict:
    """Write random records in float64, sorted by the first feature over all files."""
    import pyarrow
    from pyarrow import parquet

    there = Path(folder) / "source"
    there.mkdir()
    files = math.ceil(rows / in_a_file)
    for i in range(files):
        count = min(in_a_file, rows - i * in_a_file)
        table = np.random.default_rng(i).random((FEATURES, count))
        table[0] = (i + np.sort(table[0])) / files
        columns = [pyarrow.array(column) for column in table]
        file = there / f"{i:05d}.parquet"
        parquet.write_table(pyarrow.table(columns, names=NAMES), file, compression="none")
    return {}


def release(
    folder: str, rows: int, kind: str, engine: str, workers: int, bucket_bytes: int = 2**28
) -> dict:
    """Release the source once."""
    options = {} if engine == "process" else {"engine": "ray", "workers": workers}
    target = Path(folder) / f"{kind}-{engine}-{workers}"
    meter = Meter()
    _staged(meter)
    before, start = meter.look(), time.perf_counter()
    with warnings.catch_warnings(), meter.watching():
        warnings.simplefilter("ignore")  # delta against 1 / n: of made-up people
        parts = release_parquet(
            Path(folder) / "source",
            target,
            None if kind == "cells" else SCALING,
            mechanism_of(kind),
            dtype="float32" if kind == "float32" else "float64",
            bucket_bytes=bucket_bytes,
            progress=False,
            **options,
        )
    elapsed, found = time.perf_counter() - start, meter.since(before)
    maps = sorted(target.with_name(f"{target.name}.map").glob("*.npy"))[:8]
    records = np.concatenate([np.load(file) for file in maps])
    return {
        "rows": rows,
        "kind": kind,
        "engine": engine,
        "workers": workers,
        "wall": elapsed,
        **_costs(meter, found),
        "parts": len(parts.parts),
        "files": len(list((Path(folder) / "source").iterdir())),
        "order": float(np.corrcoef(np.arange(len(records)), records)[0, 1]),
        "chance": 1 / math.sqrt(len(records)),
    }


def search(
    folder: str, name: str, engine: str, workers: int, rounds: int, dtype: str, max_memory: int
) -> dict:
    """Open a release, and search it after 5 random rows, with a fit in each round."""
    meter = Meter()
    before, start = meter.look(), time.perf_counter()
    options: dict[str, Any] = {"generator": torch.Generator().manual_seed(0)}
    if engine == "ray":
        options |= {"engine": "ray", "workers": workers, "dtype": getattr(torch, dtype)}
    with meter.watching():
        with meter.stage("open"):
            parts = ReleasedParts.load(Path(folder) / name)
            modeler = Modeler(parts, max_memory=max_memory, **options)
            if parts.cells is None:
                _ = modeler.release.spread  # all rows are there then
        places = RowMap.load(Path(folder) / f"{name}.map")
        scores = torch.rand(2**16, generator=torch.Generator().manual_seed(1))
        picks = []
        with meter.stage("search"):
            for _ in range(INITIAL + rounds):
                row = modeler.ask()
                record = places.place(row).record
                # Smooth in the first feature, by which the source is sorted, and some scatter.
                value = math.sin(6 * record / parts.n) + 0.1 * float(scores[record % 2**16])
                modeler.tell(row, value)
                picks.append(row)
    elapsed, found = time.perf_counter() - start, meter.since(before)
    return {
        "name": name,
        "rows": parts.n,
        "engine": engine,
        "workers": workers,
        "rounds": rounds,
        "dtype": dtype,
        "max_memory": max_memory,
        "wall": elapsed,
        **_costs(meter, found),
        "picks": picks,
    }


def floors(folder: str, rows: int) -> dict:
    """CPU seconds of a plain copy of the files, and of the same noise drawn in memory: least of 3."""
    there, twin = Path(folder) / "source", Path(folder) / "copy"

    def copied() -> None:
        shutil.copytree(there, twin)
        shutil.rmtree(twin)

    records = torch.rand(_AT_A_TIME, FEATURES, dtype=torch.float64)
    noise, cells = mechanism_of("float64"), mechanism_of("cells")
    numbers = cells.cells.scale_rows(records)

    def drawn(mechanism: Any, some: torch.Tensor) -> None:
        for _ in range(math.ceil(rows / _AT_A_TIME)):
            mechanism.draw_rows(some, NO_MAPS, OSEntropy())

    return {
        "rows": rows,
        "copy": _least(copied),
        "float64": _least(lambda: drawn(noise, records)),
        "cells": _least(lambda: drawn(cells, numbers)),
    }


def _least(work: Any) -> float:
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def _costs(meter: Meter, found: dict[str, float]) -> dict:
    stages = meter.stages
    return {
        "cpu": found["cpu"],
        "driver": found["driver"],
        # What it would take with a core for each process: this one, and the busiest one of each stage.
        "path": found["driver"] + sum(stage["busiest"] for stage in stages.values()),
        "peak": meter.peak,
        "peak_of_all": meter.peak_of_all,
        "stages": stages,
    }


def _staged(meter: Meter) -> None:
    """Count each stage of a release for itself."""
    for engine in (InProcess, OnRay):

        def timed(self: Any, task: Any, *rest: Any, _run: Any = engine.run) -> Iterator[Any]:
            with meter.stage(STAGES.get(task.__name__, task.__name__)):
                yield from _run(self, task, *rest)

        engine.run = timed
    identity = ReleasedParts.with_identity

    def timed_identity(self: ReleasedParts) -> ReleasedParts:
        with meter.stage("identity"):
            return identity(self)

    ReleasedParts.with_identity = timed_identity


TASKS = {"source": source, "release": release, "search": search, "floors": floors}
