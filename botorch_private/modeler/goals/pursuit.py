"""Pursuit: how a goal is searched for, and what may be said of it meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from torch import Tensor

from botorch_private.exchange.goals import Goal
from botorch_private.exchange.release import Release
from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.schedule import beta_of
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.latest_fit import LatestFit
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.models.label_posterior import discrete_posterior

G = TypeVar("G", bound=Goal)


class Exploring(NamedTuple):
    """How much a search explores, as in `DiscreteUCB`.

    Attributes:
        failure_probability: Of the schedule.
        beta: Overrides the schedule.
        beta_scale: Factor of the schedule.
        exploration: Which deviation counts.
    """

    failure_probability: float
    beta: float | None
    beta_scale: float | None
    exploration: str

    def weight(self, t: int, n: int) -> float:
        """``beta`` in round ``t`` among ``n`` rows."""
        return beta_of(t, n, **self._asdict())


class Pursuit(ABC, Generic[G]):
    """The search for one kind of goal.

    The model has outcomes times `Goal.sign`, and so have all numbers here.

    Args:
        goal: What is looked for.
    """

    reaches = False  # whether a bound is how far an answer may lie beyond the best one
    levelled = False  # whether rows are scored by their distance to a level

    def __init__(self, goal: G) -> None:
        self.goal = goal

    def fit(self, make: Callable[..., Any], release: Release) -> Any:
        """Where fitted hyperparameters are kept: a `LatestFit`, or its like for several outcomes.

        Args:
            make: Makes a model of a release, rows and outcomes.
            release: What models are of.
        """
        return LatestFit(partial(make, release))

    def posterior(self, model: Any, candidates: Tensor, *, max_memory: int) -> Any:
        """The posterior of all rows, or the like for several outcomes."""
        return discrete_posterior(model, candidates, max_memory=max_memory)

    def acquisition(self, posterior: Any, t: int, exploring: Exploring) -> Any:
        """What rows are chosen by in round ``t``."""
        return DiscreteUCB(posterior, None, t=t, **exploring._asdict())

    @abstractmethod
    def recommend(self, knowledge: Knowledge) -> int | list[int]:
        """The measured row, or rows, to act on."""

    @abstractmethod
    def bound(
        self, left: AnswersLeft, deviation: Tensor, values: Sequence[float], level: float
    ) -> float:
        """What the search may miss, but for a probability, if the model is right.

        Args:
            left: What unmeasured rows may answer.
            deviation: Deviations of their answers, in its units.
            values: Answers so far, as the model has them, in outcome units; at least one.
            level: Probability that is left, in (0, 1).
        """

    def to_beat(self, values: Sequence[float]) -> float:
        """The answer that a better one must exceed.

        Raises:
            ValueError: If better is not larger.
        """
        raise ValueError(
            f"goal must be of large or of small outcomes for expected_gain, got {self.goal}"
        )

    def in_short(self, bound: float, unit: str = "") -> str:
        """A bound in two words."""
        return f"bound {bound:.3g} {unit}".rstrip()

    @abstractmethod
    def sentence(self, bound: float, probability: float, unit: str = "") -> str:
        """What may be said of a bound, and no more."""


def ordered(means: Tensor, resolution: float) -> list[int]:
    """Positions from the largest mean to the smallest; of equal ones, up to rounding, the first first.

    Args:
        means: A few numbers.
        resolution: Difference up to which two are equal to rounding.
    """
    left, found = list(range(len(means))), []
    numbers = means.tolist()
    for _ in numbers:
        best = max(numbers[i] for i in left)
        first = next(i for i in left if numbers[i] >= best - resolution)
        found.append(first)
        left.remove(first)
    return found
