"""Step: a change of a feature that is a yes/no or a category."""

from __future__ import annotations

from dataclasses import dataclass

from botorch_private._base import validate


@dataclass(frozen=True)
class Step:
    """From one value of a yes/no or a category to any other.

    Attributes:
        name: Of the feature.
        columns: Names of the numeric columns that hold it: one for a yes/no; for a category one for each
            of its values, two of which a change moves at once.
        width: How far a change moves a record, in units, > 0.

    Raises:
        ValueError: If there are no columns, or the width is no finite number > 0.
    """

    name: str
    columns: tuple[str, ...]
    width: float

    def __post_init__(self) -> None:
        validate.positive(width=self.width)
        if not self.columns:
            raise ValueError(f"columns of {self.name!r} must be at least 1, got none")

    @property
    def words(self) -> str:
        """What it is, to begin a sentence with."""
        ends = "between no and yes" if len(self.columns) == 1 else "to any other category"
        return f"A change of {self.name} {ends}"
