"""How the paper prepares inputs: learned from the table, hence not public."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from tables import INCOME_CAP
from torch import Tensor

from botorch_private import PrivacyLeakWarning, PublicScaling


def paper_scaling(raw: Tensor, lengthscale: Sequence[float] | None = None) -> PublicScaling:
    """Centre at the mean, divide by length-scales, and give the farthest record a norm of 25."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # the point of this reproduction
        return PublicScaling.from_data(raw, radius=25.0, lengthscale=lengthscale)


def loan_scaling(raw: Tensor) -> PublicScaling:
    """Divide by the standard deviation of each feature, incomes above the cap set to it."""
    capped = torch.cat([raw[:, :2], raw[:, 2:].clamp_max(INCOME_CAP)], dim=1)
    return paper_scaling(capped, capped.std(dim=0, correction=0).tolist())
