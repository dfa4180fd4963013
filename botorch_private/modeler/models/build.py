"""make_model: a SingleTaskGP on the rows of a release, with sensible priors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from botorch.exceptions import InputDataWarning
from botorch.models import SingleTaskGP
from gpytorch import settings
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.priors import GammaPrior, LogNormalPrior
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import row_labels
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.exchange.release import Release
from botorch_private.exchange.search_prior import SearchPrior
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.label_kernel import LabelKernel
from botorch_private.modeler.models.standardized import Standardized

_WHOLE_IN_FLOAT32 = 2**24
_LEAST_NOISE = 1e-4
# Of the variance of the outcomes; to less GPyTorch, from which these are, would raise it with a warning.
_LEAST_KNOWN_NOISE = {torch.float64: 1e-6, torch.float32: 1e-4}


@on_cpu_by_default
def make_model(
    release: Release,
    indices: Sequence[int],
    values: Any,
    *,
    noise_aware: bool = True,
    ard: bool = False,
    outcome_noise: float | None = None,
    prior: SearchPrior | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float64,
) -> SingleTaskGP:
    """Build an exact GP on measured rows of a release.

    Outcomes are standardized, in float64 also for a float32 model. Their unit does not matter, and
    neither does a constant that was added to them: a search chooses the same rows. What a constant costs
    are the last digits of the values themselves, six of sixteen where it is 1e6 times their spread.

    Priors, in standardized units: observation noise variance ``LogNormal(-4, 1)``, at least 1e-4
    (BoTorch's default prior: next to no noise), or ``LogNormal(log(outcome_noise), 1)``; output scale
    ``Gamma(2, 2)``; length-scale as in `ReleasedInputKernel.of`. Fit it with `fit_model` or BoTorch's
    `fit_gpytorch_mll`.

    Where the release says that answers are noised, that variance is known and held fixed
    (`FixedNoiseGaussianLikelihood`; Laplace noise by its variance), and what the outcome scatters by
    itself is learned beside it.

    Args:
        release: What the curator released.
        indices: Measured rows, ``t`` integers; a row may appear again.
        values: Their outcomes, ``t`` finite numbers, with a standard deviation of at most 1e150 (in
            float32: 0, or from 1e-37 to 1e18). A pandas Series has the indices for labels, or 0..t-1.
        noise_aware: Whether the kernel accounts for the noise of the release. False gives the plain
            RBF kernel on released rows, as in the paper.
        ard: One length-scale per coordinate; only for a release without rotation or projection.
        outcome_noise: Rough share of the outcome's variance that no record explains, in (0, 1): the
            median of the noise variance's prior. Say it where outcomes are those of people or of
            markets; BoTorch's default would take their scatter for structure. None: that of ``prior``,
            or that default.
        prior: Length-scales and scatter that a history of other people suggests (`choose_features`):
            medians of the priors, and where a fit starts.
        device: Where the model lives; None: the CPU.
        dtype: torch.float64, or torch.float32 for speed on a GPU.

    Returns:
        A `SingleTaskGP` on released rows (inputs ``t x r``, outcomes ``t x 1``).

    Raises:
        ValueError: If an index or a value is unusable (naming its position), or all values together.

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
    check_label_options(release, dtype=dtype, noise_aware=noise_aware, ard=ard, prior=prior)
    _require_own_labels(values, rows)
    numbers = validate.vector(values=values, length=len(rows))
    outcomes = Standardized.of(numbers, release.outcome_variance)
    targets = outcomes.targets.unsqueeze(-1).to(device=device, dtype=dtype)
    known = None
    if release.outcome_variance:
        known = targets.new_full((len(rows),), max(outcomes.noise, _LEAST_KNOWN_NOISE[dtype]))
    transform = outcomes.transform(targets)
    kernel = _kernel(release, noise_aware=noise_aware, ard=ard, prior=prior)
    if outcome_noise is None and prior is not None:
        outcome_noise = prior.outcome_noise
    scaled_kernel = ScaleKernel(kernel, outputscale_prior=GammaPrior(2.0, 2.0))
    # As PyTorch starts, whatever its default dtype is now: a start is the same number then.
    raw: Any = scaled_kernel.raw_outputscale
    raw.data = raw.data.float()  # pyright: ignore[reportAttributeAccessIssue]
    scaled_kernel.outputscale = torch.tensor(1.0, dtype=torch.float32)
    with warnings.catch_warnings():
        # Released rows lie in a ball, not in the unit cube that the default priors are made for.
        warnings.simplefilter("ignore", InputDataWarning)
        model = SingleTaskGP(
            release.candidates[rows].to(device=device, dtype=dtype),
            targets,
            covar_module=scaled_kernel,
            likelihood=_likelihood(outcome_noise, known),
            outcome_transform=None,
        )
    model.outcome_transform = transform
    return model


def check_label_options(
    release: Release,
    *,
    dtype: torch.dtype,
    noise_aware: bool = True,
    ard: bool = False,
    prior: SearchPrior | None = None,
) -> None:
    """Refuse what is not there for a release of labels.

    Rows of labels carry their number, so that two records with one label are two; float32 does not hold
    every whole number beyond 2^24.
    """
    if release.cells is None:
        return
    if not noise_aware or ard or prior is not None:
        raise ValueError("noise_aware must be True, ard False and prior None for a release of labels")
    n = len(release.candidates)
    if dtype == torch.float32 and n > _WHOLE_IN_FLOAT32:
        raise ValueError(
            f"dtype must be torch.float64 for a release of more than {_WHOLE_IN_FLOAT32} labels, got "
            f"torch.float32 for {n}: rows are told apart by their numbers"
        )


def _kernel(
    release: Release, *, noise_aware: bool, ard: bool, prior: SearchPrior | None
) -> ReleasedInputKernel | LabelKernel:
    if release.cells is not None:
        return LabelKernel.of(release)
    kernel = ReleasedInputKernel.of(release, ard=ard, prior=prior)
    if not noise_aware:
        kernel.noise_variance.fill_(0.0)
    return kernel


def _require_own_labels(values: Any, rows: list[int]) -> None:
    """Refuse a Series whose labels are other rows: values are taken by position.

    Labels that pandas numbered 0, 1, ..., t-1 by itself say nothing.
    """
    labels = row_labels(values)
    if labels is not None and list(labels) not in (rows, list(range(len(rows)))):
        raise ValueError(
            "values must have the indices for labels, in the same order, or none, since they are taken "
            "by position: align them by .loc[indices], or drop the labels by .to_numpy()"
        )


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
        "noise_prior": LogNormalPrior(
            loc=torch.tensor(location, dtype=torch.float32), scale=torch.tensor(1.0, dtype=torch.float32)
        ),
        "noise_constraint": GreaterThan(_LEAST_NOISE, initial_value=start),
    }
    if known is None:
        likelihood = GaussianLikelihood(**learned)
        noise: Any = likelihood.noise_covar
    else:
        with settings.min_fixed_noise(0.0, 0.0, 0.0):  # a host may have set others
            likelihood = FixedNoiseGaussianLikelihood(known, learn_additional_noise=True, **learned)
        noise = likelihood.second_noise_covar
    noise.raw_noise.data = noise.raw_noise.data.float()
    noise.noise = torch.tensor(start, dtype=torch.float32)
    return likelihood
