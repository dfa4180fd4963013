"""What several commands of `botorch-private` share: showing their help, and how they fail."""

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
