"""How each goal is searched for, and what may be said of it."""

from __future__ import annotations

from typing import Any

from botorch_private.exchange.goals import (
    Above,
    Goal,
    Maximize,
    Minimize,
    Target,
    TopK,
    goal_from_dict,
)
from botorch_private.exchange.named_goals import Constrained, Scalarized
from botorch_private.modeler.goals.above import AllAbove
from botorch_private.modeler.goals.one_best import OneBest
from botorch_private.modeler.goals.pursuit import Pursuit
from botorch_private.modeler.goals.several import BestOfSeveral
from botorch_private.modeler.goals.target import Nearest
from botorch_private.modeler.goals.top_k import FirstK

__all__ = ["Above", "Goal", "Maximize", "Minimize", "Target", "TopK", "goal_from_dict", "pursuit_of"]
_PURSUITS: dict[type[Goal], type[Pursuit[Any]]] = {
    Maximize: OneBest,
    Minimize: OneBest,
    Above: AllAbove,
    TopK: FirstK,
    Target: Nearest,
    Scalarized: BestOfSeveral,
    Constrained: BestOfSeveral,
}


def pursuit_of(goal: Any) -> Pursuit[Any]:
    """How a goal is searched for.

    Raises:
        TypeError: If it is no goal.
    """
    if type(goal) not in _PURSUITS:
        found = "a class" if isinstance(goal, type) else type(goal).__name__
        raise TypeError(
            f"goal must be Maximize(), Minimize(), Above(threshold), TopK(k) or Target(value), and with "
            f"several outcomes Scalarized(weights) or Constrained(...), got {found}"
        )
    return _PURSUITS[type(goal)](goal)
