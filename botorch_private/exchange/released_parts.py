"""ReleasedParts: a release in several files, described by a manifest."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.foreign import or_refuse
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.memory import require_memory
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.exchange.cell_space import CellSpace
from botorch_private.exchange.release import LABEL_COLUMNS, Release, format_of, settings_from
from botorch_private.exchange.release_digest import release_digest
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_up

MANIFEST = "manifest.json"
FORMAT = FileFormat(
    "botorch-private release in parts",
    1,
    "the manifest of a release in parts, as release_parquet writes it",
)
LABEL = "label"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.parquet")  # in any folder, on any system
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST_HEAD = 2**24  # of a .parquet file, beside its numbers
_DTYPES = {"float64": torch.float64, "float32": torch.float32, "int16": torch.int16}


@dataclass(frozen=True)
class Part:
    """One file of a release.

    Attributes:
        name: Of the file, in the folder of the manifest.
        rows: How many it holds, >= 1.
        sha256: Of the file, 64 hexadecimal digits.
    """

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True, eq=False)
class ReleasedParts:
    """A release in several parquet files: row 0 is the first one of the first part, and so on.

    The rows are in a random order that only the curator knows, over all parts.

    Args:
        folder: Where the files are.
        parts: The files, in their order.
        width: Columns of a row, ``r``; 1 for labels.
        dtype: "float64", "float32" (rounded after the noise), or "int16" for labels.
        settings: Public settings of the release, as `settings_text` writes them.
        identity: SHA-256 of all rows and the settings, that of the `Release` in one piece.

    Example:
        >>> import pandas
        >>> named = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age", "weight"])
        >>> pandas.DataFrame(records.numpy(), columns=named.names).to_parquet("stays.parquet")
        >>> release_parquet("stays.parquet", "released", named, mechanism, progress=False)
        ReleasedParts(n=60, parts=1, epsilon=3, holds=True)
        >>> parts = ReleasedParts.load("released")
        >>> parts.identity == parts.whole().identity
        True
    """

    folder: Path
    parts: tuple[Part, ...]
    width: int
    dtype: str
    settings: str
    identity: str = ""

    @property
    def n(self) -> int:
        """Rows in all."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """First row of each part, and ``n``."""
        return tuple(accumulate((part.rows for part in self.parts), initial=0))

    @cached_property
    def public(self) -> dict[str, Any]:
        """Arguments of `Release` beside its rows."""
        return settings_from(self.settings)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is promised about the rows."""
        return self.public["guarantee"]

    @property
    def cells(self) -> CellSpace | None:
        """How the cells lie to each other, where rows are labels."""
        return self.public.get("cells")

    @on_cpu_by_default
    def with_identity(self) -> ReleasedParts:
        """The same with its identity, for which all parts are read, one after another."""
        width = self.width if self.cells is None else LABEL_COLUMNS

        def pieces() -> Iterator[memoryview]:
            for number, start in enumerate(self.starts[:-1]):
                found = self.read(number)  # checked before there is memory for it
                rows = torch.empty(len(found), width, dtype=torch.float64)
                rows[:, : self.width] = found
                if self.cells is not None:
                    torch.arange(start, start + len(rows), out=rows[:, 1])
                yield rows.view(torch.uint8).numpy().data

        version, shape = format_of(self.public).version, (self.n, width)
        identity = release_digest(version, str(torch.float64), shape, self.settings, pieces())
        return replace(self, identity=identity)

    def read(self, number: int) -> Tensor:
        """Rows of one part, ``m x r``, float64 or float32; of labels ``m x 1``, int16.

        Raises:
            FileNotFoundError: If the file is not there.
            ValueError: If it is not the file that the manifest describes.
        """
        part = self.parts[validate.index(len(self.parts), number=number)]
        path = self.folder / part.name
        if not path.is_file():
            raise FileNotFoundError(f"path must be a part of a release, but there is no file {path}")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != part.sha256:
            raise ValueError(f"path must be the part that {MANIFEST} describes, but {path} was changed")
        wanted = (part.rows, self.width)
        columns = or_refuse(
            lambda: _columns(content, wanted),
            lambda: ValueError(f"path must be a .parquet file of rows, but {path} is not"),
        )
        if columns is None:
            raise ValueError(f"path must hold {part.rows} rows of {self.width}, but {path} does not")
        kind = _DTYPES[self.dtype]
        rows = torch.empty(part.rows, self.width, dtype=kind)
        for column, values in enumerate(columns):
            rows[:, column] = torch.from_numpy(np.array(values))
        if kind.is_floating_point and not bool(torch.isfinite(rows).all()):
            raise ValueError(f"path must hold finite rows, but {path} does not")
        return rows

    @on_cpu_by_default
    def whole(self) -> Release:
        """All of it in memory, as one `Release`; O(n r).

        Raises:
            MemoryError: If there is not the memory for it.
            FileNotFoundError: As in `read`.
            ValueError: As in `read`.
        """
        width = self.width if self.cells is None else LABEL_COLUMNS
        require_memory(
            8 * self.n * width + 16 * max(part.rows for part in self.parts) * self.width,
            what=f"a release of {self.n} rows in memory",
            remedy="search it in its parts, by Modeler(release, engine='ray')",
        )
        rows = torch.empty(self.n, width, dtype=torch.float64)
        for number in range(len(self.parts)):
            here = slice(self.starts[number], self.starts[number + 1])
            rows[here, : self.width] = self.read(number).double()
        if self.cells is not None:
            torch.arange(self.n, out=rows[:, 1])
        return Release(candidates=rows, **self.public)

    def largest_file(self, part: Part) -> int:
        """Bytes that the file of a part can have at most, by its rows."""
        return 2 * 8 * part.rows * self.width + _LARGEST_HEAD

    def save(self) -> None:
        """Write the manifest into the folder; the parts are there already."""
        write_whole(self.folder / MANIFEST, FORMAT.dumps(self._values(), indent=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReleasedParts:
        """Read a manifest, or that of a folder. The parts are read, and checked, when they are used.

        Raises:
            FileNotFoundError: If there is none.
            ValueError: If it is damaged, something else, or of a newer version.
        """
        path = Path(path)
        file = path / MANIFEST if path.is_dir() else path
        if not file.is_file():
            raise FileNotFoundError(f"path must be a release in parts, but there is no file {file}")
        values = FORMAT.loads(file.read_bytes(), file)
        try:
            parts = tuple(Part(**each) for each in values["parts"])
            found = cls(
                file.parent.absolute(), parts, values["width"], values["dtype"], values["settings"]
            )
            found = replace(found, identity=str(values["identity"]))
            found._require()
        except (KeyError, TypeError, ValueError):
            raise FORMAT.refusal(file, "is damaged") from None
        return found

    def _require(self) -> None:
        """Refuse what no release in parts says of itself; never which of it."""
        validate.count(width=self.width)
        labels = self.cells is not None
        if (
            self.dtype not in _DTYPES
            or (self.dtype == "int16") != labels
            or (labels and self.width != 1)
        ):
            raise ValueError("dtype must fit the rows")
        for part in self.parts:
            validate.count(rows=part.rows)
            if not _NAME.fullmatch(part.name) or not _SHA256.fullmatch(part.sha256):
                raise ValueError("parts must be files beside the manifest")
        if len({part.name for part in self.parts}) < len(self.parts):
            raise ValueError("parts must be different files")
        validate.count(n=self.n, minimum=2)

    def _values(self) -> dict[str, Any]:
        return {
            "parts": [vars(part) for part in self.parts],
            "width": self.width,
            "dtype": self.dtype,
            "settings": self.settings,
            "identity": self.identity,
        }

    def __repr__(self) -> str:
        g = self.guarantee
        return (
            f"ReleasedParts(n={self.n}, parts={len(self.parts)}, epsilon={round_up(g.epsilon)}, "
            f"holds={g.holds})"
        )


def column_names(width: int, *, labels: bool) -> list[str]:
    """Names of the columns of a part."""
    return [LABEL] if labels else [f"x{i}" for i in range(width)]


def _columns(content: bytes, wanted: tuple[int, int]) -> list[np.ndarray] | None:
    """The columns of a file; None, and nothing is unpacked, where it says that it has others."""
    from pyarrow import parquet

    file = parquet.ParquetFile(io.BytesIO(content))
    if (file.metadata.num_rows, file.metadata.num_columns) != wanted:
        return None
    columns = [column.to_numpy() for column in file.read().columns]
    return columns if all(len(each) == wanted[0] for each in columns) else None
