"""Kinds of features that a curator declares: a number, a yes or no, one of some categories.

Each kind says which numeric columns hold it, and how far apart two of its values may be. A yes or no
is 0 or 1 in one column. A category is 1 in the column of its own and 0 in those of the others: any two
are ``sqrt(2)`` apart, so that none is closer to another than the rest (a regular simplex). All of it is
declared; nothing is learned from a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

_YES = ("yes", "true", "1", "1.0")
_NO = ("no", "false", "0", "0.0")
_HALF = 0.5  # without a length-scale, half of the range counts, as in `PublicScaling`


@dataclass(frozen=True)
class Number:
    """A number within a declared range.

    Args:
        name: Of the feature.
        lower: Smallest value, in raw units.
        upper: Largest value, above `lower`.
        lengthscale: Relative importance, in raw units; None: half of the range.
        edges: Where one cell ends and the next begins, for `Cells`: rising, inside the range. A release
            with noise does not look at them.
        missing: What a missing value counts as, inside the range: declared from what it means that the
            value is missing, never from the table. None: a missing value is refused.
        scale: "linear"; or "log" for distances in factors, such as of incomes or doses: from 10 to 20 is
            as far as from 100 to 200. The range is above 0 then, a length-scale is a factor > 1, and a
            value of 0 or less is refused. Everything stays in raw units.

    Raises:
        ValueError: If edges do not rise, or they or `missing` are not inside the range, or the scale is
            another one.

    Example:
        >>> Encoding([Number("age", 18, 100)]).scaling.names
        ('age',)
    """

    kind: ClassVar[str] = "number"
    name: str
    lower: float
    upper: float
    lengthscale: float | None = None
    edges: tuple[float, ...] = ()
    missing: float | None = None
    scale: str = "linear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        if self.scale not in ("linear", "log"):
            raise ValueError(f"scale of {self.name!r} must be 'linear' or 'log'")
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise ValueError(f"missing of {self.name!r} must be a number within its range")
        ends = (self.lower, *self.edges, self.upper)
        if self.edges and not all(low < high for low, high in pairwise(ends)):
            raise ValueError(f"edges of {self.name!r} must rise, and lie inside its range")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return (self.name,)

    @property
    def shape(self) -> float:
        """Length-scale of each column."""
        if self.lengthscale is not None:
            return self.lengthscale
        if self.scale == "log":  # a factor: half of the range, in logarithms
            return math.sqrt(self.upper) / math.sqrt(self.lower)
        return self.upper / 2 - self.lower / 2

    def decode(self, rows: np.ndarray) -> list[Any]:
        """Values of ``n x 1`` columns."""
        return rows[:, 0].tolist()


@dataclass(frozen=True)
class YesNo:
    """A yes or no.

    Args:
        name: Of the feature.
        lengthscale: Relative importance, where the step from no to yes is 1; None: one half.
        yes: How a table writes yes, such as "Y"; small letters and capitals are the same. None, with
            `no`: yes, true or 1, and no, false or 0.
        no: How it writes no.
        missing: What a missing value counts as, yes (True) or no (False): declared from what it means
            that the value is missing, never from the table. None: a missing value is refused.

    Raises:
        ValueError: If only one of `yes` and `no` is given, they are no different texts, or `missing` is
            something else.

    Example:
        >>> YesNo("smoker", yes="J", no="N").encode(["J", "n"]).tolist()
        [[1.0], [0.0]]
        >>> YesNo("diabetes").encode(["yes", "no"]).tolist()
        [[1.0], [0.0]]
    """

    kind: ClassVar[str] = "boolean"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0
    name: str
    lengthscale: float | None = None
    yes: str | None = None
    no: str | None = None
    missing: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.missing, bool | None):
            raise ValueError(f"missing of {self.name!r} must be True for yes or False for no")
        if self.yes is None and self.no is None:
            return
        given = [
            each.strip().casefold() if isinstance(each, str) else "" for each in (self.yes, self.no)
        ]
        if not all(given) or given[0] == given[1]:
            raise ValueError(
                f"yes and no of {self.name!r} must be two different texts, or both be left out"
            )

    @property
    def wanted(self) -> str:
        """What a cell must hold."""
        if self.yes is None:
            return "yes or no, true or false, or 1 or 0"
        return f"{self.yes!r} or {self.no!r}"

    @property
    def remedy(self) -> str:
        """What to do about another cell."""
        if self.yes is None:
            return 'correct the cell, or declare how the table writes them (yes = "Y" and no = "N")'
        return "correct the cell, or the declaration"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return (self.name,)

    @property
    def shape(self) -> float:
        """Length-scale of each column."""
        return _HALF if self.lengthscale is None else self.lengthscale

    @property
    def missing_code(self) -> float | None:
        """The number of a missing value; None: it is refused."""
        return None if self.missing is None else float(self.missing)

    def encode(self, cells: Sequence[Any]) -> np.ndarray:
        """Return ``n x 1`` numbers, NaN for what is neither yes nor no."""
        yes, no = (_YES, _NO) if self.yes is None or self.no is None else ((self.yes,), (self.no,))
        codes = {each.strip().casefold(): 1.0 for each in yes}
        codes |= {each.strip().casefold(): 0.0 for each in no}
        texts = [(str(cell).strip().casefold(), _whole(cell)) for cell in cells]
        found = [codes.get(text, codes.get(whole, math.nan)) for text, whole in texts]
        return np.array(found, dtype=np.float64).reshape(-1, 1)

    def decode(self, rows: np.ndarray) -> list[Any]:
        """The nearest of no and yes, as booleans."""
        return (rows[:, 0] >= _HALF).tolist()


@dataclass(frozen=True)
class Category:
    """One of some declared categories.

    Args:
        name: Of the feature.
        categories: All that there are, two or more different texts. Public: from what the feature
            means, never from the table.
        lengthscale: Relative importance, where the step between any two categories is 1; None: one half.
        missing: Category that a missing value counts as: declared from what it means that the value is
            missing, never from the table. None: a missing value is refused.

    Raises:
        ValueError: If the categories are fewer than two, repeated or empty, or `missing` is none of
            them.

    Example:
        >>> Category("ward", ("icu", "surgery")).columns
        ('ward=icu', 'ward=surgery')
    """

    kind: ClassVar[str] = "category"
    wanted: ClassVar[str] = "one of the declared categories"
    remedy: ClassVar[str] = "correct the cell, or the declaration"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0
    name: str
    categories: tuple[str, ...]
    lengthscale: float | None = None
    missing: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.categories, str) or not all(
            isinstance(each, str) and each for each in self.categories
        ):
            raise ValueError(f"categories of {self.name!r} must be texts that are not empty")
        object.__setattr__(self, "categories", tuple(self.categories))
        if len(self.categories) < 2:
            raise ValueError(
                f"categories of {self.name!r} must be at least 2, got {len(self.categories)}"
            )
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"categories of {self.name!r} must be different, but one stands twice")
        if self.missing is not None and self.missing not in self.categories:
            raise ValueError(f"missing of {self.name!r} must be one of its categories")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return tuple(f"{self.name}={each}" for each in self.categories)

    @property
    def shape(self) -> float:
        """Length-scale of each column: a step changes two of them, and is ``sqrt(2)`` long."""
        return math.sqrt(2.0) * (_HALF if self.lengthscale is None else self.lengthscale)

    @property
    def missing_code(self) -> np.ndarray | None:
        """The numbers of a missing value; None: it is refused."""
        if self.missing is None:
            return None
        return np.array([float(each == self.missing) for each in self.categories])

    def encode(self, cells: Sequence[Any]) -> np.ndarray:
        """Return ``n x m`` numbers, NaN for what is no declared category."""
        codes = dict(zip(self.categories, np.eye(len(self.categories)), strict=True))
        none = np.full(len(self.categories), math.nan)
        found = [codes.get(str(cell), codes.get(_whole(cell), none)) for cell in cells]
        return np.array(found).reshape(-1, len(none))

    def decode(self, rows: np.ndarray) -> list[Any]:
        """The nearest category."""
        return [self.categories[i] for i in rows.argmax(axis=1)]


def middle_of(number: Number) -> float:
    """The middle of a declared range, on its scale."""
    if number.scale == "log":
        return math.sqrt(number.lower) * math.sqrt(number.upper)
    return number.lower / 2 + number.upper / 2


def _whole(cell: Any) -> str:
    """A whole number without its decimal point: a column of codes may have been stored as floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else ""


FeatureKind = Number | YesNo | Category
