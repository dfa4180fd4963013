"""botorch-private curator: make a folder, serve it, look at it, export it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from botorch_private.cli.common import fail, show_help
from botorch_private.cli.curator.opened import opened
from botorch_private.cli.curator.token import add_token


def add_curator(commands: Any) -> None:
    """Add the commands of the curator to a parser's."""
    curator = commands.add_parser(
        "curator",
        help="hold a table for modelers elsewhere: release it, answer questions about its rows",
        description=(
            "The curator's side on a machine of its own. 'init' releases a table once and makes a "
            "folder; 'serve' answers modelers over HTTP and shows staff what to measure; 'token new' "
            "lets somebody in."
        ),
    )
    curator.set_defaults(action=show_help(curator), parser=curator)
    verbs = curator.add_subparsers(dest="verb", metavar="COMMAND")
    _add_init(verbs)
    _add_serve(verbs)
    add_token(verbs)
    _add_verb(verbs, "status", _status, "show what is asked, measured and left; nothing of any record")
    export = _add_verb(
        verbs, "export", _export, "queries and outcomes with the identifiers of their records, as CSV"
    )
    export.add_argument(
        "--output", type=Path, help="file to write, for your eyes only (default: print it)"
    )
    _add_verb(verbs, "retry", _retry, "let the objective try failed queries again")


def _add_verb(verbs: Any, name: str, action: Any, text: str) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
    verb.add_argument("folder", type=Path, metavar="DIR", help="the curator's folder")
    verb.set_defaults(action=action, parser=verb)
    return verb


def _add_init(verbs: Any) -> None:
    init = verbs.add_parser(
        "init",
        help="release a table and make the folder that 'serve' needs",
        description=(
            "Release the declared features of a table, once: this spends privacy, so it shows the "
            "guarantee and asks first. The folder holds the release, the ledger, a database with the "
            "order of its rows and, where a function measures, the records; nobody but you can enter."
        ),
    )
    init.add_argument("table", type=Path, help="the records, .csv or .parquet")
    init.add_argument("folder", type=Path, metavar="DIR", help="the folder to make")
    init.add_argument(
        "--ranges", type=Path, required=True, help="declared ranges of the features (ranges.toml)"
    )
    init.add_argument(
        "--epsilon", type=float, required=True, help="epsilon for one unit of distance, > 0"
    )
    init.add_argument("--delta", type=float, default=0.0, help="delta in [0, 1) (default: 0, pure)")
    init.add_argument(
        "--projection-dim", type=int, help="width of a released row (default: no projection)"
    )
    init.add_argument(
        "--budget", type=int, metavar="T", help="most records that are measured (default: no limit)"
    )
    init.add_argument("--id", metavar="COLUMN", help="column with what staff call a record")
    init.add_argument(
        "--objective",
        default="person",
        help=(
            "who measures: 'person' (staff, in the console; the default), 'column:NAME' (a column of "
            "the table), or 'module:function' (a function of a record's d raw features)"
        ),
    )
    init.add_argument(
        "--time-limit",
        type=float,
        default=3600.0,
        help="seconds for one call of the function (default: 3600)",
    )
    init.add_argument("--outcome", default="outcome", help="what is measured, for people")
    init.add_argument("--unit", default="", help="its unit, for people")
    init.add_argument(
        "--plausible",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="values outside this range must be confirmed by staff",
    )
    init.add_argument(
        "--outcome-epsilon", type=float, help="epsilon of noise on the answers (default: no noise)"
    )
    init.add_argument("--outcome-delta", type=float, default=0.0, help="its delta in [0, 1)")
    init.add_argument(
        "--outcome-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="public range that outcomes are clipped to before the noise",
    )
    init.add_argument(
        "--shared-outcomes",
        action="store_true",
        help=(
            "outcomes may depend on other records as well (a rank, a difference to a mean): noised "
            "answers then add up, as many as --budget allows"
        ),
    )
    init.add_argument(
        "--ledger", type=Path, help="ledger of this table, if it is released more than once"
    )
    init.add_argument("--yes", action="store_true", help="do not ask")
    init.set_defaults(action=_init, parser=init)


def _add_serve(verbs: Any) -> None:
    serve = verbs.add_parser(
        "serve",
        help="answer modelers and show staff what to measure",
        description=(
            "Serve a folder until you stop it (Ctrl-C). It prints its address when it is ready. Staff "
            "open /console there; modelers use it as 'botorch-private optimize ADDRESS'."
        ),
    )
    serve.add_argument("folder", type=Path, metavar="DIR", help="the curator's folder")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8400, help="port (default: 8400; 0: any)")
    serve.add_argument("--tls-cert", type=Path, help="TLS certificate chain, PEM")
    serve.add_argument("--tls-key", type=Path, help="its private key, PEM")
    serve.add_argument(
        "--insecure-http",
        action="store_true",
        help=(
            "listen without TLS where other machines can reach it, such as a proxy that ends TLS "
            "(which must pass Host on unchanged)"
        ),
    )
    serve.add_argument("--rate", type=float, help="requests a second that one token may make")
    serve.set_defaults(action=_serve, parser=serve)


def _init(options: argparse.Namespace) -> int:
    from botorch_private.cli.curator.initialize import initialize
    from botorch_private.curator.ledger import BudgetError

    try:
        return initialize(options, ask=_ask)
    except (OSError, ValueError, ImportError, BudgetError) as error:
        fail(options, error)


def _ask(question: str) -> bool:
    if not sys.stdin.isatty():
        raise ValueError("nobody is there to be asked: say --yes if you agree")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):  # no answer is no
        print()
        return False


def _serve(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.app import DEFAULT_RATE
    from botorch_private.curator.service.measuring import MeasuringError
    from botorch_private.curator.service.server import serve

    try:
        serve(
            options.folder,
            host=options.host,
            port=options.port,
            certificate=options.tls_cert,
            key=options.tls_key,
            insecure=options.insecure_http,
            rate=DEFAULT_RATE if options.rate is None else options.rate,
        )
    except (OSError, ValueError, MeasuringError) as error:
        fail(options, error)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
    return 0


def _status(options: argparse.Namespace) -> int:
    with opened(options) as store:
        facts = store.facts
        print(facts.guarantee_words)
        states = [query.state for query in store.queries()]
        counts = ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states)) or "none"
        left = store.queries_left()
        print(f"\nReleased rows: {facts.n}, {facts.projection_dim} numbers each")
        print(f"Measured by: {facts.objective}")
        print(f"Queries: {counts}")
        print(f"Measurements left: {'no limit' if left is None else f'{left} of {facts.max_queries}'}")
        for query in store.queries(states=("failed",)):
            print(f"Query {query.id} failed; why is in the console, and in 'curator export'")
    return 0


def _export(options: argparse.Namespace) -> int:
    from botorch_private._base.whole_file import write_whole
    from botorch_private.curator.service.export import export_csv

    with opened(options) as store:
        text = export_csv(store)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        write_whole(options.output, text.encode())
    except OSError as error:
        fail(options, error)
    print(f"Wrote {options.output}: identifiers and outcomes, for the curator's eyes only.")
    return 0


def _retry(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.question import ServiceError

    count = 0
    with opened(options) as store:
        for query in store.queries(states=("failed",)):
            try:
                store.retry(query.id, None).result()
                count += 1
            except ServiceError as error:
                if error.code != "not_failed":  # else somebody let it try again meanwhile
                    fail(options, error)
    print(f"Queries that will be measured again: {count}")
    return 0
