"""The text of a file of ranges for features that are declared, as `load_encoding` reads it."""

from __future__ import annotations

from typing import Any

from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, FeatureKind, YesNo
from botorch_private.curator.features.template import key, quoted
from botorch_private.privacy.history_promise import HistoryPromise

_HEAD = """\
# Features to be released, for: botorch-private curator init TABLE FOLDER --ranges THIS_FILE
# This file is public. 'botorch-private ranges check THIS_FILE' says what one unit of distance is.
"""


def ranges_text(encoding: Encoding) -> str:
    """A file of ranges, with what people of a history are promised, where one was used."""
    promise = encoding.scaling.history
    parts = [_HEAD]
    if promise is not None:
        parts.append(f"# {promise.said}\n")
    parts.append(f"radius = {encoding.scaling.radius!r}\n")
    if promise is not None:
        parts.append("\n".join(history_lines(promise)) + "\n")
    return "\n".join([*parts, *map(_entry, encoding.features)])


def history_lines(promise: HistoryPromise) -> list[str]:
    """The table of a TOML file that says what people of a history are promised."""
    return ["[history]", *(f"{name} = {_value(value)}" for name, value in promise.to_table().items())]


def _entry(feature: FeatureKind) -> str:
    told: dict[str, Any] = {}
    if isinstance(feature, YesNo):
        told = {"kind": feature.kind, "yes": feature.yes, "no": feature.no}
    elif isinstance(feature, Category):
        told = {"kind": feature.kind, "categories": feature.categories}
    else:
        told = {"lower": feature.lower, "upper": feature.upper, "edges": feature.edges or None}
        told["scale"] = None if feature.scale == "linear" else feature.scale
    told |= {"lengthscale": feature.lengthscale, "missing": feature.missing}
    lines = [f"{name} = {_value(value)}" for name, value in told.items() if value is not None]
    return "\n".join([f"[features.{key(feature.name)}]", *lines]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
