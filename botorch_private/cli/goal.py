"""The options that say what a search is after, of `curator init` and of `optimize`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import count, refusals

if TYPE_CHECKING:
    from botorch_private.exchange.goals import Goal

_ARGUMENTS = {"threshold": "--above", "value": "--target", "k": "--best"}


def add_goal(parser: argparse.ArgumentParser, title: str, default: str) -> None:
    """Add the options, of which one may be given.

    Args:
        parser: Of the command.
        title: Heading of the options.
        default: What holds without them.
    """
    group = parser.add_argument_group(title, f"one of these (default: {default})")
    option = group.add_mutually_exclusive_group().add_argument
    option("--maximize", action="store_true", help="find the record with the largest outcome")
    option("--minimize", action="store_true", help="find the record with the smallest outcome")
    option("--above", type=float, metavar="H", help="find all records with an outcome above H")
    option("--best", type=count, metavar="K", help="find the K records with the largest outcomes")
    option("--target", type=float, metavar="V", help="find the record with the outcome nearest to V")


def goal_of(options: argparse.Namespace) -> Goal | None:
    """The goal that was given; None: none was."""
    from botorch_private.exchange.goals import Above, Maximize, Minimize, Target, TopK

    with refusals(options, arguments=_ARGUMENTS):
        if options.maximize:
            return Maximize()
        if options.minimize:
            return Minimize()
        if options.above is not None:
            return Above(options.above)
        if options.best is not None:
            return TopK(options.best)
        return None if options.target is None else Target(options.target)


def option_of(goal: Mapping[str, Any]) -> str:
    """What is typed for a goal, which is given as its ``to_dict``."""
    kind = goal["kind"]
    option = {"above": "--above", "top_k": "--best", "target": "--target"}.get(kind, f"--{kind}")
    value = next((goal[name] for name in ("threshold", "k", "value") if name in goal), None)
    return option if value is None else f"{option} {value:g}"
