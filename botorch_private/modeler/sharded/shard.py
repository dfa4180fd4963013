"""Shard: some rows of a release, their part of V, and what a round asks of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.modeler.models.outcome_units import Ranking
from botorch_private.modeler.models.posterior import DiscretePosterior


class Sums(NamedTuple):
    """What the spread of a release is made of.

    Attributes:
        rows: How many there are.
        total: Their sum, ``r`` numbers; or zeros, where a centre was given.
        squares: Sum of the squared distances from the centre; 0 where none was given.
    """

    rows: int
    total: Tensor
    squares: float


class Question(NamedTuple):
    """What a round asks: small, whatever the number of rows is.

    Attributes:
        number: Other questions have others: a shard keeps the scores of the latest one.
        model: Of all observations, in eval mode, with its hyperparameters: O(t r) numbers.
        pending: ``m x r`` rows that count as answered with their posterior mean.
        max_memory: Bytes that V may take in a shard.
        acquisition: Makes what rows are scored by; None where nothing is scored.
        mean_range: Smallest and largest mean of all rows, where a score depends on them.
        outcome: Which one it is about, where there are several.
    """

    number: int
    model: Any
    pending: Tensor
    max_memory: int
    acquisition: Callable[[Any], Any] | None = None
    mean_range: tuple[float, float] | None = None
    outcome: str = ""


class Best(NamedTuple):
    """The best open row of a shard.

    Attributes:
        score: In the units of the model's ranking.
        resolution: Difference up to which two scores are equal to rounding.
    """

    score: float
    resolution: float


class Shard:
    """Consecutive parts of a release in one process.

    It knows nothing that a question does not tell it but rows, so that one that is lost is made again,
    and asked again.

    Args:
        release: The release in parts.
        numbers: Of the parts that it holds, rising by 1.
        dtype: Of the rows and of V.
    """

    def __init__(self, release: ReleasedParts, numbers: Sequence[int], dtype: torch.dtype) -> None:
        rows = torch.empty(sum(release.parts[i].rows for i in numbers), release.width, dtype=dtype)
        start = 0
        for number in numbers:
            part = release.read(number)
            rows[start : start + len(part)] = part
            start += len(part)
        self._rows = rows
        self._posteriors: dict[str, DiscretePosterior] = {}  # of each outcome, with V of its own
        self._scored: tuple[int, Tensor, float] | None = None

    def sums(self, centre: Tensor | None = None) -> Sums:
        """Sum of all rows, or of their squared distances from a centre."""
        total = torch.zeros(self._rows.shape[1], dtype=torch.float64)
        squares = 0.0
        for rows in self._rows.split(2**16):
            if centre is None:
                total += rows.double().sum(dim=0)
            else:
                squares += float((rows.double() - centre).square().sum())
        return Sums(len(self._rows), total, squares)

    def rows(self, indices: list[int]) -> Tensor:
        """Some rows, ``m x r``, by their places in the shard."""
        return self._rows[indices]

    def mean_range(self, question: Question) -> tuple[float, float]:
        """Smallest and largest posterior mean, in the units of the model's ranking."""
        low, high = self._given(question).ranking().mean.aminmax()
        return float(low), float(high)

    def best(self, question: Question, closed: list[int]) -> Best | None:
        """Best score of a row that is not closed; None where all are."""
        scores, resolution = self._scores(question)
        if len(set(closed)) == len(scores):
            return None
        kept = scores[closed]
        scores[closed] = -math.inf
        best = float(scores.max())
        scores[closed] = kept
        return Best(best, resolution)

    def close(self, question: Question, closed: list[int], least: float) -> int:
        """How many rows that are not closed have at least a score."""
        return len(self._at_least(question, closed, least))

    def nth(self, question: Question, closed: list[int], least: float, n: int) -> int:
        """The ``n``-th of these, from 0, by its place in the shard."""
        return int(self._at_least(question, closed, least)[n])

    def ranking(self, question: Question, shared: bool) -> Ranking:
        """What its rows are compared by."""
        return self._given(question).ranking(shared=shared)

    def _at_least(self, question: Question, closed: list[int], least: float) -> Tensor:
        scores, _ = self._scores(question)
        there = scores >= least
        there[closed] = False
        return there.nonzero().squeeze(-1)

    def _scores(self, question: Question) -> tuple[Tensor, float]:
        if self._scored is None or self._scored[0] != question.number:
            assert question.acquisition is not None
            acquisition = question.acquisition(self._given(question))
            if question.mean_range is not None:
                acquisition.mean_range = question.mean_range
            scores, ranking = acquisition.ranked_scores()
            self._scored = (question.number, scores, ranking.resolution)
        return self._scored[1:]

    def _given(self, question: Question) -> DiscretePosterior:
        """The posterior given answers and pending rows."""
        posterior = self._updated(question)
        if len(question.pending):
            posterior = posterior.hallucinate_points(question.pending.to(self._rows))
        return posterior

    def _updated(self, question: Question) -> DiscretePosterior:
        """The posterior given the answers, with what still holds of V."""
        known = self._posteriors.get(question.outcome)
        if known is None:
            known = DiscretePosterior(question.model, self._rows, max_memory=question.max_memory)
            self._posteriors[question.outcome] = known
        else:
            known.max_memory = question.max_memory
            known.update(question.model)
        return known
