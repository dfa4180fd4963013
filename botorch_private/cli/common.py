"""What the commands of `botorch-private` share: how they are added, how they fail, and counts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
def refusals(options: argparse.Namespace, *more: type[Exception]) -> Iterator[None]:
    """Turn refusals into the end: status 1, and one line that says which command failed, and why.

    Args:
        options: Of the command.
        *more: What it may raise beside `OSError`, `ValueError`, `ImportError` and `MemoryError`.
    """
    try:
        yield
    except (OSError, ValueError, ImportError, MemoryError, *more) as error:
        options.parser.exit(1, f"{options.parser.prog}: {error}\n")


def count(text: str) -> int:
    """Whole number >= 1 of an option."""
    return _whole_number(text, 1)


def count_from_zero(text: str) -> int:
    """Whole number >= 0 of an option."""
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number >= {least}, got {text!r}")
    return number
