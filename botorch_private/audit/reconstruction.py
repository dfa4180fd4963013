"""Reconstruction: records as an attacker rebuilds them from a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from botorch_private._base import validate


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Records as an attacker rebuilds them.

    Attributes:
        records: ``n x d`` estimates in raw units, one for each released row. With declared ranges, of
            the clipped records.
        error: ``d`` root mean square errors, in raw units, as the attacker judges them without the
            true records; each attack says how. Infinite where it cannot tell. Of a feature on a log
            scale it is the error of the natural logarithm.
    """

    records: Tensor
    error: Tensor

    def true_error(self, records: Any) -> Tensor:
        """Root mean square error of each feature, in raw units, for who knows the true records.

        Args:
            records: ``n x d`` raw records in the order of the released rows.
        """
        truth = validate.matrix(records=records)
        if truth.shape != self.records.shape:
            raise ValueError(
                f"records must have shape {tuple(self.records.shape)}, got {tuple(truth.shape)}"
            )
        return (self.records - truth).square().mean(dim=0).sqrt()
