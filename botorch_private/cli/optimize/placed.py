"""Where a search keeps the rows of a release in parts, and which processes hold them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from botorch_private.modeler.remote.client import RemoteCurator


def placed_of(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `Modeler` that say where rows are; empty: in this process.

    Raises:
        ValueError: If options do not belong together.
    """
    if options.engine == "process":
        for option, given in (("--address", options.address), ("--workers", options.workers)):
            if given is not None:
                raise ValueError(f"{option} needs --engine ray")
        return {}
    return {"engine": options.engine, "address": options.address, "workers": options.workers}


def keep_parts(curator: RemoteCurator, state: Path, *, asked: bool) -> None:
    """Keep a release in parts beside the state of its search, unless another place was named.

    Raises:
        ValueError: If processes are to hold the rows of a release in one piece.
    """
    if not curator.in_parts:
        if asked:
            raise ValueError(
                "--engine ray must be left out, since the curator's release is in one piece"
            )
        return
    if curator.release_path is None:
        curator.release_path = state.with_name(f"{state.stem}.release")
        print(f"The release, which is in parts, is kept in {curator.release_path}.", flush=True)
