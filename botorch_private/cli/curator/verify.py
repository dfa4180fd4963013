"""botorch-private curator verify: whether a trail of events is the one that was written."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import add_command, refusals
from botorch_private.cli.curator.folder import opened_to_read
from botorch_private.cli.streams import warn

if TYPE_CHECKING:
    from botorch_private.curator.service.trail_check import Checked

_DESCRIPTION = (
    "Follow the hashes of the events, in a file of 'export --events' or in a folder, and say at which "
    "event they break. In a folder, questions and values must also be those that the events tell of. "
    "Whoever can write the folder can make all hashes anew: that shows by --kept, with a hash that was "
    "kept elsewhere ('status' shows the last one)."
)


def add(verbs: Any) -> None:
    """Add the command."""
    parser = add_command(
        verbs, "verify", _verify, "check that no event was changed, removed or put in", _DESCRIPTION
    )
    parser.add_argument(
        "folder", type=Path, metavar="FILE", help="what 'export --events' wrote, or the curator's folder"
    )
    parser.add_argument(
        "--kept", type=_hash, metavar="HASH", help="hash of an event that was kept elsewhere"
    )


def _hash(text: str) -> str:
    """A hash as it may be written down: a slip of the pen is no trail that was changed."""
    found = "".join(text.split()).lower()
    if not re.fullmatch("[0-9a-f]{64}", found):
        raise argparse.ArgumentTypeError(
            f"must be the hash of an event, 64 digits of 0 to 9 and a to f, got {len(found)} characters"
        )
    return found


def _verify(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.trail_check import check_database
    from botorch_private.curator.service.trail_file import check_file

    if options.folder.is_dir():
        with opened_to_read(options) as reading, reading.one_moment():
            checked = check_database(reading, options.kept)
    else:
        with refusals(options, arguments={"path": "FILE"}):
            checked = check_file(options.folder, options.kept)
    return say(checked)


def say(checked: Checked) -> int:
    """Print what was found; returns the exit status."""
    print(f"Events that follow from one another: {checked.count}")
    if checked.older:
        print(f"Written before events had hashes: {checked.older}")
    if checked.problem:
        warn(f"The trail is broken: {checked.problem}.")
        return 1
    print(f"Hash of the last event: {checked.last}")
    if checked.kept is not None:
        print(f"The hash that was kept is that of event {checked.kept}.")
    return 0
