"""What `curator init` is told of outcomes: of one, or of several, each with options of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from botorch_private.cli.common import refusals

_LIBRARY = {"epsilon": "--outcome-epsilon", "delta": "--outcome-delta", "bound": "--outcome-range"}


class _Said(argparse.Action):
    """Keeps the options about outcomes in the order in which they were typed."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.said = [*(getattr(namespace, "said", None) or ()), (self.dest, values)]
        setattr(namespace, self.dest, [*getattr(namespace, self.dest, ()), values])


def add_outcomes(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    bounds: dict[str, Any] = {"type": float, "nargs": 2, "metavar": ("LOW", "HIGH")}
    group = parser.add_argument_group(
        "what is measured (say --outcome again for each outcome of a record that has several; the "
        "others of these options then belong to the --outcome before them)"
    )

    def option(*names: str, **more: Any) -> None:
        group.add_argument(*names, action=_Said, default=argparse.SUPPRESS, **more)

    option(
        "--outcome",
        metavar="NAME",
        help="what is measured, as staff and modelers read it: declare it, and never from the table "
        "(default: outcome)",
    )
    option("--unit", metavar="NAME", help="its unit, likewise (default: none)")
    option("--plausible", **bounds, help="values outside this range must be confirmed by staff")
    option(
        "--outcome-epsilon",
        type=float,
        metavar="E",
        help="epsilon of noise on the answers, > 0; needs --outcome-range (default: no noise); those of "
        "several outcomes add up",
    )
    option("--outcome-delta", type=float, metavar="D", help="its delta in [0, 1) (default: 0)")
    option(
        "--outcome-range", **bounds, help="public range that outcomes are clipped to before the noise"
    )


def outcomes_of(options: argparse.Namespace) -> dict[str, Any]:
    """What `initialize` needs to know of outcomes.

    Raises:
        ValueError: If options do not belong together.
    """
    said: Sequence[tuple[str, Any]] = getattr(options, "said", None) or ()
    count = sum(name == "outcome" for name, _ in said)
    if count < 2:
        one = dict(said)
        return {
            "outcome_mechanism": _mechanism(options, one),
            "outcome_name": one.get("outcome", "outcome"),
            "outcome_unit": one.get("unit", ""),
            "plausible": _pair(one),
        }
    groups: list[dict[str, Any]] = []
    for name, value in said:
        option = f"--{name.replace('_', '-')}"
        if name == "outcome":
            groups.append({})
        elif not groups:
            raise ValueError(f"{option} must follow the --outcome that it belongs to")
        elif name in groups[-1]:
            raise ValueError(f"{option} must be given once for each --outcome")
        groups[-1][name] = value
    noise = {each["outcome"]: _mechanism(options, each) for each in groups}
    if any(noise.values()) and not all(noise.values()):
        raise ValueError("--outcome-epsilon must be given for each --outcome, or for none")
    return {
        "outcome_names": [each["outcome"] for each in groups],
        "outcome_mechanism": noise if all(noise.values()) else None,
        "outcome_unit": {each["outcome"]: each["unit"] for each in groups if "unit" in each},
        "plausible": {each["outcome"]: _pair(each) for each in groups if "plausible" in each},
    }


def _pair(said: dict[str, Any]) -> tuple[float, float] | None:
    return tuple(said["plausible"]) if "plausible" in said else None


def _mechanism(options: argparse.Namespace, said: dict[str, Any]) -> Any:
    """Noise on the answers of an outcome; None: there is none."""
    from botorch_private.curator.mechanisms import OutcomeMechanism

    epsilon, bound = said.get("outcome_epsilon"), said.get("outcome_range")
    delta = said.get("outcome_delta", 0.0)
    with refusals(options, arguments=_LIBRARY):
        if (epsilon is None) != (bound is None):
            raise ValueError("--outcome-epsilon and --outcome-range must be given together")
        if epsilon is None or bound is None:
            if delta:
                raise ValueError("--outcome-delta needs --outcome-epsilon and --outcome-range")
            return None
        return OutcomeMechanism(epsilon, delta, tuple(bound))
