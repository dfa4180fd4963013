"""What several commands of `botorch-private` share: counts, showing their help, and how they fail."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn


def show_help(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Action of a command that was given without the one that belongs behind it."""

    def action(_: argparse.Namespace) -> int:
        parser.print_help()
        return 2

    return action


def fail(options: argparse.Namespace, error: Exception) -> NoReturn:
    """End with status 1 and one line that says which command failed, and why."""
    options.parser.exit(1, f"{options.parser.prog}: {error}\n")
    raise AssertionError  # not reached


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
