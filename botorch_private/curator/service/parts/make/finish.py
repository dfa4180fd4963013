"""From a release in parts, and what was kept beside it, to a folder that a server can be started on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private._base.progress import tqdm
from botorch_private._base.whole_file import sync_folder, write_whole
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms import OutcomeMechanism
from botorch_private.curator.service.declared_outcomes import outcome_settings
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.make_folder import SMALL_FILES, write_database
from botorch_private.curator.service.parts.facts import PartsFacts
from botorch_private.curator.service.parts.layout import (
    MAP,
    NOISE,
    RECORDS,
    RELEASE,
    names_of_files,
    noise_file,
)
from botorch_private.curator.service.parts.make.beside import Beside
from botorch_private.curator.service.parts.make.making import Making
from botorch_private.curator.service.schema import FolderFacts
from botorch_private.exchange.goals import Goal, Maximize
from botorch_private.exchange.release import LABEL_COLUMNS
from botorch_private.exchange.release_digest import sha256_of_file
from botorch_private.exchange.released_parts import ReleasedParts

_TEXT = 64  # bytes of an identifier, its end and its hashes, amply


def finish_folder(
    making: Making,
    parts: ReleasedParts,
    files: Sequence[SourceFile],
    ledger: Ledger,
    *,
    beside: Beside,
    known: int,
    price: str | None,
    outcome_names: tuple[str, ...],
    outcome_mechanism: OutcomeMechanism | Mapping[str, OutcomeMechanism] | None,
    budget: int | None,
    progress: bool,
    objective: str,
    time_limit: float = 3600.0,
    outcome_name: str = "outcome",
    outcome_unit: str | Mapping[str, str] = "",
    plausible: Any = None,
    goal: Goal | None = None,
) -> Folder:
    """Write what a server needs beside the release, and give the folder its name.

    Args:
        making: The folder, which has its release and what is kept of records.
        parts: The release.
        files: Of the table.
        ledger: Where the release is entered.
        beside: What is kept of records.
        known: How many outcomes are known.
        price: What the person with the most records pays; None: it was not asked.
        outcome_names: Of several outcomes.
        outcome_mechanism: Noise on the answers.
        budget: Largest number of different records that are measured.
        progress: Whether to show a bar.
        objective: As in `make_folder`, and so are all others.
        time_limit: Seconds.
        outcome_name: Text.
        outcome_unit: Text.
        plausible: Range.
        goal: What a search is after.

    Returns:
        The folder.
    """
    spent = ledger.total
    assert spent is not None
    assert ledger.path is not None
    making.settle_map()
    if outcome_mechanism is not None:
        _draw_noise(making.path, parts, outcome_mechanism, outcome_names)
    if ledger.path != making.own_ledger.resolve():
        ledger.copy(making.own_ledger)
    if price is not None:
        write_whole(making.path / "person.txt", f"{price}\n".encode())
    sources = zip(names_of_files([each.path for each in files]), files, strict=True)
    facts = FolderFacts(
        n=parts.n,
        projection_dim=parts.width if parts.cells is None else LABEL_COLUMNS,
        identity=parts.identity,
        max_queries=budget,
        objective=objective,
        time_limit=float(time_limit),
        guarantee=json.loads(spent.to_json()),
        guarantee_words=str(spent),
        goal=(Maximize() if goal is None else goal).to_dict(),
        parts=PartsFacts(
            starts=parts.starts,
            sources=tuple((name, file.start) for name, file in sources),
            files=_files(making.path, parts, progress=progress),
            named=beside.identifiers is not None,
            known=known,
            noised=outcome_mechanism is not None,
        ),
        **outcome_settings(
            outcome_names,
            outcome_mechanism,
            outcome_name=outcome_name,
            outcome_unit=outcome_unit,
            plausible=plausible,
        ),
    )
    draft = Folder(making.path)
    for left in making.path.glob(f"{draft.database.name}*"):  # of a call that was killed
        left.unlink()
    write_database(draft.database, facts, ())
    making.give_name()
    return Folder(making.folder)


def size_of_folder(n: int, width: int, beside: Beside, *, noised: int) -> int:
    """Bytes that a folder takes while it is made, rounded up.

    Args:
        n: Records.
        width: Columns of a released row.
        beside: What is kept of records.
        noised: How many outcomes have noise.
    """
    numbers = 2 * (width + 1) + len(beside.outcomes) + (beside.known is not None) + noised
    if beside.features is not None:
        numbers += beside.features.scaling.features
    texts = (beside.identifiers is not None) + (beside.person is not None)
    return SMALL_FILES + n * (8 * numbers + _TEXT * texts)


def _draw_noise(
    folder: Path,
    parts: ReleasedParts,
    mechanism: OutcomeMechanism | Mapping[str, OutcomeMechanism],
    names: tuple[str, ...],
) -> None:
    """Draw the noise of all answers, once, before any is asked for: a repeat has the same one."""
    each = [mechanism[name] for name in names] if isinstance(mechanism, Mapping) else [mechanism]
    (folder / NOISE).mkdir(mode=0o700, exist_ok=True)
    for number, part in enumerate(parts.parts):
        noise = np.stack([one.draw_grid_noise(part.rows) for one in each], axis=1)
        with noise_file(folder, number).open("wb") as file:
            np.save(file, noise, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    sync_folder(folder / NOISE)


def _files(folder: Path, parts: ReleasedParts, *, progress: bool) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of each file that never changes."""
    known = {f"{RELEASE}/{part.name}": part.sha256 for part in parts.parts}
    paths = [
        path for name in (RELEASE, MAP, RECORDS, NOISE) for path in sorted((folder / name).rglob("*"))
    ]
    found = {}
    for path in tqdm(paths, desc="digest", disable=not progress, unit="file", leave=False, delay=1):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found[name] = path.stat().st_size, known.get(name) or sha256_of_file(path)
    return found
