"""replay: release two neighbouring tables with the same randomness, and look at what changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from botorch_private._base import validate
from botorch_private.audit.tables import neighbours
from botorch_private.curator.mechanisms import Mechanism


@dataclass(frozen=True)
class Replay:
    """What a change of one record did to a release with frozen randomness.

    Attributes:
        problems: What no private mechanism of this package does, in sentences; empty if nothing was
            found. It is a quick look for blunders, not a proof.
        moved: Distance between the two released rows of the record that changed.
        allowed: The most that the claimed sensitivity allows; NaN where there is no noise law.
    """

    problems: tuple[str, ...]
    moved: float
    allowed: float


def replay(mechanism: Mechanism, records: Any, neighbour: Any, *, seed: int = 0) -> Replay:
    """Release both tables with one seed, and compare them row by row.

    Noise that is added to each record by itself, with a scale, a centre and a projection that depend
    on no record, leaves every other row as it is, to the last bit, and moves the changed row by no more
    than the sensitivity that the noise is calibrated for. This catches centring at the mean, scaling by
    the largest norm, branches on singular values, a forgotten sensitivity, noise that depends on the
    record, and noise off the public grid.

    Args:
        mechanism: What is audited.
        records: ``n x d`` scaled records.
        neighbour: The same with one row changed.
        seed: Of both releases.

    Example:
        >>> scaled = scaling.transform(records)
        >>> moved = scaled.clone()
        >>> moved[0, 0] += 1.0  # one record, by one unit
        >>> audit.replay(mechanism, scaled, moved).problems
        ()
    """
    tables = neighbours(records, neighbour)
    validate.count(minimum=0, seed=seed)
    d = tables.records.shape[1]

    def release(table: torch.Tensor) -> torch.Tensor:
        return mechanism.apply(table, generator=torch.Generator().manual_seed(seed))

    one, other = release(tables.records), release(tables.neighbour)
    problems = []
    if not torch.equal(one, release(tables.records)):
        problems.append("the same seed gave another release of the same table")
    if one.shape != other.shape:
        return Replay((*problems, "the released shape depends on the records"), math.nan, math.nan)
    others = torch.arange(len(one)) != tables.row
    changed = int((one[others] != other[others]).any(dim=1).sum())
    if changed:
        problems.append(f"{changed} rows changed of records that did not")
    moved = float((one[tables.row] - other[tables.row]).norm())
    law_of = getattr(mechanism, "law", None)
    if law_of is None:
        return Replay((*problems, "no noise is added"), moved, math.nan)
    law = law_of(d)
    # A projection stretches a given difference by a random factor of at most sqrt(d / r), for which
    # the calibrated law has the average.
    allowed = tables.distance * math.sqrt(d / law.dim) + law.rounding
    if law.sensitivity < math.sqrt(d / law.dim) * (1 - 1e-12):
        problems.append(
            f"noise is calibrated for a sensitivity of {law.sensitivity:.3g}, the projection stretches "
            f"by up to {math.sqrt(d / law.dim):.3g}"
        )
    if moved > allowed * (1 + 1e-9):
        problems.append(f"the changed row moved by {moved:.6g}, allowed are {allowed:.6g}")
    if one.shape[1] == law.dim:  # an isometry into more dimensions leaves the grid, as it may
        off = int((one / law.grid != torch.round(one / law.grid)).sum())
        if off:
            problems.append(f"{off} released numbers are off the public grid of {law.grid:.3g}")
    return Replay(tuple(problems), moved, allowed)
