"""opened: the database of the folder that a command names."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from botorch_private.cli.common import fail


def opened(options: argparse.Namespace) -> contextlib.closing[Any]:
    """The database of ``options.folder``, closed at the end of a ``with``; else the command fails."""
    from botorch_private.curator.service.folder import Folder

    try:
        return contextlib.closing(Folder(options.folder).open())
    except (OSError, ValueError) as error:
        fail(options, error)
