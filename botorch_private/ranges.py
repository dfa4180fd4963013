"""load_ranges: declared public ranges of the features, from a file that a curator writes by hand."""

from __future__ import annotations

import math
import os
import tomllib
from pathlib import Path
from typing import Any

from botorch_private.scaling import PublicScaling

_KEYS = ("lower", "upper", "lengthscale")


def load_ranges(path: str | os.PathLike[str]) -> PublicScaling:
    """Read the declared ranges of the features from a TOML file.

    .. code-block:: toml

        radius = 25.0         # optional: of the ball, in units of distance

        [features.age]
        lower = 18            # in the feature's own unit
        upper = 100
        lengthscale = 10      # optional, for all features or for none

    The features keep the order of the file.

    Args:
        path: The file. Public, as everything in it: write it without looking at the table.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such file: the message names the feature and the key.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file of ranges, but there is no file {path}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be TOML, but it cannot be read: {error}") from error
    _refuse_unknown(content, ("radius", "features"), f"{path}")
    features = content.get("features")
    if not isinstance(features, dict) or not features:
        raise ValueError(f"{path} must declare features, such as [features.age], but it has none")
    for name, entry in features.items():
        _check_feature(entry, f"{path}: feature {name!r}")
    given = [name for name, entry in features.items() if "lengthscale" in entry]
    if given and len(given) < len(features):
        missing = next(name for name in features if name not in given)
        raise ValueError(
            f"{path}: feature {missing!r} must have a lengthscale, because {given[0]!r} has one"
        )
    entries = features.values()
    settings: dict[str, Any] = {}
    if given:
        settings["lengthscale"] = [float(entry["lengthscale"]) for entry in entries]
    if "radius" in content:
        settings["radius"] = _positive(content["radius"], f"{path}: radius")
    try:
        return PublicScaling(
            [float(entry["lower"]) for entry in entries],
            [float(entry["upper"]) for entry in entries],
            names=list(features),
            **settings,
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _check_feature(entry: Any, where: str) -> None:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} must be a table with lower and upper, got {_kind(entry)}")
    _refuse_unknown(entry, _KEYS, where)
    for key in ("lower", "upper"):
        if key not in entry:
            raise ValueError(f"{where} must have the key {key}, but it is missing")
        _number(entry[key], f"{where}: {key}")
    if not entry["lower"] < entry["upper"]:
        raise ValueError(
            f"{where}: lower must be below upper, got {entry['lower']!r} and {entry['upper']!r}"
        )
    if "lengthscale" in entry:
        _positive(entry["lengthscale"], f"{where}: lengthscale")


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
