"""What the commands that learn from a history of other people share: its options, and how it is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.table import add_dialect, dialect_of

if TYPE_CHECKING:
    from torch import Tensor

    from botorch_private.curator.features.encoding import Encoding


def add_history(parser: argparse.ArgumentParser) -> None:
    """Add a history, its outcome, and what its people are promised to the options of a command."""
    option = parser.add_argument
    option("history", type=Path, help="the history, .csv, .parquet or .xlsx")
    option("--ranges", type=Path, required=True, metavar="TOML", help="declared ranges of the features")
    option("--outcome", required=True, metavar="COLUMN", help="column with the known outcomes")
    option(
        "--outcome-range",
        type=float,
        nargs=2,
        required=True,
        metavar=("LOW", "HIGH"),
        help="declared smallest and largest outcome; others count as these",
    )
    option("--epsilon", type=float, default=1.0, help="for a record of the history (default: 1)")
    option("--delta", type=float, default=1e-5, help="for a record of the history (default: 1e-05)")
    option(
        "--public",
        action="store_true",
        help="the history is public, or its people agree: no noise, and the guarantee says so",
    )
    add_dialect(parser)


def read_history(options: argparse.Namespace) -> tuple[Encoding, Tensor, Tensor]:
    """Declared features, and the records and outcomes of the history."""
    from botorch_private.curator.features.ranges import load_encoding
    from botorch_private.curator.features.tables import read_encoded, read_table

    encoding = load_encoding(options.ranges)
    if any(feature.name == options.outcome for feature in encoding.features):
        raise ValueError(
            f"--outcome must not be a feature, but {options.ranges} declares {options.outcome!r}"
        )
    dialect = dialect_of(options)
    records = read_encoded(options.history, encoding, dialect=dialect)
    outcomes = read_table(options.history, [options.outcome], dialect=dialect)
    return encoding, records, outcomes[:, 0]


def history_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of the library that the options of `add_history` give."""
    return {
        "outcome_range": tuple(options.outcome_range),
        "epsilon": options.epsilon,
        "delta": options.delta,
        "public": options.public,
    }
