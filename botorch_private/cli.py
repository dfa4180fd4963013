"""The command line: botorch-private."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    return options.action(options, parser)


def _parser() -> argparse.ArgumentParser:
    from botorch_private import __version__

    parser = argparse.ArgumentParser(
        prog="botorch-private",
        description="Private, outsourced Bayesian optimization for BoTorch.",
    )
    parser.add_argument("--version", action="version", version=f"botorch-private {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="a hospital searches for its costliest stay, with and without privacy",
        description=(
            "A hospital lets a stranger search its 8,126 stays (SUPPORT2, 22 features) for the costliest "
            "one. The command prints what each release promises, runs Bayesian optimization on "
            "the original records, on private releases at epsilon 8, 3 and 1, on the paper's "
            "Algorithm 1 and at random, and saves a plot of the regret."
        ),
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    demo.add_argument("--quick", action="store_true", help="3 runs of 15 rounds: a first look")
    demo.add_argument("--rounds", type=_count, help="measurements a run (50, or 15 with --quick)")
    demo.add_argument("--seeds", type=_count, help="runs of each arm (8, or 3 with --quick)")
    demo.add_argument("--workers", type=_count, help="processes (one a core)")
    demo.add_argument("--output", type=Path, default=Path("demo.png"), help="the plot to write")
    demo.set_defaults(action=_demo)
    return parser


def _demo(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from botorch_private.plots import plot_regret, require_matplotlib

    output: Path = options.output
    if not output.parent.is_dir():
        parser.error(f"argument --output: there is no folder {output.parent}")
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        parser.error(f"argument --output: the name must end in .png, .pdf or .svg, got {output}")
    try:
        require_matplotlib()
    except ImportError as error:
        parser.exit(1, f"{error}\n")

    from botorch_private.datasets import hospital
    from botorch_private.demo import describe_guarantees, run_demo

    rounds, seeds = (15, 3) if options.quick else (50, 8)
    print("What each release promises, before any record is looked at:\n")
    for text in describe_guarantees(hospital()):
        print(f"{text}\n")
    sys.stdout.flush()
    result = run_demo(
        rounds=options.rounds or rounds, seeds=options.seeds or seeds, workers=options.workers
    )
    print(f"\n{result.table()}\n")
    plot_regret(
        result.regret,
        output,
        title="Searching 8,126 hospital stays for the costliest one",
        ylabel="simple regret (standard deviations of log cost)",
    )
    print(f"Wall time: {result.seconds:.0f} s. Plot: {output}")
    return 0


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
