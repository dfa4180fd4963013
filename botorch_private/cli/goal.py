"""The options that say what a search is after, of `curator init` and of `optimize`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import count, refusals

if TYPE_CHECKING:
    from botorch_private.exchange.goals import Goal

_ARGUMENTS = {
    "threshold": "--above",
    "value": "--target",
    "k": "--best",
    "weights": "--weight",
    "maximize": "--weight",
    "at_least": "--at-least",
    "at_most": "--at-most",
}
_Named = tuple[str, float]


def add_goal(parser: argparse.ArgumentParser, title: str, default: str) -> None:
    """Add the options, of which one may be given, and those of several outcomes.

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
    group = parser.add_argument_group(
        "where a record has several outcomes",
        "as in '--minimize --of cost --at-least safety=0.9'",
    )
    option = group.add_argument
    number: dict[str, Any] = {"type": _named_number, "action": "append", "default": []}
    option("--of", metavar="NAME", help="the outcome that --maximize or --minimize is about")
    option(
        "--weight",
        **number,
        metavar="NAME=W",
        help="weight of an outcome, in 1 / its unit, instead of --of: find the largest weighted sum",
    )
    option(
        "--at-least",
        **number,
        metavar="NAME=LIMIT",
        help="only records where this outcome is at least LIMIT",
    )
    option(
        "--at-most",
        **number,
        metavar="NAME=LIMIT",
        help="only records where this outcome is at most LIMIT",
    )


def goal_of(options: argparse.Namespace) -> Goal | None:
    """The goal that was given; None: none was."""
    from botorch_private.exchange.goals import Above, Maximize, Minimize, Target, TopK

    with refusals(options, arguments=_ARGUMENTS):
        if options.of is not None or options.weight or options.at_least or options.at_most:
            return _goal_of_several(options)
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
    if kind in ("scalarized", "constrained"):
        return _options_of_several(goal)
    option = {"above": "--above", "top_k": "--best", "target": "--target"}.get(kind, f"--{kind}")
    value = next((goal[name] for name in ("threshold", "k", "value") if name in goal), None)
    return option if value is None else f"{option} {value:g}"


def _goal_of_several(options: argparse.Namespace) -> Goal:
    from botorch_private.exchange.named_goals import Constrained, Scalarized

    for option, given in (("above", options.above), ("best", options.best), ("target", options.target)):
        if given is not None:
            raise ValueError(
                f"--{option} must be left out with --of, --weight, --at-least and --at-most"
            )
    least, most = _by_name("--at-least", options.at_least), _by_name("--at-most", options.at_most)
    if options.weight:
        if options.of is not None or options.maximize or options.minimize:
            raise ValueError("--weight must be given without --of, --maximize and --minimize")
        weights = _by_name("--weight", options.weight)
        if 0.0 in weights.values():
            raise ValueError("--weight must not be 0: leave that outcome out")
    elif options.of is None:
        raise ValueError("--of must say which outcome is to be large or small, or --weight how much")
    elif not options.maximize and not options.minimize:
        raise ValueError("--of needs --maximize or --minimize")
    else:
        weights = {options.of: -1.0 if options.minimize else 1.0}
    if least or most:
        return Constrained(maximize=weights, at_least=least, at_most=most)
    return Scalarized(weights)


def _options_of_several(goal: Mapping[str, Any]) -> str:
    weights = goal["weights"] if goal["kind"] == "scalarized" else goal["maximize"]
    name, weight = next(iter(weights.items()))
    words = [f"--weight {name}={weight:g}" for name, weight in weights.items()]
    if len(weights) == 1 and abs(weight) == 1:
        words = [f"{'--maximize' if weight > 0 else '--minimize'} --of {name}"]
    for option in ("at_least", "at_most"):
        limits = goal.get(option, {}).items()
        words += [f"--{option.replace('_', '-')} {name}={limit:g}" for name, limit in limits]
    return " ".join(words)


def _by_name(option: str, given: Iterable[_Named]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, number in given:
        if name in found:
            raise ValueError(f"{option} must be given once for an outcome")
        found[name] = number
    return found


def _named_number(text: str) -> _Named:
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not name or not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be NAME=NUMBER, with a finite number, got {text!r}")
    return name, value
