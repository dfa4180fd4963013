"""Objective: how a record is measured, and what is said when that fails."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import OUTCOME_REMEDY, require_labels
from botorch_private.exchange.observation import NoValueError

_GIVE_UP = "; a search goes on without it by run(..., failures='skip') or modeler.skip"
_Result = TypeVar("_Result")


class MeasurementError(NoValueError):
    """The objective failed on a record; its own error stays with the curator.

    A modeler gives the row up by ``modeler.skip(error.row)``, or ``run(..., failures="skip")``.
    """


class _NoNumber(MeasurementError, ValueError):
    """The objective returned something else; a ValueError as well, as it always was."""


class Objective:
    """Outcomes that are known already, or a callable that measures them.

    Args:
        objective: A callable from a ``d`` float64 tensor of raw features to a finite number, or a vector
            of ``n`` outcomes.
        records: The table that they belong to: a Series must have its row labels, in their order.
        n: Number of records.

    Attributes:
        last_failure: What the callable raised last, for the curator's eyes only.
    """

    def __init__(self, objective: Callable[[Tensor], Any] | Any, records: Any, n: int) -> None:
        self._measure: Callable[[Tensor], Any] | None = objective if callable(objective) else None
        self.outcomes: Tensor | None = None
        if self._measure is not None:
            refuse_uncallable(self._measure)
        else:
            self.outcomes = self._known(records, n, objective=objective)
        self.last_failure: BaseException | None = None

    def of_joining(self, outcomes: Any, records: Any, count: int) -> Tensor | None:
        """Check the outcomes of records that join; `join` takes them over.

        Raises:
            ValueError: If they are needed and missing or unusable, or given beside a callable.
        """
        if self._measure is not None:
            if outcomes is not None:
                raise ValueError("outcomes must be None, since the objective is a callable")
            return None
        if outcomes is None:
            raise ValueError("outcomes must be given for new records, since the objective is a vector")
        return self._known(records, count, outcomes=outcomes)

    def join(self, outcomes: Tensor | None) -> None:
        """Take over what `of_joining` checked."""
        if outcomes is not None:
            assert self.outcomes is not None
            self.outcomes = torch.cat([self.outcomes, outcomes])

    def quietly(self, record: int, features: Tensor, row: int) -> Any:
        """Measure a record whose answer will be noised: its failure, too, says nothing but that.

        An infinite outcome is one that will be clipped.

        Raises:
            MeasurementError: If the callable raises, or returns no number; with one message for all.
        """
        outcome = self._attempted(lambda: self._read(self._called(record, features)))
        if outcome is None or any(map(math.isnan, _numbers(outcome))):
            raise unmeasurable(row)
        return outcome

    def __call__(self, record: int, features: Tensor, row: int) -> Any:
        """Measure a record.

        Args:
            record: Its place in the table.
            features: Its raw features.
            row: Its released row, for messages: they name nothing else of it.

        Raises:
            MeasurementError: If the callable raises, or returns no finite number (a ValueError as well).
        """
        result = self._attempted(lambda: (self._called(record, features),))
        if result is None:
            raise MeasurementError(
                f"measuring released row {row} failed; what went wrong is in the curator's "
                f"last_failure, since it may name values of the record{_GIVE_UP}",
                row,
            )
        outcome = self._attempted(lambda: self._read(result[0]))
        if outcome is None:
            raise _NoNumber(f"objective must return {self._wanted}, got something else {_for(row)}", row)
        if not all(map(math.isfinite, _numbers(outcome))):
            raise _NoNumber(
                f"objective must return a finite number{self._each}, got something else {_for(row)}", row
            )
        return outcome

    def _called(self, record: int, features: Tensor) -> Any:
        if self._measure is None:
            assert self.outcomes is not None
            return self._recalled(self.outcomes[record])
        return self._measure(features.clone())

    _wanted, _each = "one number", ""

    def _known(self, records: Any, count: int, **outcomes: Any) -> Tensor:
        """Check a vector of outcomes that are known already."""
        ((argument, given),) = outcomes.items()
        require_labels(argument, given, records, "records")
        return validate.vector(**outcomes, length=count, remedy=OUTCOME_REMEDY)

    def _recalled(self, outcome: Tensor) -> Any:
        """What the callable would return, of a known outcome."""
        return float(outcome)

    def _read(self, returned: Any) -> Any:
        """The number that the callable returned, or whatever error there is."""
        return number_of(returned)

    def _attempted(self, step: Callable[[], _Result]) -> _Result | None:
        """Run code of the objective: its result, or None if it raises whatever there is.

        What is raised goes to `last_failure` and nowhere else, and no error is chained to it: its text,
        and even its type, may depend on the record. Ctrl-C and an exit stop the program all the same,
        but as errors of our own, which say nothing of what the objective gave them to say.

        Raises:
            KeyboardInterrupt: If it was interrupted.
            SystemExit: If it asked the program to end; with status 1, whatever it wanted.
        """
        stop: BaseException | None = None
        try:
            return step()
        except BaseException as error:
            self.last_failure = error
            if isinstance(error, KeyboardInterrupt):
                stop = KeyboardInterrupt()
            elif isinstance(error, SystemExit):
                stop = SystemExit(1)
        if stop is not None:  # outside of the handler, where the other error would be its context
            raise stop
        return None


def unmeasurable(row: int) -> MeasurementError:
    """The one error about a row whose answer is noised and will never be there."""
    return MeasurementError(f"released row {row} cannot be measured", row)


def number_of(value: Any) -> float:
    """The one number that an objective returned, or whatever error there is."""
    single = value.item() if isinstance(value, (Tensor, np.ndarray)) else value
    if isinstance(single, (str, bytes)):
        raise TypeError("text is no number")
    return float(single)


def _numbers(outcome: Any) -> list[float]:
    return list(outcome.values()) if isinstance(outcome, dict) else [outcome]


def refuse_uncallable(measure: Callable[..., Any]) -> None:
    """Refuse a callable that cannot be called with a record's features, as far as its signature says.

    Raises:
        ValueError: If so. It is not called, and nothing of it is repeated.
    """
    if inspect.iscoroutinefunction(measure):
        raise ValueError("objective must return a number, got an async function, which returns none")
    try:
        signature = inspect.signature(measure)
    except (TypeError, ValueError):  # some that are built in have none
        return
    try:
        signature.bind(None)
    except TypeError:
        raise ValueError(
            "objective must be callable with one argument, the d features of a record, got a callable "
            "that takes no argument, or needs more"
        ) from None


def _for(row: int) -> str:
    return (
        f"for released row {row}: what it is depends on the record, call it on that record yourself"
        f"{_GIVE_UP}"
    )
