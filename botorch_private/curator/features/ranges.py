"""load_encoding, load_ranges: declared features, from a file that a curator writes by hand."""

from __future__ import annotations

import math
import os
import tomllib
from pathlib import Path
from typing import Any

from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, FeatureKind, Number, YesNo
from botorch_private.curator.features.scaling import PublicScaling

_CHOICES = (
    "delete the feature if it is not to be released, or give it lower and upper, or "
    'kind = "boolean", or kind = "category" and categories'
)
_KEYS = {
    "number": ("lower", "upper"),
    "boolean": (),
    "category": ("categories",),
}


def load_ranges(path: str | os.PathLike[str]) -> PublicScaling:
    """Read the declared ranges of features that are all numbers; see `load_encoding`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such file, or a feature is not a number: the message names the feature.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("numbers.toml").write_text("features.age = { lower = 18, upper = 100 }")
        >>> load_ranges("numbers.toml").names
        ('age',)
    """
    encoding = load_encoding(path)
    for feature in encoding.features:
        if not isinstance(feature, Number):
            raise ValueError(
                f"{path}: feature {feature.name!r} must be a number here, got a {feature.kind}: read "
                f"the file by load_encoding, and the table by its encode"
            )
    return encoding.scaling


def load_encoding(path: str | os.PathLike[str]) -> Encoding:
    """Read the declared features from a TOML file.

    ```toml
    radius = 25.0         # optional: of the ball, in units of distance

    [features.age]
    lower = 18            # in the feature's own unit
    upper = 100
    lengthscale = 10      # optional, for all features or for none
    edges = [40, 65]      # optional: cells of a release that protects whole records

    [features.diabetes]
    kind = "boolean"
    lengthscale = 2       # where the step from no to yes is 1

    [features.ward]
    kind = "category"
    categories = ["surgery", "intensive care", "other"]
    lengthscale = 2       # where the step between any two of them is 1
    ```

    The features keep the order of the file.

    Args:
        path: The file. Public, as everything in it: write it without looking at the table.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such file: the message names the feature and the key.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("ranges.toml").write_text('features.diabetes = { kind = "boolean" }')
        >>> load_encoding("ranges.toml").features
        (YesNo(name='diabetes', lengthscale=None),)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file of ranges, but there is no file {path}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} must be TOML, but it cannot be read: {error} (each key needs a value: lower = 0)"
        ) from error
    _refuse_unknown(content, ("radius", "features"), f"{path}")
    features = content.get("features")
    if not isinstance(features, dict) or not features:
        raise ValueError(f"{path} must declare features, such as [features.age], but it has none")
    found = [_feature(name, entry, f"{path}: feature {name!r}") for name, entry in features.items()]
    settings = {}
    if "radius" in content:
        settings["radius"] = _positive(content["radius"], f"{path}: radius")
    try:
        return Encoding(found, **settings)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _feature(name: str, entry: Any, where: str) -> FeatureKind:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} must be a table with lower and upper, got {_kind(entry)}")
    kind = entry.get("kind", "number")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ValueError(f"{where}: kind must be one of {', '.join(_KEYS)}, got {_kind(kind)}")
    kind_key = ("kind",) if "kind" in entry else ()
    edges_key = ("edges",) if kind == "number" else ()
    _refuse_unknown(entry, (*kind_key, *_KEYS[kind], *edges_key, "lengthscale"), where)
    for key in _KEYS[kind]:
        if key not in entry:
            undeclared = f"; {_CHOICES}" if not entry else ""
            raise ValueError(f"{where} must have the key {key}, but it is missing{undeclared}")
    lengthscale = None
    if "lengthscale" in entry:
        lengthscale = _positive(entry["lengthscale"], f"{where}: lengthscale")
    if kind == "boolean":
        return YesNo(name, lengthscale)
    if kind == "category":
        return _category(name, entry["categories"], lengthscale, where)
    low = _number(entry["lower"], f"{where}: lower")
    high = _number(entry["upper"], f"{where}: upper")
    if not low < high:
        raise ValueError(
            f"{where}: lower must be below upper, got {entry['lower']!r} and {entry['upper']!r}"
        )
    try:
        return Number(name, low, high, lengthscale, _edges(entry.get("edges", []), f"{where}: edges"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _edges(edges: Any, where: str) -> tuple[float, ...]:
    if not isinstance(edges, list):
        raise ValueError(f"{where} must be a list of numbers, such as [40, 65], got {_kind(edges)}")
    return tuple(_number(each, where) for each in edges)


def _category(name: str, categories: Any, lengthscale: float | None, where: str) -> Category:
    if not isinstance(categories, list):
        raise ValueError(f"{where}: categories must be a list of texts, got {_kind(categories)}")
    try:
        return Category(name, tuple(categories), lengthscale)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _refuse_unknown(entry: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            raise ValueError(f"{where} must have no keys but {', '.join(known)}, got {key!r}")


def _positive(value: Any, where: str) -> float:
    number = _number(value, where)
    if number <= 0:
        raise ValueError(f"{where} must be > 0, got {value!r}")
    return number


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where} must be a number, got {_kind(value)}")
    if not math.isfinite(value):
        raise ValueError(f"{where} must be a finite number, got {value!r}")
    return float(value)


def _kind(value: Any) -> str:
    return f"{value!r}" if isinstance(value, str | bool | int | float) else f"a {type(value).__name__}"
