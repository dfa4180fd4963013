"""fields_of: every field of a document with its type and its meaning, for the manual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from botorch_private.cli.documents.document import Document
from botorch_private.cli.documents.error import ErrorDocument
from botorch_private.cli.documents.optimize import OptimizeDocument
from botorch_private.cli.documents.ranges import RangesDocument
from botorch_private.cli.documents.report import ReportDocument
from botorch_private.cli.documents.status import StatusDocument

DOCUMENTS: dict[str, type[Document]] = {
    "curator status": StatusDocument,
    "optimize": OptimizeDocument,
    "ranges check": RangesDocument,
    "report": ReportDocument,
    "any of them, where it fails": ErrorDocument,
}
_JSON = {bool: "boolean", int: "integer", float: "number", str: "string"}


def fields_of(kind: type, before: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, type in JSON and meaning of each field, those of the objects in it included.

    Args:
        kind: A dataclass all of whose fields are annotated with their meaning.
        before: What a path begins with.
    """
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if not hasattr(hint, "__metadata__"):  # a class variable
            continue
        held, meaning = hint.__origin__, hint.__metadata__[0]
        yield f"{before}{name}", _words(held), meaning
        inner, path = _inner(held)
        if inner is not None:
            yield from fields_of(inner, f"{before}{name}{path}.")


def _words(held: Any) -> str:
    if get_origin(held) is list:
        return f"array of {_words(get_args(held)[0])}s"
    if get_origin(held) is dict:
        return f"object of {_words(get_args(held)[1])}s"
    if isinstance(held, UnionType):
        return " or ".join(_words(each) for each in get_args(held))
    if held is NoneType:
        return "null"
    return "object" if is_dataclass(held) else _JSON[held]


def _inner(held: Any) -> tuple[type | None, str]:
    """The dataclass in a type, and how a path goes into it."""
    if get_origin(held) is list:
        inner, path = _inner(get_args(held)[0])
        return inner, f"[]{path}"
    if isinstance(held, UnionType):
        return next((found for found in map(_inner, get_args(held)) if found[0]), (None, ""))
    return (held, "") if is_dataclass(held) and isinstance(held, type) else (None, "")
