"""Publish a table: scale, draw the noise once, shuffle the rows. The curator's side only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.cells.cell_response import CellResponse
from botorch_private.curator.cells.cells import CELL_NUMBER, Cells
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms.base import SEEDED, Mechanism, refuse_draw, require_draw_memory
from botorch_private.curator.mechanisms.entropy import entropy_from, permutation
from botorch_private.exchange.release import Release
from botorch_private.privacy.cautions import delta_caution
from botorch_private.privacy.guarantee import (
    JOINED_AGAIN,
    JOINED_LATER,
    OUTCOMES_NOISED,
    OUTCOMES_NOT_COVERED,
    PrivacyGuarantee,
)
from botorch_private.privacy.warnings import NotDifferentiallyPrivate, PrivacyLeakWarning

_CHARGED = (
    "; the release was entered in the ledger before, and stays charged, though it was not made: no "
    "entry is ever taken back, since only so is what was spent known for sure"
)
_CHUNK = 2**24  # bytes: noise is drawn in chunks of rows
Domain = PublicScaling | Cells
"""What is declared of records: ranges that scale them, or cells that number them."""
SCALING_FROM_DATA = "the scaling was learned from the records, so that one record moves every row"


@dataclass(frozen=True, eq=False)
class Published:
    """A release together with what only the curator may know.

    Args:
        release: What crosses to the modeler.
        permutation: ``n`` integers: released row -> record.
        row_map: Map from scaled rows to released rows; None where it is not one map for all rows.
        more: Releases further scaled records beside these; None where the mechanism cannot.
        scaling: Maps raw records to scaled ones, or to cells.
    """

    release: Release
    permutation: Tensor
    row_map: Callable[[Tensor], Tensor] | None
    more: Callable[[Tensor], Tensor] | None
    scaling: Domain

    @property
    def rows_of_records(self) -> Tensor:
        """``n`` integers: record -> released row."""
        inverse = torch.empty_like(self.permutation)
        # A default device of the host's does not matter: order and rows are on the CPU.
        inverse[self.permutation] = torch.arange(len(self.permutation), device="cpu")
        return inverse

    def __repr__(self) -> str:
        return f"Published({self.release!r})"


def planned_guarantee(
    n: int,
    scaling: Domain | None,
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
    if n < 2:
        raise ValueError(
            f"records must have at least 2 rows, got {n}: of one there is nothing to choose"
        )
    domain = check_parts(scaling, mechanism)
    own = mechanism.guarantee(n, domain.features)
    if noised_outcomes:
        swapped = {OUTCOMES_NOT_COVERED: OUTCOMES_NOISED}
        own = replace(own, assumptions=tuple(swapped.get(each, each) for each in own.assumptions))
    if isinstance(domain, Cells):
        return replace(own, seeded=True).voided(SEEDED) if seeded else own
    return _in_raw_units(own, domain, seeded=seeded)


def _in_raw_units(
    guarantee: PrivacyGuarantee, scaling: PublicScaling, *, seeded: bool
) -> PrivacyGuarantee:
    """A guarantee of a mechanism, and each of its parts, with what the scaling and the seed bear on."""
    of_history = () if scaling.history is None else (scaling.history.sentence,)
    guarantee = replace(
        guarantee,
        unit=tuple(scaling.unit.tolist()),
        names=scaling.names,
        steps=scaling.steps,
        log_columns=scaling.log_columns,
        radius=scaling.radius,
        assumptions=(*guarantee.assumptions, *of_history),
        seeded=seeded,
        parts=tuple(_in_raw_units(part, scaling, seeded=seeded) for part in guarantee.parts),
    )
    if not scaling.public:
        # The unit itself was computed from the table, so it must not travel with the guarantee.
        guarantee = replace(guarantee, unit=None).voided(SCALING_FROM_DATA)
    return guarantee.voided(SEEDED) if seeded else guarantee


def publish(
    records: Any,
    scaling: Domain | None,
    mechanism: Mechanism,
    *,
    outcome_guarantee: PrivacyGuarantee | None = None,
    outcome_names: tuple[str, ...] = (),
    answers_promised: bool = False,
    ledger: Ledger | None = None,
    generator: torch.Generator | None = None,
) -> Published:
    """Draw a release of a table. Each call draws fresh noise, which adds to what is spent.

    Args:
        records: ``n x d`` raw records, ``n >= 2``.
        scaling: Declared ranges of the features; None for a mechanism with cells of its own.
        mechanism: How rows are released.
        outcome_guarantee: What is promised about the answers to come, to be stated in the release.
            None: outcomes will be answered as they are.
        outcome_names: Names of the outcomes, where a record has several.
        answers_promised: Whether an earlier release promised the same answers, with noise that is kept.
        ledger: Where to enter the release and the promised answers, before anything is drawn.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        ValueError: If a record has a missing value or the wrong width, or the settings contradict
            each other; nothing is drawn then.
        MemoryError: If the release would need more memory than there is; nothing is drawn then.
        BudgetError: If the ledger's budget does not allow for it; nothing is drawn then.
    """
    # Nothing is spent for a call that could have been refused before: whatever can fail for another
    # reason than the draw itself comes before `spend`, and what must come after it says so.
    domain = check_parts(scaling, mechanism)
    check_ledger(ledger)
    entropy = entropy_from(generator)
    table = domain.check(records)
    n, d = table.shape
    guarantee = planned_guarantee(
        n, domain, mechanism, seeded=entropy.seeded, noised_outcomes=outcome_guarantee is not None
    )
    guarantee.to_json()  # what a file or a digest cannot hold
    noise = noise_of(mechanism, d)
    require_memory_to_publish(n, d, mechanism)
    warn = getattr(mechanism, "warn", None)
    if warn is not None:
        warn(n, d, stacklevel=5)
    warn_of_delta(n, guarantee, outcome_guarantee, None if ledger is None else ledger.budget)
    inputs = _inputs(domain, table)
    if ledger is not None:
        new = () if outcome_guarantee is None or answers_promised else (outcome_guarantee,)
        ledger.spend(guarantee, *new, start=0, stop=n)
    with charged(ledger), _warned(already=warn is not None):
        # Shuffled before anything else: matrix products round a row in ways that depend on its place.
        order = torch.from_numpy(np.ascontiguousarray(permutation(entropy, n)))
        drawn = mechanism.draw(inputs(order), generator=generator)
        if len(drawn.rows) != n:
            raise ValueError(
                f"mechanism must return {n} rows, one for each record, got {len(drawn.rows)}"
            )
        if isinstance(domain, Cells):
            release = Release.of_labels(
                drawn.rows[:, 0],
                domain.space,
                guarantee,
                outcome_guarantee=outcome_guarantee,
                outcome_names=outcome_names,
            )
        else:
            release = Release(
                candidates=drawn.rows,
                guarantee=guarantee,
                outcome_guarantee=outcome_guarantee,
                outcome_names=outcome_names,
                **noise,
            )
        return Published(release, order, drawn.row_map, drawn.more, domain)


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
        MemoryError: If the new rows would need more memory than there is; nothing is drawn then.
        BudgetError: If the ledger's budget does not allow for it; nothing is drawn then.
    """
    check_ledger(ledger)
    entropy = entropy_from(generator)
    old, scaling = published.release, published.scaling
    table = scaling.check(records)
    require_own_outcomes(old)
    if published.more is None:
        raise ValueError(
            f"rows cannot be added to a release of {old.guarantee.mechanism} here: its cost is known "
            f"only for records that were there when the projection was drawn, or its rows depend on "
            f"each other. Use projection_dim=None, projection_dim >= d, or noise='laplace'"
        )
    (n, r), (m, d) = old.candidates.shape, table.shape
    refuse_draw(8 * ((n + 2 * m) * r + 2 * m * d + 2 * (n + m)) + _CHUNK, m, d)
    guarantee = guarantee_of_more(old, m, repeats=repeats, seeded=entropy.seeded)
    warn_of_delta(n + m, guarantee, old.outcome_guarantee, stacklevel=4)
    inputs = _inputs(scaling, table)
    if ledger is not None:
        answers = () if old.outcome_guarantee is None else (old.outcome_guarantee,)
        ledger.spend(guarantee, *answers, start=n, stop=n + m, everybody=repeats)
    with charged(ledger):
        order = torch.from_numpy(np.ascontiguousarray(permutation(entropy, m)))
        rows = published.more(inputs(order))
        if isinstance(scaling, Cells):
            release = Release.of_labels(
                torch.cat([old.candidates[:, 0].to(CELL_NUMBER), rows[:, 0]]),
                scaling.space,
                guarantee,
                outcome_guarantee=old.outcome_guarantee,
                outcome_names=old.outcome_names,
            )
        else:
            release = replace(old, candidates=torch.cat([old.candidates, rows]), guarantee=guarantee)
        permuted = torch.cat([published.permutation, n + order])
        return replace(published, release=release, permutation=permuted)


def require_own_outcomes(release: Release) -> None:
    """Refuse further records where an outcome may depend on other records."""
    promised = release.outcome_guarantee
    if promised is not None and any(p.shared_outcomes for p in promised.parts or (promised,)):
        raise ValueError(
            "records can only be added where outcomes are a matter of their own record, but here they "
            "may depend on others (shared_outcomes=True): a new record would change earlier answers"
        )


def guarantee_of_more(
    release: Release, m: int, *, repeats: bool = False, seeded: bool = False
) -> PrivacyGuarantee:
    """What a release will promise once ``m`` further records joined it; from public parameters alone."""
    guarantee = replace(release.guarantee, records=len(release.candidates) + m)
    if seeded and not guarantee.seeded:  # the order of the new rows, at least, is reproducible
        guarantee = replace(guarantee, seeded=True).voided(SEEDED)
    again = repeats or JOINED_AGAIN in guarantee.assumptions
    said = [each for each in guarantee.assumptions if each not in (JOINED_LATER, JOINED_AGAIN)]
    return replace(guarantee, assumptions=(*said, JOINED_AGAIN if again else JOINED_LATER))


def noise_of(mechanism: Mechanism, d: int) -> dict[str, Any]:
    """What a release says of its noise, as arguments of `Release`; refuses what is none."""
    noise_variance, noise_dim = mechanism.noise_variance(d), mechanism.noise_dim(d)
    validate.non_negative(noise_variance=noise_variance)
    validate.count(noise_dim=noise_dim)
    return {
        "noise_variance": noise_variance,
        "noise_dim": noise_dim,
        "isotropic": bool(mechanism.isotropic),
    }


def _inputs(domain: Domain, table: Tensor) -> Callable[[Tensor], Tensor]:
    """What a mechanism takes of a checked table, in an order of rows that is drawn later.

    Cells are numbered at once: a record that is in none is refused before anything is spent, and a
    function that numbers them is asked once.
    """
    if isinstance(domain, Cells):
        numbers = domain.scale_rows(table).numpy()
        return lambda order: torch.from_numpy(numbers.take(order.numpy(), axis=0))
    return lambda order: domain.scale_rows(table, order)


def require_memory_to_publish(n: int, d: int, mechanism: Mechanism, *, beside: int = 0) -> None:
    """Refuse a release that needs more memory than there is, from public sizes alone.

    Beside what the mechanism draws there are the scaled records, the curator's own copy of the records,
    and the order of the rows with its inverse. Of cells there are no scaled records, but a number for
    each, and a released row is wider than what was drawn of it.

    Args:
        n: Number of records.
        d: Features of a record.
        mechanism: How rows are released.
        beside: Further bytes that will be needed.

    Raises:
        MemoryError: If so.
    """
    copies = 1 if isinstance(mechanism, CellResponse) else 2
    require_draw_memory(mechanism, n, d, beside=8 * (copies * n * d + 4 * n) + beside)


@contextmanager
def charged(ledger: Ledger | None) -> Iterator[None]:
    """Say of what fails after `spend` that it is charged: nobody can take back an entry."""
    try:
        yield
    except MemoryError as error:  # it mostly comes without a word
        raise MemoryError(f"memory ran out while rows were drawn{_CHARGED if ledger else ''}") from error
    except BaseException as error:
        if ledger is not None:
            error.add_note(f"This happened while rows were drawn{_CHARGED}.")
        raise


@contextmanager
def _warned(*, already: bool) -> Iterator[None]:
    """Draw without the warning that was given before."""
    if not already:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)
        yield


def check_ledger(ledger: Ledger | None) -> None:
    """Refuse what is not a ledger, such as the path of one."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise TypeError(f"ledger must be a Ledger, got {_type(ledger)}")


def warn_of_delta(n: int, *guarantees: PrivacyGuarantee | None, stacklevel: int = 5) -> None:
    """Warn the curator of a delta that is not far below 1 / n, before anything is spent."""
    deltas = [each.delta for each in guarantees if each is not None and each.holds]
    caution = delta_caution(max(deltas, default=0.0), n)
    if caution is not None:
        warnings.warn(caution, PrivacyLeakWarning, stacklevel=stacklevel)  # whoever has the curator


def check_parts(scaling: Any, mechanism: Any) -> Domain:
    """Refuse what is not a scaling or not a mechanism, such as swapped arguments.

    Returns:
        What is declared of records: the scaling, or the cells of a `CellResponse`.
    """
    if isinstance(mechanism, CellResponse):
        if scaling is not None and scaling is not mechanism.cells:
            raise ValueError(
                "scaling must be None with a CellResponse: what is told of a record is declared by cells"
            )
        return mechanism.cells
    if not isinstance(scaling, PublicScaling):
        raise TypeError(f"scaling must be a PublicScaling, got {_type(scaling)}")
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise TypeError(
            f"mechanism must be a mechanism such as NoisyProjection(epsilon=1.0), got {_type(mechanism)}"
        )
    return scaling


def ranges_of(domain: Domain) -> PublicScaling | None:
    """Declared ranges of the features; None where a function numbers cells, and there are none."""
    return domain.ranges if isinstance(domain, Cells) else domain


def _type(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
