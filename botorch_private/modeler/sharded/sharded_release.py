"""ShardedRelease: a release whose rows are elsewhere, for what asks for a few of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botorch_private.exchange.release import Release
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.modeler.sharded.sharded_rows import ShardedRows


@dataclass(frozen=True, eq=False)
class ShardedRelease(Release):
    """Public settings of a release in parts, and its rows by their numbers.

    ``candidates[[3, 5]]`` fetches these rows; ``len`` and ``shape`` are known. All rows at once are not
    there, and nobody who models a few of them needs them.
    """

    @classmethod
    def of(cls, parts: ReleasedParts, rows: ShardedRows) -> ShardedRelease:
        """That of the parts whose rows these are."""
        release = cls(rows, **parts.public)  # type: ignore[arg-type]
        vars(release)["_identity"] = parts.identity
        return release

    def __post_init__(self) -> None:
        """Nothing: the parts were checked when they were read."""

    @property
    def spread(self) -> float:  # type: ignore[override]
        """As `Release.spread`, from sums of the shards."""
        rows: Any = self.candidates
        return rows.spread

    @property
    def identity(self) -> str:
        """That of the release in one piece."""
        return vars(self)["_identity"]
