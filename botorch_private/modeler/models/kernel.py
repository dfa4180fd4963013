"""ReleasedInputKernel: an RBF kernel that knows the noise on its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel
from gpytorch.priors import LogNormalPrior, Prior
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.exchange.release import Release
from botorch_private.exchange.search_prior import SearchPrior
from botorch_private.modeler.models.memory import require_covariance

_TYPICAL, _LOOSENESS = 2.0, 0.75  # median in units of the spread, standard deviation of the logarithm
_SHORTEST = 1e-4  # share of the spread; at a length-scale of 0 the prior raises, and a fit gets there


class ReleasedInputKernel(Kernel):
    r"""Covariance of an RBF process at true inputs, given only their noisy released rows.

    A released row is ``z = x + e`` with noise of known variance ``s2`` in each of ``k``
    coordinates. For different records

    ``k(z, z') = prod_m (l_m^2 / (l_m^2 + 2 s2))^(1/2) exp(-1/2 sum_m (z_m - z'_m)^2 / (l_m^2 + 2 s2))``

    and 1 for a record with itself: the expectation of the RBF kernel over Gaussian noise on both
    rows under a flat prior on the inputs, moment-matched for l2 Laplace noise. It is a smooth kernel
    with a longer length-scale plus a term of each record's own: a record once measured is known,
    its neighbours in released space are not. Leaving that term out makes an acquisition function
    ask for the same spot again and again.

    Rows are taken for the same record where they are equal, so the kernel is a function of its
    inputs alone, and positive semi-definite: a sum of two such kernels. It has no output scale; wrap
    it in a ``ScaleKernel`` to learn one.

    Args:
        noise_variance: ``s2 >= 0``, in squared units of the inputs; 0 gives the RBF kernel. A sequence:
            one for each coordinate, as a `DenoisedRelease` has them.
        noise_dim: ``k``, the number of coordinates that carry noise. None: all of them, for ARD or for
            a sequence of variances; required otherwise when ``noise_variance > 0``.
        ard_num_dims: Number of length-scales; None: one for all coordinates.
        lengthscale_prior: Prior of the length-scale, in units of the inputs.
        **kwargs: As for `gpytorch.kernels.Kernel`.

    Example:
        >>> kernel = ReleasedInputKernel.of(release)  # with the variance that the release states
        >>> model = SingleTaskGP(release.candidates[:5], outcomes[:5, None], covar_module=kernel)
    """

    has_lengthscale = True
    noise_variance: Tensor

    @on_cpu_by_default
    def __init__(
        self,
        noise_variance: float | Sequence[float],
        noise_dim: int | None = None,
        ard_num_dims: int | None = None,
        lengthscale_prior: Prior | None = None,
        **kwargs: Any,
    ) -> None:
        variance = _variances(noise_variance)
        coordinates = None if _is_number(noise_variance) else len(variance)
        if ard_num_dims is not None:
            validate.count(ard_num_dims=ard_num_dims)
            if coordinates not in (None, ard_num_dims):
                raise ValueError(
                    f"noise_variance must be one number, or ard_num_dims={ard_num_dims} numbers, got "
                    f"{coordinates} numbers"
                )
            coordinates = int(ard_num_dims)
        if coordinates is not None:
            if noise_dim not in (None, coordinates):
                name = "ard_num_dims=" if ard_num_dims is not None else ""
                raise ValueError(
                    f"noise_dim must equal {name}{coordinates} (with ARD length-scales, or with a "
                    f"noise_variance for each, noise lives in every coordinate), got {noise_dim}"
                )
        elif float(variance) > 0:
            validate.count(noise_dim=noise_dim)
        super().__init__(ard_num_dims=ard_num_dims, lengthscale_prior=lengthscale_prior, **kwargs)
        self.noise_dim = noise_dim if coordinates is None else coordinates
        # GPyTorch indexes the buffers of a batch of kernels like its length-scales.
        variance = variance.expand(*self.batch_shape, 1, len(variance)).clone()
        self.register_buffer("noise_variance", variance)

    @classmethod
    @on_cpu_by_default
    def of(
        cls,
        release: Release,
        *,
        ard: bool = False,
        prior: SearchPrior | None = None,
        batch_shape: torch.Size | None = None,
    ) -> ReleasedInputKernel:
        """Kernel for the rows of a release, with a length-scale prior that fits their spread.

        The prior is ``log l ~ N(log(2 S), 0.75^2)``, with ``S`` the root mean square distance of the
        true inputs from their mean; the noise's share of it is known and taken out, so that it depends
        on released rows alone. Like BoTorch's dimension-scaled prior (Hvarfner et al. 2024) it grows
        with the square root of the dimension, but its median is a seventh of that one's and it is
        narrower: after a few dozen noisy answers that one can follow almost linear functions, and a
        search then stays where it is.

        Args:
            release: The release whose rows are the inputs.
            ard: One length-scale per coordinate; refused for rotated or projected rows, where
                coordinates have no meaning and separate length-scales undo the kept distances.
            prior: Whose length-scales are the medians, and where a fit starts. None: as above.
            batch_shape: Batch of kernels, each with length-scales of its own; None: one kernel.
        """
        release.refuse_labels("take LabelKernel.of(release)")
        width = release.candidates.shape[-1]
        if ard and release.isotropic:
            raise ValueError(
                "ard must be False for rotated or projected rows (their coordinates have no meaning "
                "of their own); release with projection_dim=None to use ARD"
            )
        spread = release.spread
        typical, start = (
            torch.tensor(each, dtype=torch.float64) for each in (_TYPICAL * spread, spread)
        )
        if prior is not None:
            require_prior(prior, release)
            typical = start = torch.tensor(
                prior.lengthscales if ard else prior.lengthscale, dtype=torch.float64
            ).clamp_min(2 * _SHORTEST * spread)
        # In float32, as PyTorch starts, whatever its default dtype is now; the model has the last word.
        expected = LogNormalPrior(
            loc=typical.double().log().float(), scale=torch.tensor(_LOOSENESS, dtype=torch.float32)
        )
        kernel = cls(
            release.noise_variance,
            noise_dim=width if ard else release.noise_dim,
            ard_num_dims=width if ard else None,
            lengthscale_prior=expected,
            lengthscale_constraint=GreaterThan(_SHORTEST * spread),
            batch_shape=batch_shape,
        )
        raw: Any = kernel.raw_lengthscale
        raw.data = raw.data.float()  # pyright: ignore[reportAttributeAccessIssue]
        kernel.lengthscale = start.float()
        return kernel

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Covariance matrix, ``batch_shape x n x m``, or its diagonal."""
        smooth = self.smooth_lengthscale
        u1, u2 = x1 / smooth.to(x1), x2 / smooth.to(x2)
        scale = self.shared_variance
        if diag:
            squared, scale = (u1 - u2).square().sum(dim=-1), scale.squeeze(-1)
        else:
            # Every joint posterior over released rows comes along here, and so every Thompson sample.
            batch = torch.broadcast_shapes(u1.shape[:-2], u2.shape[:-2])
            require_covariance(u1.shape[-2], u2.shape[-2], batch, u1, u1.element_size())
            squared = torch.cdist(u1, u2, compute_mode="donot_use_mm_for_euclid_dist").square()
        covariance = scale.to(x1) * torch.exp(-squared / 2)
        # A sum of squared differences is exactly 0 for equal rows, and for them only.
        return torch.where(squared == 0, torch.ones_like(covariance), covariance)

    @property
    def smooth_lengthscale(self) -> Tensor:
        """Length-scales between noisy rows, ``sqrt(l^2 + 2 s2)``: one, or one for each coordinate."""
        return (self.lengthscale.square() + 2 * self.noise_variance.to(self.lengthscale)).sqrt()

    @property
    def shared_variance(self) -> Tensor:
        """Share of the variance that neighbours can have in common, ``batch_shape x 1 x 1``."""
        squared = self.lengthscale.square()
        shrink = squared / (squared + 2 * self.noise_variance.to(squared))
        if shrink.shape[-1] == 1:  # one factor for all coordinates that carry noise
            return shrink ** ((self.noise_dim or 0) / 2)
        return shrink.sqrt().prod(dim=-1, keepdim=True)

    def own_variance(self, x: Tensor) -> Tensor:
        """The rest, which says nothing of other records, for ``n x d`` rows: ``n`` numbers."""
        return (1 - self.shared_variance.to(x)).reshape(-1).expand(len(x))


def require_prior(prior: SearchPrior, release: Release) -> None:
    """Refuse a prior that was learned for other features than a release has."""
    if not isinstance(prior, SearchPrior):
        raise TypeError(f"prior must be a SearchPrior, got {type(prior).__name__}")
    promise = release.guarantee
    if promise.features is not None and promise.features != len(prior.lengthscales):
        raise ValueError(
            f"prior must be for the {promise.features} features of the release, got one for "
            f"{len(prior.lengthscales)}"
        )
    if promise.names and prior.names and promise.names != prior.names:
        raise ValueError("prior must be for the features of the release, in their order, got others")


def _variances(noise_variance: float | Sequence[float]) -> Tensor:
    """One variance, or one for each coordinate, as a float64 vector."""
    if _is_number(noise_variance):
        validate.non_negative(noise_variance=noise_variance)
        return torch.tensor([float(noise_variance)], dtype=torch.float64)  # type: ignore[arg-type]
    variances = validate.vector(noise_variance=noise_variance)
    for position, each in enumerate(variances.tolist()):
        validate.non_negative(**{f"noise_variance[{position}]": each})
    return variances


def _is_number(value: object) -> bool:
    several = isinstance(value, Sequence) and not isinstance(value, str)
    return not several and getattr(value, "ndim", 0) == 0
