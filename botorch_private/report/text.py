"""The report as plain text, for a terminal."""

from __future__ import annotations

import textwrap
from itertools import zip_longest

from botorch_private.report.document import Block, Document, Paragraph, Plot, Points, Table

_WIDTH = 96


def as_text(document: Document) -> str:
    """Lay a document out in lines; pictures are left out, since a table says the same."""
    parts = [document.title, "=" * len(document.title), document.subtitle, ""]
    parts += [_wrapped(document.origin)]
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
        if block.prose:
            return "\n".join(_wrapped(" ".join(row)) for row in block.rows)
        return _grid(block)
    raise TypeError(f"block must be a part of a document, got {type(block).__name__}")


def _grid(table: Table) -> str:
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.header)
    heads = [_head(name, column) for name, column in zip(table.header, cells, strict=True)]
    as_high = zip(*zip_longest(*heads, fillvalue=""), strict=True)
    columns = []
    for head, column in zip(as_high, cells, strict=True):
        width = max(map(len, (*head, *column)))
        justify = str.rjust if columns else str.ljust
        columns.append([justify(line, width) for line in (*head, "-" * width, *column)])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    return "\n".join([_wrapped(f"{table.caption}:"), *lines])


def _head(name: str, column: tuple[str, ...]) -> list[str]:
    """Break a long heading over narrow cells."""
    widest = max(map(len, (*column, *name.split())))
    return textwrap.wrap(name, max(widest, 10), break_long_words=False)


def _wrapped(text: str, first: str = "", later: str = "") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
