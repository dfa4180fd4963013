"""repeats_audit: ask the same question again, and look for another answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.exchange.release import Release


@dataclass(frozen=True)
class RepeatsResult:
    """What asking again gave.

    Attributes:
        problems: The questions with more than one answer, in sentences; empty if there are none.
        questions: How many there were.
        times: How often each was asked.
    """

    problems: tuple[str, ...]
    questions: int
    times: int

    def __str__(self) -> str:
        if not self.problems:
            return f"{self.questions} questions got one answer each, asked {self.times} times"
        return (
            f"{len(self.problems)} of {self.questions} questions got other answers when asked again: "
            f"noise that is drawn again can be averaged away, and each draw adds to what is spent"
        )


@on_cpu_by_default
def repeats_audit(
    ask: Callable[[Any], Any], questions: Iterable[Any], *, times: int = 3
) -> RepeatsResult:
    """Ask each question several times, and compare the answers to the last bit.

    A guarantee of ``epsilon`` for a release is one for noise that is drawn once and kept. Drawn anew
    for each question, ``times`` answers cost ``times`` epsilon, and their mean has little noise left.

    Args:
        ask: Returns an answer: ``curator.query`` of a row index, a transform of ``1 x d`` records, or
            ``lambda _: curator.release``. Releases are compared by their `identity`, tensors and arrays
            by their values, anything else by ``==``.
        questions: What to ask, at least one; all are asked before one is asked again.
        times: How often each is asked, >= 2.

    Raises:
        ValueError: If there is no question, or `times` is below 2.

    Example:
        >>> audit.repeats_audit(curator.query, [0, 1, 2]).problems
        ()
    """
    validate.count(minimum=2, times=times)
    asked = list(questions)
    if not asked:
        raise ValueError("questions must hold at least 1 question, got 0")
    # Kept as copies: an answer that is redrawn in place would always equal itself.
    first = [_copy(ask(question)) for question in asked]
    changed = [0] * len(asked)
    for _ in range(times - 1):
        for i, question in enumerate(asked):
            changed[i] += not _same(first[i], _copy(ask(question)))
    problems = [
        f"question {i} got another answer {count} of {times - 1} times that it was asked again"
        for i, count in enumerate(changed)
        if count
    ]
    return RepeatsResult(tuple(problems), len(asked), int(times))


def _copy(answer: Any) -> Any:
    if isinstance(answer, Release):
        return answer.identity
    if isinstance(answer, Tensor):
        return answer.detach().clone()
    return answer.copy() if isinstance(answer, np.ndarray) else answer


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
