"""Curator: releases the table once, then answers indices with measured numbers."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.answers import Answers
from botorch_private.curator.features.range_fit import warn_of_fit, warn_of_joining
from botorch_private.curator.ledger import BudgetError, Ledger
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.curator.mechanisms.outcome import OutcomeMechanism
from botorch_private.curator.named_answers import NamedAnswers
from botorch_private.curator.named_objective import NamedObjective
from botorch_private.curator.noised_answers import NoisedAnswers
from botorch_private.curator.objective import Objective
from botorch_private.curator.publish import (
    Domain,
    Published,
    check_ledger,
    check_parts,
    publish,
    publish_more,
    ranges_of,
)
from botorch_private.curator.repeats import refuse_repeats
from botorch_private.exchange.named_outcomes import outcome_names as checked_names
from botorch_private.exchange.observation import Observation
from botorch_private.exchange.release import Release
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_up


class Curator:
    """The party that holds the records.

    The table is released once, at construction: `release` always is the same object. A row index
    that comes back is answered with the outcome of the record behind it, which is measured at most
    once. Nothing of a record leaves except through the release and the outcomes.

    Args:
        records: ``n x d`` raw records: tensor, array or data frame; ``n >= 2``.
        scaling: Declared ranges of the features; None with a `CellResponse`, which has declared cells.
        mechanism: How rows are released, for example ``NoisyProjection(epsilon=1.0)``.
        objective: Measures a record: a callable from a ``d`` float64 tensor of raw features to a
            finite number, or a vector of ``n`` outcomes that are known already. A pandas Series must
            have the row labels of ``records``, in the same order: rows are taken by position. With
            ``outcome_names`` the callable returns a dict of names to numbers, and known outcomes are a
            dict of names to vectors, or a data frame with these columns.
        outcome_names: Names of the outcomes, where a record has several. They are public. A record is
            measured once for all of them, and counts once. None: a record has one outcome.
        outcome_mechanism: Noise on the answers, drawn once for each record and kept; with
            ``outcome_names`` a dict with one for each, whose costs add up. None: outcomes are answered
            as they are, and no guarantee covers them.
        shared_outcomes: Whether the outcome of a record depends on other records as well: a rank, a
            difference to a mean. Noised answers then add up, so that `max_queries` must be given.
        max_queries: Largest number of different records that will be measured; None: no limit.
        privacy_budget: Largest total on any record, release and answers together, such as
            ``PrivacyGuarantee.budget(epsilon=6.0)``. None: no limit, but no second release either.
        ledger: Where releases of this table are entered, one for each table; it has its own budget.
            None: one of this curator alone.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        ValueError: If an argument is unusable; nothing has been released then.
        MemoryError: If the release would need more memory than there is; nothing has been released then.
        BudgetError: If the release exceeds the privacy budget; nothing has been released then.

    Warns:
        ClippedRecordsWarning: If many records lie outside of a declared range; before the release, as in
            `add` and `rerelease`.
        PrivacyLeakWarning: If ranges seem to come from the table: likewise.

    Example:
        >>> curator = Curator(records, scaling=scaling, mechanism=mechanism, objective=outcomes)
        >>> curator.query(0) == curator.query(0)  # measured once, answered twice
        True
    """

    def __init__(
        self,
        records: Any,
        scaling: Domain | None,
        mechanism: Mechanism,
        objective: Callable[[Tensor], Any] | Any,
        *,
        outcome_names: Sequence[str] | None = None,
        outcome_mechanism: OutcomeMechanism | Mapping[str, OutcomeMechanism] | None = None,
        shared_outcomes: bool = False,
        max_queries: int | None = None,
        privacy_budget: PrivacyGuarantee | None = None,
        ledger: Ledger | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        scaling = check_parts(scaling, mechanism)
        self._process = os.getpid()
        self._handed_over = False
        self._records = scaling.check(records, minimum_rows=2)
        self._scaling, self._mechanism, self._generator = scaling, mechanism, generator
        n, names = len(self._records), ()
        if outcome_names is not None:
            names = checked_names(outcome_names=outcome_names)
            measure = NamedObjective(objective, records, n, names)
        else:
            measure = Objective(objective, records, n)
        if max_queries is not None:
            validate.count(max_queries=max_queries)
        validate.generator(generator=generator)
        validate.flag(shared_outcomes=shared_outcomes)
        if shared_outcomes and outcome_mechanism is None:
            raise ValueError("shared_outcomes must be False without an outcome_mechanism, got True")
        if shared_outcomes and max_queries is None:
            raise ValueError(
                "max_queries must be given with shared_outcomes=True: answers then add up, got None"
            )
        noised = None
        if outcome_mechanism is not None:
            noise = {"answers": max_queries if shared_outcomes else None, "generator": generator}
            if names:
                noised = NamedAnswers(outcome_mechanism, n, names, **noise)
            else:
                noised = NoisedAnswers(outcome_mechanism, n, **noise)
        self._outcome_names = names
        self._ledger = _ledger(privacy_budget, ledger)
        self._answers = Answers(measure, noised, max_queries)
        self._lock = threading.RLock()
        warn_of_fit(self._records, ranges_of(scaling), stacklevel=2)
        self._published = self._publish()
        self._records = self._records.clone()  # the caller may change the table; copied after the peak

    @property
    def release(self) -> Release:
        """The release, made once. Asking for it again costs nothing."""
        return self._published.release

    @property
    def ledger(self) -> Ledger:
        """What was spent on these records, over all releases."""
        return self._ledger

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What everything that leaves promises together: all releases, and noised answers."""
        spent = self._ledger.total
        assert spent is not None
        return spent

    @property
    def permutation(self) -> Tensor:
        """Released row -> record, ``n`` integers. For the curator's eyes only."""
        return self._published.permutation.clone()

    @property
    def records(self) -> Tensor:
        """``n x d`` raw records, in the order in which they joined. For the curator's eyes only."""
        return self._records.clone()

    @property
    def outcomes(self) -> Tensor | None:
        """``n`` known outcomes, or None where they are measured. For the curator's eyes only.

        ``n x m`` where records have several.
        """
        known = self._answers.objective.outcomes
        return None if known is None else known.clone()

    @property
    def last_failure(self) -> BaseException | None:
        """What the objective raised last. For the curator's eyes only: it may name a record's values."""
        return self._answers.objective.last_failure

    @property
    def grid_noise(self) -> Tensor | None:
        """Noise of the ``n`` answers, in steps of their grid, or None. For the curator's eyes only.

        ``n x m`` where records have several outcomes.
        """
        noised = self._answers.noised
        return None if noised is None else torch.from_numpy(noised.grid_noise.copy())

    @property
    def noise_steps(self) -> Tensor | None:
        """Deprecated name of `grid_noise`."""
        warnings.warn("noise_steps is now called grid_noise", DeprecationWarning, stacklevel=2)
        return self.grid_noise

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Names of the outcomes, where records have several."""
        return self._outcome_names

    @property
    def outcome_mechanism(self) -> Any:
        """Noise on the answers: an `OutcomeMechanism`, or a dict with one for each name; None: none."""
        noised = self._answers.noised
        return None if noised is None else noised.mechanism

    @property
    def max_queries(self) -> int | None:
        """Largest number of different records that will be measured; None: no limit."""
        return self._answers.max_queries

    @property
    def answered(self) -> int:
        """How many records were asked for and measured, or found to have no outcome."""
        return self._answers.given

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        return self._answers.left

    def query(self, index: int) -> Observation:
        """Measure the record behind a released row, or recall its answer.

        Args:
            index: Released row in 0..n-1.

        Raises:
            ValueError: If there is no such row.
            MeasurementError: If the objective failed, or returned no finite number. The row may be
                asked for again, except where answers are noised: there it counts as measured, and
                stays without an answer.
            RuntimeError: In a forked copy, or after `hand_over`.
            BudgetError: If the record was never measured and `max_queries` are spent.
        """
        row = validate.index(len(self._records), index=index)
        with self._lock:  # threads must neither measure twice nor exceed the budget together
            self._refuse_copies()
            record = int(self._published.permutation[row])
            return Observation(row, self._answers.of(record, self._records[record], row))

    def add(self, records: Any, outcomes: Any = None, *, repeats: bool = False) -> Release:
        """Let further records join the table, and their rows the release.

        Rows, indices and answers so far stay as they are; a `Modeler` on the new release goes on from
        the history of the old one. The new records are charged for their own rows alone (see `Ledger`).
        To which group of additions a row belongs is public: a record that joins alone is known by that.

        Args:
            records: ``m x d`` raw records of people who are not in the table yet, ``m >= 1``.
            outcomes: ``m`` outcomes, where the objective is a vector; else None.
            repeats: Whether people of the table may be among them. Who is in both pays for two rows,
                with l2 Laplace noise twice the epsilon. So the new rows, and answers about them, are
                then charged to everybody, as a `rerelease` is. False: records that are in the table
                already are refused. Whether some are depends on the data: that is for the curator alone.

        Returns:
            The release of all records, the new ones last.

        Raises:
            ValueError: If the records are unusable or, without ``repeats``, within a step of the grid
                (2^-12 units in each coordinate, after clipping) of one of the table; the mechanism
                cannot add rows; or outcomes may depend on other records. Nothing was released then.
            BudgetError: If the budget does not allow for it; nothing has been released then.

        Warns:
            PrivacyLeakWarning: Without ``repeats``, if one is within 0.001 units of one of the table.
        """
        validate.flag(repeats=repeats)
        table = self._scaling.check(records)
        answers = self._answers
        known = answers.objective.of_joining(outcomes, records, len(table))
        with self._lock:
            self._refuse_copies()
            if not repeats:
                refuse_repeats(table, self._records, ranges_of(self._scaling))
            joined = torch.cat([self._records, table])
            noised = answers.noised
            noise = None if noised is None else noised.draw(len(table))  # may fail: before it is spent
            warn_of_joining(self._records, table, ranges_of(self._scaling), stacklevel=2)
            published = publish_more(
                self._published,
                table,
                repeats=repeats,
                ledger=self._ledger,
                generator=self._generator,
            )
            if noised is not None and noise is not None:
                noised.join(noise)
            answers.objective.join(known)
            self._records, self._published = joined, published
            return self.release

    def rerelease(self) -> Release:
        """Release the same records again, with fresh noise, a fresh projection and a fresh order.

        The releases compose: whoever holds both knows more about every record. So this is refused
        unless the total is within an explicit budget. Row indices then refer to the new release;
        answers so far, and their noise, stay those of their records.

        Raises:
            BudgetError: If there is no budget, or the total would exceed it; nothing is drawn.
        """
        with self._lock:
            self._refuse_copies()
            if self._ledger.budget is None:
                raise BudgetError(
                    f"the same records would be noised again, on top of epsilon "
                    f"{round_up(self.guarantee.epsilon)} at one unit: serve the existing release, "
                    f"which costs nothing, or agree to a total by "
                    f"privacy_budget=PrivacyGuarantee.budget(epsilon, delta)"
                )
            warn_of_fit(self._records, ranges_of(self._scaling), stacklevel=2)
            self._published = self._publish(answers_promised=True)
            return self.release

    def hand_over(self) -> None:
        """Give release, records and noise of the answers to a server: this object answers no more.

        Two that answer with the same noise would tell their difference.
        """
        with self._lock:
            self._refuse_copies()
            self._handed_over = True

    def __repr__(self) -> str:
        limit = "" if self.max_queries is None else f" of {self.max_queries}"
        return f"Curator({self.release!r}, measured={self.answered}{limit})"

    def _publish(self, *, answers_promised: bool = False) -> Published:
        noised = self._answers.noised
        return publish(
            self._records,
            self._scaling,
            self._mechanism,
            outcome_guarantee=None if noised is None else noised.guarantee,
            outcome_names=self._outcome_names,
            answers_promised=answers_promised,
            ledger=self._ledger,
            generator=self._generator,
        )

    def _refuse_copies(self) -> None:
        """Refuse to answer or release in a forked copy, or after a server has taken over."""
        if self._handed_over:
            raise RuntimeError("this curator was handed over to a server, which answers in its place")
        if os.getpid() != self._process:
            raise RuntimeError(
                "a curator answers in the process that made it: a forked copy would count its own "
                "answers and measure again, with the same noise"
            )


def _ledger(budget: PrivacyGuarantee | None, ledger: Ledger | None) -> Ledger:
    if ledger is None:
        return Ledger(budget)
    check_ledger(ledger)
    if budget is not None:
        raise ValueError("privacy_budget must be None beside a ledger: give it to Ledger(budget)")
    return ledger
