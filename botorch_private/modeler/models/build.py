"""make_model: a SingleTaskGP on the rows of a release, with sensible priors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from botorch.exceptions import InputDataWarning
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.priors import GammaPrior, LogNormalPrior
from torch import Tensor

from botorch_private._base import validate
from botorch_private.exchange.release import Release
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.label_kernel import LabelKernel

_LEAST_NOISE = 1e-4


def make_model(
    release: Release,
    indices: Sequence[int],
    values: Any,
    *,
    noise_aware: bool = True,
    ard: bool = False,
    outcome_noise: float | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float64,
) -> SingleTaskGP:
    """Build an exact GP on measured rows of a release.

    Outcomes are standardized. Priors, in standardized units: observation noise variance
    ``LogNormal(-4, 1)``, at least 1e-4 (BoTorch's default prior: next to no noise), or
    ``LogNormal(log(outcome_noise), 1)``; output scale ``Gamma(2, 2)``; length-scale as in
    `ReleasedInputKernel.of`. Fit it with `fit_model` or BoTorch's `fit_gpytorch_mll`.

    Where the release says that answers are noised, that variance is known and held fixed
    (`FixedNoiseGaussianLikelihood`; Laplace noise by its variance), and what the outcome scatters by
    itself is learned beside it.

    Args:
        release: What the curator released.
        indices: Measured rows, ``t`` integers; a row may appear again.
        values: Their outcomes, ``t`` finite numbers.
        noise_aware: Whether the kernel accounts for the noise of the release. False gives the plain
            RBF kernel on released rows, as in the paper.
        ard: One length-scale per coordinate; only for a release without rotation or projection.
        outcome_noise: Rough share of the outcome's variance that no record explains, in (0, 1): the
            median of the noise variance's prior. Say it where outcomes are those of people or of
            markets; BoTorch's default would take their scatter for structure. None: that default.
        device: Where the model lives; None: the CPU.
        dtype: torch.float64, or torch.float32 for speed on a GPU.

    Returns:
        A `SingleTaskGP` on released rows (inputs ``t x r``, outcomes ``t x 1``).

    Raises:
        ValueError: If an index or a value is unusable (naming its position).

    Example:
        >>> model = make_model(release, indices=[4, 7, 9], values=[0.5, 1.5, 1.0])
        >>> model.posterior(release.candidates).mean.shape
        torch.Size([60, 1])
    """
    n = len(release.candidates)
    rows = [validate.index(n, **{f"indices[{i}]": index}) for i, index in enumerate(indices)]
    if not rows:
        raise ValueError("indices must hold at least one measured row, got none")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype must be torch.float64 or torch.float32, got {dtype}")
    outcomes = validate.vector(values=values, length=len(rows))
    distinct, kept = outcomes.unique().numel(), outcomes.to(dtype).unique().numel()
    if kept < distinct:
        raise ValueError(
            f"values must differ by more than the rounding of {dtype}, got {distinct} different ones "
            f"of which {kept} are left: subtract a constant, or use dtype=torch.float64"
        )
    targets = outcomes.unsqueeze(-1).to(device=device, dtype=dtype)
    scaled_kernel = ScaleKernel(
        _kernel(release, noise_aware=noise_aware, ard=ard), outputscale_prior=GammaPrior(2.0, 2.0)
    )
    scaled_kernel.outputscale = torch.tensor(1.0)
    with warnings.catch_warnings():
        # Released rows lie in a ball, not in the unit cube that the default priors are made for.
        warnings.simplefilter("ignore", InputDataWarning)
        return SingleTaskGP(
            release.candidates[rows].to(device=device, dtype=dtype),
            targets,
            covar_module=scaled_kernel,
            likelihood=_likelihood(outcome_noise, _known_noise(release, targets)),
            outcome_transform=Standardize(m=1),
        )


def _kernel(release: Release, *, noise_aware: bool, ard: bool) -> ReleasedInputKernel | LabelKernel:
    if release.cells is not None:
        if not noise_aware or ard:
            raise ValueError("noise_aware must be True and ard False for a release of labels")
        return LabelKernel.of(release)
    kernel = ReleasedInputKernel.of(release, ard=ard)
    if not noise_aware:
        kernel.noise_variance.fill_(0.0)
    return kernel


def _known_noise(release: Release, targets: Tensor) -> Tensor | None:
    """Variance of the noise on each of ``t`` answers, in standardized units; None without such noise."""
    if not release.outcome_variance:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputDataWarning)
        _, variance = Standardize(m=1)(targets, torch.full_like(targets, release.outcome_variance))
    assert variance is not None
    return variance.squeeze(-1)


def _likelihood(
    outcome_noise: float | None, known: Tensor | None
) -> GaussianLikelihood | FixedNoiseGaussianLikelihood:
    if outcome_noise is None:
        location, start = -4.0, math.exp(-5.0)
    else:
        validate.probability(outcome_noise=outcome_noise)
        location = math.log(outcome_noise)
        start = max(math.exp(location - 1), 2 * _LEAST_NOISE)  # the mode, as in the default
    learned = {
        "noise_prior": LogNormalPrior(loc=location, scale=1.0),
        "noise_constraint": GreaterThan(_LEAST_NOISE, initial_value=start),
    }
    if known is None:
        return GaussianLikelihood(**learned)
    return FixedNoiseGaussianLikelihood(known, learn_additional_noise=True, **learned)
