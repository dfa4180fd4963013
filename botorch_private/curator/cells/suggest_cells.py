"""suggest_cells: how many cells, and where they end, from epsilon and declared ranges alone."""

from __future__ import annotations

import math
from dataclasses import replace

from botorch_private._base import validate
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import FeatureKind, Number
from botorch_private.privacy.response_law import MOST_CELLS

_SHARE = 0.5  # of epsilon: see `suggested_count`


def suggested_count(epsilon: float) -> int:
    """How many cells to declare at a whole-record epsilon: ``e^(epsilon / 2)``, at least 2.

    A label is a lie with odds of ``(K - 1) e^-epsilon``. With ``e^(epsilon / 2)`` cells they are
    ``e^(-epsilon / 2)``, and a cell that only this share of the records is in still has as many true
    labels as lies. Nothing of a table is looked at.

    Args:
        epsilon: For any change of a whole record, > 0.
    """
    validate.positive(epsilon=epsilon)
    return int(min(MOST_CELLS, max(2, round(math.exp(min(_SHARE * epsilon, 40.0))))))


def suggest_cells(epsilon: float, encoding: Encoding) -> Encoding:
    """The same features with edges: equal steps of the declared range, as many for each number.

    On a log scale they are equal factors.

    A yes/no and a category take the cells that they have; numbers share what is left, so that the grid
    has about `suggested_count` cells; a number gets one edge at least.

    Args:
        epsilon: For any change of a whole record, > 0.
        encoding: The declared features; edges that its numbers have already are replaced.

    Returns:
        An `Encoding` for `Cells.of_encoding`. Nothing of a table is looked at.

    Raises:
        ValueError: If epsilon is not positive; or if yes/no and categories, with two cells for each
            number, make more than 10,000 cells.

    Example:
        >>> declared = Encoding([Number("age", 18, 100), YesNo("diabetes")])
        >>> Cells.of_encoding(suggest_cells(5.0, declared)).count
        12
    """
    fixed = math.prod(max(2, len(each.columns)) for each in encoding.features if not _is_number(each))
    numbers = sum(map(_is_number, encoding.features))
    if fixed * 2**numbers > MOST_CELLS:
        raise ValueError(
            f"the declared features make at least {fixed * 2**numbers} cells, and {MOST_CELLS} are "
            f"the most: "
            f"leave features out"
        )
    left = suggested_count(epsilon) / fixed
    each_has = max(2, math.ceil(left ** (1 / numbers) - 1e-9)) if numbers else 1
    return Encoding(
        [
            replace(each, edges=_equal_steps(each, each_has)) if isinstance(each, Number) else each
            for each in encoding.features
        ],
        encoding.scaling.radius,
        history=encoding.scaling.history,
    )


def _is_number(feature: FeatureKind) -> bool:
    return isinstance(feature, Number)


def _equal_steps(number: Number, count: int) -> tuple[float, ...]:
    if number.scale == "log":  # equal factors
        factor = (number.upper / number.lower) ** (1 / count)
        return tuple(number.lower * factor**step for step in range(1, count))
    width = number.upper - number.lower
    return tuple(number.lower + width * step / count for step in range(1, count))
