"""RowsOfLabels: which rows have which label, sorted once for all rounds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from botorch_private.modeler.models.label_kernel import labels_of


@dataclass(frozen=True, eq=False)
class RowsOfLabels:
    """Rows by label.

    Args:
        labels: ``n`` labels in 0..K-1, int64.
        rows: The ``n`` rows sorted by label, then by number.
        starts: ``K + 1`` places in `rows`: where each label begins, and the end.
    """

    labels: Tensor
    rows: Tensor
    starts: Tensor

    @classmethod
    def of(cls, candidates: Tensor, count: int) -> RowsOfLabels:
        """Sort ``n x 2`` rows: the label, and the number of the row."""
        labels = labels_of(candidates, count)
        sizes = torch.bincount(labels, minlength=count)
        starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        return cls(labels, torch.argsort(labels, stable=True), starts)

    def left(self, closed: Collection[int]) -> Tensor:
        """How many rows of each label are not closed, ``K`` numbers; O(K + number of closed rows)."""
        sizes = self.starts.diff()
        if closed:
            taken = self.labels[torch.tensor(sorted(closed), device=self.labels.device)]
            sizes = sizes - torch.bincount(taken, minlength=len(sizes))
        return sizes

    def one_of(self, label: int, closed: Collection[int], generator: torch.Generator | None) -> int:
        """A row of a label that is not closed: a random one, or without generator the first.

        Rows were permuted at random by the curator, so that the first is a random record as well.
        """
        first, last = (int(self.starts[place]) for place in (label, label + 1))
        if generator is None:
            return next(row for row in map(int, self.rows[first:last]) if row not in closed)
        for _ in range(2 * len(closed) + 64):  # most rows are open: soon found
            place = int(torch.randint(first, last, (), generator=generator))
            if (row := int(self.rows[place])) not in closed:
                return row
        open_rows = [row for row in self.rows[first:last].tolist() if row not in closed]
        return open_rows[int(torch.randint(len(open_rows), (), generator=generator))]
