"""Answers: what the modeler is told of each record, measured at most once and then recalled."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from botorch_private.curator.ledger import BudgetError
from botorch_private.curator.named_answers import NamedAnswers
from botorch_private.curator.noised_answers import NoisedAnswers
from botorch_private.curator.objective import Objective, unmeasurable


class Answers:
    """Answers about records, kept for as long as the table is.

    Where answers are noised, each record that was tried counts, whether it got an answer, failed or was
    interrupted: nothing else that depends on it is told. Where they are not, no promise is made about
    outcomes, and an attempt without an answer costs nothing.

    Args:
        objective: Measures a record.
        noised: Noise on the answers; None: outcomes are answered as they are.
        max_queries: Largest number of different records that are measured; None: no limit.
    """

    def __init__(
        self,
        objective: Objective,
        noised: NoisedAnswers | NamedAnswers | None,
        max_queries: int | None,
    ) -> None:
        self.objective, self.noised, self.max_queries = objective, noised, max_queries
        self._values: dict[int, Any] = {}  # as the modeler gets them
        self._unmeasured: set[int] = set()  # asked for, and known to have no outcome

    @property
    def given(self) -> int:
        """How many records were measured, or found to have no outcome."""
        return len(self._values) + len(self._unmeasured)

    @property
    def left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        return None if self.max_queries is None else self.max_queries - self.given

    def of(self, record: int, features: Tensor, row: int) -> Any:
        """The answer about a record: a number, or a dict of those of several outcomes.

        Args:
            record: Its place in the table.
            features: Its raw features.
            row: Its released row, for messages: they name nothing else of it.

        Raises:
            MeasurementError: If the objective failed, or returned no finite number (a ValueError as
                well then); for good where answers are noised.
            KeyboardInterrupt: If it was interrupted, which counts as a failure.
            BudgetError: If the record was never measured and `max_queries` are spent.
        """
        if record in self._unmeasured:
            raise unmeasurable(row)
        if record not in self._values:
            if self.left is not None and self.left <= 0:
                raise BudgetError(
                    f"all max_queries={self.max_queries} measurements are spent; rows that were "
                    f"measured before are still answered"
                )
            self._values[record] = self._measured(record, features, row)
        value = self._values[record]
        return dict(value) if isinstance(value, dict) else value

    def _measured(self, record: int, features: Tensor, row: int) -> Any:
        if self.noised is None:
            return self.objective(record, features, row)
        # It counts as soon as it is tried, and stays without an answer unless it gets one: however an
        # objective ends, by Ctrl-C too, its end may depend on the record, and is no free question.
        self._unmeasured.add(record)
        outcome = self.objective.quietly(record, features, row)
        self._unmeasured.discard(record)
        return self.noised.of(record, outcome)
