"""The options of 'curator init' for a release in parts, and which way of making a folder they mean."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from botorch_private.cli.common import count
from botorch_private.cli.table import dialect_of

_ENGINES = ("process", "ray")


def add_parts(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    option = parser.add_argument_group("tables that need not fit into memory").add_argument
    option(
        "--output-parquet",
        action="store_true",
        help="release in parts, file by file: each worker needs the memory of one file of TABLE and of "
        "one part. Killed, the same command goes on, and is charged once",
    )
    option(
        "--engine",
        choices=_ENGINES,
        default="process",
        help="with --output-parquet: 'ray' for many processes (an extra; default: process)",
    )
    option(
        "--address",
        metavar="HOST",
        help="of a Ray cluster that runs, such as 'auto' (default: one is started here)",
    )
    option("--workers", type=count, metavar="N", help="processes of Ray at a time (default: one a CPU)")


def way_of_reading(options: argparse.Namespace) -> Callable[..., Any]:
    """What makes the folder: of a table in memory, or file by file.

    Raises:
        ValueError: If options do not belong together.
    """
    if not options.output_parquet:
        for option, given in (
            ("--engine", options.engine != "process"),
            ("--address", options.address),
            ("--workers", options.workers),
        ):
            if given:
                raise ValueError(f"{option} needs --output-parquet")
        if options.table.is_dir():
            raise ValueError(
                f"table must be a file, but {options.table} is a folder: say --output-parquet for a "
                f"folder of .parquet files"
            )
        from botorch_private.curator.service.initialize import initialize

        return partial(initialize, dialect=dialect_of(options))
    from botorch_private.curator.features.dialect import PLAIN
    from botorch_private.curator.service.parts.make.initialize_parts import initialize_parts

    if dialect_of(options) != PLAIN:
        raise ValueError(
            "--output-parquet is for .parquet files: leave out how a .csv or .xlsx is written"
        )
    return partial(
        initialize_parts, engine=options.engine, address=options.address, workers=options.workers
    )
