"""The folder that most commands of the curator are about."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import add_command, refusals

if TYPE_CHECKING:
    from botorch_private.curator.service.reading import Reading
    from botorch_private.curator.service.store import Store


def add_folder_command(
    commands: Any, name: str, action: Any, text: str, description: str | None = None
) -> argparse.ArgumentParser:
    """Add a command whose first argument is the curator's folder; see `add_command`."""
    parser = add_command(commands, name, action, text, description)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the curator's folder")
    return parser


@contextmanager
def opened(options: argparse.Namespace, *, locked: bool = False) -> Iterator[Store]:
    """The database of ``options.folder``; where it refuses something, the command fails.

    Args:
        options: Of the command.
        locked: See `Folder.open`.
    """
    from botorch_private.curator.service.folder import Folder
    from botorch_private.curator.service.question import ServiceError

    with (
        refusals(options, ServiceError),
        usable(options.folder),
        closing(Folder(options.folder).open(locked=locked)) as store,
    ):
        yield store


@contextmanager
def opened_to_read(options: argparse.Namespace) -> Iterator[Reading]:
    """What `opened` gives, for reading alone: also where nothing can be written."""
    from botorch_private.curator.service.folder import Folder

    with (
        refusals(options),
        usable(options.folder),
        closing(Folder(options.folder).open_to_read()) as reading,
    ):
        yield reading


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Turn what SQLite finds on the way into a refusal: a database may be damaged anywhere.

    Raises:
        ValueError: If it is. Nothing that SQLite says of what it read is repeated.
    """
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise ValueError(
            f"the database in {folder} is damaged or cannot be read ({type(error).__name__}): put the "
            f"folder back from a backup"
        ) from error
