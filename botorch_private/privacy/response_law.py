r"""The law of a randomized response: a cell is told truly, or one of the others is told in its place.

k-ary randomized response (Warner 1965; Kairouz, Oh & Viswanath 2016, JMLR 17(17)) tells the true cell of
``K`` with probability ``p``, and each other cell with ``q = (1 - p) / (K - 1)``. Whatever two records
are, the probability of any label changes by a factor of at most ``p / q``: pure epsilon ``log(p /
q)``, at any distance.

``p`` is a whole number of 2^-63, so that the draw is exact: no grid, and no floating-point error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import ClassVar

from botorch_private._base import validate

WHOLE = 2**63
MOST_CELLS = 10_000
_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)  # exp and ln round correctly in the last digit
_LARGEST_EPSILON = 40.0  # beyond it a lie is rarer than 2^-57, and 2^-63 is too coarse for it


@dataclass(frozen=True)
class ResponseLaw:
    """Law of the label that is told of one record's cell.

    Args:
        cells: Number of cells, ``K``, 2 to 10,000.
        truth: Probability of the true cell, in whole steps of 2^-63; a lie is not likelier.

    Example:
        >>> law = ResponseLaw.at_most(3.0, cells=4)
        >>> law.epsilon(1.0, 0.0) <= 3.0
        True
    """

    cells: int
    truth: int

    kind: ClassVar[str] = "response"
    delta_fp: ClassVar[float] = 0.0
    """Nothing: the draw is exact."""

    def __post_init__(self) -> None:
        validate.count(cells=self.cells, minimum=2)
        if self.cells > MOST_CELLS:
            raise ValueError(f"cells must be at most {MOST_CELLS}, got {self.cells}")
        validate.count(truth=self.truth)
        if not WHOLE - self.truth <= self.truth * (self.cells - 1) or self.truth >= WHOLE:
            raise ValueError("truth must be below 2^63, and such that no lie is likelier than the truth")

    @classmethod
    def at_most(cls, epsilon: float, cells: int) -> ResponseLaw:
        """The most truthful law whose ``log(p / q)`` is at most epsilon, rounded to steps of 2^-63.

        ``p = e^epsilon / (e^epsilon + K - 1)``.

        Raises:
            ValueError: If epsilon is not in (0, 40], or so small that no step is left.
        """
        validate.positive(epsilon=epsilon)
        validate.count(cells=cells, minimum=2)
        if epsilon > _LARGEST_EPSILON:
            raise ValueError(
                f"epsilon must be at most {_LARGEST_EPSILON:g} for cells, got {epsilon:g}: a lie would "
                f"next to never be told"
            )
        odds = _EXACT.exp(Decimal(float(epsilon)))
        share = _EXACT.divide(odds, _EXACT.add(odds, Decimal(cells - 1)))
        truth = min(int(_EXACT.multiply(share, Decimal(WHOLE))), WHOLE - 1)
        while _log_odds(cells, truth) > Decimal(float(epsilon)):
            truth -= 1
        if WHOLE - truth > truth * (cells - 1):
            raise ValueError(f"epsilon must be larger for {cells} cells, got {epsilon!r}")
        return cls(int(cells), truth)

    @property
    def p(self) -> float:
        """Probability of the true cell."""
        return float(Fraction(self.truth, WHOLE))

    @property
    def q(self) -> float:
        """Probability of each other cell."""
        return float(Fraction(WHOLE - self.truth, WHOLE * (self.cells - 1)))

    @property
    def pure(self) -> bool:
        """True: epsilon needs no delta."""
        return True

    def losses(self, distance: float, steps: int) -> None:
        """None: a label costs its pure epsilon."""

    def pure_epsilon(self, distance: float, records: int = 1) -> float:
        """The same as `epsilon`, which needs no delta."""
        return self.epsilon(distance, records=records)

    def gaussian_mu(self, distance: float, records: int = 1) -> None:
        """None: labels are no Gaussian draw."""

    def gaussian_squares(self, distance: float, records: int = 1) -> None:
        """None: likewise."""

    def arithmetic_slack(self, distance: float) -> float:
        """0: the draw is exact."""
        return 0.0

    def epsilon(self, distance: float, delta: float = 0.0, records: int = 1) -> float:
        """``log(p / q)``, rounded up, for any two different records; 0 for a record and itself.

        Args:
            distance: Of the two records, >= 0: what it is does not matter.
            delta: Nothing is gained by it.
            records: How many records of one person change at once: each has a label of its own.
        """
        validate.non_negative(distance=distance)
        if distance == 0:
            return 0.0
        exact = _EXACT.multiply(Decimal(records), max(_log_odds(self.cells, self.truth), Decimal(0)))
        rounded = float(exact)
        return rounded if Decimal(rounded) >= exact else math.nextafter(rounded, math.inf)


def _log_odds(cells: int, truth: int) -> Decimal:
    """``log(p / q)`` to 80 digits."""
    return _EXACT.ln(_EXACT.divide(Decimal(truth * (cells - 1)), Decimal(WHOLE - truth)))
