"""The report as plain text, for a terminal."""

from __future__ import annotations

import textwrap

from botorch_private.report.document import Block, Document, Paragraph, Plot, Points, Table

_WIDTH = 96
_GAP = "  "
SECRET = (
    "FOR THE CURATOR'S EYES ONLY: made with the records. Some of its figures depend on them: do not "
    "hand it to the modeler."
)
PUBLIC = "Made from public facts alone: no record was read."


def as_text(document: Document) -> str:
    """Lay a document out in lines; pictures are left out, since a table says the same."""
    parts = [document.title, "=" * len(document.title), document.subtitle, ""]
    parts += [_wrapped(SECRET if document.secret else PUBLIC)]
    for section in document.sections:
        parts += ["", section.title, "-" * len(section.title)]
        parts += [f"\n{_block(block)}" for block in section.blocks if not isinstance(block, Plot)]
    return "\n".join(parts) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        mark = {"good": "[+] ", "bad": "[!] "}.get(block.kind, "")
        return _wrapped(f"{mark}{block.text}")
    if isinstance(block, Points):
        return "\n".join(_wrapped(item, "- ", "  ") for item in block.items)
    if isinstance(block, Table):
        return _answers(block) if block.prose else _grid(block)
    raise TypeError(f"block must be a part of a document, got {type(block).__name__}")


def _answers(table: Table) -> str:
    return "\n".join(_wrapped(f"{row[0]} {' '.join(row[1:])}") for row in table.rows)


def _grid(table: Table) -> str:
    columns = list(zip(*table.rows, strict=True)) if table.rows else [() for _ in table.header]
    heads = [_head(name, column) for name, column in zip(table.header, columns, strict=True)]
    widths = [
        max(len(cell) for cell in (*head, *column)) for head, column in zip(heads, columns, strict=True)
    ]
    height = max(len(head) for head in heads)
    rows = [[head[i] if i < len(head) else "" for head in heads] for i in range(height)]
    rows += [["-" * width for width in widths], *map(list, table.rows)]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([_wrapped(f"{table.caption}:"), *lines])


def _head(name: str, column: tuple[str, ...]) -> list[str]:
    """Break a long heading over narrow cells."""
    widest = max([len(cell) for cell in column] + [len(word) for word in name.split()])
    return textwrap.wrap(name, max(widest, 10), break_long_words=False)


def _line(row: list[str], widths: list[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return _GAP.join(cells).rstrip()


def _wrapped(text: str, first: str = "", later: str = "") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
