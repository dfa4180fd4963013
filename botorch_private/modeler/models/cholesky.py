"""Growing a Cholesky factor by rows, with a jitter rule for the last digits."""

from __future__ import annotations

import torch
from torch import Tensor

_FLOOR = 8.0  # in units of rounding: (t + m) eps times the largest prior variance


def extend_cholesky(
    factor: Tensor,
    cross: Tensor,
    corner: Tensor,
    noise: Tensor,
    *,
    eps: float = torch.finfo(torch.float64).eps,
) -> tuple[Tensor, Tensor, float]:
    """Extend ``L`` with ``L L^T = K + N`` from ``t`` rows to ``t + m``, in float64.

    Jitter rule: a pivot, which is the variance of a new observation given the earlier ones, is at
    least its noise, and it is computed with an error of about ``(t + m) eps k`` for the largest prior
    variance ``k``. Where it comes out below 8 times that, the noise of that observation alone is
    raised so that the pivot is that floor. At 500 observations the floor is ``9e-13 k``.

    Args:
        factor: ``t x t`` lower triangular.
        cross: ``m x t`` prior covariance of new and old rows.
        corner: ``m x m`` prior covariance of the new rows.
        noise: ``m`` observation noise variances.
        eps: Relative error of the covariances; float32's, where the kernel computes in float32.

    Returns:
        The new rows of the factor, ``m x t`` and ``m x m``, and the largest noise that was added.
    """
    t, m = len(factor), len(corner)
    below = cross
    if t:
        below = torch.linalg.solve_triangular(factor, cross.mT, upper=False).mT
    largest = float(corner.diagonal().max())
    floor = _FLOOR * (t + m) * eps * largest
    remainder = corner - below @ below.mT + noise.diag()
    triangle, failed = torch.linalg.cholesky_ex(remainder)
    if int(failed) == 0 and float(triangle.diagonal().min()) ** 2 >= floor:
        return below, triangle, 0.0
    return below, *_row_by_row(remainder, floor)


def _row_by_row(matrix: Tensor, floor: float) -> tuple[Tensor, float]:
    """Cholesky factor with pivots raised to a floor, and the largest raise."""
    m = len(matrix)
    triangle = torch.zeros_like(matrix)
    raised = 0.0
    for i in range(m):
        row = matrix[i, :i]
        if i:
            row = torch.linalg.solve_triangular(triangle[:i, :i], row.unsqueeze(-1), upper=False)
            row = row.squeeze(-1)
        pivot = float(matrix[i, i] - row @ row)
        raised = max(raised, floor - pivot)
        triangle[i, :i] = row
        triangle[i, i] = max(pivot, floor) ** 0.5
    return triangle, raised
