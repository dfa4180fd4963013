"""Prior of an exact GP: mean and covariances between observed rows and candidates."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor

from botorch_private.modeler.models.exactness import is_plain, kernel_parts
from botorch_private.modeler.models.kernel import ReleasedInputKernel

_FORWARD_CHUNK = 2048
_FAST_CHUNK = 2**18  # numbers of a covariance matrix, 2 MiB: what stays in the cache between passes
_MANY = 16  # rows from which on a matrix product is faster than subtracting
_NEAR = 16.0  # half squared norms, in length-scales, up to which it loses no digits: 50 eps
_DIRECT = "donot_use_mm_for_euclid_dist"  # subtract before squaring: no cancellation, 0 for equal rows


class ForwardPrior:
    """Prior of any exact GP, by its own ``forward``: the slow twin of `StationaryPrior`.

    Args:
        model: A single-output exact GP without batch, in eval mode.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        single = model.train_targets.dtype != torch.float64
        self._widened = single and type(model).forward is SingleTaskGP.forward
        dtype = model.train_targets.dtype if single and not self._widened else torch.float64
        self.eps = torch.finfo(dtype).eps  # rounding of `covariance64`
        self.near = False  # whether `prepare` found all candidates near 0

    def prepare(self, Z: Tensor) -> None:
        """See all candidates first, so that equal rows go the same way to the last digit."""

    def mean(self, Z: Tensor) -> Tensor:
        """Prior mean of ``n x r`` rows, ``n`` numbers."""
        return self._model.forward(Z).mean

    def variance(self, Z: Tensor) -> Tensor:
        """Prior variance of ``n x r`` rows, ``n`` numbers."""
        return self._model.forward(Z).lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)

    def covariance(self, X: Tensor, Z: Tensor) -> Tensor:
        """Prior covariance of ``m x r`` and ``n x r`` rows, ``m x n``."""
        m = len(X)
        # GPyTorch evaluates the kernel after slicing, so only this corner is computed.
        return self._model.forward(torch.cat([X, Z])).lazy_covariance_matrix[:m, m:].to_dense()

    def covariance64(self, X: Tensor, Y: Tensor) -> Tensor:
        """Prior covariance in the best precision that the model has, as float64."""
        return self.differentiable64(X, Y)

    def differentiable64(self, X: Tensor, Y: Tensor) -> Tensor:
        """The same by GPyTorch, with gradients in the rows."""
        if self._widened:
            return self._float64_kernel(X.double(), Y.double()).to_dense()
        return ForwardPrior.covariance(self, X, Y).double()

    @cached_property
    def _float64_kernel(self) -> Any:
        return copy.deepcopy(self._model.covar_module).double()

    def chunk(self, m: int) -> int:
        """How many candidates to take at once against ``m`` rows."""
        return _FORWARD_CHUNK


class StationaryPrior(ForwardPrior):
    """Prior of a `SingleTaskGP` with a kernel that is a function of scaled distance.

    One pass over the candidates for each row, in place, without building GPyTorch's lazy tensors.
    Hyperparameters are read once, in float64: covariances of float64 rows are exact to rounding
    also for a float32 model.

    Args:
        model: A `SingleTaskGP` in eval mode whose kernel `stationary_kernel` accepts.
    """

    def __init__(self, model: SingleTaskGP) -> None:
        super().__init__(model)
        *scale, kernel = kernel_parts(model.covar_module)
        self._outputscale = torch.ones((), dtype=torch.float64)
        if scale:
            self._outputscale = scale[0].outputscale.detach().double()
        lengthscale, self._of_distance, self._shared = _PROFILES[type(kernel)](kernel)
        self._lengthscale = lengthscale.detach().double().reshape(-1)

    def mean(self, Z: Tensor) -> Tensor:
        """Prior mean of ``n x r`` rows, ``n`` numbers."""
        return self._model.mean_module(Z)

    def variance(self, Z: Tensor) -> Tensor:
        """Prior variance of ``n x r`` rows, ``n`` numbers."""
        return self._outputscale.to(Z).expand(len(Z))

    def covariance(self, X: Tensor, Z: Tensor) -> Tensor:
        """Prior covariance of ``m x r`` and ``n x r`` rows, ``m x n``."""
        if self.near and len(X) >= _MANY and self._shared is not None:
            own = (X / self._lengthscale).square().sum(dim=1).mul_(-0.5)
            if float(own.min()) >= -_NEAR:
                return self._by_products(X, Z, own, self._shared)
        return self._by_differences(X, Z)

    def prepare(self, Z: Tensor) -> None:
        """See whether all candidates are so near to 0 that `_by_products` loses no digits."""
        if self._shared is not None and Z.dtype == torch.float64:
            self.near = float(self._half_norms(Z).min()) >= -_NEAR

    def _half_norms(self, Z: Tensor) -> Tensor:
        """``-|z|^2 / 2`` in length-scales."""
        if len(self._lengthscale) > 1:
            Z, inverse = Z / self._lengthscale, self._lengthscale.new_ones(1)
        else:
            inverse = 1 / self._lengthscale
        return torch.cdist(Z.new_zeros(1, Z.shape[1]), Z)[0].mul_(inverse).square_().mul_(-0.5)

    def _by_differences(self, X: Tensor, Z: Tensor) -> Tensor:
        """Subtracting before squaring: exact at any distance, and 0 for equal rows."""
        lengthscale = self._lengthscale.to(Z)
        if len(lengthscale) == 1:
            distance = torch.cdist(X, Z, compute_mode=_DIRECT).div_(lengthscale)
        else:
            distance = torch.cdist(X / lengthscale, Z / lengthscale, compute_mode=_DIRECT)
        return self._of_distance(distance).mul_(self._outputscale.to(Z))

    def _by_products(self, X: Tensor, Z: Tensor, own: Tensor, shared: float) -> Tensor:
        """``exp(-|x - z|^2 / 2) = exp(x.z - |z|^2 / 2) exp(-|x|^2 / 2)``, in three passes."""
        half = self._half_norms(Z)
        covariance = torch.addmm(half, X / self._lengthscale.square(), Z.mT).exp_()
        height = shared * float(self._outputscale)
        covariance.mul_((height * own.exp()).unsqueeze(-1))
        if shared < 1:
            # A record with itself has all of the variance, not only what neighbours share.
            row, column = (covariance > height * (1 - 1e-9)).nonzero().unbind(dim=1)
            equal = (X[row] == Z[column]).all(dim=1)
            covariance[row[equal], column[equal]] = float(self._outputscale)
        return covariance

    def covariance64(self, X: Tensor, Y: Tensor) -> Tensor:
        """Prior covariance in float64."""
        return self._by_differences(X.double(), Y.double())

    def chunk(self, m: int) -> int:
        """How many candidates to take at once against ``m`` rows."""
        return max(1024, _FAST_CHUNK // m)


def prior_of(model: Any) -> ForwardPrior:
    """Fastest exact prior of a model."""
    if type(model).forward is SingleTaskGP.forward and stationary_kernel(model.covar_module):
        return StationaryPrior(model)
    return ForwardPrior(model)


def stationary_kernel(kernel: Kernel) -> bool:
    """Whether `StationaryPrior` knows a kernel, bare or in a ``ScaleKernel``."""
    return type(kernel_parts(kernel)[-1]) in _PROFILES and is_plain(kernel)


# --- kernels as functions of distance in length-scales, in place ---


class _Profile(NamedTuple):
    lengthscale: Tensor
    of_distance: Callable[[Tensor], Tensor]
    # where the kernel is a multiple of exp(-distance^2 / 2) except at 0: the multiple
    shared: float | None


def _gaussian(distance: Tensor) -> Tensor:
    return distance.square_().mul_(-0.5).exp_()


def _shared_gaussian(shared: Tensor, distance: Tensor) -> Tensor:
    equal = distance == 0
    return _gaussian(distance).mul_(shared.to(distance)).masked_fill_(equal, 1.0)


def _matern(nu: float, distance: Tensor) -> Tensor:
    """Rasmussen & Williams (2006), equation 4.17."""
    distance.mul_(math.sqrt(2 * nu))
    decay = torch.exp(-distance)
    if nu == 0.5:
        return decay
    if nu == 1.5:
        return distance.add_(1).mul_(decay)
    return distance.square().div_(3).add_(distance).add_(1).mul_(decay)


def _of_rbf(kernel: RBFKernel) -> _Profile:
    return _Profile(kernel.lengthscale, _gaussian, 1.0)


def _of_released(kernel: ReleasedInputKernel) -> _Profile:
    shared = kernel.shared_variance.detach().double().squeeze()
    return _Profile(kernel.smooth_lengthscale, partial(_shared_gaussian, shared), shared.item())


def _of_matern(kernel: MaternKernel) -> _Profile:
    return _Profile(kernel.lengthscale, partial(_matern, kernel.nu), None)


_PROFILES: dict[type[Kernel], Callable[[Any], _Profile]] = {
    RBFKernel: _of_rbf,
    ReleasedInputKernel: _of_released,
    MaternKernel: _of_matern,
}
