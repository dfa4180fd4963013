"""make_folder: from a curator in one process to a folder that a server can be started on."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from botorch_private._base import validate
from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.curator import Curator
from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.folder import FOLDER_MODE, Folder
from botorch_private.curator.service.schema import ADDED, SCHEMA, FolderFacts, write_facts
from botorch_private.curator.service.writer import connect


def make_folder(
    path: str | os.PathLike[str],
    curator: Curator,
    *,
    identifiers: Sequence[str] | None = None,
    objective: str = "person",
    time_limit: float = 3600.0,
    outcome_name: str = "outcome",
    outcome_unit: str = "",
    plausible: tuple[float, float] | None = None,
) -> Folder:
    """Write what a server needs of a curator: release, order and names of records, noise of answers.

    Raw features are written only where a function measures, since nothing else reads them. The folder
    appears whole or not at all, with mode 0700, and is on the disk when this returns. Make it before
    anything is asked: the server would not know answers that the curator gave.

    Args:
        path: Folder to make; there must be nothing yet.
        curator: Its release, records, outcomes if it has them, and limit of measurements.
        identifiers: What staff call the records, ``n`` different texts in the order of the table. None:
            "record 1" and so on.
        objective: Who measures: "person" (staff enter values), "column" (the curator's known outcomes),
            or "module:function".
        time_limit: Seconds for one call of that function, > 0.
        outcome_name: What is measured.
        outcome_unit: Its unit.
        plausible: Smallest and largest value that staff may enter without being asked again.

    Returns:
        The folder.

    Raises:
        FileExistsError: If there is something at ``path``.
        ValueError: If an argument is unusable.
    """
    folder = Folder(Path(path))
    n = len(curator.release.candidates)
    names = [f"record {i + 1}" for i in range(n)] if identifiers is None else list(identifiers)
    if curator.answered:
        raise ValueError(
            f"curator must not have answered anything yet, but it gave {curator.answered} answers"
        )
    check_settings(
        folder.path,
        n,
        identifiers=names,
        objective=objective,
        known=curator.outcomes is not None,
        time_limit=time_limit,
        plausible=plausible,
    )
    mechanism = curator.outcome_mechanism
    facts = FolderFacts(
        n=n,
        projection_dim=curator.release.candidates.shape[1],
        identity=curator.release.identity,
        max_queries=curator.max_queries,
        outcome_name=outcome_name,
        outcome_unit=outcome_unit,
        plausible=plausible,
        outcome_range=None if mechanism is None else (mechanism.bound[0], mechanism.bound[1]),
        outcome_grid=None if mechanism is None else mechanism.law.grid,
        objective=objective,
        time_limit=float(time_limit),
        guarantee=json.loads(curator.guarantee.to_json()),
        guarantee_words=str(curator.guarantee),
    )
    temporary = Path(
        tempfile.mkdtemp(dir=folder.path.absolute().parent, prefix=f".{folder.path.name}.")
    )  # its mode is 0700
    try:
        os.chmod(temporary, FOLDER_MODE)
        draft = Folder(temporary)
        curator.release.save(draft.release)
        curator.ledger.copy(draft.ledger)
        if ":" in objective:
            _write_records(draft.records, curator)
        _write_database(draft.database, facts, curator, names)
        sync_folder(temporary)
        curator.hand_over()
        os.rename(temporary, folder.path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(folder.path.absolute().parent)
    return folder


def check_settings(
    path: Path,
    n: int,
    *,
    identifiers: Sequence[str] | None,
    objective: str,
    known: bool,
    time_limit: float = 3600.0,
    outcome_name: str = "outcome",
    outcome_unit: str = "",
    plausible: tuple[float, float] | None = None,
) -> None:
    """Refuse what `make_folder` could not make, before anything is released.

    Args are as in `make_folder`, but for ``n``, the number of records, and ``known``, whether the
    curator knows the outcomes.

    Raises:
        OSError: If there is something at ``path``, or its parent is missing or cannot be written.
        ValueError: If a setting is unusable.
    """
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, but there is no {parent}")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"path must be in a folder that can be written, but {parent} cannot")
    if path.exists():
        raise FileExistsError(f"path must be new, but there is something at {path}")
    if identifiers is not None and len(identifiers) != n:
        raise ValueError(f"identifiers must have {n} entries, got {len(identifiers)}")
    if identifiers is not None and len(set(identifiers)) < n:
        raise ValueError("identifiers must be different, but at least two records share one")
    if objective not in ("person", "column") and objective.count(":") != 1:
        raise ValueError(f"objective must be person, column or module:function, got {objective!r}")
    if (objective == "column") != known:
        raise ValueError(
            "objective must be 'column' where the curator knows the outcomes, and only there"
        )
    validate.positive(time_limit=time_limit)
    if plausible is not None:
        low, high = plausible
        validate.finite(plausible_low=low, plausible_high=high)
        if not low < high:
            raise ValueError(
                f"plausible must be a smallest and a larger value, got {low:g} and {high:g}"
            )


def _write_records(path: Path, curator: Curator) -> None:
    with path.open("xb") as file:
        os.chmod(path, 0o600)
        np.save(file, curator.records.numpy(), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def _write_database(path: Path, facts: FolderFacts, curator: Curator, names: Sequence[str]) -> None:
    order = curator.permutation.tolist()
    noise: Sequence[int | None] = [None] * facts.n
    if curator.grid_noise is not None:
        noise = curator.grid_noise[curator.permutation].tolist()
    outcomes: Sequence[float | None] = [None] * facts.n
    if curator.outcomes is not None:
        outcomes = curator.outcomes[curator.permutation].tolist()
    connection = connect(path, create=True)
    try:
        connection.executescript(SCHEMA + ADDED)
        connection.execute("BEGIN IMMEDIATE")
        write_facts(connection, facts)
        connection.executemany(
            "INSERT INTO record VALUES (?, ?, ?, ?, ?)",
            [(row, order[row], names[order[row]], outcomes[row], noise[row]) for row in range(facts.n)],
        )
        connection.execute("INSERT INTO event (time, kind) VALUES (?, 'made')", (Clock()(),))
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    os.chmod(path, 0o600)
