"""What a table larger than memory costs: releases of up to 10^8 records, and searches of them.

    python benchmarks/scale                     # 10^8 records; under an hour on two cores, 35 GB of disk
    python benchmarks/scale --rows 2000000      # less; or --quick, to see that all runs
    python benchmarks/scale --folder FOLDER     # where tables are written, and removed again

The source is random and sorted by its first column, in files of 10^6 records. The floors of a release: a
plain copy of the files, and the same noise drawn in memory. A search is held against the same search in
one process: its picks must be the same. Each line is measured in a process of its own, with one thread.
Results: benchmarks/results/scale.md, and the numbers in scale.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "scale.md"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
LARGE = 50_000_000  # rows from which on only a part is measured
FEW = 5_000_000  # rows up to which only one kind is
ALL = [("process", 1), ("ray", 1), ("ray", 2), ("ray", 4)]
GIB = 2**30


@dataclass
class Found:
    """All that was measured."""

    floors: dict = field(default_factory=dict)
    small: list = field(default_factory=list)
    releases: list = field(default_factory=list)
    searches: list = field(default_factory=list)


def measured(task: str, **arguments: object) -> dict:
    """Run a task in a fresh process."""
    command = [sys.executable, str(HERE), "--task", task, json.dumps(arguments)]
    print(task, arguments, file=sys.stderr, flush=True)
    environment = {**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", env=environment)
    print(done.stdout[-600:], file=sys.stderr, flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def releases_of(rows: int) -> list[tuple[str, str, int]]:
    """Which releases of so many records are measured."""
    if rows >= LARGE:
        return [("cells", "ray", 2), ("float32", "ray", 2), ("float64", "ray", 2), ("float32", "ray", 4)]
    others = [(kind, *each) for kind in ("float32", "cells") for each in ALL[:3]]
    return [("float64", *each) for each in ALL] + (others if rows > FEW else [])


def searches_of(rows: int, kind: str) -> list[dict]:
    """Which searches of the first release of a kind."""
    if rows >= LARGE:
        known = {"rounds": 20 if kind == "cells" else 5, "dtype": "float32", "max_memory": GIB}
        where = (
            {"engine": "process", "workers": 1} if kind == "cells" else {"engine": "ray", "workers": 2}
        )
        return [] if kind == "float64" else [{**known, **where}]
    common = {"rounds": 20, "dtype": "float64", "max_memory": 8 * GIB}
    return (
        []
        if kind != "float64"
        else [{**common, "engine": engine, "workers": workers} for engine, workers in ALL]
    )


def run(
    found: Found, sizes: list[int], searched: list[int], folder: Path, in_a_file: int, bucket: int
) -> None:
    """Measure what was not measured yet; tables are removed as soon as nobody needs them."""
    from report import write

    with tempfile.TemporaryDirectory(dir=folder) as name:
        # 8 files, so that each of 4 workers starts.
        measured("source", folder=name, rows=8_000, in_a_file=1_000)
        for engine, workers in ALL:
            case = {"rows": 8_000, "kind": "float64", "engine": engine, "workers": workers}
            if not _there(found.small, case):
                found.small.append(measured("release", folder=name, **case))
    for rows in sizes:
        cases = _cases(found, rows, rows in searched)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            if cases or not found.floors:
                measured("source", folder=name, rows=rows, in_a_file=in_a_file)
            if not found.floors:
                found.floors = measured("floors", folder=name, rows=rows)
            for case, searches in cases:
                done = measured("release", folder=name, bucket_bytes=bucket, **case)
                if not _there(found.releases, case):
                    found.releases.append(done)
                for each in searches:
                    write(found)
                    found.searches.append(measured("search", folder=name, **each))
                for left in Path(name).glob("{kind}-{engine}-{workers}*".format(**case)):
                    subprocess.run(["rm", "-rf", str(left)], check=True)
                write(found)
    write(found)


def _cases(found: Found, rows: int, searched: bool) -> list[tuple[dict, list[dict]]]:
    """What is left to measure: releases, each with the searches of it."""
    left, kinds = [], set()
    for kind, engine, workers in releases_of(rows):
        case = {"rows": rows, "kind": kind, "engine": engine, "workers": workers}
        searches = searches_of(rows, kind) if searched and kind not in kinds else []
        searches = [{"name": f"{kind}-{engine}-{workers}", **each} for each in searches]
        searches = [each for each in searches if not _there(found.searches, {"rows": rows, **each})]
        kinds.add(kind)
        if searches or not _there(found.releases, case):
            left.append((case, searches))
    return left


def _there(lines: list[dict], case: dict) -> bool:
    """Whether something was measured already."""
    return any(all(line.get(key) == value for key, value in case.items()) for line in lines)


def _before(path: Path) -> Found:
    return Found(**json.loads(path.read_text(encoding="utf-8")))


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[2_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--search", type=int, nargs="*", default=[10_000_000, 100_000_000])
    parser.add_argument("--folder", type=Path, default=None, help="where tables are written")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--quick", action="store_true", help="a small table, to see that all runs")
    parser.add_argument("--more", action="store_true", help="what an earlier run did not come to")
    parser.add_argument("--page", action="store_true", help="only the page, of what was measured")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)  # for the processes
    options = parser.parse_args()
    if options.task:
        import torch
        from tasks import TASKS

        torch.set_num_threads(1)
        name, values = options.task
        print(json.dumps(TASKS[name](**json.loads(values))))
        return
    import report

    report.OUTPUT = Path(tempfile.mkdtemp()) / "scale.md" if options.quick else options.output
    report.RAW = report.OUTPUT.with_suffix(".json")
    if options.page:
        report.write(_before(report.RAW))
        return
    sizes, searched = ([20_000], [20_000]) if options.quick else (options.rows, options.search)
    pieces = (5_000, 2**18) if options.quick else (1_000_000, 2**28)
    found = _before(report.RAW) if options.more else Found()
    run(found, sizes, searched, options.folder, *pieces)
    print(f"written to {report.OUTPUT}")


if __name__ == "__main__":
    main()
