"""The command line: reproduce the paper's tables and figures, beside mechanisms that are private."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PROBLEMS = ("synthetic_gp", "loan", "property", "branin")
RUNS = 50  # as in the paper
# Where the order in r is claimed: at 50 it is within noise.
MANY_RUNS = {"synthetic_gp": 500}
FRONTIER_RUNS = 48
WHOLE_RECORD_RUNS = 48
QUICK_RUNS, QUICK_ROUNDS = 2, 4

DESCRIPTION = """\
Run every cell of the 12 tables and 4 figures of Kharkovskii, Dai & Low (ICML 2020), without privacy,
by their Algorithm 1 as printed, by it as their code has it, and by this package's private mechanism;
then regret against epsilon, of a whole record and of one unit, on these and on tables of hospital
stays, voices and molecules.
"""
EPILOG = """\
--output gets RESULTS.md (a part of the study: RESULTS with its name), and results/ with tidy CSV files
and figures. Finished runs are kept in
runs.jsonl there: stop the command at any time and start it again, and it goes on where it was. The
same seeds give the same numbers. Everything takes about four hours on two cores; one problem
takes 5 to 30 minutes.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    output: Path = options.output
    if not output.parent.is_dir():
        parser.error(f"argument --output: there is no folder {output.parent}")
    if output.exists() and not output.is_dir():
        parser.error(f"argument --output: {output} is a file, but a folder is written to")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        parser.exit(1, "figures need matplotlib: pip install 'botorch-private[plots]'\n")

    from store import RunsInTheWayError
    from study import Study, run_study

    if options.finished and options.part != "frontier":
        parser.error("argument --finished: only with --part frontier")
    if options.problem and options.part != "all":
        parser.error("argument --part: not allowed with --problem, which is a part of the paper")
    problems = tuple(dict.fromkeys(options.problem or PROBLEMS))
    study = Study(
        problems=() if options.part == "frontier" else problems,
        frontier=options.part != "paper" and (options.part == "frontier" or not options.problem),
        runs={name: _runs(options, name) for name in problems},
        frontier_runs=options.runs or (QUICK_RUNS if options.quick else FRONTIER_RUNS),
        whole_record_runs=options.runs or (QUICK_RUNS if options.quick else WHOLE_RECORD_RUNS),
        rounds=QUICK_ROUNDS if options.quick else None,
        quick=options.quick,
        finished=options.finished,
    )
    start = time.monotonic()
    try:
        run_study(study, output, workers=options.workers)
    except RunsInTheWayError as error:
        parser.exit(1, f"{error}\n")
    except KeyboardInterrupt:
        print("\nstopped: start again with the same options to go on", file=sys.stderr)
        return 130
    written = output / f"RESULTS{study.suffix}.md"
    print(f"{(time.monotonic() - start) / 60:.1f} minutes; written to {written}")
    return 0


def _runs(options: argparse.Namespace, problem: str) -> int:
    if options.runs:
        return options.runs
    return QUICK_RUNS if options.quick else MANY_RUNS.get(problem, RUNS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="botorch-private reproduce",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--problem",
        action="append",
        choices=PROBLEMS,
        help="one problem of the paper alone, without the frontier; may be given again",
    )
    parser.add_argument(
        "--part",
        choices=("all", "paper", "frontier"),
        default="all",
        help="the paper's cells, the privacy-utility frontier, or both (default: all)",
    )
    parser.add_argument(
        "--runs",
        type=_count,
        help=f"runs of each cell (default: {RUNS}; {MANY_RUNS['synthetic_gp']} for synthetic_gp, where "
        f"the order in r is claimed; {FRONTIER_RUNS} for the frontier, {WHOLE_RECORD_RUNS} for "
        f"its part on a whole record)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_RUNS} runs of {QUICK_ROUNDS} rounds, to see that all works: under 2 minutes",
    )
    parser.add_argument(
        "--finished",
        action="store_true",
        help="with --part frontier: run nothing, and write what is finished; the page says what is of "
        "an earlier version",
    )
    parser.add_argument("--workers", type=_count, help="processes (default: one a core)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("reproduction"),
        help="folder to write to, made if missing (default: reproduction)",
    )
    return parser


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {text!r}")
    return number
