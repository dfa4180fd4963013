"""The command `botorch-private report`: files in, a page or text out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import add_command, count
from botorch_private.cli.documents.output import add_json, put_document
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import tell
from botorch_private.cli.table import add_dialect, dialect_of
from botorch_private.cli.words import os_error, shown_path

if TYPE_CHECKING:
    from botorch_private.report import Report


_EPILOG = """\
  botorch-private report release.safetensors --ranges ranges.toml            # for everybody
  botorch-private report folder/release.safetensors --ranges ranges.toml \\
    --records table.csv --ledger folder/ledger.json --output mine.html       # for the curator alone
"""


def add_report(commands: Any) -> None:
    """Add `report` to the commands."""
    parser = add_command(
        commands,
        "report",
        _report,
        "what a release leaks, how sure that is, and what a second release would cost",
        "Write a page about one or several releases, for a reader who does not read proofs: what is "
        "promised, in the units of the features; what an attacker finds out; a test attack, run now; "
        "and what all releases cost together. Without --records it uses public facts alone, so that "
        "whoever holds the release can make it.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    releases = "release files: release.safetensors of a curator's folder, or written by Release.save"
    add("releases", nargs="+", type=Path, metavar="RELEASE", help=releases)
    add("--ranges", type=Path, metavar="TOML", help="the declared ranges of the features; public")
    records = (
        "the released table, .csv, .parquet or .xlsx; needs --ranges. The report is then for the "
        "curator's eyes only"
    )
    add("--records", type=Path, metavar="TABLE", help=records)
    person = "column of the table that tells people apart, for what the one with most records pays"
    add("--person", metavar="COLUMN", help=person)
    ledger = "the curator's ledger, for the total of all releases (in a curator's folder: ledger.json)"
    add("--ledger", type=Path, metavar="FILE", help=ledger)
    trials = (
        "releases of each of two tables in the test attack, >= 100 (default: 100000, with a projection "
        "1000)"
    )
    add("--trials", type=count, metavar="N", help=trials)
    add_output(parser, "the page to write (default: report.html)", metavar="HTML")
    add("--text", action="store_true", help="print the report instead of writing a page")
    add_json(parser)
    add_dialect(parser)


def _report(options: argparse.Namespace) -> int:
    """Make the report; every refusal comes before any work and names its option."""
    from botorch_private.exchange.release import Release
    from botorch_private.report import report

    parser: argparse.ArgumentParser = options.parser
    output: Path = options.output or Path("report.html")
    printed = [option for option in ("--text", "--json") if getattr(options, option[2:])]
    if len(printed) > 1:
        parser.error("argument --json: --text prints something else, give one of them")
    if printed and options.output is not None:
        parser.error(
            f"argument --output: {printed[0]} prints the report and writes no page, give one of them"
        )
    if not printed:
        check_output(options, output, (".html", ".htm"))
        _check_layout(parser)
    if options.records is not None and options.ranges is None:
        parser.error(
            "argument --records: needs --ranges, the declared ranges by which the table was released"
        )
    if options.person is not None and options.records is None:
        parser.error("argument --person: needs --records, the table that has the column")
    if options.trials is not None and options.trials < 100:
        parser.error(f"argument --trials: must be at least 100, got {options.trials}")
    names = [shown_path(path) for path in options.releases]
    encoding = records = ledger = most = None
    with _naming("RELEASE", parser):
        releases = [Release.load(path) for path in options.releases]
    if options.ranges is not None:
        from botorch_private.curator.features.ranges import load_encoding

        with _naming("--ranges", parser):
            encoding = load_encoding(options.ranges)
            for release, name in zip(releases, names, strict=True):
                encoding.scaling.check_belongs(release.guarantee, name)
    if options.records is not None and encoding is not None:
        from botorch_private.curator.features.tables import read_encoded

        with _naming("--records", parser):
            dialect = dialect_of(options)
            records = read_encoded(options.records, encoding, dialect=dialect)
        for release, name in zip(releases, names, strict=True):
            if len(records) != len(release.candidates):
                parser.error(
                    f"argument --records: the table must be the released one, but {name} has "
                    f"{len(release.candidates)} rows and {options.records} has {len(records)} records"
                )
    if options.person is not None and options.records is not None:
        from botorch_private.curator.features.persons import most_records

        with _naming("--person", parser):
            most = most_records(options.records, options.person, dialect=dialect_of(options))
    if options.ledger is not None:
        from botorch_private.report.spent import opened

        with _naming("--ledger", parser):
            ledger = opened(options.ledger)
    scaling = None if encoding is None else encoding.scaling
    with _naming("RELEASE", parser):
        made = report(
            releases,
            names=names,
            scaling=scaling,
            records=records,
            most_records=most,
            ledger=ledger,
            trials=options.trials,
        )
    if options.json:
        from botorch_private.cli.documents.report import ReportDocument

        put_document(options, ReportDocument.of(made))
        return 0
    if options.text:
        print(made.text(), end="")
        return 0
    write_output(options, output, made.html().encode("utf-8"))
    tell("\n".join(_three_lines(made, output)))
    return 0


@contextmanager
def _naming(option: str, parser: argparse.ArgumentParser) -> Iterator[None]:
    """End with a message that names the option whose file is refused, or what is not installed."""
    try:
        yield
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except OSError as error:
        words = os_error(error) if error.strerror else error
        parser.exit(2, f"{parser.prog}: argument {option}: {words}\n")
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: argument {option}: {error}\n")


def _check_layout(parser: argparse.ArgumentParser) -> None:
    from botorch_private.report.html import require_layout

    with _naming("--output", parser):
        require_layout()


def _three_lines(made: Report, output: Path) -> tuple[str, str, str]:
    from botorch_private.report.audit_facts import worst
    from botorch_private.report.chapters.summary import verdict
    from botorch_private.report.shown import down, small, up

    total, found = made.facts.total, worst(made.audits)
    tested = "The test attack could not be run."
    labels = [audit for audit in made.audits if audit.labels is not None]
    if labels:
        verb = "REFUTES" if any(audit.refuted for audit in labels) else "does not refute"
        tested = f"The test of labels {verb} it."
    if found is not None:
        verb = "REFUTES" if any(audit.refuted for audit in made.audits) else "does not refute"
        tested = (
            f"The test attack {verb} it: epsilon is at least {down(found.lower_bound)} where "
            f"{up(found.claimed)} is promised."
        )
    eyes = " (for the curator's eyes only)" if made.secret else ""
    return (
        f"{verdict(made.facts).text} Epsilon {made.facts.where}: {up(total.epsilon)}, delta "
        f"{small(total.delta)}.",
        tested,
        f"Report{eyes}: {output}",
    )
