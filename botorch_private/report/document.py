"""The report as a document: sections of paragraphs, tables and one figure, before any layout."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A paragraph.

    Args:
        text: Plain text.
        kind: ``"plain"``, ``"good"``, ``"bad"`` (a verdict) or ``"note"``.
    """

    text: str
    kind: str = "plain"


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Args:
        caption: What the table shows.
        header: Name of each column.
        rows: Cells, as many in each row as there are columns.
        prose: Whether cells are sentences rather than numbers.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    prose: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError("rows must have a cell for each column of the header")


@dataclass(frozen=True)
class Plot:
    """Epsilon against distance, to be drawn where the layout can show pictures.

    Args:
        title: What the plot shows, in a few words.
        description: What is to be seen on it, for who cannot see it.
    """

    title: str
    description: str


Block = Paragraph | Points | Table | Plot


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """The whole report.

    Args:
        title: Title.
        subtitle: Which release it is about.
        secret: Whether it must stay with the curator.
        sections: In order.
    """

    title: str
    subtitle: str
    secret: bool
    sections: tuple[Section, ...]
