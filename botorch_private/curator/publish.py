"""Publish a table: scale, draw the noise once, shuffle the rows. The curator's side only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms.base import SEEDED, Mechanism
from botorch_private.curator.mechanisms.entropy import entropy_from, permutation
from botorch_private.exchange.release import Release
from botorch_private.privacy.cautions import delta_caution
from botorch_private.privacy.guarantee import OUTCOMES_NOISED, OUTCOMES_NOT_COVERED, PrivacyGuarantee
from botorch_private.privacy.warnings import PrivacyLeakWarning

JOINED_LATER = (
    "records joined in groups, of people who were not in the table before; which rows joined together "
    "is public, as is when"
)
JOINED_AGAIN = (
    "records joined in groups, some of them perhaps of people who were in the table before: such a "
    "person appears in several records; which rows joined together is public, as is when"
)
SCALING_FROM_DATA = "the scaling was learned from the records, so that one record moves every row"


@dataclass(frozen=True, eq=False)
class Published:
    """A release together with what only the curator may know.

    Args:
        release: What crosses to the modeler.
        permutation: ``n`` integers: released row -> record.
        row_map: Map from scaled rows to released rows; None where it is not one map for all rows.
        more: Releases further scaled records beside these; None where the mechanism cannot.
        scaling: Maps raw records to scaled ones.
    """

    release: Release
    permutation: Tensor
    row_map: Callable[[Tensor], Tensor] | None
    more: Callable[[Tensor], Tensor] | None
    scaling: PublicScaling

    @property
    def rows_of_records(self) -> Tensor:
        """``n`` integers: record -> released row."""
        inverse = torch.empty_like(self.permutation)
        inverse[self.permutation] = torch.arange(len(self.permutation))
        return inverse

    def __repr__(self) -> str:
        return f"Published({self.release!r})"


def planned_guarantee(
    n: int,
    scaling: PublicScaling,
    mechanism: Mechanism,
    *,
    seeded: bool = False,
    noised_outcomes: bool = False,
) -> PrivacyGuarantee:
    """What releasing ``n`` records would promise; from public parameters alone.

    The mechanism's own guarantee, with one unit of distance in raw units, and voided where the
    scaling was learned from data or the noise is reproducible.

    Args:
        n: Number of records.
        scaling: Declared ranges of the features.
        mechanism: How rows are released.
        seeded: Whether the noise comes from a generator.
        noised_outcomes: Whether outcomes will be answered through an `OutcomeMechanism`.
    """
    own = mechanism.guarantee(n, scaling.features)
    if noised_outcomes:
        swapped = {OUTCOMES_NOT_COVERED: OUTCOMES_NOISED}
        own = replace(own, assumptions=tuple(swapped.get(each, each) for each in own.assumptions))
    return _in_raw_units(own, scaling, seeded=seeded)


def _in_raw_units(
    guarantee: PrivacyGuarantee, scaling: PublicScaling, *, seeded: bool
) -> PrivacyGuarantee:
    """A guarantee of a mechanism, and each of its parts, with what the scaling and the seed bear on."""
    guarantee = replace(
        guarantee,
        unit=tuple(scaling.unit.tolist()),
        names=scaling.names,
        steps=scaling.steps,
        radius=scaling.radius,
        seeded=seeded,
        parts=tuple(_in_raw_units(part, scaling, seeded=seeded) for part in guarantee.parts),
    )
    if not scaling.public:
        # The unit itself was computed from the table, so it must not travel with the guarantee.
        guarantee = replace(guarantee, unit=None).voided(SCALING_FROM_DATA)
    return guarantee.voided(SEEDED) if seeded else guarantee


def publish(
    records: Any,
    scaling: PublicScaling,
    mechanism: Mechanism,
    *,
    outcome_guarantee: PrivacyGuarantee | None = None,
    answers_promised: bool = False,
    ledger: Ledger | None = None,
    generator: torch.Generator | None = None,
) -> Published:
    """Draw a release of a table. Each call draws fresh noise, which adds to what is spent.

    Args:
        records: ``n x d`` raw records, ``n >= 2``.
        scaling: Declared ranges of the features.
        mechanism: How rows are released.
        outcome_guarantee: What is promised about the answers to come, to be stated in the release.
            None: outcomes will be answered as they are.
        answers_promised: Whether an earlier release promised the same answers, with noise that is kept.
        ledger: Where to enter the release and the promised answers, before anything is drawn.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        ValueError: If a record has a missing value or the wrong width, or the settings contradict
            each other; nothing is drawn then.
        BudgetError: If the ledger's budget does not allow for it; nothing is drawn then.
    """
    check_parts(scaling, mechanism)
    entropy = entropy_from(generator)
    table = scaling.check(records)
    n, d = table.shape
    if n < 2:
        raise ValueError(f"records must have at least 2 rows, got {n}")
    guarantee = planned_guarantee(
        n, scaling, mechanism, seeded=entropy.seeded, noised_outcomes=outcome_guarantee is not None
    )
    _warn_of_delta(n, guarantee, outcome_guarantee, None if ledger is None else ledger.budget)
    if ledger is not None:
        new = () if outcome_guarantee is None or answers_promised else (outcome_guarantee,)
        ledger.spend(guarantee, *new, start=0, stop=n)
    # Shuffled before anything else: matrix products round a row in ways that depend on its place.
    order = torch.from_numpy(np.ascontiguousarray(permutation(entropy, n)))
    drawn = mechanism.draw(scaling.scale_rows(table, order), generator=generator)
    release = Release(
        candidates=drawn.rows,
        guarantee=guarantee,
        noise_variance=mechanism.noise_variance(d),
        noise_dim=mechanism.noise_dim(d),
        isotropic=mechanism.isotropic,
        outcome_guarantee=outcome_guarantee,
    )
    return Published(release, order, drawn.row_map, drawn.more, scaling)


def publish_more(
    published: Published,
    records: Any,
    *,
    repeats: bool = False,
    ledger: Ledger | None = None,
    generator: torch.Generator | None = None,
) -> Published:
    """Draw rows of further records, and append them to a release in a random order among themselves.

    A row has noise of its own, so what was released says nothing of the new records, and what is
    released now nothing more of the old ones: each is charged for its own row.

    Args:
        published: What was published of the first ``n`` records.
        records: ``m x d`` raw records, ``m >= 1``, scaled as the first ones are.
        repeats: Whether they may be of people who are in the table: then everybody is charged for them.
        ledger: Where to enter the new rows, and the answers that the release promises, before anything
            is drawn.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        ValueError: If a record is unusable, the mechanism cannot add rows, or outcomes may depend on
            other records; nothing is drawn then.
        BudgetError: If the ledger's budget does not allow for it; nothing is drawn then.
    """
    entropy = entropy_from(generator)
    old, scaling = published.release, published.scaling
    table = scaling.check(records)
    if old.outcome_guarantee is not None and old.outcome_guarantee.parts:
        raise ValueError(
            "records can only be added where outcomes are a matter of their own record, but here they "
            "may depend on others (shared_outcomes=True): a new record would change earlier answers"
        )
    if published.more is None:
        raise ValueError(
            f"rows cannot be added to a release of {old.guarantee.mechanism} here: its cost is known "
            f"only for records that were there when the projection was drawn, or its rows depend on "
            f"each other. Use projection_dim=None, projection_dim >= d, or noise='laplace'"
        )
    n, m = len(old.candidates), len(table)
    guarantee = replace(old.guarantee, records=n + m)
    if entropy.seeded and not guarantee.seeded:  # the order of the new rows, at least, is reproducible
        guarantee = replace(guarantee, seeded=True).voided(SEEDED)
    again = repeats or JOINED_AGAIN in guarantee.assumptions
    said = [each for each in guarantee.assumptions if each not in (JOINED_LATER, JOINED_AGAIN)]
    guarantee = replace(guarantee, assumptions=(*said, JOINED_AGAIN if again else JOINED_LATER))
    _warn_of_delta(n + m, guarantee, old.outcome_guarantee, stacklevel=4)
    if ledger is not None:
        answers = () if old.outcome_guarantee is None else (old.outcome_guarantee,)
        ledger.spend(guarantee, *answers, start=n, stop=n + m, everybody=repeats)
    order = torch.from_numpy(np.ascontiguousarray(permutation(entropy, m)))
    rows = published.more(scaling.scale_rows(table, order))
    release = replace(old, candidates=torch.cat([old.candidates, rows]), guarantee=guarantee)
    return replace(published, release=release, permutation=torch.cat([published.permutation, n + order]))


def _warn_of_delta(n: int, *guarantees: PrivacyGuarantee | None, stacklevel: int = 5) -> None:
    """Warn the curator of a delta that is not far below 1 / n, before anything is spent."""
    deltas = [each.delta for each in guarantees if each is not None and each.holds]
    caution = delta_caution(max(deltas, default=0.0), n)
    if caution is not None:
        warnings.warn(caution, PrivacyLeakWarning, stacklevel=stacklevel)  # whoever has the curator


def check_parts(scaling: PublicScaling, mechanism: Mechanism) -> None:
    """Refuse what is not a scaling or not a mechanism, such as swapped arguments."""
    if not isinstance(scaling, PublicScaling):
        raise TypeError(f"scaling must be a PublicScaling, got {_type(scaling)}")
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise TypeError(
            f"mechanism must be a mechanism such as NoisyProjection(epsilon=1.0), got {_type(mechanism)}"
        )


def _type(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
