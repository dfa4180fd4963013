"""Covariance matrices at the door."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from linear_operator.operators import LinearOperator
from torch import Tensor

from botorch_private._base import validate

Covariance: TypeAlias = Tensor | np.ndarray | LinearOperator

_TOLERANCE = 1e-4  # relative; float32 kernels are symmetric to about 1e-5


def square(covariance: Covariance) -> Tensor:
    """Return `covariance` as a symmetric float64 matrix on the CPU, or refuse it."""
    dense = covariance.to_dense() if isinstance(covariance, LinearOperator) else covariance
    K = validate.matrix(covariance=dense)
    refuse_not_square(tuple(K.shape))
    asymmetry = (K - K.mT).abs().max()
    if asymmetry > _TOLERANCE * K.abs().max():
        raise ValueError(
            f"covariance must be symmetric, got entries that differ from their mirror image by up "
            f"to {float(asymmetry):.3g}"
        )
    refuse_negative(K.diagonal(), scale=float(K.diagonal().max()))
    return K


def refuse_not_square(shape: tuple[int, ...]) -> None:
    """Refuse the shape of anything but one square matrix."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"covariance must be a square matrix, got shape {tuple(shape)}")


def refuse_negative(variances: Tensor, scale: float) -> None:
    """Refuse variances, prior or posterior, that are negative beyond rounding."""
    if bool((variances < -_TOLERANCE * abs(scale)).any()):
        raise ValueError("covariance must be positive semidefinite, got a negative variance")


def row(covariance: Tensor | LinearOperator, i: int) -> Tensor:
    """Return row `i`, evaluating no other row of a lazy covariance."""
    values = covariance[i, :]
    if isinstance(values, LinearOperator):
        values = values.to_dense()
    return values.detach().to(device="cpu", dtype=torch.float64)
