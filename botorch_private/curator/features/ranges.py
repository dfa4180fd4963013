"""load_encoding, load_ranges: declared features, from a file that a curator writes by hand."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, FeatureKind, Number, YesNo
from botorch_private.curator.features.ranges_text import read_toml
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.privacy.history_promise import HistoryPromise

_CHOICES = (
    "delete the feature if it is not to be released, or give it lower and upper, or "
    'kind = "boolean", or kind = "category" and categories'
)
_KEYS = {
    "number": ("lower", "upper"),
    "boolean": (),
    "category": ("categories",),
}
_OPTIONAL = {"number": ("edges", "scale"), "boolean": ("yes", "no"), "category": ()}


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
        if feature.missing is not None:
            raise ValueError(
                f"{path}: feature {feature.name!r} must not say what a missing value counts as here: "
                f"read the file by load_encoding, and the table by its encode"
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
    missing = 50          # optional: what a missing value counts as; else it is refused

    [features.income]
    lower = 100           # above 0
    upper = 1_000_000
    scale = "log"         # optional: distance is counted in factors, from 10 to 20 as from 100 to 200
    lengthscale = 3       # a factor then, > 1

    [features.diabetes]
    kind = "boolean"
    yes = "Y"             # optional, both: how the table writes them; else yes/no, true/false or 1/0
    no = "N"
    lengthscale = 2       # where the step from no to yes is 1
    missing = false       # optional: true or false

    [features.ward]
    kind = "category"
    categories = ["surgery", "intensive care", "other"]
    lengthscale = 2       # where the step between any two of them is 1
    missing = "other"     # optional: one of them
    ```

    The features keep the order of the file. A file of `ranges choose` has a table ``[history]`` beside
    them, which says what is promised to the people of the history.

    Args:
        path: The file. Public, as everything in it: write it without looking at the table.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such file: the message names the feature and the key.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("ranges.toml").write_text('features.diabetes = { kind = "boolean" }')
        >>> load_encoding("ranges.toml").features
        (YesNo(name='diabetes', lengthscale=None, yes=None, no=None, missing=None),)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file of ranges, but there is no file {path}")
    content, without_value = read_toml(path)
    _refuse_unknown(content, ("radius", "history", "features"), f"{path}")
    features = content.get("features")
    if not isinstance(features, dict) or not features:
        raise ValueError(f"{path} must declare features, such as [features.age], but it has none")
    _refuse_open(features, without_value, f"{path}")
    found = [_feature(name, entry, f"{path}: feature {name!r}") for name, entry in features.items()]
    settings: dict[str, Any] = {}
    if "history" in content:
        settings["history"] = _history(content["history"], path)
    if "radius" in content:
        settings["radius"] = _positive(content["radius"], f"{path}: radius")
    try:
        return Encoding(found, **settings)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _history(entries: Any, path: Path) -> HistoryPromise:
    try:
        return HistoryPromise.from_table(entries, "features")
    except ValueError:
        raise ValueError(
            f"{path}: the table history must be as 'ranges choose' writes it, but it was changed or is "
            f"not whole: choose again"
        ) from None


def _feature(name: str, entry: Any, where: str) -> FeatureKind:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} must be a table with lower and upper, got {_kind(entry)}")
    kind = entry.get("kind", "number")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ValueError(f"{where}: kind must be one of {', '.join(_KEYS)}, got {_kind(kind)}")
    kind_key = ("kind",) if "kind" in entry else ()
    _refuse_unknown(entry, (*kind_key, *_KEYS[kind], *_OPTIONAL[kind], "lengthscale", "missing"), where)
    lengthscale = None
    if "lengthscale" in entry:
        lengthscale = _positive(entry["lengthscale"], f"{where}: lengthscale")
    if kind == "boolean":
        return _yes_no(name, entry, lengthscale, where)
    if kind == "category":
        return _category(name, entry, lengthscale, where)
    low = _number(entry["lower"], f"{where}: lower")
    high = _number(entry["upper"], f"{where}: upper")
    if not low < high:
        raise ValueError(
            f"{where}: lower must be below upper, got {entry['lower']!r} and {entry['upper']!r}"
        )
    missing = _number(entry["missing"], f"{where}: missing") if "missing" in entry else None
    edges = _edges(entry.get("edges", []), f"{where}: edges")
    try:
        return Number(name, low, high, lengthscale, edges, missing, entry.get("scale", "linear"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _edges(edges: Any, where: str) -> tuple[float, ...]:
    if not isinstance(edges, list):
        raise ValueError(f"{where} must be a list of numbers, such as [40, 65], got {_kind(edges)}")
    return tuple(_number(each, where) for each in edges)


def _refuse_open(features: dict[str, Any], without_value: list[str], path: str) -> None:
    """Refuse what is still to be filled in, all of it at once."""
    missing = dict.fromkeys(without_value, "a value for each key")
    for name, entry in features.items():
        kind = entry.get("kind", "number") if isinstance(entry, dict) else None
        for key in _KEYS.get(kind, ()) if isinstance(kind, str) else ():
            if key not in entry or entry[key] in ([], [""], ["", ""]):
                missing.setdefault(name, f"the key {key}")
    if not missing:
        return
    first = next(name for name in [*features, *missing] if name in missing)
    others = [repr(name) for name in [*features, *missing] if name in missing and name != first]
    more = f"; so is another one of: {', '.join(dict.fromkeys(others))}" if others else ""
    choices = f"; {_CHOICES}" if not features.get(first) else ""
    raise ValueError(
        f"{path}: feature {first!r} must have {missing[first]}, but it is missing{choices}{more}"
    )


def _yes_no(name: str, entry: dict[str, Any], lengthscale: float | None, where: str) -> YesNo:
    words: list[Any] = [entry.get(key) for key in _OPTIONAL["boolean"]]
    # A code book has 1 and 2 as often as letters.
    texts: list[Any] = [str(each) if type(each) is int else each for each in words]
    try:
        return YesNo(name, lengthscale, *texts, missing=entry.get("missing"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _category(name: str, entry: dict[str, Any], lengthscale: float | None, where: str) -> Category:
    categories = entry["categories"]
    if not isinstance(categories, list):
        raise ValueError(f"{where}: categories must be a list of texts, got {_kind(categories)}")
    try:
        return Category(name, tuple(categories), lengthscale, entry.get("missing"))
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
        plain = (
            " (a number stands without quotes, with a decimal point)" if isinstance(value, str) else ""
        )
        raise ValueError(f"{where} must be a number, got {_kind(value)}{plain}")
    if not math.isfinite(value):
        raise ValueError(f"{where} must be a finite number, got {value!r}")
    return float(value)


def _kind(value: Any) -> str:
    return f"{value!r}" if isinstance(value, str | bool | int | float) else f"a {type(value).__name__}"
