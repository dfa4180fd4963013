"""BoTorch models of the benchmark: what both BoTorch's and this package's arms start from."""

from __future__ import annotations

import torch
from arm import Arm
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from problem import NOISE_STD
from torch import Tensor


def column(values: list[float], like: Tensor) -> Tensor:
    """Values as BoTorch wants its outcomes, ``t x 1``."""
    return torch.tensor(values, dtype=like.dtype).unsqueeze(-1)


def fixed_model(X: Tensor, values: list[float], lengthscale: float) -> SingleTaskGP:
    """The true hyperparameters, and outcomes as they are."""
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-6))
    kernel = ScaleKernel(RBFKernel())
    model = SingleTaskGP(
        X,
        column(values, X),
        likelihood=likelihood,
        covar_module=kernel,
        mean_module=ZeroMean(),
        outcome_transform=None,
    )
    likelihood.noise = NOISE_STD**2
    kernel.outputscale = 1.0
    kernel.base_kernel.lengthscale = lengthscale
    return model


def isotropic_model(X: Tensor, values: list[float]) -> SingleTaskGP:
    """One length-scale and an output scale; BoTorch's mean, noise prior and `Standardize`."""
    return SingleTaskGP(X, column(values, X), covar_module=ScaleKernel(RBFKernel()))


def default_model(X: Tensor, values: list[float]) -> SingleTaskGP:
    """BoTorch's default: a length-scale for each feature."""
    return SingleTaskGP(X, column(values, X))


class NewModel(Arm):
    """Fixed hyperparameters, and a new model for each question."""

    def __init__(self, Z, indices, values, lengthscale) -> None:
        super().__init__(Z, indices, values, lengthscale)
        self.candidates = torch.from_numpy(Z)

    def model(self) -> SingleTaskGP:
        """Model of what was measured so far."""
        return fixed_model(self.candidates[self.asked], self.values, self.lengthscale)
