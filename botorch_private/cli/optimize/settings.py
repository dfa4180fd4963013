"""The settings of a search: of a new one, and those that one that goes on was begun with."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from botorch_private._base import validate
from botorch_private.cli.goal import option_of
from botorch_private.exchange.goals import Goal, goal_from_dict
from botorch_private.exchange.release import Release
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.remote.client import RemoteCurator

_LARGEST_SEED = 2**63 - 1


def begun(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a new search, with a seed that is kept."""
    settings = {"seed": secrets.randbelow(2**32), **given}
    if settings.get("beta_scale") is not None:
        validate.positive(beta_scale=settings["beta_scale"])  # before anybody is asked for anything
    if settings.get("outcome_noise") is not None:
        validate.probability(outcome_noise=settings["outcome_noise"])
    if settings["seed"] > _LARGEST_SEED:
        raise ValueError(f"--seed must be at most 2^63 - 1, got {settings['seed']}")
    return settings


def require_outcomes(
    goal: Goal, curator: RemoteCurator, known_file: Path | None, stop_below: float | None
) -> None:
    """Refuse what is not of the outcomes that the curator answers with, before anything is asked."""
    names = curator.outcome_names
    if goal.names and not names:
        raise ValueError(
            f"{option_of(goal.to_dict())} must be left out, since the curator answers with one number"
        )
    if not names:
        return
    shown = ", ".join(names)
    if not goal.names:
        raise ValueError(
            f"{option_of(goal.to_dict())} must be about one of several outcomes: say --of NAME, or "
            f"--weight NAME=W, of {shown}"
        )
    if not set(goal.names) <= set(names):
        raise ValueError(
            f"{option_of(goal.to_dict())} must be about outcomes that the curator answers with: {shown}"
        )
    for option, given in (("--known", known_file), ("--stop-below", stop_below)):
        if given is not None:
            raise ValueError(f"{option} must be left out where records have several outcomes")


def new_modeler(
    release: Release | ReleasedParts,
    settings: Mapping[str, Any],
    goal: Goal,
    placed: Mapping[str, Any],
) -> Modeler:
    """The modeler of a new search."""
    if settings.get("denoise") and release.cells is not None:
        raise ValueError(
            "denoise must be left out for a release of labels: the model takes lies into account by "
            "itself"
        )
    arguments = {name: value for name, value in settings.items() if name != "seed"}
    generator = torch.Generator().manual_seed(settings["seed"])
    return Modeler(release, goal=goal, generator=generator, **arguments, **placed)


def require_the_same(given: Mapping[str, Any], state: Path, kept: Mapping[str, Any], goal: Goal) -> None:
    """Refuse settings that are given again and are not those that a search was begun with."""
    if "goal" in given and goal_from_dict(given["goal"]) != goal:
        raise ValueError(
            f"{option_of(given['goal'])} must be left out: the search in {state} is for "
            f"{option_of(goal.to_dict())}; begin another search by another --state"
        )
    for name, value in given.items():
        # (A release may have fewer rows than random ones are wanted.)
        if name not in ("goal", "n_initial") and kept.get(name) != value:
            raise _other_setting(name, kept.get(name), value, state)


def require_as_many_initial(given: Mapping[str, Any], state: Path, modeler: Modeler) -> None:
    """Refuse another number of random rows than a search was begun with."""
    wanted, rows = given.get("n_initial"), len(modeler.release.candidates)
    if wanted is not None and min(wanted, rows) != modeler.n_initial:
        raise _other_setting("n_initial", modeler.n_initial, wanted, state)


def _other_setting(name: str, kept: Any, given: Any, state: Path) -> ValueError:
    wanted = "left out" if kept in (None, False) else kept
    return ValueError(
        f"--{name.replace('_', '-')} must be {wanted} as in {state}, got {given}: change that, or begin "
        f"another search by another --state"
    )
