"""FileFormat: what a file says of itself, so that no other file, a damaged or a newer one is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botorch_private._base.file_kind import HEAD, called, other_kind
from botorch_private._base.foreign import or_refuse


@dataclass(frozen=True)
class FileFormat:
    """The name and the version of a kind of file, and the words for refusing another one.

    Files of older versions, from ``oldest`` on, are read as well: what changed is up to the reader.

    Args:
        name: Written into each file, such as ``botorch-private release``.
        version: That is written, >= 1.
        wanted: What a file must be, for messages, such as ``a release file``.
        advice: What to do about a file that is refused; may be empty.
        digest: Whether a JSON text has a digest of its values, which catches damage, not forgery.
        oldest: Version that is still read; None: the one before ``version``.
    """

    name: str
    version: int
    wanted: str
    advice: str = ""
    digest: bool = True
    oldest: int | None = None

    @property
    def header(self) -> dict[str, Any]:
        """What a file says of itself."""
        return {"format": self.name, "format_version": self.version}

    def require(self, found: Any, path: Path) -> int:
        """The version that a file is of, by its header.

        Raises:
            ValueError: If it is no file of this kind, or of a version that is not read.
        """
        name = found.get("format") if isinstance(found, Mapping) else None
        if name != self.name:
            raise self.refusal(path, called(name) or "is not one")
        assert isinstance(found, Mapping)
        version = str(found.get("format_version"))
        oldest = max(1, self.version - 1) if self.oldest is None else self.oldest
        if version not in map(str, range(oldest, self.version + 1)):
            raise self.refusal(path, "is of another version: upgrade botorch-private if it is newer")
        return int(version)

    def dumps(self, values: Mapping[str, Any], *, indent: int | None = None) -> bytes:
        """A JSON text of finite values, with the header."""
        content = {**self.header, **values}
        if self.digest:
            content["sha256"] = _digest(content)
        return (json.dumps(content, allow_nan=False, indent=indent) + "\n").encode()

    def loads(self, content: bytes, path: Path) -> dict[str, Any]:
        """The values in a text that `dumps` made.

        Raises:
            ValueError: If it is something else, damaged, altered, or of a version that is not read.
        """
        values = or_refuse(lambda: json.loads(content), lambda: self.unreadable(content, path))
        self.require(values, path)
        if self.digest and values.pop("sha256", None) != _digest(values):
            raise self.refusal(path, "was changed after saving")
        return {name: value for name, value in values.items() if name not in self.header}

    def unreadable(self, content: bytes, path: Path) -> ValueError:
        """The error about a file that cannot be read, which says what else it may be.

        Args:
            content: Its first bytes, 4,096 of them or more if there are.
            path: Of the file.
        """
        return self.refusal(path, other_kind(content[:HEAD], self.name) or "is truncated or damaged")

    def refusal(self, path: Path, why: str) -> ValueError:
        """The error about a file that cannot be used."""
        advice = f"; {self.advice}" if self.advice else ""
        return ValueError(f"path must be {self.wanted}, but {path} {why}{advice}")


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
