"""What a table larger than memory costs: a release of up to 10^8 records, and a search on two actors.

    python benchmarks/scale.py [--rows 2000000 10000000] [--search 2000000] [--folder FOLDER]

CPU seconds of all processes that took part; memory is the largest that any one of them held. The
source is random and sorted by its first column, in files of 10^6 records. The floors of a release: a
plain copy of the files, and the same noise drawn in memory. A search of 20 rounds is held against the
same search in one process: its picks must be the same.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import torch

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

RESULTS = Path(__file__).parent / "results" / "scale.md"
FEATURES, IN_A_FILE, ROUNDS = 10, 1_000_000, 20
NAMES = [f"f{i}" for i in range(FEATURES)]
SCALING = PublicScaling([0.0] * FEATURES, [1.0] * FEATURES, names=NAMES)


def make_source(folder: Path, rows: int) -> None:
    """Random records in float64, sorted by the first feature over all files."""
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    files = math.ceil(rows / IN_A_FILE)
    for i in range(files):
        count = min(IN_A_FILE, rows - i * IN_A_FILE)
        generator = np.random.default_rng(i)
        table = generator.random((count, FEATURES))
        table[:, 0] = (i + np.sort(table[:, 0])) / files
        columns = [pyarrow.array(np.ascontiguousarray(column)) for column in table.T]
        parquet.write_table(
            pyarrow.table(columns, names=NAMES), folder / f"{i:04d}.parquet", compression="none"
        )


class Meter:
    """CPU time of this process and of all that it started, and the most memory of one of them."""

    def __init__(self) -> None:
        self.cpu, self.peak = 0.0, 0
        self._last: dict[int, float] = {}

    def look(self) -> None:
        """Take what all processes say now; a Ray worker must still be there."""
        me = psutil.Process()
        for process in (me, *me.children(recursive=True)):
            try:
                times = process.cpu_times()
                self._last[process.pid] = times.user + times.system
                if "raylet" not in process.name() and "gcs" not in process.name():
                    self.peak = max(self.peak, process.memory_info().rss)
            except psutil.NoSuchProcess:
                continue
        self.cpu = sum(self._last.values())


def released(folder: Path, rows: int, what: str, engine: str) -> dict:
    """Release a source once."""
    import threading

    mechanism, scaling, dtype = NoisyProjection(3.0, 1e-5), SCALING, "float64"
    if what == "float32":
        dtype = "float32"
    if what == "cells":
        edges = {name: [0.0, 0.5, 1.0] if i < 3 else [0.0, 1.0] for i, name in enumerate(NAMES)}
        mechanism, scaling = CellResponse(3.0, Cells(edges)), None
    meter, stop = Meter(), threading.Event()

    def watch() -> None:
        while not stop.wait(0.5):
            meter.look()

    thread = threading.Thread(target=watch)
    thread.start()
    start = time.perf_counter()
    target = folder / f"released-{what}-{engine}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # delta against 1 / n: of made-up people
        parts = release_parquet(
            folder / "source", target, scaling, mechanism, dtype=dtype, engine=engine
        )
    meter.look()
    elapsed = time.perf_counter() - start
    stop.set()
    thread.join()
    first = np.concatenate(
        [np.load(file) for file in sorted((folder / f"{target.name}.map").glob("*.npy"))[:8]]
    )
    order = float(np.corrcoef(np.arange(len(first)), first)[0, 1])
    return {
        "wall": elapsed,
        "cpu": meter.cpu,
        "peak": max(meter.peak, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss),
        "size": sum(file.stat().st_size for file in (folder / "source").iterdir()),
        "parts": len(parts.parts),
        "order": order,
        "chance": 1 / math.sqrt(len(first)),
    }


def searched(folder: Path, release: str, engine: str, shards: int) -> dict:
    """Search 20 rounds after 5 random rows."""
    parts = ReleasedParts.load(folder / release)
    options = {} if engine == "process" else {"engine": "ray", "workers": shards}
    meter = Meter()
    generator = torch.Generator().manual_seed(0)
    modeler = Modeler(parts, generator=generator, max_memory=2**33, **options)
    places = RowMap.load(folder / f"{release}.map")
    scores = torch.rand(2**16, generator=torch.Generator().manual_seed(1))
    meter.look()
    before, start = meter.cpu, time.perf_counter()
    picks = []
    for _ in range(5 + ROUNDS):
        row = modeler.ask()
        record = places.place(row).record
        # Smooth in the first feature, by which the source is sorted, and some scatter.
        value = math.sin(6 * record / parts.n) + 0.1 * float(scores[record % 2**16])
        modeler.tell(row, value)
        picks.append(row)
    meter.look()
    return {
        "cpu": meter.cpu - before,
        "wall": time.perf_counter() - start,
        "peak": meter.peak,
        "picks": picks,
    }


def measured(task: str, *arguments: object) -> dict:
    """Run a task in a fresh process."""
    command = [sys.executable, __file__, "--task", task, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[2_000_000, 10_000_000])
    parser.add_argument("--search", type=int, default=10_000_000)
    parser.add_argument("--kinds", nargs="*", default=["float64", "float32", "cells"])
    parser.add_argument("--engines", nargs="*", default=["process", "ray"])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    lines = [
        "# Tables beyond one machine",
        "",
        "`python benchmarks/scale.py`. Files of 10^6 records with 10 features, sorted by the first one.",
        "",
        "| records | release | engine | wall s | CPU s | CPU s per 10^6 | most memory, GiB | parts | "
        "order against place |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for rows in options.rows:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            make_source(folder / "source", rows)
            for kind in options.kinds:
                for engine in options.engines:
                    found = measured("release", folder, rows, kind, engine)
                    lines.append(
                        f"| {rows:,} | {kind} | {engine} | {found['wall']:.0f} | {found['cpu']:.0f} | "
                        f"{1e6 * found['cpu'] / rows:.2f} | {found['peak'] / 2**30:.2f} | "
                        f"{found['parts']} | {found['order']:+.5f} (chance {found['chance']:.5f}) |"
                    )
                    print(lines[-1], flush=True)
            if rows == options.search:
                lines += search_lines(folder)
            shutil.rmtree(folder, ignore_errors=True)
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def search_lines(folder: Path) -> list[str]:
    """A search in one process, and on 1, 2 and 4 actors."""
    lines = [
        "",
        f"A search of {ROUNDS} rounds, with a fit in each:",
        "",
        "| where | CPU s | over one process | wall s | peak of a process, GiB | picks |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    one = measured("search", folder, "released-float64-ray", "process", 1)
    for engine, shards in (("process", 1), ("ray", 1), ("ray", 2), ("ray", 4)):
        found = (
            one
            if engine == "process"
            else measured("search", folder, "released-float64-ray", engine, shards)
        )
        same = "the same" if found["picks"] == one["picks"] else "OTHERS"
        where = "one process" if engine == "process" else f"{shards} actors"
        lines.append(
            f"| {where} | {found['cpu']:.1f} | {found['cpu'] / one['cpu']:.2f} | {found['wall']:.1f} | "
            f"{found['peak'] / 2**30:.2f} | {same} |"
        )
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    if "--task" in sys.argv:
        torch.set_num_threads(1)
        _, _, task, folder, *rest = sys.argv
        if task == "release":
            print(json.dumps(released(Path(folder), int(rest[0]), rest[1], rest[2])))
        else:
            print(json.dumps(searched(Path(folder), rest[0], rest[1], int(rest[2]))))
    else:
        main()
