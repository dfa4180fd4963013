"""botorch-private curator retry: let the objective try again what it could not measure."""

from __future__ import annotations

import argparse
from typing import Any

from botorch_private.cli.curator.folder import add_folder_command, opened
from botorch_private.cli.streams import tell


def add(verbs: Any) -> None:
    """Add the command."""
    add_folder_command(verbs, "retry", _retry, "let the objective try failed queries again")


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
                    raise
    tell(f"Queries that will be measured again: {count}")
    return 0
