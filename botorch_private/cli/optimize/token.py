"""The modeler's token: from a file or the environment, never from the command line."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path

from botorch_private.cli.common import read_option
from botorch_private.cli.streams import warn
from botorch_private.cli.words import shown_path

VARIABLE = "BOTORCH_PRIVATE_TOKEN"
_MOST = 4096  # bytes


def read_token(options: argparse.Namespace) -> str:
    """The token of ``--token-file``, or of the environment.

    Warns of a file that others can read, as ssh does of a key.

    Raises:
        ValueError: If there is none, or the file is unusable.
    """
    path: Path | None = options.token_file
    if path is None:
        text = os.environ.get(VARIABLE, "").strip()
        if not text:
            raise ValueError(
                f"a token must be given by --token-file or {VARIABLE}: the curator makes one by "
                f"'botorch-private curator token new DIR --role modeler'"
            )
        return text
    text = read_option(options, "--token-file", path, most=_MOST)
    if len(text.split()) > 1:
        raise ValueError(
            f"--token-file: {shown_path(path)} must hold the token alone, one line, as 'curator token "
            f"new' wrote it"
        )
    mode = path.stat().st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
        warn(
            f"WARNING: others on this machine can read or change --token-file {shown_path(path)} (mode "
            f"{mode & 0o777:04o}), and a token is a password: chmod 600 {shown_path(path)}"
        )
    return text
