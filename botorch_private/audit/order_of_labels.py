"""Whether a curator shuffles labels: what is said of them before the first question rests on it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from botorch_private.audit.findings import Check
from botorch_private.audit.two_sided import two_sided
from botorch_private.curator.cells.cell_response import CellResponse, ManyCellsWarning
from botorch_private.curator.cells.cells import Cells
from botorch_private.privacy.response_law import ResponseLaw

if TYPE_CHECKING:
    from botorch_private.curator.curator import Curator

_MOST_RECORDS = 20_000


class Ordered(NamedTuple):
    """What a curator released of a made-up table: labels, with the cells and the order of the rows."""

    labels: np.ndarray
    true: np.ndarray
    order: np.ndarray


def released_by(
    law: ResponseLaw, true: np.ndarray, curator: Callable[..., Curator] | None
) -> tuple[Ordered, Ordered]:
    """Release a table of cell numbers twice, by a `CellResponse` of this law."""
    if curator is None:
        # Late: who only reads releases need not have what a curator keeps.
        from botorch_private.curator import curator as home

        curator = home.Curator
    numbers = Cells.of(lambda rows: rows[:, 0].long(), law.cells, features=1, batched=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyCellsWarning)
        response = CellResponse(law.epsilon(1.0), numbers)
    some = true[:_MOST_RECORDS]
    records = torch.from_numpy(some).double().unsqueeze(-1)
    outcomes = torch.zeros(len(some), dtype=torch.float64)

    def release() -> Ordered:
        made: Any = curator(records, None, response, outcomes)
        order = made.permutation.numpy()
        return Ordered(made.release.labels.numpy(), some[order], order)

    return release(), release()


def order_checks(one: Ordered, other: Ordered, law: ResponseLaw) -> Iterator[Check]:
    """Whether the orders of two releases are random, their own, and those of the labels.

    A uniform order agrees with a fixed one in ``k`` places with a chance of at most ``1 / k!``.
    """
    own = np.arange(len(one.order))
    for name, fixed in (
        ("rows of labels do not stay in the table's order", own),
        ("rows of labels are not in the table's order, reversed", own[::-1]),
        ("two releases of labels have orders of their own", other.order),
    ):
        alike = int((one.order == fixed).sum())
        chance = math.exp(-math.lgamma(alike + 1))
        yield Check(name, min(1.0, chance), f"{alike} of {len(own)} rows are in the same place")
    told, records = (int((each.labels == each.true).sum()) for each in (one, other)), len(one.true)
    chances = [float(two_sided(count, records, law.p)) for count in told]
    yield Check("labels are those of the records that the order says", min(1.0, 2 * min(chances)))
