"""What is seen of records column by column, in pieces that can be put together: see `range_fit`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.curator.features.scaling import PublicScaling

_MANY_DIGITS = 4  # of a number that nobody chooses
_CHUNK_ENTRIES = 2**20


@dataclass(frozen=True)
class ColumnLook:
    """What `fit_of` needs of some records of a table, feature by feature; `merged` with that of others.

    Args:
        n: Number of records.
        low: Smallest value.
        high: Largest value.
        below: Records below the range.
        above: Records above the range.
        at_low: Records that have the smallest value.
        at_high: Records that have the largest value.
        coded: Whether all are 0 or 1, and that is the range: a yes or no that was not declared as one.
        among_low: Whether a record has the lower end of the range, if that has many digits.
        among_high: Likewise the upper end.
        total: Sum of the values.
    """

    n: int
    low: Tensor
    high: Tensor
    below: Tensor
    above: Tensor
    at_low: Tensor
    at_high: Tensor
    coded: Tensor
    among_low: Tensor
    among_high: Tensor
    total: Tensor


@on_cpu_by_default
def look_at(table: Tensor, scaling: PublicScaling) -> ColumnLook:
    """Look at ``n x d`` records, ``n >= 1``, which the scaling has checked; O(n d)."""
    lower, upper = scaling.lower, scaling.upper
    d = scaling.features
    chunks = table.split(max(1, _CHUNK_ENTRIES // d))
    lows, highs = (
        torch.stack(ends) for ends in zip(*(rows.aminmax(dim=0) for rows in chunks), strict=True)
    )
    low, high = lows.amin(dim=0), highs.amax(dim=0)
    below, above, at_low, at_high = (torch.zeros(d, dtype=torch.int64) for _ in range(4))
    coded = (lower == 0) & (upper == 1)
    odd_low, odd_high = has_many_digits(lower), has_many_digits(upper)
    among_low, among_high = (torch.zeros(d, dtype=torch.bool) for _ in range(2))
    # A chunk is looked at again only for what its ends leave open: mostly for nothing.
    for rows, least, most in zip(chunks, lows, highs, strict=True):
        if (least < lower).any():
            below += (rows < lower).sum(dim=0)
        if (most > upper).any():
            above += (rows > upper).sum(dim=0)
        if (least == low).any():
            at_low += (rows == low).sum(dim=0)
        if (most == high).any():
            at_high += (rows == high).sum(dim=0)
        if coded.any():
            coded &= ((rows == 0) | (rows == 1)).all(dim=0)
        if (odd_low & ~among_low).any():
            among_low |= (rows == lower).any(dim=0)
        if (odd_high & ~among_high).any():
            among_high |= (rows == upper).any(dim=0)
    ends = (low, high, below, above, at_low, at_high)
    return ColumnLook(len(table), *ends, coded, among_low, among_high, table.sum(dim=0))


def merged(one: ColumnLook, other: ColumnLook) -> ColumnLook:
    """The look at the records of both."""
    low, high = torch.minimum(one.low, other.low), torch.maximum(one.high, other.high)
    return ColumnLook(
        n=one.n + other.n,
        low=low,
        high=high,
        below=one.below + other.below,
        above=one.above + other.above,
        at_low=one.at_low * (one.low == low) + other.at_low * (other.low == low),
        at_high=one.at_high * (one.high == high) + other.at_high * (other.high == high),
        coded=one.coded & other.coded,
        among_low=one.among_low | other.among_low,
        among_high=one.among_high | other.among_high,
        total=one.total + other.total,
    )


def has_many_digits(ends: Tensor) -> Tensor:
    """Which ends have so many digits that nobody chooses them."""
    return torch.tensor([digits(each) >= _MANY_DIGITS for each in ends.tolist()])


def digits(number: float) -> int:
    """How many digits count in a number, without zeros at its ends."""
    return len(f"{abs(number):.15e}".partition("e")[0].replace(".", "").rstrip("0"))
