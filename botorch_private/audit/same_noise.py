"""replay: release two neighbouring tables with the same randomness, and look at what changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.responses import refuse_responses
from botorch_private.audit.tables import Neighbours, neighbours
from botorch_private.curator.mechanisms import Mechanism
from botorch_private.privacy.noise_law import NoiseLaw

_MOST_FEATURES, _MOST_ROWS = 50, 250


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


@on_cpu_by_default
def replay(mechanism: Mechanism, records: Any, neighbour: Any, *, seed: int = 0) -> Replay:
    """Release neighbouring tables with one seed, and compare them row by row.

    Noise that is added to each record by itself, with a scale, a centre and a projection that depend
    on no record, leaves every other row as it is, to the last bit, and moves the changed row by no more
    than the sensitivity that the noise is calibrated for. This catches centring at the mean, scaling by
    the largest norm, branches on singular values, a forgotten sensitivity, noise that depends on the
    record, and noise off the public grid.

    Some mechanisms show what they do at a few records only. So further pairs are tried, made from up to
    250 of the records: the record of the largest norm is changed, and those with the largest and the
    smallest value of each of up to 50 features; a record becomes equal to another one; a record is
    changed in a column that is constant otherwise.

    Args:
        mechanism: What is audited.
        records: ``n x d`` scaled records.
        neighbour: The same with one row changed.
        seed: Of all releases.

    Returns:
        What was found, with the distance that the row of the given pair moved.

    Raises:
        ValueError: If the tables do not differ in exactly one row, or the mechanism is a randomized
            response.

    Example:
        >>> scaled = scaling.transform(records)
        >>> moved = scaled.clone()
        >>> moved[0, 0] += 1.0  # one record, by one unit
        >>> audit.replay(mechanism, scaled, moved).problems
        ()
    """
    refuse_responses(mechanism)
    tables = neighbours(records, neighbour)
    validate.count(minimum=0, seed=seed)

    def release(table: Tensor) -> Tensor:
        return mechanism.apply(table, generator=torch.Generator().manual_seed(seed))

    law_of = getattr(mechanism, "law", None)
    law: NoiseLaw | None = None if law_of is None else law_of(tables.records.shape[1])
    one, other = release(tables.records), release(tables.neighbour)
    problems = []
    if not torch.equal(one, release(tables.records)):
        problems.append("the same seed gave another release of the same table")
    problems += _compared(one, other, tables, law)
    problems += _law_problems(one, tables.records.shape[1], law)
    for what, pair in _own_pairs(tables.records):
        found = _compared(release(pair.records), release(pair.neighbour), pair, law)
        problems += [f"{problem}, where {what}" for problem in found]
    if one.shape != other.shape:
        return Replay(tuple(problems), math.nan, math.nan)
    moved = float((one[tables.row] - other[tables.row]).norm())
    return Replay(tuple(problems), moved, math.nan if law is None else _allowed(tables, law))


def _allowed(tables: Neighbours, law: NoiseLaw) -> float:
    # A projection stretches a given difference by a random factor of at most sqrt(d / r), for which
    # the calibrated law has the average.
    stretch = math.sqrt(tables.records.shape[1] / law.dim)
    return tables.distance * stretch + law.rounding


def _compared(one: Tensor, other: Tensor, tables: Neighbours, law: NoiseLaw | None) -> Iterator[str]:
    """What a change of one record did that it must not."""
    if one.shape != other.shape:
        yield "the released shape depends on the records"
        return
    others = torch.arange(len(one)) != tables.row
    changed = int((one[others] != other[others]).any(dim=1).sum())
    if changed:
        yield f"{changed} rows changed of records that did not"
    if law is None:
        return
    moved, allowed = float((one[tables.row] - other[tables.row]).norm()), _allowed(tables, law)
    if moved > allowed * (1 + 1e-9):
        yield f"the changed row moved by {moved:.6g}, allowed are {allowed:.6g}"


def _law_problems(rows: Tensor, d: int, law: NoiseLaw | None) -> Iterator[str]:
    if law is None:
        yield "no noise is added"
        return
    stretch = math.sqrt(d / law.dim)
    if law.sensitivity < stretch * (1 - 1e-12):
        yield (
            f"noise is calibrated for a sensitivity of {law.sensitivity:.3g}, the projection stretches "
            f"by up to {stretch:.3g}"
        )
    if rows.shape[1] == law.dim:  # an isometry into more dimensions leaves the grid, as it may
        off = int((rows / law.grid != torch.round(rows / law.grid)).sum())
        if off:
            yield f"{off} released numbers are off the public grid of {law.grid:.3g}"


def _own_pairs(records: Tensor) -> Iterator[tuple[str, Neighbours]]:
    """Pairs of neighbouring tables that show what depends on extreme, equal or constant records."""
    features = min(records.shape[1], _MOST_FEATURES)
    extremes = [("the record of the largest norm", int(records.norm(dim=1).argmax()))]
    for column in range(features):
        values = records[:, column]
        extremes += [(f"the record with the largest feature {column}", int(values.argmax()))]
        extremes += [(f"the record with the smallest feature {column}", int(values.argmin()))]
    # The extreme records, once each, stay extreme among fewer.
    chosen = dict.fromkeys(row for _, row in extremes)
    chosen.update(dict.fromkeys(range(min(len(records), _MOST_ROWS))))
    kept = list(chosen)[:_MOST_ROWS]
    table, places = records[kept], {row: place for place, row in enumerate(kept)}
    middle = table.median(dim=0).values
    tried: set[int] = set()
    for what, row in extremes:
        if row not in tried:
            tried.add(row)
            yield from _changed(f"{what} was changed", table, places[row], middle)
    yield from _changed("a record became equal to another one", table, 0, table[-1])
    constant = table.clone()
    constant[:, 0] = 1.0
    step = constant[0].clone()
    step[0] += 1.0
    yield from _changed("a column was constant but for one record", constant, 0, step)


def _changed(what: str, table: Tensor, row: int, value: Tensor) -> Iterator[tuple[str, Neighbours]]:
    other = table.clone()
    other[row] = value
    if not torch.equal(table, other):
        yield what, neighbours(table, other)
