"""The report as a document: sections of paragraphs, tables and one figure, before any layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text: ``"plain"``, a ``"good"`` or ``"bad"`` verdict, or a ``"note"``."""

    text: str
    kind: str = "plain"


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    prose: bool = False  # whether cells are sentences rather than numbers

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError("rows must have a cell for each column of the header")

    @classmethod
    def of_columns(cls, caption: str, columns: Mapping[str, Sequence[str]]) -> Table:
        """Make a table of the columns that have cells."""
        filled = {name: cells for name, cells in columns.items() if cells}
        return cls(caption, tuple(filled), tuple(zip(*filled.values(), strict=True)))


@dataclass(frozen=True)
class Plot:
    """Epsilon against distance, to be drawn where the layout can show pictures."""

    title: str
    description: str  # for who cannot see it


Block = Paragraph | Points | Table | Plot


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """The whole report; a secret one must stay with the curator."""

    title: str
    subtitle: str
    secret: bool
    sections: tuple[Section, ...]

    @property
    def origin(self) -> str:
        """What it was made from, and so who may read it."""
        if not self.secret:
            return "Made from public facts alone: no record was read."
        return (
            "FOR THE CURATOR'S EYES ONLY: made with the records. Some of its figures depend on them: do "
            "not hand it to the modeler."
        )
