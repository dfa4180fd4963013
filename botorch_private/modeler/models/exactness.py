"""Which models and kernels the fast paths reproduce."""

from __future__ import annotations

from typing import Any

from botorch.models.gpytorch import BatchedMultiOutputGPyTorchModel, GPyTorchModel
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.models import ExactGP

_POSTERIORS = (BatchedMultiOutputGPyTorchModel.posterior, GPyTorchModel.posterior)
_LIKELIHOODS = (GaussianLikelihood, FixedNoiseGaussianLikelihood)


def why_not_exact(model: Any) -> str:
    """What a model lacks for an exact posterior by `DiscretePosterior`; empty if nothing."""
    name = type(model).__name__
    if not isinstance(model, ExactGP) or not isinstance(model, GPyTorchModel):
        return f"an exact GP of BoTorch, got {name}"
    if type(model).posterior not in _POSTERIORS:
        return f"a model with the posterior of an exact GP, but {name} has its own"
    inputs = model.train_inputs
    if inputs is None or model.num_outputs != 1 or len(model.batch_shape) or inputs[0].dim() != 2:
        return f"one output and no batch, got {model.num_outputs} and {tuple(model.batch_shape)}"
    for part in (getattr(model, "covar_module", None), getattr(model, "mean_module", None)):
        batch = tuple(getattr(part, "batch_shape", ()))
        if batch:
            return f"a kernel and a mean without batch, got {batch}"
    if getattr(getattr(model, "input_transform", None), "is_one_to_many", False):
        return (
            f"an input transform that gives one row a point, got {type(model.input_transform).__name__}"
        )
    if type(model.likelihood) not in _LIKELIHOODS:
        return f"Gaussian noise, got {type(model.likelihood).__name__}"
    return ""


def kernel_parts(kernel: Any) -> list[Any]:
    """The kernel, and after a ``ScaleKernel`` the one that it scales: the last has the length-scale."""
    return [kernel, kernel.base_kernel] if type(kernel) is ScaleKernel else [kernel]


def is_plain(kernel: Kernel) -> bool:
    """Whether a kernel and what it scales take all coordinates, without batch."""
    return all(part.active_dims is None and not len(part.batch_shape) for part in kernel_parts(kernel))
