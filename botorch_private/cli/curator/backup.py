"""botorch-private curator backup and restore: the folder in one file, and back."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, refusals
from botorch_private.cli.curator.folder import add_folder_command, usable
from botorch_private.cli.output import check_output
from botorch_private.cli.streams import tell, warn

_BACKUP = (
    "Write the folder to one file, as it is at one moment, also while it is served. It holds what the "
    "folder holds: keep it as you keep the table. It ends with the SHA-256 of the file."
)
_RESTORE = (
    "Make a folder of a backup. What was asked and measured after it is not in it: modelers ask again, "
    "and read from the server that the folder was put back. Tokens that were revoked after the backup "
    "are valid again, unless --end-tokens is said. Nobody is logged in."
)


def add(verbs: Any) -> None:
    """Add the commands."""
    backup = add_folder_command(verbs, "backup", _backup, "write the folder to one file", _BACKUP)
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write, for you alone")
    backup.add_argument("--force", action="store_true", help="replace the file, if there is one already")
    restore = add_command(verbs, "restore", _restore, "make a folder of a backup", _RESTORE)
    restore.add_argument("file", type=Path, metavar="FILE", help="the backup")
    restore.add_argument("folder", type=Path, metavar="DIR", help="the folder to make")
    restore.add_argument("--end-tokens", action="store_true", help="make all tokens worthless")


def _backup(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.backup import back_up
    from botorch_private.curator.service.folder import Folder

    check_output(options, options.file, option="FILE")
    with refusals(options, arguments={"path": "FILE"}), usable(options.folder):
        made = back_up(Folder(options.folder), options.file, replace=options.force)
    tell(f"Wrote {options.file}, for you alone (mode 0600), as of {_shown(made.time)}.")
    print(f"{made.sha256}  {options.file}")
    return 0


def _restore(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.backup import restore
    from botorch_private.curator.service.question import ServiceError

    with (
        refusals(options, ServiceError, arguments={"path": "FILE", "target": "DIR"}),
        usable(options.folder),
    ):
        made, folder = restore(options.file, options.folder, end_tokens=options.end_tokens)
        with closing(folder.open_to_read()) as reading:
            questions, noised = len(reading.queries()), reading.facts.is_noised
    tell(f"Made {options.folder}, as of {_shown(made.time)}. Questions in it: {questions}")
    print("What was asked and measured after that time is not in it. Modelers are told, and ask again.")
    if noised:
        warn(
            "Answers are noised. A value that was entered or replaced after that time must be entered "
            "again as it was, before the folder is served: another value with the same noise tells "
            "more than was promised. If a value was corrected after that time, do not serve this "
            "folder: it would answer with the one of before."
        )
    if options.end_tokens:
        print("All tokens are worthless: make new ones by 'botorch-private curator token new'.")
    else:
        warn(
            "Tokens that were revoked after that time are valid again: look at 'botorch-private curator "
            "token list', and revoke them."
        )
    return 0


def _shown(time: str) -> str:
    return f"{time[:10]} {time[11:19]} UTC"
