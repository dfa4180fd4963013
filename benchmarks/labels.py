"""What labels of cells cost at scale: a release of 10^7 records, rounds of a search among 10^4 cells.

    make bench

One thread, CPU seconds, each line in a process of its own. Beside a release stand two floors of the same
machine, in the same process: reading and copying the table once, and NumPy's permutation of its rows.
Memory is the peak above what the process held before it made the table, over the table's size, the
table included. Targets: 10^7 x 10 records in under 5 s and 3 times the table's memory. Beside a round of
a search stands the share of it that does not depend on the number of cells: the same round with 2.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from speed.measure import cpu_seconds, forget_peak, memory

from botorch_private import CellResponse, Cells, Curator, ManyCellsWarning, Modeler, audit

RESULTS = Path(__file__).parent / "results" / "labels.md"
RELEASES = ((10_000_000, 10, 40), (10_000_000, 2, 40), (10_000_000, 10, 10_000), (1_000_000, 10, 40))
SEARCHES = (*((1_000_000, count) for count in (2, 10, 100, 1_000, 10_000)), (10_000_000, 10))
ROUNDS, INITIAL = 55, 6


def response(features: int, count: int) -> CellResponse:
    """Cells along the first two features of the unit cube, about ``sqrt(count)`` along each."""
    first = max(part for part in range(1, math.isqrt(count) + 1) if count % part == 0)
    lengths = [first, count // first, *[1] * (features - 2)] if features > 1 else [count]
    edges = [np.linspace(0.0, 1.0, length + 1).tolist() for length in lengths]
    return CellResponse(math.log(count) + 4.0, Cells(edges))


def table(n: int, features: int) -> torch.Tensor:
    """A table of ``n`` random records in the unit cube."""
    return torch.rand(n, features, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def release(n: int, features: int, count: int) -> dict:
    """CPU time and peak memory of a `Curator`, and the floors."""
    mechanism = response(features, count)
    small = table(100, features)
    Curator(small, None, mechanism, small[:, 0])
    outcomes = torch.rand(n, dtype=torch.float64)
    before = memory("VmRSS")
    records = table(n, features)
    forget_peak()
    kept = []
    elapsed = cpu_seconds(lambda: kept.append(Curator(records, None, mechanism, outcomes)))
    peak = memory("VmHWM") - before
    copy = cpu_seconds(records.clone)
    order = cpu_seconds(lambda: np.random.default_rng(0).permutation(n))
    return {"seconds": elapsed, "memory": peak / records.nbytes, "copy": copy, "order": order}


def search(n: int, count: int) -> dict:
    """CPU time of the parts of a search among labels of one ordered feature, and its peak memory."""
    mechanism = response(1, count)
    records = table(n, 1)
    noise = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    curator = Curator(records, None, mechanism, (6 * records[:, 0]).sin() + 0.3 * noise)
    before = forget_peak()
    kept = []
    start = cpu_seconds(lambda: kept.append(Modeler(curator.release)))
    modeler = kept[0]
    rounds = []
    for number in range(ROUNDS):
        rows: list[int] = []
        elapsed = cpu_seconds(lambda rows=rows: rows.append(modeler.ask()))
        if number == INITIAL:
            start += elapsed  # the labels are sorted once
        elif number > INITIAL:
            rounds.append(elapsed)
        modeler.tell(rows[0], curator.query(rows[0]).value)
    return {
        "start": start,
        "round": statistics.median(rounds),
        "memory": (memory("VmHWM") - before) / 2**20,
    }


def audited(count: int) -> dict:
    """CPU time of an audit of the labels."""
    return {"seconds": cpu_seconds(lambda: audit.response_audit(response(1, count)))}


def measured(task: str, *sizes: int) -> dict:
    """Run a task in a fresh process."""
    command = [sys.executable, __file__, task, *map(str, sizes)]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure everything and write the results."""
    lines = [
        "# Labels of cells at scale",
        "",
        "A `Curator` with a `CellResponse`; cells along two features. Floors: a copy of the table, and "
        "NumPy's random permutation of as many rows.",
        "",
        "| records | cells | CPU s | over the copy | over the permutation | peak memory / table |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for n, features, count in RELEASES:
        found = measured("release", n, features, count)
        ratios = f"{found['seconds'] / found['copy']:.1f} | {found['seconds'] / found['order']:.1f}"
        figures = f"{found['seconds']:.2f} | {ratios} | {found['memory']:.2f}"
        lines.append(f"| {n:,} x {features} | {count:,} | {figures} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"A `Modeler` with an ordered part of K cells: median of {ROUNDS - INITIAL - 1} rounds, each "
        "with a fit; once, at the start, the labels are checked and sorted.",
        "",
        "| records | K | start, ms | round, ms | over a round with 2 cells | peak memory, MiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    floor = None
    for n, count in SEARCHES:
        found = measured("search", n, count)
        floor = floor or found["round"]
        figures = (
            f"{1e3 * found['start']:.0f} | {1e3 * found['round']:.1f} | {found['round'] / floor:.1f}"
        )
        lines.append(f"| {n:,} | {count:,} | {figures} | {found['memory']:.0f} |")
        print(lines[-1], flush=True)
    lines += ["", "| `audit.response_audit`, K | CPU s |", "| --- | --- |"]
    for count in (4, 10_000):
        lines.append(f"| {count:,} | {measured('audited', count)['seconds']:.1f} |")
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        torch.set_num_threads(1)
        warnings.simplefilter("ignore", ManyCellsWarning)
        task = {"release": release, "search": search, "audited": audited}[sys.argv[1]]
        print(json.dumps(task(*map(int, sys.argv[2:]))))
    else:
        main()
