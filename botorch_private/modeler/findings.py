"""Findings: what a search may say of what it has found, and of what is left to find."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.exchange.goals import Above, Goal
from botorch_private.modeler.goals.above import RowsAbove, rows_above
from botorch_private.modeler.goals.knowledge import Knowledge
from botorch_private.modeler.goals.pursuit import Pursuit
from botorch_private.modeler.models.answers_left import AnswersLeft
from botorch_private.modeler.regret_bound import ExpectedGain, cautious, expected_gain


class Findings(ABC):
    """What a `Modeler` says of its answers; how it chooses rows is its own matter."""

    goal: Goal
    pursuit: Pursuit[Any]
    _told: dict[int, Any]
    _skipped: set[int]

    @abstractmethod
    def posterior(self) -> Any:
        """Posterior of all rows given all observations."""

    @abstractmethod
    def _posterior_after(self, rounds: int) -> Any:
        """The same after so many of the answers, with hyperparameters as they were fitted then."""

    @on_cpu_by_default
    def recommend(self) -> int | list[int]:
        """Measured row with the best posterior mean: the one to act on where answers are noisy.

        The largest of many noisy answers mostly has lucky noise. The posterior knows the noise that the
        release states, and what the neighbours of a row say. Of equal rows, the first that was told
        counts.

        Returns:
            A row; with `TopK`, a list of the ``k`` best, the best one first, and with `Above`, of the
            measured rows that are above, more likely than not.

        Raises:
            ValueError: If nothing was told yet.
        """
        return self.pursuit.recommend(self._knowledge())

    @on_cpu_by_default
    def above(self, threshold: float | None = None, confidence: float = 0.5) -> RowsAbove:
        """Rows whose outcome is above a threshold, with some probability, if the model is right.

        An outcome is what measuring finds, with the scatter that no record explains, and before noise is
        added to the answer. Without such noise it is known of a measured row.

        Args:
            threshold: In the curator's unit. None: that of the goal, which is then `Above`.
            confidence: Least probability, in (0, 1).

        Returns:
            ``measured`` and ``unmeasured`` rows. Rows that were skipped are in neither.

        Raises:
            ValueError: If nothing was told yet, an argument is out of range, or no threshold is given.
        """
        if self.goal.names:
            raise ValueError("above is there for one outcome alone: ask posterior()[name]")
        if threshold is None:
            if not isinstance(self.goal, Above):
                raise ValueError("threshold must be given where the goal is not Above")
            threshold = self.goal.threshold
        level = validate.number(threshold=threshold)
        validate.probability(confidence=confidence)
        return rows_above(self._knowledge(), level, confidence, sign=self.goal.sign)

    def _knowledge(self) -> Knowledge:
        return Knowledge(self.posterior(), list(self._told), self._turned(self._told), self._skipped)

    def _turned(self, told: dict[int, Any]) -> list[Any]:
        """Answers as the model has them."""
        return [self.goal.turned(value) for value in told.values()]

    @on_cpu_by_default
    def regret_bound(self, probability: float = 0.05, *, rounds: int | None = None) -> float:
        """By how much an unmeasured record may answer better, but for a probability.

        What may be said of it is `regret_sentence`: *if the fitted model is right*, the chance that one
        of the unmeasured records would have answered better than the best answer so far, by more than
        the bound, is at most ``probability``. It is about answers, with all that they scatter and all
        noise that the curator adds to them. Rows that were asked and not told yet count as unmeasured;
        rows that were given up (`skip`) are left out.

        Deviations are wider than the model's, which is too sure of itself (`cautious`). How often the
        bound was wrong on real tables stands in the guide, under "Are we done?". It is too optimistic
        before 20 answers, and after searches that hardly explore.

        With `Minimize` better is smaller. With `TopK` it is about answers better than the k-th best one.
        With `Target` it is the distance of the nearest answer, or 0 if no other is likely to be nearer.
        With `Above` it is how many unmeasured records above the threshold `above` may miss.

        O(n) beyond the posterior of this round, which the next choice needs as well.

        Args:
            probability: In (0, 1).
            rounds: After so many of the answers, with hyperparameters as they were fitted then. None:
                after all.

        Returns:
            The bound, in units of the outcome, >= 0. Infinite while all answers are equal: nothing tells
            then how far outcomes may lie apart. The same with `TopK` before there are k answers.

        Raises:
            ValueError: If nothing was told yet, or an argument is out of range.

        Example:
            >>> modeler = Modeler(release, history=[(4, 0.5), (7, 1.5), (9, 1.0)])
            >>> modeler.regret_bound() >= modeler.regret_bound(probability=0.5) >= 0
            True
        """
        validate.probability(probability=probability)
        told = self._first_told(rounds)
        if len(set(told.values())) < 2:
            return math.inf
        left = self._answers_left(told)
        deviation = cautious(
            left.variance, left.scatter, left.known, answers=len(told), level=probability
        )
        return self.pursuit.bound(left, deviation, self._turned(told), probability)

    def regret_sentence(self, probability: float = 0.05, *, unit: str = "") -> str:
        """What may be said of `regret_bound`, and no more: it is as good as the model.

        Args:
            probability: As in `regret_bound`.
            unit: Of the outcome, to be printed; may be empty.

        Example:
            >>> modeler = Modeler(release, history=[(4, 0.5), (7, 1.5), (9, 1.0)])
            >>> print(modeler.regret_sentence(unit="EUR"))
            If the fitted model is right, the chance that one of the unmeasured records would have ...
        """
        return self.pursuit.sentence(self.regret_bound(probability), probability, unit)

    @on_cpu_by_default
    def expected_gain(self) -> ExpectedGain:
        """What measuring on is expected to add to the best answer so far, if the model is right.

        With `TopK`, to the k-th best answer.

        Returns:
            ``next_measurement``: by the best of all next rows. ``rest``: by all unmeasured rows
            together, at most; never more than the sum of theirs. Both in units of the outcome; rows
            count as in `regret_bound`, and deviations are the model's own.

        Raises:
            ValueError: If nothing was told yet, or the goal is `Above` or `Target`.

        Example:
            >>> modeler = Modeler(release, history=[(4, 0.5), (7, 1.5), (9, 1.0)])
            >>> gain = modeler.expected_gain()
            >>> 0 <= gain.next_measurement <= gain.rest
            True
        """
        told = self._first_told(None)
        left = self._answers_left(told)
        best = (self.pursuit.to_beat(self._turned(told)) - left.origin) / left.scale
        gain = expected_gain(left.mean, left.deviation, best)
        return ExpectedGain(*(each * left.scale for each in gain))

    def _first_told(self, rounds: int | None) -> dict[int, Any]:
        if self.goal.names:
            raise ValueError("what is left to find is said of one outcome alone, and goal has several")
        if not self._told:
            raise ValueError("something must be told before it can be said what is left to find")
        rounds = len(self._told) if rounds is None else rounds
        validate.count(rounds=rounds)
        if rounds > len(self._told):
            raise ValueError(f"rounds must be at most the {len(self._told)} answers, got {rounds}")
        return dict(list(self._told.items())[:rounds])

    def _answers_left(self, told: dict[int, float]) -> AnswersLeft:
        """Of rows that are not among these, nor given up, as it was known after these."""
        return AnswersLeft.of(self._posterior_after(len(told)), [*told, *self._skipped])
