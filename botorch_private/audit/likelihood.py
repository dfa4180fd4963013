"""The likelihood ratio of two places of a record, under the noise that a mechanism claims."""

from __future__ import annotations

import torch
from torch import Tensor

from botorch_private.privacy.noise_law import NoiseLaw

# Digits of a likelihood ratio that are kept: the last ones would certify float64, not noise.
_DIGITS = 9


def log_ratio(law: NoiseLaw, error: Tensor, shift: Tensor) -> Tensor:
    """Log density of the claimed noise at ``error`` minus that at ``error - shift``.

    Args:
        law: The claimed law.
        error: ``... x k`` released rows minus where the record is.
        shift: ``... x k`` where the other record is, minus where the record is.

    Returns:
        Nats, rounded.
    """
    near, far = error.norm(dim=-1), (error - shift).norm(dim=-1)
    if law.exponential:
        ratio = (far - near) / law.scale
    else:
        ratio = (far.square() - near.square()) / (2 * law.scale**2)
    return torch.round(ratio, decimals=_DIGITS)
