"""NamedObjective: a record has several outcomes, each with a public name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from botorch_private._base.frames import column_names
from botorch_private.curator.objective import Objective, number_of
from botorch_private.exchange.named_outcomes import require_names


class NamedObjective(Objective):
    """Several outcomes of each record that are known already, or a callable that measures them together.

    A record is measured once, for all its outcomes: where one is missing, none is answered.

    Args:
        objective: A callable from a ``d`` float64 tensor of raw features to a dict with a finite number
            for each name; or a dict with a vector of ``n`` outcomes for each, or a data frame with just
            these columns.
        records: As for `Objective`.
        n: Number of records.
        names: Names of the outcomes.

    Attributes:
        outcomes: ``n x m`` known outcomes, in the order of the names; None where they are measured.
    """

    def __init__(
        self, objective: Callable[[Tensor], Any] | Any, records: Any, n: int, names: tuple[str, ...]
    ) -> None:
        self.names = names
        self._wanted, self._each = f"a dict with one number for each of {', '.join(names)}", " for each"
        super().__init__(objective, records, n)

    def _known(self, records: Any, count: int, **outcomes: Any) -> Tensor:
        ((argument, given),) = outcomes.items()
        columns = column_names(given)
        if columns is not None:
            if len(columns) != len(self.names) or set(columns) != set(self.names):
                raise ValueError(
                    f"{argument} must have the columns {', '.join(self.names)}, each once, and no others"
                )
            given = {name: given[name] for name in self.names}
        require_names(self.names, **{argument: given})
        vectors = [
            super(NamedObjective, self)._known(records, count, **{f"{argument}[{name}]": given[name]})
            for name in self.names
        ]
        return torch.stack(vectors, dim=1)

    def _recalled(self, outcome: Tensor) -> dict[str, float]:
        return dict(zip(self.names, outcome.tolist(), strict=True))

    def _read(self, returned: Any) -> dict[str, float]:
        if not isinstance(returned, Mapping) or set(returned) != set(self.names):
            raise TypeError("not the names that were declared")
        return {name: number_of(returned[name]) for name in self.names}
