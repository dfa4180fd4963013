"""Step: a change of a feature that is a yes/no or a category."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """From one value of a yes/no or a category to any other.

    Attributes:
        name: Of the feature.
        columns: Names of the numeric columns that hold it: one for a yes/no; for a category one for each
            of its values, two of which a change moves at once.
        width: How far a change moves a record, in units.
    """

    name: str
    columns: tuple[str, ...]
    width: float

    @property
    def words(self) -> str:
        """What it is, to begin a sentence with."""
        ends = "between no and yes" if len(self.columns) == 1 else "to any other category"
        return f"A change of {self.name} {ends}"
