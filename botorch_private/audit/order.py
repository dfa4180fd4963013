"""order_audit: whether the place of a released row tells whose record it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.progress import tqdm
from botorch_private.exchange.release import Release

_LEVEL = 0.01
_CORNERS = 32  # columns for a part of the cells without an order


@dataclass(frozen=True)
class OrderResult:
    """A permutation test of whether rows were released in an order that the table gives away.

    Attributes:
        p_value: Chance that rows in random order fit one of the orders as well, in (0, 1].
        statistic: How well rows and records fit in the best order, in [0, 1]:
            ``|Zc' Xc|^2 / (|Zc|^2 |Xc|^2)`` of the centred tables, in Frobenius norms.
        order: The best order, in words.
        permutations: Random orders that the statistic was compared with.
    """

    p_value: float
    statistic: float
    order: str
    permutations: int

    @property
    def found(self) -> bool:
        """Whether chance is no explanation, at a level of 1 %."""
        return self.p_value <= _LEVEL

    def __str__(self) -> str:
        verdict = f"the rows were left in {self.order}" if self.found else "no sign of the table's order"
        return f"{verdict} (p = {self.p_value:.3g}, {self.permutations} permutations)"


@on_cpu_by_default
def order_audit(
    release: Release, records: Any, *, permutations: int = 199, seed: int = 0, progress: bool = True
) -> OrderResult:
    """Test whether released row ``i`` belongs to record ``i`` more than chance would have it.

    Noise on the rows does not help whose row is known by its place. The table is tried in its own
    order, reversed, and sorted by each feature up and down: an order that depends on the records is
    one that they can be read off. The statistic is the largest over these orders, and it is compared
    with the same of randomly permuted rows, so that trying many orders costs no false alarms.

    It does not change if rows or records are rotated, reflected, moved or scaled, so it sees through
    any random isometry, and statistically through a projection. It finds an order that is kept in
    part, such as blocks. Rows that are labels of cells are put where their cells lie; how they are
    numbered does not count; where cells have no order and hold a record or two each, little shows.
    It does not find a fixed shuffle that the attacker knows (try it by passing
    `records` in that order), and it flags a release sorted by its own noisy rows, which is no leak.

    Args:
        release: What was released, ``n`` rows.
        records: ``n x d`` scaled records in the table's order; for labels of cells raw ones will do.
        permutations: Random orders, >= 99; the least p-value is ``1 / (permutations + 1)``.
        seed: Of the random orders.
        progress: Whether to show a progress bar (on a terminal, after two seconds).

    Raises:
        ValueError: If the tables do not fit, or one of them has only equal rows.

    Example:
        >>> found = audit.order_audit(release, scaling.transform(records))
        >>> 0 < found.p_value <= 1
        True
    """
    X = validate.matrix(records=records, minimum_rows=2)
    rows = _places(release)
    if len(X) != len(rows):
        raise ValueError(f"records must have a row for each of {len(rows)} released rows, got {len(X)}")
    validate.count(minimum=99, permutations=permutations)
    validate.count(minimum=0, seed=seed)
    orders = _orders(X)
    Z, X = _centred(release=rows), _centred(records=X)
    tables = torch.cat([X[order] for order in orders.values()], dim=1)
    fits = _fits(Z, tables, len(orders))
    generator = torch.Generator().manual_seed(seed)
    as_good = 0
    for _ in tqdm(range(permutations), desc="permuting", delay=2, disable=None if progress else True):
        shuffled = Z[torch.randperm(len(Z), generator=generator)]
        as_good += bool(_fits(shuffled, tables, len(orders)).max() >= fits.max())
    return OrderResult(
        p_value=(1 + as_good) / (1 + permutations),
        statistic=float(fits.max()),
        order=list(orders)[int(fits.argmax())],
        permutations=int(permutations),
    )


def _places(release: Release) -> Tensor:
    """What is compared of each row: not the number that a row of a label has beside it."""
    if release.cells is None:
        return release.candidates
    assert release.labels is not None
    space = release.cells
    places = space.coordinates(release.labels)
    columns = []
    for column, part in enumerate(space.telling):
        place = places[:, column : column + 1]
        if not space.ordered[part]:
            # No order among categories: each has a corner of its own, or a fixed random place.
            length = space.shape[part]
            generator = torch.Generator().manual_seed(0)
            corners = torch.eye(length, dtype=torch.float64)[:, :_CORNERS]
            if length > _CORNERS:
                corners = torch.randn(length, _CORNERS, dtype=torch.float64, generator=generator)
            place = corners[place[:, 0].long()]
        columns.append(place)
    return torch.cat(columns, dim=1)


def _orders(X: Tensor) -> dict[str, Tensor]:
    own = torch.arange(len(X))
    found = {"the table's order": own, "the table's order, reversed": own.flip(0)}
    for column in range(X.shape[1]):
        up = torch.argsort(X[:, column], stable=True)
        found[f"the order of feature {column}"] = up
        found[f"the order of feature {column}, reversed"] = up.flip(0)
    return found


def _centred(**values: Tensor) -> Tensor:
    ((name, table),) = values.items()
    centred = table - table.mean(dim=0)
    size = centred.norm()
    if size == 0:
        raise ValueError(f"{name} must hold at least two different rows, got equal rows only")
    return centred / size


def _fits(Z: Tensor, tables: Tensor, count: int) -> Tensor:
    """Squared Frobenius norm of ``Z' X`` for each of ``count`` tables side by side."""
    return (Z.mT @ tables).reshape(Z.shape[1], count, -1).square().sum(dim=(0, 2))
