"""The option --output: one behaviour for all commands that write a file.

Nothing is replaced without --force; what cannot be written is refused before any work; and the file
appears whole or not at all, for its owner alone.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from botorch_private._base.whole_file import write_whole
from botorch_private.cli.common import refusals, refuse_option, shown_path


def add_output(
    parser: argparse.ArgumentParser, text: str, *, metavar: str = "FILE", default: Path | None = None
) -> None:
    """Add --output and --force to the options of a command."""
    parser.add_argument("--output", type=Path, metavar=metavar, default=default, help=text)
    parser.add_argument("--force", action="store_true", help="replace the file, if there is one already")


def check_output(
    options: argparse.Namespace,
    path: Path,
    endings: Sequence[str] = (),
    *,
    option: str = "--output",
) -> None:
    """Refuse a file that cannot be written, or must not be, before any work.

    Args:
        options: Of the command.
        path: The file.
        endings: Of its name, such as ``.html``, in lower case; empty: any.
        option: That names it.
    """
    shown = shown_path(path)
    if endings and path.suffix.lower() not in endings:
        wanted = ", ".join(endings[:-1]) + " or " + endings[-1] if len(endings) > 1 else endings[0]
        refuse_option(options, option, f"the name must end in {wanted}, got {shown}")
    if path.is_dir():
        refuse_option(options, option, f"{shown} is a folder: name a file in it")
    if not path.parent.is_dir():
        refuse_option(options, option, f"there is no folder {shown_path(path.parent)}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        refuse_option(options, option, f"the folder {shown_path(path.parent)} cannot be written")
    if path.exists() and not path.is_file():  # a device or a pipe: it is not to become a file
        refuse_option(options, option, f"{shown} is not a file: leave {option} out")
    if path.exists() and not options.force:
        refuse_option(
            options,
            option,
            f"there is something at {shown} already: name a new file, or say --force to replace it",
        )


def write_output(
    options: argparse.Namespace, path: Path, content: bytes, *, option: str = "--output"
) -> None:
    """Write the file of an option, which `check_output` let pass."""
    with refusals(options, arguments={"path": option}):
        write_whole(path, content, replace=options.force)
