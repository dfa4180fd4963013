"""CellResponse: randomized response on declared cells, private for a whole record."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.cells.cells import CELL_NUMBER, Cells
from botorch_private.curator.mechanisms.base import NO_MAPS, Drawn, Maps
from botorch_private.curator.mechanisms.entropy import Entropy, below, entropy_from
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.response_law import ResponseLaw

_CHUNK_ROWS = 2**18
_ARRAYS = 4  # of a chunk, at most, while it is told


class ManyCellsWarning(UserWarning):
    """There are so many cells that a label is a lie more often than not."""


@dataclass(frozen=True)
class CellResponse:
    """Tell each record's cell by randomized response: the true one, or any other one as a lie.

    The promise is about a *whole* record: whatever a record is, yes/no and categories and all, what
    leaves looks the same up to a factor of ``e^epsilon``. Pure (delta is 0), and exact: all of it is
    done with whole numbers (`ResponseLaw`).

    Args:
        epsilon: For any change of a whole record, in (0, 40]. What is stated is ``log(p / q)`` of the
            draw, at most this.
        cells: The declared partition.

    Raises:
        ValueError: If a parameter is outside its range.

    Warns:
        ManyCellsWarning: If a lie is likelier than the truth, which is so for ``K - 1 > e^epsilon``.

    Example:
        >>> cells = Cells({"age": [18, 40, 65, 100], "weight": [0, 80, 200]})
        >>> CellResponse(3.0, cells).guarantee(n=2004, d=2).at(50.0) <= 3.0
        True
    """

    epsilon: float
    cells: Cells

    isotropic = True

    def __post_init__(self) -> None:
        validate.positive(epsilon=self.epsilon)
        if not isinstance(self.cells, Cells):
            raise TypeError(f"cells must be Cells, got {type(self.cells).__name__}")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        law = self.law
        if law.p < 0.5:
            warnings.warn(
                f"{law.cells} cells are many at epsilon {self.epsilon:g}: a label is the true cell in "
                f"{100 * law.p:.0f} % of records only; take fewer cells, or a larger epsilon",
                ManyCellsWarning,
                stacklevel=3,
            )

    @cached_property
    def law(self) -> ResponseLaw:
        """Law of the labels."""
        return ResponseLaw.at_most(self.epsilon, self.cells.count)

    def guarantee(self, n: int, d: int) -> PrivacyGuarantee:
        """What is promised for ``n`` records of ``d`` features, before any data are seen."""
        validate.count(n=n, minimum=2)
        validate.count(d=d)
        promise = self.cells.promise
        of_history = () if promise is None else (promise.sentence,)
        return PrivacyGuarantee(
            mechanism="CellResponse",
            epsilon=self.law.epsilon(1.0),
            delta=0.0,
            holds=True,
            assumptions=(*PrivacyGuarantee.OF_A_RELEASE, *of_history),
            law=self.law,
            records=int(n),
            features=int(d),
            projection_dim=1,
            names=self.cells.names,
        )

    def noise_variance(self, d: int) -> float:
        """0: labels have no width."""
        return 0.0

    def noise_dim(self, d: int) -> int:
        """1."""
        return 1

    def draw_memory(self, n: int, d: int) -> int:
        """Bytes that `draw` takes at its peak: numbers, labels and rows, and random words of a chunk."""
        return 12 * n + 8 * _ARRAYS * min(n, _CHUNK_ROWS)

    def draw(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Drawn:
        """Tell ``n x 1`` cell numbers once, O(n): ``n x 1`` labels in the order of the records.

        Labels are int16 where the numbers are, as `Cells.scale_rows` gives them; else float64.
        """
        entropy = entropy_from(generator)

        def tell(cells: Tensor) -> Tensor:
            return self.draw_rows(cells, NO_MAPS, entropy)

        return Drawn(tell(scaled), more=tell)

    def draw_maps(self, d: int, entropy: Entropy) -> Maps:
        """Nothing: labels share nothing."""
        return NO_MAPS

    def draw_rows(self, scaled: Tensor, maps: Maps, entropy: Entropy) -> Tensor:
        """Tell some cell numbers, as `draw` does."""
        return labels_of(scaled, self.law, entropy)

    def apply(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Tell ``n x 1`` cell numbers once, and return the ``n x 1`` labels alone."""
        return self.draw(scaled, generator=generator).rows


def labels_of(cells: Tensor, law: ResponseLaw, entropy: Entropy) -> Tensor:
    """Tell ``n x 1`` cell numbers: ``n x 1`` labels, int16 where the numbers are."""
    numbers = _checked(cells, law.cells)
    labels = torch.from_numpy(told(numbers, law, entropy)).unsqueeze(-1)
    return labels if cells.dtype == CELL_NUMBER else labels.double()


def told(cells: np.ndarray, law: ResponseLaw, entropy: Entropy) -> np.ndarray:
    """Labels of ``n`` cell numbers; a cell decides nothing but what the true one is called."""
    labels = np.empty_like(cells)
    for start in range(0, len(cells), _CHUNK_ROWS):
        true = cells[start : start + _CHUNK_ROWS]
        honest = entropy.words(len(true)) >> np.uint64(1) < np.uint64(law.truth)
        # Drawn for the honest as well: how long it takes would tell how many lies there are.
        other = below(entropy, law.cells - 1, len(true)).astype(cells.dtype)
        lie = other + (other >= true)  # the others, in their order
        labels[start : start + _CHUNK_ROWS] = np.where(honest, true, lie)
    return labels


def _checked(cells: Any, count: int) -> np.ndarray:
    if isinstance(cells, Tensor) and cells.dtype == CELL_NUMBER and cells.shape[1:] == (1,):
        table = cells[:, 0].numpy()
        whole = True
    else:
        table = validate.matrix(columns=1, scaled=cells)[:, 0].numpy()
        whole = bool((table == np.rint(table)).all())
    if not whole or table.min() < 0 or table.max() >= count:
        raise ValueError(
            f"scaled must hold cell numbers in 0..{count - 1}: number records by Cells first"
        )
    return table.astype(np.int16, copy=False)
