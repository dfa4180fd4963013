"""clipping_audit: whether values outside their range are clipped, and one unit is one unit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.findings import Check, Findings
from botorch_private.audit.responses import refuse_responses
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms import Mechanism
from botorch_private.privacy.warnings import ClippedRecordsWarning, PrivacyLeakWarning

if TYPE_CHECKING:
    from botorch_private.curator.curator import Curator

_FAR = 1e6  # widths of the range
_MOST_FEATURES = 100  # that are tried one by one
_LARGEST_LOG = 700.0
_ROWS = 50  # that are tried all features at once
_TOLERANCE = 1e-9  # relative
_UNIT_TOLERANCE = 1e-6  # a narrow range far from zero has few digits


@on_cpu_by_default
def clipping_audit(
    scaling: PublicScaling,
    mechanism: Mechanism,
    *,
    curator: Callable[..., Curator] | None = None,
    seed: int = 0,
) -> Findings:
    """Test what happens to records before the noise: clipping, the unit, and the order.

    The noise is calibrated for scaled records. A record outside the declared ranges that is not clipped
    is farther from the others than any guarantee says, and a unit that is not what the guarantee says
    makes epsilon a number about something else. Made-up records, inside the ranges and up to a million
    widths outside, are scaled, and released by a curator:

    - what is outside is moved to the nearest end of its range, so that every scaled record lies in the
      ball; a curator's release by a seed is, to the last bit, that of the records at the ends;
    - a step of one unit of one feature, as the release states it, is one unit long; no step is longer
      scaled than its length in units;
    - a record is scaled by itself, whatever else is in the table, and a change of what `scaling` returns
      changes nothing;
    - two releases by the operating system's entropy have orders of their own.

    It reads no table, so that its result is public.

    Args:
        scaling: The declared ranges.
        mechanism: How rows are released.
        curator: None: `Curator`. Or what takes its arguments and has its `release` and `permutation`.
        seed: Of the made-up records and of the seeded releases.

    Returns:
        What was looked at and found.

    Raises:
        TypeError: If an argument is something else, such as swapped ones.
        ValueError: If the mechanism is a randomized response.

    Example:
        >>> audit.clipping_audit(scaling, mechanism).problems
        ()
    """
    if not isinstance(scaling, PublicScaling):
        raise TypeError(f"scaling must be a PublicScaling, got {type(scaling).__name__}")
    refuse_responses(
        mechanism, "cells have no unit and no ball; a value outside its ends counts as the nearest end"
    )
    validate.count(minimum=0, seed=seed)
    if curator is None:
        # Late: who only reads releases need not have what a curator keeps.
        from botorch_private.curator import curator as home

        curator = home.Curator
    generator = torch.Generator().manual_seed(seed)
    outside = _outside(scaling, generator)
    ends = torch.minimum(torch.maximum(outside, scaling.lower), scaling.upper)
    checks = [
        *_scaling_checks(scaling, outside, ends, generator),
        *_curator_checks(scaling, mechanism, curator, outside, ends, seed),
    ]
    tried = min(scaling.features, _MOST_FEATURES)
    sees = (
        f"a value outside its range that is not clipped ({tried} features, one at a time, and {_ROWS} "
        f"records with all of them outside or inside)",
        "a unit other than the stated one, in any feature",
    )
    unseen = ("whether the ranges were chosen without a look at the table",)
    return Findings(tuple(checks), sees, unseen)


def _outside(scaling: PublicScaling, generator: torch.Generator) -> Tensor:
    """Made-up records: one feature far below or above its range, or any of them."""
    log = torch.tensor([kind == "log" for kind in scaling.scale])
    lower, upper = _logarithm(scaling.lower, log), _logarithm(scaling.upper, log)
    width = upper - lower
    d = scaling.features
    some = torch.randperm(d, generator=generator)[:_MOST_FEATURES]
    inside = torch.rand(2 * len(some) + _ROWS, d, dtype=torch.float64, generator=generator)
    rows = lower + width * inside
    at = torch.arange(len(some))
    rows[at, some] = (lower - _FAR * width)[some]
    rows[len(some) + at, some] = (upper + _FAR * width)[some]
    sizes = torch.tensor([-_FAR, -1.0, 0.0, 0.0, 1.0, _FAR], dtype=torch.float64)
    chosen = torch.randint(len(sizes), (_ROWS, d), generator=generator)
    rows[-_ROWS:] += width * sizes[chosen]
    # A factor is far by its logarithm, but no float64 holds all of them.
    return torch.where(log, rows.clamp(-_LARGEST_LOG, _LARGEST_LOG).exp(), rows)


def _logarithm(rows: Tensor, log: Tensor) -> Tensor:
    """Values on a log scale as their logarithms, by the plain formula; others as they are."""
    return torch.where(log, torch.where(log, rows, 1.0).log(), rows)


def _scaling_checks(
    scaling: PublicScaling, outside: Tensor, ends: Tensor, generator: torch.Generator
) -> Iterator[Check]:
    scaled = scaling.transform(outside)
    yield Check.exact(
        "values outside their range are moved to its nearest end",
        torch.equal(scaled, scaling.transform(ends)),
    )
    largest = float(scaled.norm(dim=1).max())
    yield Check.exact(
        "every scaled record lies in the ball",
        largest <= scaling.radius * (1 + _TOLERANCE),
        f"one has norm {largest:.6g}",
        f"at most {scaling.radius:.6g}",
    )
    alone = torch.cat([scaling.transform(row.unsqueeze(0)) for row in outside[:_ROWS]])
    yield Check.exact(
        "a record is scaled by itself, whatever else is in the table", torch.equal(alone, scaled[:_ROWS])
    )
    other = torch.randperm(len(outside), generator=generator)
    steps = (scaled - scaled[other]).norm(dim=1)
    log = torch.tensor([kind == "log" for kind in scaling.scale])
    plain = _logarithm(outside, log)
    longest = ((plain - plain[other]) / scaling.unit).norm(dim=1)
    yield Check.exact(
        "no step is longer scaled than in units", bool((steps <= longest * (1 + _TOLERANCE)).all())
    )
    for kept in (scaling.lower, scaling.upper, scaling.unit):
        kept *= 3.0
    yield Check.exact(
        "a change of what the scaling returned changes nothing",
        torch.equal(scaled, scaling.transform(outside)),
    )


def _curator_checks(
    scaling: PublicScaling,
    mechanism: Mechanism,
    curator: Callable[..., Curator],
    outside: Tensor,
    ends: Tensor,
    seed: int,
) -> Iterator[Check]:
    outcomes = torch.zeros(len(outside), dtype=torch.float64)

    def released(records: Tensor, seeded: bool = True) -> Any:
        generator = torch.Generator().manual_seed(seed) if seeded else None
        with warnings.catch_warnings():
            # These records are made up, and far outside on purpose.
            for told in (ClippedRecordsWarning, PrivacyLeakWarning):
                warnings.simplefilter("ignore", told)
            return curator(records, scaling, mechanism, outcomes, generator=generator)

    other = released(ends).release
    same = False
    with suppress(ValueError):  # a mechanism refuses records that are far too long, if not clipped
        same = torch.equal(released(outside).release.candidates, other.candidates)
    yield Check.exact("a curator releases values outside their range as the nearest end of it", same)
    stated = other.guarantee.unit
    if stated is not None:
        # From the middle, by a step that stays inside: the unit may be wider than the range.
        unit = torch.tensor(stated, dtype=torch.float64)
        log = torch.tensor([i in other.guarantee.log_columns for i in range(scaling.features)])
        low, high = _logarithm(scaling.lower, log), _logarithm(scaling.upper, log)
        middle = low / 2 + high / 2
        shares = torch.clamp((high - low) / (4 * unit), max=1.0)
        near = torch.cat([middle + torch.diag(unit * shares), middle[None]])
        rows = scaling.transform(torch.where(log, near.exp(), near))
        moved = rows[:-1] - rows[-1]
        ratios = moved.norm(dim=1) / shares
        worst = int((ratios - 1).abs().argmax())
        yield Check.exact(
            "a step of one stated unit is one unit long",
            bool(((ratios - 1).abs() <= _UNIT_TOLERANCE).all()),
            f"{float(ratios[worst]):.6g} in feature {worst}",
            "1",
        )
    fresh, again = (released(ends, seeded=False) for _ in range(2))
    orders = fresh.permutation, again.permutation
    own = torch.arange(len(outside))
    yield Check.exact("two releases have orders of their own", not torch.equal(*orders))
    yield Check.exact(
        "rows do not stay in the table's order", not any(torch.equal(each, own) for each in orders)
    )
    if mechanism.noise_variance(scaling.features) > 0:
        sorted_ = [each.release.candidates.flatten().sort().values for each in (fresh, again)]
        yield Check.exact("two releases have noise of their own", not torch.equal(*sorted_))
