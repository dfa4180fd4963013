"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table, as lines."""
    head = list(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
