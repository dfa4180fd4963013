"""The command line: botorch-private."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, count, refuse_option
from botorch_private.cli.documents.output import (
    INTERRUPTED,
    CommandParser,
    only_documents,
    telling_failures,
)
from botorch_private.cli.output import add_output, check_output
from botorch_private.cli.streams import drop_output, steady_streams, tell, warn
from botorch_private.cli.words import option_names, os_error

_NOBODY_READS = 141  # as what a broken pipe ends
_QUICK = (15, 2)  # rounds, seeds
_FULL = (50, 8)
_EPILOG = """\
From your own table to a search, each command in its turn:

  botorch-private ranges template table.csv --output ranges.toml   # then fill it in by hand
  botorch-private ranges check ranges.toml
  botorch-private curator init table.csv folder --ranges ranges.toml --epsilon 3 --objective column:cost
  botorch-private curator token new folder --role modeler --output token.txt
  botorch-private curator serve folder
  botorch-private optimize http://127.0.0.1:8400 --token-file token.txt --rounds 10

Each command says more by --help, such as 'botorch-private curator init --help'.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    with steady_streams():
        try:
            try:
                with telling_failures(sys.argv[1:] if arguments is None else arguments):
                    return _run(arguments)
            finally:
                sys.stdout.flush()  # what cannot be printed fails here, and not when Python ends
        except BrokenPipeError:
            drop_output()
            return _NOBODY_READS
        except OSError as error:
            drop_output()
            warn(f"botorch-private: the output cannot be written: {os_error(error)}")
            return 1
        except KeyboardInterrupt:
            warn("Stopped.")
            return INTERRUPTED
        except Exception as error:
            warn(_unexpected(error))
            return 1


def _unexpected(error: Exception) -> str:
    """Where an error arose that nobody foresaw, and what kind it is; its text may quote a table."""
    places = "".join(traceback.format_tb(error.__traceback__))
    return (
        f"botorch-private: an error that it was not made for. Please report these lines; what the error "
        f"says is left out, since it may be a piece of a table:\n{places}{type(error).__name__}"
    )


def _run(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if options.command == "reproduce":
        return _reproduce(parser, rest)
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if options.command is None:
        parser.print_help()
        return 2
    _refuse_bytes(options)
    with only_documents(options):
        return options.action(options)


def _refuse_bytes(options: argparse.Namespace) -> None:
    """Refuse a text that is no UTF-8, since it would be stored or sent; a name of a file may be any."""
    for name, option in option_names(options).items():
        for text in _texts(getattr(options, name, None)):
            if any("\ud800" <= each <= "\udfff" for each in text):
                refuse_option(options, option, "must be a text in UTF-8")


def _texts(value: Any) -> Iterator[str]:
    """The texts that an option has, also one that is given again and again."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _parser() -> argparse.ArgumentParser:
    from botorch_private import __version__

    parser = CommandParser(
        prog="botorch-private",
        description="Private, outsourced Bayesian optimization for BoTorch.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"botorch-private {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = add_command(
        commands,
        "demo",
        _demo,
        "a hospital searches for its costliest stay, with and without privacy",
        "A hospital lets a stranger search its stays (SUPPORT2, 22 features) for the costliest one. The "
        "command prints what each release promises, about a whole record first. It runs Bayesian "
        "optimization on labels of cells, at epsilon 3 and 5 for a whole record, with and without a "
        "private history of other patients; on records with noise, at epsilon 8, 3 and 1 a unit; on the "
        "original records; and on the paper's Algorithm 1. It saves a plot of the regret beside that of "
        "random choice. Each run starts from 5 records chosen at random, which all counts of "
        "measurements include. On 2 cores it takes about a minute, with --quick under 20 seconds.",
    )
    demo.add_argument(
        "--quick",
        action="store_true",
        help=f"{_QUICK[1]} runs of {_QUICK[0]} rounds each: a first look",
    )
    demo.add_argument(
        "--rounds",
        type=count,
        metavar="N",
        help=f"measurements a run after the 5 random ones (default: {_FULL[0]}, quick {_QUICK[0]})",
    )
    demo.add_argument(
        "--seeds",
        type=count,
        metavar="N",
        help=f"runs of each arm (default: {_FULL[1]}, quick {_QUICK[1]})",
    )
    demo.add_argument("--workers", type=count, metavar="N", help="processes (default: one a core)")
    add_output(
        demo, "the plot to write, .png, .pdf or .svg (default: demo.png)", default=Path("demo.png")
    )
    from botorch_private.cli.cells import add_cells
    from botorch_private.cli.curator import add_curator
    from botorch_private.cli.optimize import add_optimize
    from botorch_private.cli.ranges import add_ranges
    from botorch_private.cli.report import add_report

    add_report(commands)
    add_ranges(commands)
    add_cells(commands)
    add_curator(commands)
    add_optimize(commands)
    # Its own options are those of the benchmark, which prints its own help.
    commands.add_parser(
        "reproduce",
        add_help=False,
        help="the paper's tables and figures, and regret against epsilon (from a source tree)",
    )
    return parser


def _reproduce(parser: argparse.ArgumentParser, rest: Sequence[str]) -> int:
    benchmark = Path(__file__).parents[2] / "benchmarks" / "paper"
    if not (benchmark / "__main__.py").is_file():
        parser.exit(
            1,
            "botorch-private reproduce: the paper's problems and tables are not part of the installed "
            "package; get the source tree and install it by 'pip install --editable .[plots]'\n",
        )
    sys.path.insert(0, str(benchmark))  # where its worker processes look, too
    return import_module("command").main(rest)


def _demo(options: argparse.Namespace) -> int:
    from botorch_private.cli.plots import plot_regret, require_matplotlib

    output: Path = options.output
    parser: argparse.ArgumentParser = options.parser
    check_output(options, output, (".png", ".pdf", ".svg"))
    try:
        require_matplotlib()
    except ImportError as error:
        parser.exit(1, f"{error}\n")

    from botorch_private.cli.demo import (
        INITIAL,
        check_rounds,
        describe_guarantees,
        describe_promise,
        describe_unit,
        run_demo,
    )
    from botorch_private.datasets import hospital

    rounds, seeds = _QUICK if options.quick else _FULL
    rounds, seeds = options.rounds or rounds, options.seeds or seeds
    try:
        check_rounds(rounds)
    except ValueError as error:
        parser.error(f"argument --rounds: {error}")
    tell(
        f"{describe_promise()}\n\nWhat each kind of release promises, before any record is looked at:\n"
    )
    for text in describe_guarantees():
        tell(f"{text}\n")
    tell(f"{describe_unit(hospital())}\n")
    result = run_demo(rounds=rounds, seeds=seeds, workers=options.workers)
    tell(f"\n{result.table()}\n")
    plot_regret(
        result.panels,
        output,
        chance=result.chance,
        initial=INITIAL,
        title="Searching hospital stays for the costliest one",
        ylabel="simple regret (standard deviations of log cost)",
    )
    tell(f"Wall time: {result.seconds:.0f} s. Plot: {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
