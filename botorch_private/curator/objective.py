"""Objective: how a record is measured, and what is said when that fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import require_labels
from botorch_private.exchange.observation import NoValueError

_GIVE_UP = "; a search goes on without it by run(..., failures='skip') or modeler.skip"


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
        if self._measure is None:
            require_labels("objective", objective, records, "records")
            self.outcomes = validate.vector(objective=objective, length=n)
        self.last_failure: Exception | None = None

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
        require_labels("outcomes", outcomes, records, "records")
        return validate.vector(outcomes=outcomes, length=count)

    def join(self, outcomes: Tensor | None) -> None:
        """Take over what `of_joining` checked."""
        if outcomes is not None:
            assert self.outcomes is not None
            self.outcomes = torch.cat([self.outcomes, outcomes])

    def quietly(self, record: int, features: Tensor, row: int) -> float:
        """Measure a record whose answer will be noised: its failure, too, says nothing but that.

        An infinite outcome is one that will be clipped.

        Raises:
            MeasurementError: If the callable raises, or returns no number; with one message for all.
        """
        outcome = None
        try:
            outcome = self._called(record, features)
            outcome = None if math.isnan(outcome) else outcome
        except Exception as error:
            self.last_failure = error
        if outcome is None:
            raise unmeasurable(row)
        return outcome

    def _called(self, record: int, features: Tensor) -> float:
        if self._measure is None:
            assert self.outcomes is not None
            return float(self.outcomes[record])
        return number_of(self._measure(features.clone()))

    def __call__(self, record: int, features: Tensor, row: int) -> float:
        """Measure a record.

        Args:
            record: Its place in the table.
            features: Its raw features.
            row: Its released row, for messages: they name nothing else of it.

        Raises:
            MeasurementError: If the callable raises.
            MeasurementError: If it returns no finite number; a ValueError as well.
        """
        if self._measure is None:
            assert self.outcomes is not None
            return float(self.outcomes[record])
        failure, value = None, None
        try:
            value = self._measure(features.clone())
        except Exception as error:
            failure = error
        # Raised outside of the handler: an error that is chained to it would carry its text along.
        if failure is not None:
            self.last_failure = failure
            raise MeasurementError(
                f"measuring released row {row} failed ({type(failure).__name__}); what went wrong is in "
                f"the curator's last_failure, since it may name values of the record{_GIVE_UP}",
                row,
            )
        return _finite(value, row)


def unmeasurable(row: int) -> MeasurementError:
    """The one error about a row whose answer is noised and will never be there."""
    return MeasurementError(f"released row {row} cannot be measured", row)


def number_of(value: Any) -> float:
    """The one number that an objective returned, or whatever error there is."""
    single = value.item() if isinstance(value, (Tensor, np.ndarray)) else value
    if isinstance(single, (str, bytes)):
        raise TypeError("text is no number")
    return float(single)


def _finite(value: Any, row: int) -> float:
    """The one number that an objective returned; errors say nothing of what it returned instead."""
    number = None
    try:
        number = number_of(value)
    except Exception:  # refused below, without what it says
        number = None
    if number is None:
        raise _NoNumber(
            f"objective must return one number, got {type(value).__name__} for released row {row}"
            f"{_GIVE_UP}",
            row,
        )
    if not math.isfinite(number):
        raise _NoNumber(
            f"objective must return a finite number, got {number} for released row {row}{_GIVE_UP}", row
        )
    return number
