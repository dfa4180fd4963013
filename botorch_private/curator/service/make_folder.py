"""make_folder: from a curator in one process to a folder that a server can be started on."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.memory import in_words
from botorch_private._base.whole_file import sync_folder, write_whole
from botorch_private.curator.curator import Curator
from botorch_private.curator.features.identifiers import checked_identifiers
from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.declared_outcomes import check_outcomes, outcome_settings
from botorch_private.curator.service.folder import FOLDER_MODE, Folder
from botorch_private.curator.service.outcomes import stored
from botorch_private.curator.service.schema import SCHEMA, FolderFacts, migrate, write_facts
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import connect
from botorch_private.exchange.goals import Goal, Maximize

SMALL_FILES = 2**22  # bytes of ledger, facts and the empty database, amply
_ROW_OF_DATABASE = 512  # a record's row, its index and its place in the log of the database, amply


def make_folder(
    path: str | os.PathLike[str],
    curator: Curator,
    *,
    identifiers: Sequence[str] | None = None,
    objective: str = "person",
    time_limit: float = 3600.0,
    outcome_name: str = "outcome",
    outcome_unit: str | Mapping[str, str] = "",
    plausible: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    goal: Goal | None = None,
    person: str | None = None,
    known: Any = None,
) -> Folder:
    """Write what a server needs of a curator: release, order and names of records, noise of answers.

    Raw features are written only where a function measures, since nothing else reads them. The folder
    appears whole or not at all, with mode 0700, and is on the disk when this returns. Make it before
    anything is asked: the server would not know answers that the curator gave.

    Args:
        path: Folder to make; there must be nothing yet.
        curator: Its release, records, outcomes if it has them, and limit of measurements.
        identifiers: What staff call the records, ``n`` texts in the order of the table, no two of which
            look the same. None: "record 1" and so on.
        objective: Who measures: "person" (staff enter values), "column" (the curator's known outcomes),
            or "module:function".
        time_limit: Seconds for one call of that function, > 0.
        outcome_name: What is measured. Where the curator has several outcomes, their names are its own.
        outcome_unit: Its unit; with several outcomes a dict of names to units.
        plausible: Smallest and largest value that staff may enter without being asked again; with
            several outcomes a dict of names to such pairs.
        goal: What a search is after, which modelers and staff are told. It is declared, and must not be
            computed from the table. None: the largest outcome; it must be given with several.
        person: What the person with the most records pays, in sentences; for the curator's eyes only.
        known: ``n`` outcomes in the order of the table, NaN where one is not known. Whoever asks for
            such a record gets its answer at once, and nobody measures. None: none is known.

    Returns:
        The folder.

    Raises:
        FileExistsError: If there is something at ``path``.
        ValueError: If an argument is unusable.
    """
    if not isinstance(objective, str):
        raise ValueError(f"objective must be a text, got a {type(objective).__name__}")
    folder = Folder(Path(path))
    n = len(curator.release.candidates)
    names = [f"record {i + 1}" for i in range(n)] if identifiers is None else _checked(identifiers)
    outcomes = curator.outcomes
    if known is not None:
        outcomes = known_outcomes(known, n, objective, plausible, curator.outcome_names)
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
        outcome_name=outcome_name,
        outcome_unit=outcome_unit,
        plausible=plausible,
        goal=goal,
        outcome_names=curator.outcome_names,
        size=folder_size(
            curator.release.candidates.shape, curator.release.guarantee.features or 0, objective
        ),
    )
    facts = FolderFacts(
        n=n,
        projection_dim=curator.release.candidates.shape[1],
        identity=curator.release.identity,
        max_queries=curator.max_queries,
        objective=objective,
        time_limit=float(time_limit),
        guarantee=json.loads(curator.guarantee.to_json()),
        guarantee_words=str(curator.guarantee),
        goal=(Maximize() if goal is None else goal).to_dict(),
        **outcome_settings(
            curator.outcome_names,
            curator.outcome_mechanism,
            outcome_name=outcome_name,
            outcome_unit=outcome_unit,
            plausible=plausible,
        ),
    )
    temporary = Path(_temporary(folder.path))
    try:
        os.chmod(temporary, FOLDER_MODE)
        draft = Folder(temporary)
        curator.release.save(draft.release)
        curator.ledger.copy(draft.ledger)
        if person is not None:
            write_whole(draft.person, f"{person}\n".encode())
        if ":" in objective:
            _write_records(draft.records, curator)
        write_database(draft.database, facts, _records(facts, curator, names, outcomes))
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
    outcome_unit: str | Mapping[str, str] = "",
    plausible: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    goal: Goal | None = None,
    outcome_names: Sequence[str] = (),
    size: int = 0,
) -> None:
    """Refuse what `make_folder` could not make, before anything is released.

    Args are as in `make_folder`, but for ``n``, the number of records, ``known``, whether the curator
    knows the outcomes, ``outcome_names``, where records have several, and ``size``, the bytes of the
    folder (`folder_size`).

    Raises:
        OSError: If there is something at ``path``, its parent is missing or cannot be written, or the
            disk is full.
        ValueError: If a setting is unusable.
    """
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, but there is no {parent}")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"path must be in a folder that can be written, but {parent} cannot")
    if path.exists():
        raise FileExistsError(f"path must be new, but there is something at {path}")
    _try_to_make(path)
    free = shutil.disk_usage(parent).free
    if size > free:
        raise OSError(
            f"path must be on a disk with room for {in_words(size)}, but {in_words(free)} are free there"
        )
    if identifiers is not None and len(names := _checked(identifiers)) != n:
        raise ValueError(f"identifiers must have {n} entries, got {len(names)}")
    if objective not in ("person", "column") and objective.count(":") != 1:
        raise ValueError("objective must be person, column or module:function, got another text")
    if (objective == "column") != known:
        raise ValueError(
            "objective must be 'column' where the curator knows the outcomes, and only there"
        )
    validate.positive(time_limit=time_limit)
    if goal is not None:
        if not isinstance(goal, Goal):
            raise ValueError("goal must be a goal, such as Minimize(), or None, got something else")
        goal.require(n)
    check_outcomes(
        outcome_names,
        outcome_name=outcome_name,
        outcome_unit=outcome_unit,
        plausible=plausible,
        goal=goal,
    )


def known_outcomes(
    known: Any, n: int, objective: str, plausible: Any, outcome_names: Sequence[str] = ()
) -> Tensor:
    """Outcomes of some records, NaN for the others.

    Raises:
        ValueError: If there is not one entry for each record, none is known, one is infinite or outside
            of the plausible range, the curator knows all outcomes, or records have several.
    """
    if outcome_names:
        raise ValueError(
            "known must be None where records have several outcomes: give them to the server, by "
            "PUT /v1/staff/known"
        )
    if objective == "column":
        raise ValueError("known must be None where a column has the outcomes of all records")
    outcomes = torch.as_tensor(known, dtype=torch.float64)
    if outcomes.shape != (n,):
        raise ValueError(f"known must have {n} entries, got shape {outcomes.shape}")
    missing = outcomes.isnan()
    if missing.all():
        raise ValueError("known must have at least one outcome, but all are missing")
    validate.vector(known=torch.where(missing, 0.0, outcomes))
    if plausible is not None:
        wrong = (outcomes < plausible[0]) | (outcomes > plausible[1])  # NaN is neither
        if wrong.any():
            raise ValueError(
                f"known must lie in the plausible range {plausible[0]:g} ... {plausible[1]:g}, but that "
                f"of record {int(wrong.nonzero()[0]) + 1} does not"
            )
    return outcomes


def folder_size(released: Sequence[int], features: int, objective: str) -> int:
    """Bytes that a folder takes while it is made, rounded up.

    Args:
        released: Shape ``n x r`` of the released rows.
        features: Features of a record: records are kept where a function measures.
        objective: As in `make_folder`.
    """
    n, r = released
    return SMALL_FILES + n * (8 * r + (8 * features if ":" in objective else 0) + _ROW_OF_DATABASE)


def _try_to_make(path: Path) -> None:
    """Make a folder beside the one that is wanted, as `make_folder` will, and remove it."""
    try:
        os.rmdir(_temporary(path))
    except OSError as error:
        raise OSError(
            error.errno, f"path must be a folder that can be made, but {error.strerror}", str(path)
        ) from error


def _temporary(path: Path) -> str:
    return tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}.")  # its mode is 0700


def _checked(identifiers: Any) -> list[str]:
    return checked_identifiers(identifiers, source="identifiers", place="position")


def _write_records(path: Path, curator: Curator) -> None:
    with path.open("xb") as file:
        os.chmod(path, 0o600)
        np.save(file, curator.records.numpy(), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def _records(
    facts: FolderFacts, curator: Curator, names: Sequence[str], known: Tensor | None
) -> list[tuple[Any, ...]]:
    """Rows of the table ``record``."""
    order = curator.permutation.tolist()
    noise: Sequence[Any] = [None] * facts.n
    if curator.grid_noise is not None:
        noise = curator.grid_noise[curator.permutation].tolist()
    if facts.outcomes and curator.grid_noise is not None:
        noise = [json.dumps(each) for each in noise]
    outcomes: Sequence[Any] = [None] * facts.n
    if known is not None:
        found = known[curator.permutation].tolist()
        if facts.outcomes:
            outcomes = [stored(dict(zip(curator.outcome_names, each, strict=True))) for each in found]
        else:
            outcomes = [None if math.isnan(outcome) else outcome for outcome in found]
    return [(row, order[row], names[order[row]], outcomes[row], noise[row]) for row in range(facts.n)]


def write_database(path: Path, facts: FolderFacts, records: Iterable[tuple[Any, ...]]) -> None:
    """Make the database of a folder; it is not on the disk until its folder is.

    Args:
        path: The file; there must be nothing yet.
        facts: What was settled.
        records: Rows of the table ``record``, of all records or, in parts, of none.
    """
    connection = connect(path, create=True)
    try:
        connection.executescript(SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        write_facts(connection, facts)
        connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", records)
        connection.execute("COMMIT")
        migrate(connection)
        connection.execute("BEGIN IMMEDIATE")
        note(connection, Clock()(), "made")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    os.chmod(path, 0o600)
