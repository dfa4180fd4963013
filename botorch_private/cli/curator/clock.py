"""botorch-private curator clock: see whether the folder's clock is ahead, and mend it."""

from __future__ import annotations

import argparse
from typing import Any

from botorch_private.cli.common import refusals
from botorch_private.cli.curator.folder import add_folder_command, opened


def add(verbs: Any) -> None:
    """Add the command."""
    clock = add_folder_command(
        verbs,
        "clock",
        _clock,
        "see whether the folder's clock is ahead of this machine's, and mend it",
        "The latest time of a folder never runs backwards, so that a clock that is set back revives no "
        "token. If this machine's clock was ahead once, times stand still, and tokens with an end have "
        "ended. Without --accept the command only says so. With it the folder goes on by this machine's "
        "clock: set that right first, and stop the server. Tokens that had ended stay dead: make new "
        "ones.",
    )
    clock.add_argument(
        "--accept", action="store_true", help="this machine's clock is right: go on by it from now on"
    )


def _clock(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.clock import NOTICED, in_words
    from botorch_private.curator.service.folder import Folder
    from botorch_private.curator.service.mend_clock import mend_clock

    if not options.accept:
        with opened(options) as store:
            ahead = store.clock.ahead()
            print(f"This machine's clock:      {_shown(store.clock.machine().isoformat())}")
            print(f"Latest time in the folder: {_shown(store.clock())}")
        if ahead < NOTICED:
            print("There is nothing to mend.")
        else:
            print(
                f"The folder is {in_words(ahead)} ahead. If this machine's clock is right, stop the "
                f"server and run this again with --accept."
            )
        return 0
    with refusals(options), Folder(options.folder).lock(), opened(options, locked=True) as store:
        if store.clock.ahead() < NOTICED:
            print("There is nothing to mend.")
            return 0
        mended = mend_clock(store)
    print(f"The folder goes on from {_shown(mended.now)}, and was at {_shown(mended.was)}.")
    print(f"Times that lay in the future and are that time now: {mended.stamps}")
    if mended.dead:
        print(f"Tokens that had ended and stay dead: {_listed(mended.dead)}. Make new ones.")
    if mended.shortened:
        print(
            "Tokens that were made meanwhile, whose time is counted from now: "
            f"{_listed(mended.shortened)}"
        )
    return 0


def _shown(time: str) -> str:
    return f"{time[:10]} {time[11:19]} UTC"


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
