"""StopRule: whether a search has found enough, by the bound on what is left to find."""

from __future__ import annotations

from typing import Any, NamedTuple

from botorch_private._base import validate
from botorch_private.modeler.acquisition.schedule import ucb_beta
from botorch_private.modeler.modeler import Modeler

FIRST_ROUND = 20  # answers from which on the bound is worth something
PROBABILITY = 0.05
_LEAST_SCALE = 0.2  # of the theory's schedule: what the default explores with in its later rounds
_WHY = (
    "where a search is to stop by itself (stop_below), since one that explores less stays where it is, "
    "and its model is too sure of the rest"
)


class _Known(NamedTuple):
    """A bound, and what it is a function of."""

    told: tuple[Any, ...]
    skipped: tuple[int, ...]
    bound: float


class BoundSoFar:
    """`Modeler.regret_bound` after each answer, computed once.

    Args:
        modeler: Whose bound it is. It may go on, be corrected, and be made again from its history.
    """

    def __init__(self, modeler: Modeler) -> None:
        self._modeler = modeler
        self._known: dict[int, _Known] = {}

    def after(self, rounds: int) -> float:
        """Bound after the first answers, counted from 1, with the rows that are given up by now."""
        told = tuple(self._modeler.history)[:rounds]
        skipped = tuple(self._modeler.skipped)
        known = self._known.get(rounds)
        if known is None or known.told != told or known.skipped != skipped:
            bound = self._modeler.regret_bound(PROBABILITY, rounds=rounds)
            known = self._known[rounds] = _Known(told, skipped, bound)
        return known.bound

    def latest(self) -> float | None:
        """Bound after all answers; None before it is worth something, and with several outcomes."""
        if self._modeler.goal.names:
            return None
        rounds = len(self._modeler.history)
        return self.after(rounds) if rounds >= FIRST_ROUND else None

    def all(self) -> list[float]:
        """One bound an answer, from the 20th on."""
        return [self.after(k) for k in range(FIRST_ROUND, len(self._modeler.history) + 1)]


class StopRule:
    """Enough is found once the bound is at most ``stop_below`` after two answers in a row.

    The first of the two is the 20th or a later one; the random ones at the start and those from before a
    resume count. So the rule is a function of the history, and a search that is resumed stops where an
    undisturbed one does.

    Args:
        modeler: Whose search it is.
        stop_below: In units of the outcome, > 0. None: never.
        bounds: Where bounds are kept, if others need them as well.

    Raises:
        ValueError: If ``stop_below`` is not positive, or the search hardly explores: its model is then
            too sure of what lies elsewhere.
    """

    def __init__(
        self, modeler: Modeler, stop_below: float | None, bounds: BoundSoFar | None = None
    ) -> None:
        if stop_below is not None:
            validate.positive(stop_below=stop_below)
            if modeler.goal.names:
                raise ValueError("stop_below must be left out where records have several outcomes")
            require_exploring(modeler.beta_scale)
            _require_exploring_by(modeler)
        self._modeler, self._stop_below = modeler, stop_below
        self._bounds = BoundSoFar(modeler) if bounds is None else bounds

    def reached(self) -> bool:
        """Whether the search may stop."""
        rounds = len(self._modeler.history)
        if self._stop_below is None or rounds <= FIRST_ROUND:
            return False
        return all(self._bounds.after(each) <= self._stop_below for each in (rounds, rounds - 1))


def require_exploring(beta_scale: float | None) -> None:
    """Refuse a scale of the schedule with which a search cannot stop by its bound.

    Raises:
        ValueError: If so.
    """
    if beta_scale is not None and beta_scale < _LEAST_SCALE:
        raise ValueError(f"beta_scale must be at least {_LEAST_SCALE:g} {_WHY}, got {beta_scale:g}")


def _require_exploring_by(modeler: Modeler) -> None:
    least = _LEAST_SCALE * ucb_beta(1, len(modeler.release.candidates), modeler.failure_probability)
    if modeler.beta is not None and modeler.beta < least:
        raise ValueError(f"beta must be at least {least:.3g} {_WHY}, got {modeler.beta:g}")
