"""Refusals in the words of the command line: options instead of arguments, no numbers of errors."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_ARGUMENT = re.compile(r"(\w+)(?= must| needs|: )")  # how the library's refusals begin
_VALUE = re.compile(
    r"(?<![(])(?<!, )\b(\w+)=(?:True\b|(?=[\w'.-]))"
)  # of another argument, but not in a call


def in_words(
    options: argparse.Namespace, error: Exception, arguments: Mapping[str, str] | None = None
) -> str:
    """Say what was refused, with the option instead of the library's argument."""
    if isinstance(error, OSError) and error.strerror:
        option = None if error.filename is None else _option_of(options, os.fspath(error.filename))
        return os_error(error) if option is None else f"{option}: {os_error(error)}"
    if isinstance(error, UnicodeDecodeError):  # its own words show bytes of the file
        return "a file must be a text in UTF-8, but one is not"
    if not _is_plain(error):
        return f"a file cannot be read as what it should be ({type(error).__name__})"
    names = {**option_names(options), **(arguments or {})}
    message = _VALUE.sub(lambda found: _option_for(found[0], names.get(found[1])), str(error))
    found = _ARGUMENT.match(message)
    if found is None:
        return message
    name = names.get(found[1])
    if name is None and found[1] == "path":
        name = _option_in(options, message)
    return message if name is None else f"{name}{message[found.end() :]}"


def _option_for(written: str, option: str | None) -> str:
    """What is typed for an argument with a value; where that is True, the option alone."""
    if option is None:
        return written
    return option if written.endswith("=True") else f"{option} "


def _is_plain(error: Exception) -> bool:
    """Whether an error is Python's or of this project: those of other libraries quote what they read."""
    return type(error).__module__.partition(".")[0] in ("builtins", "botorch_private")


def os_error(error: OSError) -> str:
    """What the system says of a file, without numbers of errors."""
    if error.filename is None:
        return error.strerror or str(error)
    shown = shown_path(error.filename)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {shown}"
    if isinstance(error, IsADirectoryError):
        return f"{shown} is a folder, not a file"
    if isinstance(error, PermissionError):
        return f"you have no permission for {shown}"
    return f"{error.strerror}: {shown}"


def shown_path(path: str | bytes | os.PathLike[str]) -> str:
    """A path as a text of UTF-8: bytes of a name that are none are escapes."""
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")


def option_names(options: argparse.Namespace) -> dict[str, str]:
    """Name in the namespace -> what people type."""
    return {
        action.dest: action.option_strings[-1]
        if action.option_strings
        else str(action.metavar or action.dest)
        for action in options.parser._actions
    }


def _paths(options: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name, option in option_names(options).items():
        values = getattr(options, name, None)
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, Path):
                yield option, value


def _option_of(options: argparse.Namespace, file: str | bytes) -> str | None:
    """The option that names a file."""
    wanted = Path(os.fsdecode(file)).absolute()
    return next((option for option, path in _paths(options) if path.absolute() == wanted), None)


def _option_in(options: argparse.Namespace, message: str) -> str | None:
    """The option whose path, or else its folder, stands in a message; the longest of several."""
    paths = list(_paths(options))
    folders = [
        (option, folder)
        for option, path in paths
        for folder in (path.parent, path.absolute().parent)
        if folder != Path()
    ]
    for candidates in (paths, folders):
        found = [(len(str(path)), option) for option, path in candidates if str(path) in message]
        if found:
            return max(found)[1]
    return None
