"""A kernel and what it scales, and whether it is the plain kernel of its formula."""

from __future__ import annotations

from typing import Any

from gpytorch.kernels import Kernel, ScaleKernel


def kernel_parts(kernel: Any) -> list[Any]:
    """The kernel, and after a ``ScaleKernel`` the one that it scales: the last has the length-scale."""
    return [kernel, kernel.base_kernel] if type(kernel) is ScaleKernel else [kernel]


def is_plain(kernel: Kernel) -> bool:
    """Whether a kernel and what it scales take all coordinates, without batch."""
    return all(part.active_dims is None and not len(part.batch_shape) for part in kernel_parts(kernel))
