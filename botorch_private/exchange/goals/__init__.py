"""What a search is after: declared by the curator, or by the modeler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botorch_private.exchange.goals.above import Above
from botorch_private.exchange.goals.goal import VERSION, Goal
from botorch_private.exchange.goals.maximize import Maximize
from botorch_private.exchange.goals.minimize import Minimize
from botorch_private.exchange.goals.target import Target
from botorch_private.exchange.goals.top_k import TopK

__all__ = ["Above", "Goal", "Maximize", "Minimize", "Target", "TopK", "goal_from_dict"]
_KINDS: dict[Any, type[Goal]] = {goal.kind: goal for goal in (Maximize, Minimize, Above, TopK, Target)}
_OF_SEVERAL = ("scalarized", "constrained")


def goal_from_dict(values: Any) -> Goal:
    """Make a goal of what its ``to_dict`` gave.

    Raises:
        ValueError: If it is something else, or of another version.
    """
    fields = dict(values) if isinstance(values, Mapping) else {}
    version, kind = fields.pop("version", VERSION), fields.pop("kind", None)
    if version != VERSION:
        raise ValueError("goal must be of this version: upgrade botorch-private if it is newer")
    if not isinstance(kind, str) or kind not in (*_KINDS, *_OF_SEVERAL):
        kinds = ", ".join((*_KINDS, *_OF_SEVERAL))
        raise ValueError(f"goal must be of a kind among {kinds}, got another one")
    try:
        if kind in _OF_SEVERAL:  # which build on this package
            from botorch_private.exchange import named_goals

            return named_goals.KINDS[kind](**fields)
        return _KINDS[kind](**fields)
    except TypeError:
        raise ValueError(
            f"goal must be what a goal of the kind {kind} says of itself, got something else"
        ) from None
