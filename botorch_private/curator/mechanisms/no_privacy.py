"""NoPrivacy: the records as they are, the baseline that a private release is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.mechanisms.base import Drawn, check_scaled
from botorch_private.privacy.guarantee import PrivacyGuarantee


@dataclass(frozen=True)
class NoPrivacy:
    """Release the scaled records themselves. For benchmarks on public data only.

    Example:
        >>> NoPrivacy().guarantee(n=2004, d=2).holds
        False
    """

    isotropic = False

    def guarantee(self, n: int, d: int) -> PrivacyGuarantee:
        """Nothing is promised."""
        validate.count(n=n, minimum=2)
        validate.count(d=d)
        return PrivacyGuarantee(
            mechanism="NoPrivacy",
            epsilon=math.inf,
            delta=0.0,
            holds=False,
            reasons=("the records are released as they are",),
            records=int(n),
            features=int(d),
            projection_dim=int(d),
        )

    def noise_variance(self, d: int) -> float:
        """0: there is no noise."""
        return 0.0

    def noise_dim(self, d: int) -> int:
        """All ``d`` coordinates."""
        return d

    def draw(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Drawn:
        """Return a copy of the ``n x d`` records; they are their own row-wise map."""
        return Drawn(check_scaled(scaled).clone(), lambda rows: rows, torch.clone)

    def apply(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Return a copy of the ``n x d`` records."""
        return self.draw(scaled).rows
