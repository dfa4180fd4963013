"""What a folder's maker declares of outcomes: checked before anything is released, and then kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botorch_private._base import validate
from botorch_private.curator.mechanisms import OutcomeMechanism
from botorch_private.curator.service.outcomes import OutcomeFacts
from botorch_private.exchange.goals import Goal
from botorch_private.exchange.named_outcomes import outcome_names as checked_names


def check_outcomes(
    names: Sequence[str], *, outcome_name: Any, outcome_unit: Any, plausible: Any, goal: Goal | None
) -> None:
    """Refuse units, ranges or a goal that are not of what is measured.

    Args:
        names: Of several outcomes; empty: there is one, ``outcome_name``.
        outcome_name: As in `make_folder`, and so are the others.
        outcome_unit: Of one outcome, or a dict of names to units.
        plausible: Of one outcome, or a dict of names to ranges.
        goal: What a search is after.

    Raises:
        ValueError: If one is.
    """
    if not names:
        _require_text(outcome_name=outcome_name)
        _require_text(outcome_unit=outcome_unit)
        if plausible is not None:
            _require_range(plausible=plausible)
        if goal is not None and goal.names:
            raise ValueError(
                "goal must be about one outcome, since a record has one: got one of several"
            )
        return
    checked_names(outcome_names=names)
    shown = ", ".join(names)
    for argument, given in (("outcome_unit", outcome_unit), ("plausible", plausible)):
        if given and not isinstance(given, Mapping):
            raise ValueError(f"{argument} must be a dict with names of outcomes, among {shown}")
        if any(name not in names for name in given or ()):
            raise ValueError(f"{argument} must be of outcomes among {shown}, got another name")
    for name, unit in (outcome_unit or {}).items():
        _require_text(**{f"outcome_unit[{name}]": unit})
    for name, ends in (plausible or {}).items():
        _require_range(**{f"plausible[{name}]": ends})
    if goal is None or not goal.names:
        raise ValueError(
            f"goal must be Scalarized or Constrained, since records have several outcomes: {shown}"
        )
    if not set(goal.names) <= set(names):
        raise ValueError(f"goal must be about outcomes among {shown}")


def outcome_settings(
    names: Sequence[str],
    mechanism: Any,
    *,
    outcome_name: str,
    outcome_unit: str | Mapping[str, str],
    plausible: Any,
) -> dict[str, Any]:
    """What `FolderFacts` say of outcomes that `check_outcomes` let pass.

    Args:
        names: Of several outcomes; empty: there is one.
        mechanism: A curator's ``outcome_mechanism``.
        outcome_name: As in `make_folder`, and so are the others.
        outcome_unit: Of one outcome, or a dict of names to units.
        plausible: Of one outcome, or a dict of names to ranges.
    """
    if not names:
        one = _facts(outcome_name, outcome_unit, plausible, mechanism)
        return {
            "outcome_name": one.name,
            "outcome_unit": one.unit,
            "plausible": one.plausible,
            "outcome_range": one.range,
            "outcome_grid": one.grid,
        }
    units, ranges, noise = outcome_unit or {}, plausible or {}, mechanism or {}
    assert isinstance(units, Mapping)
    return {
        "outcome_name": ", ".join(names),
        "outcome_unit": "",
        "plausible": None,
        "outcome_range": None,
        "outcome_grid": None,
        "outcomes": tuple(
            _facts(name, units.get(name, ""), ranges.get(name), noise.get(name)) for name in names
        ),
    }


def _facts(name: str, unit: Any, plausible: Any, mechanism: OutcomeMechanism | None) -> OutcomeFacts:
    bound = None if mechanism is None else (mechanism.bound[0], mechanism.bound[1])
    grid = None if mechanism is None else mechanism.law.grid
    return OutcomeFacts(name, unit, None if plausible is None else tuple(plausible), bound, grid)


def _require_text(**given: Any) -> None:
    ((argument, text),) = given.items()
    if not isinstance(text, str) or not _is_unicode(text):
        raise ValueError(f"{argument} must be text that UTF-8 can hold")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, as of bytes that a terminal sent in another encoding
        return False
    return True


def _require_range(**given: Any) -> None:
    ((argument, ends),) = given.items()
    if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
        raise ValueError(f"{argument} must be a smallest and a larger value, got something else")
    low, high = ends
    validate.finite(**{f"{argument}_low": low, f"{argument}_high": high})
    if not low < high:
        raise ValueError(f"{argument} must be a smallest and a larger value, got {low:g} and {high:g}")
