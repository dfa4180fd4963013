"""The command `botorch-private report`: files in, a page or text out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from botorch_private.exchange.release import Release
from botorch_private.report.belongs import check_scaling
from botorch_private.report.chapters.summary import verdict
from botorch_private.report.html import require_layout
from botorch_private.report.report import Report, report
from botorch_private.report.shown import down, small, up

_PAGE = Path("report.html")


def run(options: argparse.Namespace) -> int:
    """Make the report; every refusal comes before any work and names its option."""
    parser: argparse.ArgumentParser = options.parser
    output: Path = options.output or _PAGE
    if options.text and options.output is not None:
        parser.error("argument --output: --text prints the report and writes no page, give one of them")
    if not options.text:
        _check_output(parser, output)
    if options.records is not None and options.ranges is None:
        parser.error(
            "argument --records: needs --ranges, the declared ranges by which the table was released"
        )
    if options.trials is not None and options.trials < 100:
        parser.error(f"argument --trials: must be at least 100, got {options.trials}")
    releases = [_loaded(parser, path) for path in options.releases]
    encoding = _ranges(parser, options, releases)
    records = _records(parser, options, releases, encoding)
    ledger = _ledger(parser, options)
    try:
        made = report(
            releases,
            names=[str(path) for path in options.releases],
            scaling=None if encoding is None else encoding.scaling,
            records=records,
            ledger=ledger,
            trials=options.trials,
        )
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except ValueError as error:
        _refuse(parser, "RELEASE", error)
    if options.text:
        print(made.text(), end="")
        return 0
    made.save(output)
    print("\n".join(_three_lines(made, output)))
    return 0


def _check_output(parser: argparse.ArgumentParser, output: Path) -> None:
    if not output.parent.is_dir():
        parser.error(f"argument --output: there is no folder {output.parent}")
    if output.suffix.lower() not in (".html", ".htm"):
        parser.error(f"argument --output: the name must end in .html, got {output}")
    if output.is_dir():
        parser.error(f"argument --output: {output} is a folder")
    try:
        require_layout()
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def _loaded(parser: argparse.ArgumentParser, path: Path) -> Release:
    try:
        return Release.load(path)
    except (OSError, ValueError) as error:
        _refuse(parser, "RELEASE", error)


def _ranges(
    parser: argparse.ArgumentParser, options: argparse.Namespace, releases: list[Release]
) -> Any:
    if options.ranges is None:
        return None
    from botorch_private.curator.features.ranges import load_encoding

    try:
        encoding = load_encoding(options.ranges)
        for release, path in zip(releases, options.releases, strict=True):
            check_scaling(release.guarantee, encoding.scaling, str(path))
    except (OSError, ValueError) as error:
        _refuse(parser, "--ranges", error)
    return encoding


def _records(
    parser: argparse.ArgumentParser, options: argparse.Namespace, releases: list[Release], encoding: Any
) -> Any:
    if options.records is None:
        return None
    from botorch_private.curator.features.tables import read_encoded

    try:
        table = read_encoded(options.records, encoding)
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except (OSError, ValueError) as error:
        _refuse(parser, "--records", error)
    for release, path in zip(releases, options.releases, strict=True):
        if len(table) != len(release.candidates):
            parser.error(
                f"argument --records: the table must be the released one, but {path} has "
                f"{len(release.candidates)} rows and {options.records} has {len(table)} records"
            )
    return table


def _ledger(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Any:
    if options.ledger is None:
        return None
    from botorch_private.report.spent import opened

    try:
        return opened(options.ledger)
    except (OSError, ValueError) as error:
        _refuse(parser, "--ledger", error)


def _refuse(parser: argparse.ArgumentParser, option: str, error: Exception) -> NoReturn:
    parser.error(f"argument {option}: {error}")


def _three_lines(made: Report, output: Path) -> list[str]:
    total = made.facts.total
    promised = f"Epsilon at one unit: {up(total.epsilon)}, delta {small(total.delta)}."
    tests = [audit.result for audit in made.audits if audit.result is not None]
    tested = "The test attack could not be run."
    if tested:
        worst = max(tests, key=lambda result: result.lower_bound - result.claimed)
        verb = "REFUTES" if worst.refuted else "does not refute"
        tested = (
            f"The test attack {verb} it: epsilon is at least {down(worst.lower_bound)} where "
            f"{up(worst.claimed)} is promised."
        )
    eyes = " (for the curator's eyes only)" if made.secret else ""
    return [
        f"{verdict(made.facts).text} {promised}",
        tested,
        f"Report{eyes}: {output}",
    ]
