"""How a table lies in its declared ranges: what clipping would spoil, and ranges taken from the table.

All of it depends on the records, so it is said to the curator alone: by a Python warning in its own
process, or at its terminal. It enters no release, no guarantee and no answer of a server.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.curator.features.column_look import ColumnLook, digits, has_many_digits, look_at
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.privacy.warnings import ClippedRecordsWarning, PrivacyLeakWarning

# Ranges that end where extremes begin clip up to a twentieth of honest records (blood pressure and heart
# rate of the hospital table, by published scores). Wrong units and stand-ins for "unknown" clip most.
_MUCH = 0.1
_SPOILED = 0.5
_FEWEST = 10  # fewer records may well be the same by chance
_EXACT = 1e-12  # of a range
_SAME = 1e-6  # of a range: what rounding leaves of a number that was copied from the table
_SHOWN = 5
_REPEATS = 3
_FAR = 0.5  # of a range
_WELL_KNOWN = (12, 18, 24, 365)  # months, adults, hours, days


@dataclass(frozen=True)
class FeatureFit:
    """How the values of one feature lie in its declared range.

    Args:
        name: Of the feature.
        n: Number of records.
        below: Records below the range, which are moved to its lower end.
        above: Records above the range, which are moved to its upper end.
        same: Whether all records are the same after that; not of a yes or no, coded as 0 and 1.
        stand_in: Whether all that is on one side of the range is one number, three times or more and far
            from the range: -999 for "unknown".
        ends: Those of "lower" and "upper" that are the smallest or largest value of the column, or
            follow from its values in another way.
        single: Whether each of these values belongs to one record alone.
        natural: Whether all of these ends are numbers that people choose: 0, 1, 18, 50, 120.
        number: Whether it is a number; a yes/no and a category have the ends of their kind.
    """

    name: str
    n: int
    below: int
    above: int
    same: bool
    stand_in: bool
    ends: tuple[str, ...]
    single: bool
    natural: bool
    number: bool

    @property
    def clipped(self) -> int:
        """Records outside of the range."""
        return self.below + self.above

    @property
    def much(self) -> bool:
        """Whether more than a tenth of the records are outside of the range, or something is odd."""
        return self.clipped > _MUCH * self.n or self.useless or self.stand_in

    @property
    def spoiled(self) -> bool:
        """Whether more than half of the records are outside of the range, or all are the same."""
        return self.clipped > _SPOILED * self.n or self.useless

    @property
    def useless(self) -> bool:
        """Whether a number tells no record from another: one category may well be that of all."""
        return self.same and self.number and self.n >= _FEWEST

    @property
    def looked_up(self) -> bool:
        """Whether the range seems to come from the table.

        A whole number of some records, such as 0 of a count, is often hit by itself. So an end that
        people choose is suspected only where both are hit by one record each, as after scaling by the
        smallest and the largest value.
        """
        if not self.ends or not self.number:
            return False
        return not self.natural or (len(self.ends) == 2 and self.single)


@dataclass(frozen=True)
class RangeFit:
    """How a table lies in its declared ranges, feature by feature. For the curator's eyes only.

    Args:
        features: Of each feature.
        filled: Of features that say what a missing value counts as: name, and how many records lack one.
    """

    features: tuple[FeatureFit, ...]
    filled: tuple[tuple[str, int], ...] = ()

    def with_filled(self, filled: Mapping[str, np.ndarray]) -> RangeFit:
        """The same, with which records lack a value, as `read_encoded` gives it."""
        return replace(self, filled=tuple((name, int(lacks.sum())) for name, lacks in filled.items()))

    @property
    def much(self) -> tuple[FeatureFit, ...]:
        """Features that clipping spoils in part."""
        return tuple(each for each in self.features if each.much)

    @property
    def spoiled(self) -> tuple[FeatureFit, ...]:
        """Features that clipping spoils."""
        return tuple(each for each in self.features if each.spoiled)

    @property
    def looked_up(self) -> tuple[FeatureFit, ...]:
        """Features whose range seems to come from the table.

        Where every end of every number is hit, all are, whatever they are: that is what the smallest
        and the largest values of a table give, and what 0 and 1 are after min-max scaling.
        """
        numbers = [each for each in self.features if each.number]
        if numbers and all(len(each.ends) == 2 for each in numbers):
            return tuple(numbers)
        return tuple(each for each in numbers if each.looked_up)

    def table(self) -> str:
        """Count, for each feature that clips any, the records below and above its range."""
        rows = [each for each in self.features if each.clipped or each.useless]
        if not rows:
            return "No record is outside of the declared ranges."
        width = max(len("feature"), *(len(each.name) for each in rows))
        lines = [
            "Records outside of the declared ranges, which are moved to the nearest end:",
            f"  {'feature':<{width}}  {'below':>7}  {'above':>7}  {'of':>7}",
        ]
        for each in rows:
            same = "  all are the same then" if each.useless else ""
            lines.append(f"  {each.name:<{width}}  {each.below:>7}  {each.above:>7}  {each.n:>7}{same}")
        return "\n".join(lines)

    def filled_table(self) -> str:
        """Count, for each feature, the records without a value that count as declared; empty: none."""
        rows = [(name, count) for name, count in self.filled if count]
        if not rows:
            return ""
        width, n = max(len("feature"), *(len(name) for name, _ in rows)), self.features[0].n
        lines = [
            "Missing values, which count as the ranges declare (missing):",
            f"  {'feature':<{width}}  {'missing':>7}  {'of':>7}",
        ]
        return "\n".join([*lines, *(f"  {name:<{width}}  {count:>7}  {n:>7}" for name, count in rows)])

    def clipping_words(self) -> str:
        """Say what clipping spoils; empty where it is little."""
        if not self.much:
            return ""
        told = [
            f"{each.name} ({each.clipped} of {each.n})"
            if each.clipped > _MUCH * each.n or not each.useless
            else f"{each.name} (all {each.n} are the same)"
            for each in self.much
        ]
        return (
            f"declared ranges may not fit the records, by those that lie outside: {_listed(told)}. They "
            f"are moved to the nearest end, where they look alike. Check the unit, stand-ins for "
            f"'unknown' such as -999 or 0, and the order of the columns"
        )

    def leak_words(self) -> str:
        """Say which ranges seem to come from the table; empty where none does."""
        if not self.looked_up:
            return ""
        told = [f"{' and '.join(each.ends)} of {each.name}" for each in self.looked_up]
        return (
            f"ends of declared ranges are the smallest or largest values of the records, or follow from "
            f"their values: {_listed(told)}. If they were taken from the table, or its columns were "
            f"scaled by such values, no guarantee holds, since they tell of single records: declare "
            f"ranges from what features mean. If they were not, nothing is wrong"
        )


def fit_of(table: Tensor, scaling: PublicScaling) -> RangeFit:
    """Compare an ``n x d`` table, which the scaling has checked, with the declared ranges."""
    return fit_of_look(look_at(table, scaling), scaling)


@on_cpu_by_default
def fit_of_look(look: ColumnLook, scaling: PublicScaling) -> RangeFit:
    """Compare records that were looked at with the declared ranges."""
    lower, upper, low, high = scaling.lower, scaling.upper, look.low, look.high
    near, odd_low, odd_high = _SAME * (upper - lower), has_many_digits(lower), has_many_digits(upper)
    hit_low, hit_high = (low - lower).abs() <= near, (high - upper).abs() <= near
    # Quantiles are values of records as well, and a mean may be the middle of the range.
    central = (look.total / look.n - (lower / 2 + upper / 2)).abs() <= _EXACT * (upper - lower)
    hit_low |= (look.among_low | central) & odd_low
    hit_high |= (look.among_high | central) & odd_high
    far = _FAR * (upper - lower)
    stand_in = (look.below >= _REPEATS) & (look.below == look.at_low) & (lower - low > far)
    stand_in |= (look.above >= _REPEATS) & (look.above == look.at_high) & (high - upper > far)
    declared = {column for step in scaling.steps for column in step.columns}
    names = scaling.names or tuple(f"column {i}" for i in range(scaling.features))
    fits = []
    for i, name in enumerate(names):
        hits = [
            (end, float(value[i]), int(held[i]))
            for end, hit, value, held in (
                ("lower", hit_low, lower, look.at_low),
                ("upper", hit_high, upper, look.at_high),
            )
            if hit[i]
        ]
        fits.append(
            FeatureFit(
                name=name,
                n=look.n,
                below=int(look.below[i]),
                above=int(look.above[i]),
                same=bool(high[i] <= lower[i] or low[i] >= upper[i] or low[i] == high[i])
                and not look.coded[i],
                stand_in=bool(stand_in[i]),
                ends=tuple(end for end, _, _ in hits),
                single=not look.coded[i] and all(held == 1 for _, _, held in hits),
                natural=all(_natural(value) for _, value, _ in hits),
                number=name not in declared,
            )
        )
    return RangeFit(tuple(fits))


def warn_of_fit(table: Tensor, scaling: PublicScaling | None, *, stacklevel: int) -> None:
    """Warn the curator, before anything is released, of what `fit_of` finds.

    A scaling that was learned from the records has warned already.

    Args:
        table: ``n x d`` raw records, which the scaling has checked.
        scaling: Declared ranges of the features; None: there are none.
        stacklevel: As in `warnings.warn`, counted from whoever calls this.
    """
    if scaling is not None and scaling.public:
        warn_of_range_fit(fit_of(table, scaling), stacklevel=stacklevel + 1)


def warn_of_range_fit(fit: RangeFit, *, stacklevel: int) -> None:
    """Warn the curator of a fit that was found; ``stacklevel`` as in `warn_of_fit`."""
    _warn(fit.clipping_words(), fit.leak_words(), stacklevel + 2)


def warn_of_joining(
    before: Tensor, joining: Tensor, scaling: PublicScaling | None, *, stacklevel: int
) -> None:
    """Warn as `warn_of_fit` does, of records that join others: of what is new by them.

    They may well be the same in a number, such as the year in which they came.
    """
    if scaling is not None and scaling.public:
        apart = [replace(each, same=False) for each in fit_of(joining, scaling).features]
        known = {each.name for each in fit_of(before, scaling).looked_up}
        joined = fit_of(torch.cat([before, joining]), scaling)
        new = tuple(each for each in joined.looked_up if each.name not in known)
        _warn(RangeFit(tuple(apart)).clipping_words(), RangeFit(new).leak_words(), stacklevel + 2)


def _warn(clipping: str, leak: str, stacklevel: int) -> None:
    for words, category in ((clipping, ClippedRecordsWarning), (leak, PrivacyLeakWarning)):
        if words:
            warnings.warn(words, category, stacklevel=stacklevel)


def _natural(end: float) -> bool:
    """Whether people choose such an end: one digit, or a short number that ends in 5 or 0."""
    if abs(end) in _WELL_KNOWN:
        return True
    return digits(end) < 2 or (digits(end) == 2 and (end % 10 == 0 or f"{abs(end):e}"[2] == "5"))


def _listed(told: list[str]) -> str:
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return ", ".join(told[:_SHOWN]) + more
