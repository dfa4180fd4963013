"""Outcomes in standard deviations from their mean, whatever their unit and whatever was added."""

from __future__ import annotations

from typing import NamedTuple

import torch
from botorch.models.transforms.outcome import Standardize
from torch import Tensor

_DIGITS = 4 * torch.finfo(torch.float64).eps  # share of equal numbers that their last digits can be
_SUBNORMAL = torch.finfo(torch.float64).tiny  # below it, numbers have few digits or none
LARGEST_OUTCOME = 1e150
# Standard deviations that are numbers of the dtype, and so are the squares of the largest ones.
_DEVIATIONS = {torch.float64: (_SUBNORMAL / 100, LARGEST_OUTCOME), torch.float32: (1e-37, 1e18)}


class Standardized(NamedTuple):
    """Outcomes without unit and origin.

    BoTorch's `Standardize` learns the same, but takes deviations below 1e-8 for none, and squares
    numbers that may be too small or too large for it. Here no threshold has a unit.

    Attributes:
        targets: ``t`` standardized outcomes, float64; 0 where all outcomes are equal up to rounding.
        mean: Mean of the outcomes.
        scale: Their standard deviation. Where all are equal, or there is one, that of their known noise,
            and without such noise 1: nothing tells how far outcomes may lie apart.
        noise: Variance of the known noise of an outcome, in standardized units.
    """

    targets: Tensor
    mean: float
    scale: float
    noise: float

    @classmethod
    def of(cls, outcomes: Tensor, noise_variance: float = 0.0) -> Standardized:
        """Standardize.

        Args:
            outcomes: ``t`` finite float64 numbers.
            noise_variance: Known variance of the noise of each, in squared units of the outcomes.
        """
        # Differences of neighbouring numbers are exact: a large constant costs digits of the outcomes
        # alone. Their largest is the unit of what is squared, so that nothing under- or overflows.
        origin = float(outcomes[0])
        largest = float((outcomes - origin).abs().max())
        if largest < max(_DIGITS * float(outcomes.abs().max()), _SUBNORMAL):
            scale = noise_variance**0.5 or 1.0
            return cls(torch.zeros_like(outcomes), origin, scale, noise_variance / scale / scale)
        shares = (outcomes - origin) / largest
        mean, deviation = shares.mean(), shares.std()
        scale = largest * float(deviation)
        return cls(
            (shares - mean) / deviation,
            origin + largest * float(mean),
            scale,
            noise_variance / scale / scale,
        )

    def transform(self, like: Tensor) -> Standardize:
        """BoTorch's transform with this mean and scale, of the dtype and on the device of a tensor.

        Raises:
            ValueError: If the scale is out of its range.
        """
        least, most = _DEVIATIONS[like.dtype]
        if not least <= self.scale <= most:
            raise ValueError(
                f"values must have a standard deviation between {least:g} and {most:g} in {like.dtype}, "
                f"got {self.scale:.3g}: choose another unit"
                + (", or dtype=torch.float64" if like.dtype == torch.float32 else "")
            )
        transform = Standardize(m=1)
        transform.means = like.new_full((1, 1), self.mean)
        transform.stdvs = like.new_full((1, 1), self.scale)
        transform._stdvs_sq = transform.stdvs.square()
        transform._is_trained = torch.tensor(True, device="cpu")
        return transform.eval()


def require_outcome(**values: float) -> None:
    """Refuse each named outcome that is so large that no model could take it."""
    for name, value in values.items():
        if abs(value) > LARGEST_OUTCOME:
            raise ValueError(f"{name} must be at most {LARGEST_OUTCOME:g} in size: choose a larger unit")
