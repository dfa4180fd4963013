"""The text of a file of ranges, as people save it: its encoding, and what to do where it is no TOML."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
_HEADER = re.compile(r"\s*\[\s*features\s*\.\s*(?P<name>.+?)\s*\]\s*(#.*)?")
_EMPTY = re.compile(r"\s*[\w-]+\s*=\s*(#.*)?")
# What is wrong with a line -> what to do about it.
_HINTS = (
    (r"=\s*[+-]?\d+,\d+\s*(#.*)?$", "numbers have a decimal point, and no other marks: 18.5, not 18,5"),
    ("[\u201c\u201d\u201e\u2018\u2019]", 'quotes are straight ones ("), not those of a word processor'),
    (r"^\s*\[features\.[^\"'\]]*[^\w\"'\].-]", 'names with other letters than a to z stand in quotes'),
    (r"^\s*\[features\.[^\"'\]]*[^\x00-\x7f]", 'names with other letters than a to z stand in quotes'),
    (r"=\s*[+-]?0\d", "numbers begin without a 0: 18, not 018"),
    (r"=\s*[+-]?(\.\d|\d+\.\s*(#.*)?$)", "numbers have digits on both sides of the point: 0.5, not .5"),
    (r"=\s*[^\s\"'\[#]+\s*;", "lines end without a semicolon"),
    (r"=\s*\d+\s*/\s*\d+", "numbers are written out: 0.5, not 1/2"),
    (r"^\s*[\w-]+\s*:", "a key and its value stand around an equals sign: lower = 0"),
)  # fmt: skip


def read_toml(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Read a file of ranges; UTF-8, with or without a byte order mark, or UTF-16 with one.

    Returns:
        What it holds, and the names of features that have a key without a value: such keys are left out.

    Raises:
        ValueError: If it cannot be read: the message says where, and what to do.
    """
    lines = _decoded(path).splitlines()
    open_features = _leave_out_open_keys(lines)
    try:
        return tomllib.loads("\n".join(lines)), open_features
    except tomllib.TOMLDecodeError as error:
        raise ValueError(
            f"{path} must be TOML, but it cannot be read: {error}{_hint(lines, str(error))}"
        ) from None


def _decoded(path: Path) -> str:
    content = path.read_bytes()
    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16 without a mark is full of them
        raise ValueError(f"{path} must be TOML in UTF-8, but it is stored otherwise: save it as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _leave_out_open_keys(lines: list[str]) -> list[str]:
    """Empty the lines of features that are a key without a value; name these features, each once."""
    found: dict[str, None] = {}
    feature = None
    for i, line in enumerate(lines):
        if header := _HEADER.fullmatch(line):
            feature = header["name"].strip("\"'")
        elif feature is not None and _EMPTY.fullmatch(line):
            found[feature] = None
            lines[i] = ""
    return list(found)


def _hint(lines: list[str], told: str) -> str:
    place = re.search(r"at line (\d+)", told)
    line = lines[int(place[1]) - 1] if place and int(place[1]) <= len(lines) else ""
    hints = [hint for pattern, hint in _HINTS if re.search(pattern, line)]
    return f" ({hints[0]})" if hints else ""
