"""The raw tables behind three of the paper's problems: records and log outcomes to be maximised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from botorch_private.datasets import property_prices
from botorch_private.datasets._files import read

INCOME_CAP = 900_000.0
ROI_FLOOR = 0.01
_FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Table:
    """Raw records and outcomes.

    Attributes:
        raw: ``n x d`` records in the features' own units.
        values: ``n`` log outcomes, to be maximised, after the tail rule.
        tail_rule: What was done to extreme outcomes, as a sentence.
    """

    raw: Tensor
    values: Tensor
    tail_rule: str

    @property
    def standardized(self) -> Tensor:
        """Outcomes with mean 0 and standard deviation 1."""
        return (self.values - self.values.mean()) / self.values.std(correction=0)


def branin_table() -> Table:
    """Return minus the logarithm of Branin-Hoo on a 31 x 31 grid of its usual domain."""
    x1, x2 = torch.meshgrid(
        torch.linspace(-5, 10, 31, dtype=torch.float64),
        torch.linspace(0, 15, 31, dtype=torch.float64),
        indexing="ij",
    )
    bowl = x2 - 5.1 / (4 * math.pi**2) * x1**2 + 5 / math.pi * x1 - 6
    height = bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * torch.cos(x1) + 10
    raw = torch.stack([x1.reshape(-1), x2.reshape(-1)], dim=1)
    return Table(raw, -height.reshape(-1).log(), "none: the logarithm is taken of all 961 values")


def property_table(capped: int = 1) -> Table:
    """Return longitude, latitude and minus log price of 2,004 Singapore projects.

    Args:
        capped: How many of the lowest prices are raised to the next one.
    """
    dataset = property_prices()
    ordered = dataset.outcomes.sort(descending=True).values
    rule = (
        f"the {capped} lowest price(s) are raised to the next one; the lowest is 1.2 standard "
        f"deviations of the log price beyond it and would decide the simple regret alone"
        if capped
        else "none: the lowest price decides the simple regret alone"
    )
    return Table(dataset.records, dataset.outcomes.clamp_max(float(ordered[capped])), rule)


def loan_table(tail: str = "floor") -> Table:
    """Return invested amount, interest rate, income and log return on investment of loans.

    Args:
        tail: What becomes of loans without a positive return, which have no logarithm.
            ``"floor"``: all 36,000 loans stay, and a return below 1 % counts as 1 %.
            ``"positive"``: they are left out, and 31,620 loans stay.
    """
    arrays, _ = read("loan_lendingclub_2007_2011", _FOLDER)
    raw = torch.from_numpy(arrays["x"].astype(np.float64))
    roi = torch.from_numpy(arrays["y"].astype(np.float64))
    if tail == "floor":
        low = float((roi < ROI_FLOOR).double().mean())
        rule = f"a return below {ROI_FLOOR:.0%} counts as {ROI_FLOOR:.0%} ({low:.1%} of the loans)"
        return Table(raw, roi.clamp_min(ROI_FLOOR).log(), rule)
    if tail == "positive":
        kept = roi > 0
        rule = f"loans without a positive return are left out ({int((~kept).sum())} of {len(roi)})"
        return Table(raw[kept], roi[kept].log(), rule)
    raise ValueError(f"tail must be 'floor' or 'positive', got {tail!r}")
