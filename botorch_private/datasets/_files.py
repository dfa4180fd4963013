"""Read a table that ships with the package, and refuse it if the file was altered."""

from __future__ import annotations

import hashlib
import io
import json
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np


def read(name: str, folder: Traversable | None = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of ``<name>.npz`` and the provenance of ``<name>.json``.

    Args:
        name: The table's name, without an ending.
        folder: Where the two files lie; by default, beside this module.

    Raises:
        RuntimeError: If the SHA-256 of the npz file is not the one in its provenance.
    """
    folder = files("botorch_private.datasets") if folder is None else folder
    provenance = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    content = (folder / f"{name}.npz").read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != provenance["sha256"]:
        raise RuntimeError(
            f"the data file {name}.npz is damaged: {name}.json states SHA-256 "
            f"{provenance['sha256']} and {provenance['bytes']} bytes, found {found} and "
            f"{len(content)} bytes; reinstall botorch-private"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}, provenance
