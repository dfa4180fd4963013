"""Time and memory of a release and of the look-up, beside the machine's copy bandwidth.

    make bench

One thread, CPU seconds. Each figure of the look-up is the median of 9 runs; memory is the peak of a
fresh process above what it held before it made the table. Targets: 10^6 x 10 records released in
under 5 s and under 4 times the table's memory (where released rows are no wider than records); a
look-up of 10^5 rows in under 50 ms.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from speed.measure import cpu_seconds, forget_peak, memory

from botorch_private import Curator, NoisyProjection, PrivateProjectionTransform, PublicScaling
from botorch_private._base.record_index import RecordIndex
from botorch_private.curator.publish import publish

RESULTS = Path(__file__).parent / "results" / "release.md"
FEATURES = 10
MECHANISMS = {
    "no projection": NoisyProjection(1.0),
    "Gaussian": NoisyProjection(1.0, 1e-5, noise="gaussian"),
    "r = 20 > d": NoisyProjection(1.0, projection_dim=20),
    "r = 5 < d": NoisyProjection(1.0, 1e-5, projection_dim=5),
}


def scaling() -> PublicScaling:
    """The declared unit cube."""
    return PublicScaling([0.0] * FEATURES, [1.0] * FEATURES)


def releasing(mechanism: NoisyProjection) -> Callable:
    """A function that publishes a table with a mechanism."""
    return lambda records: publish(records, scaling(), mechanism)


# A Curator and a transform also keep the records, since the caller may change the table.
RELEASES = {
    **{name: releasing(mechanism) for name, mechanism in MECHANISMS.items()},
    "Curator": lambda x: Curator(x, scaling(), NoisyProjection(1.0), x[:, 0]),
    "Curator, NumPy table": lambda x: Curator(x.numpy(), scaling(), NoisyProjection(1.0), x[:, 0]),
    "transform": lambda x: PrivateProjectionTransform(x, scaling(), NoisyProjection(1.0)),
}


def table(n: int) -> torch.Tensor:
    """A table of ``n`` random records in the unit cube."""
    return torch.rand(n, FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def seconds(work, runs: int) -> float:
    """Median CPU time of ``work``, in seconds."""
    return statistics.median(cpu_seconds(work) for _ in range(runs))


def measure_release(name: str, n: int) -> None:
    """In a process of its own: print CPU time, and peak memory over the table's size."""
    torch.set_num_threads(1)
    RELEASES[name](table(100))  # imports and caches
    before = memory("VmRSS")
    records = table(n)
    forget_peak()
    elapsed = cpu_seconds(lambda: RELEASES[name](records))
    peak = memory("VmHWM") - before
    print(json.dumps({"seconds": elapsed, "memory": peak / records.nbytes}))


def release_rows(n: int) -> list[str]:
    """One line of the results a mechanism."""
    lines = []
    for name in RELEASES:
        done = subprocess.run(
            [sys.executable, __file__, name, str(n)], check=True, capture_output=True, encoding="utf-8"
        )
        result = json.loads(done.stdout.splitlines()[-1])
        figures = f"{result['seconds']:.2f} | {result['memory']:.2f}"
        lines.append(f"| {n:,} x {FEATURES} | {name} | {figures} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure everything and write the results."""
    torch.set_num_threads(1)
    block = torch.zeros(2**25, dtype=torch.float64)
    target = torch.empty_like(block)
    copy = seconds(lambda: target.copy_(block), 7)
    bandwidth = 2 * block.nbytes / copy / 1e9
    lines = [
        "# Release and look-up",
        "",
        f"Copy bandwidth of this machine, one thread: {bandwidth:.1f} GB/s (read and written).",
        "",
        "| table | released by | CPU s | peak memory / table (the table included) |",
        "| --- | --- | --- | --- |",
    ]
    for n in (100_000, 1_000_000):
        lines += release_rows(n)
    lines += ["", "| rows looked up | among | CPU ms | floor: copy of the rows, ms |"]
    lines += ["| --- | --- | --- | --- |"]
    for n in (36_000, 1_000_000):
        records = table(n)
        transform = PrivateProjectionTransform(records, scaling(), NoisyProjection(1.0))
        for count in (1, 100, 10_000, 100_000):
            picks = torch.randint(n, (count,), generator=torch.Generator().manual_seed(1))
            rows = records[picks]
            transform(rows)
            elapsed = seconds(lambda rows=rows, transform=transform: transform(rows), 9)
            floor = 2 * rows.nbytes / bandwidth / 1e9
            lines.append(f"| {count:,} | {n:,} | {1e3 * elapsed:.3f} | {1e3 * floor:.4f} |")
            print(lines[-1], flush=True)
    built = seconds(lambda: RecordIndex(table(1_000_000).numpy()), 3)
    lines += ["", f"Building the index of 10^6 records (once, at release): {built:.2f} s."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure_release(sys.argv[1], int(sys.argv[2]))
    else:
        main()
