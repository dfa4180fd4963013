"""ModelerState: a search at one moment, in a file that is whole or absent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import torch
from torch import Tensor

from botorch_private._base.foreign import or_refuse
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.exchange.goals import Goal, goal_from_dict
from botorch_private.exchange.release import Release
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.exchange.search_prior import SearchPrior

FORMAT = FileFormat(
    "botorch-private run",
    3,  # 2 had the settings of the command line alone; 1 no exploration either: that of the theory
    "a search that 'Modeler.save' or 'botorch-private optimize' wrote",
    "name another file to begin again (rows that were measured before are answered at once)",
    oldest=1,
)
_MAXIMIZE = {"kind": "maximize"}
SETTINGS = (
    "failure_probability",
    "n_initial",
    "refit_every",
    "noise_aware",
    "denoise",
    "beta",
    "beta_scale",
    "exploration",
    "outcome_noise",
    "ard",
    "prior",
    "dtype",
)
_DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (torch.float64, torch.float32)}


class Draws(NamedTuple):
    """What a modeler drew once, so that its choices are a function of what it is told.

    Attributes:
        seed: Of the generator of each turn.
        initial: Random rows of the initial design.
        generator_seed: That the generator had been made with.
    """

    seed: int
    initial: list[int]
    generator_seed: int

    @classmethod
    def of(cls, generator: torch.Generator, rows: int, n_initial: int) -> Draws:
        """Draw from a generator."""
        seed = int(torch.randint(2**62, (), generator=generator))
        initial = torch.randperm(rows, generator=generator)[:n_initial]
        return cls(seed, initial.tolist(), generator.initial_seed())


@dataclass(frozen=True)
class ModelerState:
    """What a modeler needs to go on. It holds no token, no address, and no row of the release.

    Args:
        release: SHA-256 of the release that it is about.
        settings: Arguments of the modeler, by name.
        history: Pairs of row and value, in the order in which they were told.
        pending: Rows that were asked and not told, in their order.
        skipped: Rows that were given up.
        draws: What was drawn; None in a file of an older version, which has ``seed``.
        seed: Of the generator.
        goal: What is searched for.
        fitted: Latest hyperparameters, as `LatestFit.kept` gives them.
        rows: How many rows the release has, and their SHA-256: a release that grew from it begins with
            them. None in a file of an older version.
    """

    release: str
    settings: dict[str, Any]
    history: list[tuple[int, float]]
    pending: list[int]
    skipped: list[int]
    draws: Draws | None
    seed: int
    goal: Goal
    fitted: dict[str, Any] | None = None
    rows: tuple[int, str] | None = None

    def save(self, path: Path) -> None:
        """Write the file, for its owner alone; it appears whole or not at all."""
        settings = {name: _plain(value) for name, value in self.settings.items()}
        write_whole(
            path,
            FORMAT.dumps(
                {
                    "release": self.release,
                    "rows": self.rows,
                    "goal": self.goal.to_dict(),
                    "settings": settings,
                    "draws": None if self.draws is None else self.draws._asdict(),
                    "history": self.history,
                    "pending": self.pending,
                    "skipped": self.skipped,
                    "fitted": self.fitted,
                }
            ),
        )

    @classmethod
    def load(cls, path: Path) -> ModelerState:
        """Read a file that `save` wrote, in this version or an older one.

        Raises:
            ValueError: If it is damaged, something else, or from a newer version.
            OSError: If it cannot be read.
        """
        values = FORMAT.loads(path.read_bytes(), path)
        refusal = FORMAT.refusal(path, "is truncated or damaged")
        goal = or_refuse(
            lambda: goal_from_dict(values.get("goal", _MAXIMIZE)),
            lambda: FORMAT.refusal(path, "has another goal: upgrade botorch-private"),
        )
        return or_refuse(lambda: cls._read(values, goal), lambda: refusal)

    @classmethod
    def _read(cls, values: dict[str, Any], goal: Goal) -> ModelerState:
        settings, draws = dict(values["settings"]), values.get("draws")
        if draws is None:  # of version 1 or 2
            settings = {"exploration": "theory", **settings}
            seed = int(settings.pop("seed"))
        else:
            draws = Draws(int(draws["seed"]), _rows(draws["initial"]), int(draws["generator_seed"]))
            seed = draws.generator_seed
            settings["dtype"] = _DTYPES[settings["dtype"]]
            if settings["prior"] is not None:
                settings["prior"] = SearchPrior(**settings["prior"])
        if not set(settings) <= set(SETTINGS):
            raise ValueError("a setting is unknown")
        fitted, rows = values.get("fitted"), values.get("rows")
        if fitted is not None:
            _row(fitted["observations"])
            for value in fitted["values"].values():
                torch.as_tensor(value, dtype=torch.float64)
        return cls(
            release=str(values["release"]),
            settings=settings,
            history=[(_row(row), goal.checked(value)) for row, value in values["history"]],
            pending=_rows(values["pending"]),
            skipped=_rows(values["skipped"]),
            draws=draws,
            seed=seed,
            fitted=fitted,
            goal=goal,
            rows=None if rows is None else (_row(rows[0]), str(rows[1])),
        )

    def require(self, release: Release | ReleasedParts, path: Path) -> None:
        """Refuse a release that the search is not about, and that did not grow from it either.

        Raises:
            ValueError: If it is another one.
        """
        if self.release != release.identity and not self._is_about_the_first_rows(release):
            raise ValueError(
                f"path must be a search of the release {release.identity[:12]}, but {path} is about "
                f"{self.release[:12]}: rows of one are not rows of the other; name another file"
            )

    def _is_about_the_first_rows(self, release: Release | ReleasedParts) -> bool:
        if self.rows is None or not _is_whole(release) or self.rows[0] > len(release.candidates):
            return False
        return release.rows_digest(self.rows[0]) == self.rows[1]


def rows_of(release: Release | ReleasedParts) -> tuple[int, str] | None:
    """How many rows a release has, and their SHA-256; None of one in parts, which does not grow."""
    return (len(release.candidates), release.rows_digest()) if _is_whole(release) else None


def _is_whole(release: Release | ReleasedParts) -> TypeGuard[Release]:
    """Whether all rows are in this process."""
    return isinstance(release, Release) and isinstance(release.candidates, Tensor)


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, SearchPrior):
        return asdict(value)
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if value is None or isinstance(value, str):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _rows(values: Iterable[Any]) -> list[int]:
    return [_row(value) for value in values]


def _row(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("a row is no integer")
    return value
