"""Curator: releases the table once, then answers indices with measured numbers."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private import _validate
from botorch_private.curator.publish import Published, check_parts, publish
from botorch_private.guarantee import PrivacyGuarantee
from botorch_private.spending import total as _total
from botorch_private.mechanisms.base import Mechanism
from botorch_private.observation import Observation
from botorch_private.release import Release
from botorch_private.rounding import round_up
from botorch_private.scaling import PublicScaling


class BudgetError(RuntimeError):
    """What was asked for exceeds what the curator has agreed to spend."""


class Curator:
    """The party that holds the records.

    The table is released once, at construction: `release` always is the same object. A row index
    that comes back is answered with the outcome of the record behind it, which is measured at most
    once. Nothing of a record leaves except through the release and the outcomes.

    Args:
        records: ``n x d`` raw records: tensor, array or data frame; ``n >= 2``.
        scaling: Declared ranges of the features.
        mechanism: How rows are released, for example ``NoisyProjection(epsilon=1.0)``.
        objective: Measures a record: a callable from a ``d`` float64 tensor of raw features to a
            finite number, or a vector of ``n`` outcomes that are known already.
        max_queries: Largest number of different records that will be measured; None: no limit.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        ValueError: If an argument is unusable; nothing has been released then.

    Example:
        >>> curator = Curator(records, scaling=scaling, mechanism=mechanism, objective=outcomes)
        >>> curator.query(0) == curator.query(0)  # measured once, answered twice
        True
    """

    def __init__(
        self,
        records: Any,
        scaling: PublicScaling,
        mechanism: Mechanism,
        objective: Callable[[Tensor], Any] | Any,
        *,
        max_queries: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        check_parts(scaling, mechanism)
        self._records = scaling.check(records, minimum_rows=2)
        self._scaling, self._mechanism, self._generator = scaling, mechanism, generator
        self._objective = self._measurement(objective)
        if max_queries is not None:
            _validate.count(max_queries=max_queries)
        self.max_queries = max_queries
        self._measured: dict[int, float] = {}
        self._lock = threading.RLock()
        self._published = [self._publish()]
        self._records = self._records.clone()  # the caller may change the table; copied after the peak

    @property
    def release(self) -> Release:
        """The release, made once."""
        return self._published[-1].release

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What all releases of these records promise together."""
        return _total([published.release.guarantee for published in self._published])

    @property
    def permutation(self) -> Tensor:
        """Released row -> record, ``n`` integers. For the curator's eyes only."""
        return self._published[-1].permutation

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        return None if self.max_queries is None else self.max_queries - len(self._measured)

    def query(self, index: int) -> Observation:
        """Measure the record behind a released row, or recall its outcome.

        Args:
            index: Released row in 0..n-1.

        Raises:
            ValueError: If there is no such row, or the objective returned no finite number.
            BudgetError: If the record was never measured and `max_queries` are spent.
        """
        row = _validate.index(len(self._records), index=index)
        with self._lock:  # threads must neither measure twice nor exceed the budget together
            record = int(self.permutation[row])
            if record not in self._measured:
                if self.queries_left == 0:
                    raise BudgetError(
                        f"all max_queries={self.max_queries} measurements are spent; rows that were "
                        f"measured before are still answered"
                    )
                self._measured[record] = self._finite(self._objective(record), row)
            return Observation(row, self._measured[record])

    def rerelease(self, *, epsilon_budget: float | None = None) -> Release:
        """Release the same records again, with fresh noise, a fresh projection and a fresh order.

        The releases compose: whoever holds both knows more about every record. So this is refused
        unless the total is within an explicit budget. Row indices then refer to the new release.

        Args:
            epsilon_budget: Largest total epsilon at one unit of distance, over all releases, at the
                delta of one of them.

        Raises:
            BudgetError: If no budget is given, or the total would exceed it; nothing is drawn.
        """
        with self._lock:
            held = [published.release.guarantee for published in self._published]
            total = _total([*held, held[-1]])
            if epsilon_budget is None:
                raise BudgetError(
                    f"the same records would be noised again, and epsilon at one unit would rise from "
                    f"{round_up(_total(held).epsilon)} to {round_up(total.epsilon)} (at delta "
                    f"{round_up(total.delta, 2)}): serve the existing release, or agree to it with "
                    f"epsilon_budget="
                )
            _validate.positive(epsilon_budget=epsilon_budget)
            if total.epsilon > epsilon_budget:
                raise BudgetError(
                    f"epsilon_budget={epsilon_budget:g} is too small: epsilon at one unit would rise "
                    f"to {round_up(total.epsilon)} (at delta {round_up(total.delta, 2)})"
                )
            self._published.append(self._publish())
            return self.release

    def __repr__(self) -> str:
        limit = "" if self.max_queries is None else f" of {self.max_queries}"
        return f"Curator({self.release!r}, measured={len(self._measured)}{limit})"

    def _publish(self) -> Published:
        return publish(self._records, self._scaling, self._mechanism, generator=self._generator)

    def _measurement(self, objective: Callable[[Tensor], Any] | Any) -> Callable[[int], Any]:
        if callable(objective):
            return lambda record: objective(self._records[record].clone())
        outcomes = _validate.vector(objective=objective, length=len(self._records))
        return lambda record: float(outcomes[record])

    @staticmethod
    def _finite(value: Any, row: int) -> float:
        try:
            single = value.item() if isinstance(value, (Tensor, np.ndarray)) else value
            if isinstance(single, (str, bytes)):
                raise TypeError("text is no number")
            number = float(single)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise ValueError(
                f"objective must return one number, got {type(value).__name__} for released row {row}"
            ) from error
        if not math.isfinite(number):
            raise ValueError(
                f"objective must return a finite number, got {number} for released row {row}"
            )
        return number
