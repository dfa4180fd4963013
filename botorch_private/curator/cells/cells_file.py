"""save_cells, load_cells: a declared partition in a file that people can read."""

from __future__ import annotations

import json
import math
import os
import tomllib
from pathlib import Path
from typing import Any

from botorch_private._base.whole_file import write_whole
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.history_score import HistoryScore
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.features.written import history_lines
from botorch_private.privacy.history_promise import HistoryPromise

_NUMBERS = ("lower", "upper", "weights", "cuts")


def save_cells(cells: Cells, path: str | os.PathLike[str]) -> None:
    """Write cells of a history to a TOML file, for `load_cells`.

    The file holds the score, its cuts and what its people are promised, and no record.

    Args:
        cells: Cells of `Cells.from_history`.
        path: A new file.

    Raises:
        ValueError: If the cells do not come from a history: those are declared in a file of ranges.
        FileExistsError: If there is something already.

    Example:
        >>> cells = Cells.from_history(records, outcomes, scaling, outcome_range=(-2.0, 2.0))
        >>> save_cells(cells, "cells.toml")
    """
    path = Path(path)
    if cells.score is None:
        raise ValueError("cells must come from a history: declare others by edges in a file of ranges")
    if path.exists():
        raise FileExistsError(f"there is something at {path} already: name a new file")
    write_whole(path, cells_text(cells.score).encode("utf-8"))


def load_cells(path: str | os.PathLike[str]) -> Cells:
    r"""Read cells from a file of `save_cells`, or from a file of ranges whose numbers have ``edges``.

    Args:
        path: The file, TOML in UTF-8.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is neither, it was changed by hand, or a number has no edges.

    Example:
        >>> from pathlib import Path
        >>> ranges = Path("ranges.toml")
        >>> _ = ranges.write_text("[features.age]\nlower = 18\nupper = 100\nedges = [40, 65]\n")
        >>> load_cells(ranges)
        Cells(count=3, grid=3)
    """
    path = Path(path)
    if path.is_file():
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            content = {}  # the other reader says what is wrong
        if "score" in content:
            return Cells.of_score(_score(content, path))
    return Cells.of_encoding(load_encoding(path), source=f"{path}: ")


def cells_text(score: HistoryScore) -> str:
    """The file of cells of a history, as TOML."""
    promise = score.promise
    lines = [
        "# Cells by a score that was learned from a history of other people.",
        f"# {promise.said}",
        "",
        *history_lines(promise),
    ]
    lines += ["", "[score]", f"norm = {score.norm!r}"]
    if score.names is not None:
        lines.append(f"names = {json.dumps(score.names, ensure_ascii=False)}")
    lines += [f"{name} = {list(getattr(score, name))!r}" for name in _NUMBERS]
    if score.log_columns:  # programs of before there were any refuse the file for it
        lines.append(f"log_columns = {list(score.log_columns)!r}")
    return "\n".join(lines) + "\n"


def _score(content: dict[str, Any], path: Path) -> HistoryScore:
    try:
        history, score = content["history"], content["score"]
        numbers = {name: tuple(float(each) for each in score[name]) for name in _NUMBERS}
        promise = HistoryPromise.from_table(history, "cells")
        names = score.get("names")
        made = HistoryScore(
            **numbers,
            norm=float(score["norm"]),
            promise=promise,
            names=None if names is None else tuple(map(str, names)),
            log_columns=tuple(map(int, score.get("log_columns", ()))),
        )
        width = len(made.lower)
        lengths = (len(made.upper), len(made.weights) - 1, width if names is None else len(names))
        finite = all(math.isfinite(each) for name in _NUMBERS for each in numbers[name])
        sound = 0 < made.norm < math.inf and promise.people > 0
        sound &= promise.epsilon > 0 and 0 <= promise.delta < 1
        sound &= all(0 <= i < len(made.lower) and made.lower[i] > 0 for i in made.log_columns)
        sound &= all(low < high for low, high in zip(made.lower, made.upper, strict=False))
        rising = all(a < b for a, b in zip(made.cuts, made.cuts[1:], strict=False))
        whole = all(length == width for length in lengths) and finite and rising and made.cuts
        if not whole or not sound:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path} must be a file of cells as 'cells from-history' writes it, but it was changed or "
            f"is "
            f"not whole: make it again"
        ) from None
    return made
