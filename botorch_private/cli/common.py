"""What the commands of `botorch-private` share: how they are added, how they fail, and counts."""

from __future__ import annotations

import argparse
import math
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from botorch_private.cli.words import in_words, os_error, shown_path


def add_command(
    commands: Any,
    name: str,
    action: Callable[[argparse.Namespace], int],
    text: str,
    description: str | None = None,
    **more: Any,
) -> argparse.ArgumentParser:
    """Add a command to those of a parser.

    Args:
        commands: What ``add_subparsers`` or `add_group` returned.
        name: What is typed.
        action: Does it, and returns the exit status.
        text: One line for the list of commands.
        description: For its own help; None: the same line, as a sentence.
        **more: As in `argparse.ArgumentParser`.

    Returns:
        Its parser, for its options.
    """
    sentence = f"{text[:1].upper()}{text[1:]}."
    if "epilog" in more:  # its lines are commands
        more.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        description = _folded(description or sentence)
    parser = commands.add_parser(name, help=text, description=description or sentence, **more)
    parser.set_defaults(action=action, parser=parser)
    return parser


def add_group(commands: Any, name: str, text: str, description: str | None = None) -> Any:
    """Add a command that only shows its help without another one behind it; returns what takes those."""

    def show_help(options: argparse.Namespace) -> int:
        options.parser.print_help()
        return 2

    parser = add_command(commands, name, show_help, text, description)
    return parser.add_subparsers(metavar="COMMAND")


@contextmanager
def refusals(
    options: argparse.Namespace,
    *more: type[Exception],
    arguments: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Turn refusals into the end: status 1, and one line that says which command failed, and why.

    The library's messages begin with the name of an argument. Here it becomes that of the option, so
    that people read what they typed: ``--epsilon must be ...``.

    Args:
        options: Of the command.
        *more: What it may raise beside `OSError`, `ValueError`, `ImportError` and `MemoryError`.
        arguments: Argument of the library -> option, where the option has another name.
    """
    try:
        yield
    except BrokenPipeError:  # nobody reads what is printed: `main` ends that
        raise
    except (OSError, ValueError, ImportError, MemoryError, *more) as error:
        options.parser.exit(1, f"{options.parser.prog}: {in_words(options, error, arguments)}\n")


def refuse_option(options: argparse.Namespace, option: str, message: str) -> NoReturn:
    """End with status 2, and one line about an option."""
    options.parser.exit(2, f"{options.parser.prog}: argument {option}: {message}\n")
    raise AssertionError  # (it does not return)


def read_option(options: argparse.Namespace, option: str, path: Path, *, most: int) -> str:
    """The text of a small file that an option names, without white space around it.

    Args:
        options: Of the command.
        option: Its name.
        path: The file; a pipe will do.
        most: Bytes that it may hold.

    Raises:
        ValueError: If it is missing, a folder, forbidden, empty, too large or no text in UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ValueError(f"{option}: {os_error(error)}") from None
    if len(content) > most:
        raise ValueError(f"{option}: {shown_path(path)} is too large, more than {most} bytes")
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError(f"{option}: {shown_path(path)} is not a text in UTF-8: save it as one")
    if not text:
        raise ValueError(f"{option}: {shown_path(path)} is empty")
    return text


def _folded(text: str) -> str:
    return textwrap.fill(text, max(20, shutil.get_terminal_size().columns - 2))


def count(text: str) -> int:
    """Whole number >= 1 of an option."""
    return _whole_number(text, 1)


def count_from_zero(text: str) -> int:
    """Whole number >= 0 of an option."""
    return _whole_number(text, 0)


def positive(text: str) -> float:
    """Finite number > 0 of an option."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a finite number > 0, got {text!r}")
    return number


def _whole_number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number >= {least}, got {text!r}")
    return number
