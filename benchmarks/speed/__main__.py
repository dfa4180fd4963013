"""Speed of a search over a pool: this package, its physical floor, and other libraries.

    python benchmarks/speed            # everything, about a quarter of an hour
    python benchmarks/speed --quick    # small sizes, two minutes; results go to a temporary folder

Candidates are uniform in the unit cube; the function is a sample of an RBF Gaussian process. Each arm
runs in fresh processes with one thread, and CPU seconds of asking and telling are counted. It needs
scikit-learn and matplotlib (the package's ``dev`` extra) and, for one arm, ``pip install physbo``.
Results: benchmarks/results/speed.md and speed.png. The exit status is 1 if arms that must choose the
same rows do not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all runs")
    parser.add_argument("--runs", type=int, help="runs of each slow arm, 3 by default")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)  # for the processes
    arguments = parser.parse_args()
    if arguments.task:
        # Not imported in the parent's name: a process holds only what its arm needs.
        from tasks import TASKS

        name, values = arguments.task
        print(json.dumps(TASKS[name](**json.loads(values))))
        return 0

    import figure
    import report
    from experiments import QUICK, Sizes, run_all
    from summary import targets

    folder = Path(tempfile.mkdtemp()) if arguments.quick else RESULTS
    sizes = QUICK if arguments.quick else Sizes()
    if arguments.runs is not None:
        if arguments.runs < 1:
            parser.error(f"--runs must be at least 1, got {arguments.runs}")
        sizes = replace(sizes, slow=arguments.runs)
    results = run_all(sizes)
    report.write(results, folder / "speed.md")
    figure.draw(results, folder / "speed.png")
    print(f"written to {folder / 'speed.md'} and speed.png")
    same_rows = targets(results)[0]
    if not same_rows.met:
        print(f"{same_rows.target}: only {same_rows.measured}", file=sys.stderr)
    return 0 if same_rows.met else 1


if __name__ == "__main__":
    sys.exit(main())
