"""fit_model: fit the hyperparameters of a GP in milliseconds, by the closed form where it is known."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch import settings
from gpytorch.constraints import GreaterThan, Interval, Positive
from gpytorch.kernels import RBFKernel
from gpytorch.likelihoods.noise_models import FixedGaussianNoise, HomoskedasticNoise
from gpytorch.means import ConstantMean, ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy.optimize import minimize

from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.modeler.models.exactness import is_plain, kernel_parts, why_not_exact
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.label_kernel import LabelKernel
from botorch_private.modeler.models.log_density import (
    PRIORS,
    Array,
    Hyperparameter,
    LogDensity,
    hyperparameters,
)

_log = logging.getLogger(__name__)
_FALLBACK_SEED = 0
# Where to stop, for a density in nats per observation: at a maximum, and near one.
_AT = {"ftol": 1e-10, "gtol": 1e-5, "maxiter": 500}
_NEAR = {"ftol": 1e-3, "gtol": 1e-2, "maxiter": 500}


@on_cpu_by_default
def fit_model(model: SingleTaskGP) -> SingleTaskGP:
    """Fit a model's hyperparameters: maximize their posterior density, in place.

    The objective is that of ``fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))``:
    the log marginal likelihood, Rasmussen & Williams (2006), equation 5.8, plus the log densities of
    all priors. Frozen parameters (``requires_grad=False``) stay as they are, constraints are kept,
    and the result is a function of model and data alone.

    For a plain `SingleTaskGP` with an RBF or a `ReleasedInputKernel`, also in a ``ScaleKernel``, with
    a constant or zero mean, Gaussian noise (learned, known, or both), and log-normal, gamma or no
    priors, it takes about 10 ms for 50 observations: L-BFGS-B on the logarithms of the
    hyperparameters, in float64, with the gradient in closed form (equation 5.9), O(t^3) an evaluation.
    The best constant mean has a closed form itself. The search starts from the model's own values,
    from a long and from a short length-scale, since the density can have several maxima, and many with
    one length-scale per coordinate. Values stay off the bounds of a softplus or sigmoid (by 1e-10 of
    them; 1e-6 in float32), and between ``sqrt(tiny)`` and ``1 / sqrt(tiny)`` of the smallest normal
    number.

    Any other model, or one that is not on the CPU, is fitted by `fit_gpytorch_mll`, with its retries
    seeded apart from PyTorch's global generator. Where that fails, a warning is logged and the
    hyperparameters stay as they were.

    Args:
        model: A `SingleTaskGP` in either mode, with the hyperparameters to start from.

    Returns:
        The same model, in eval mode.

    Raises:
        TypeError: If ``model`` is not a `SingleTaskGP`.

    Example:
        >>> fit_model(model) is model
        True
    """
    _require_single_task_gp(model)
    model.train().eval()  # predictions of earlier hyperparameters are forgotten, inputs transformed
    lacking = _why_not_closed_form(model)
    if lacking:
        _log.debug("fitting by fit_gpytorch_mll: the closed form needs %s", lacking)
        return _fit_by_botorch(model)
    with np.errstate(all="ignore"):  # the objective answers an overflow with minus infinity
        _maximize(LogDensity(model))
    return model


@on_cpu_by_default
def log_density(model: SingleTaskGP) -> float:
    """Objective of `fit_model` at a model's hyperparameters, evaluated by GPyTorch in its dtype.

    Returns:
        Log marginal likelihood plus log densities of the priors, in nats per observation; of a model
        with several outputs or a batch, the sum.

    Raises:
        TypeError: If ``model`` is not a `SingleTaskGP`.
    """
    _require_single_task_gp(model)
    was_training = model.training
    model.eval()  # inputs are transformed then
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    exact = settings.max_cholesky_size(model.train_targets.shape[-1] + 1)
    with torch.no_grad(), exact:
        density: Any = mll(model.forward(*model.train_inputs), model.train_targets)
    if was_training:
        model.train()
    return density.sum().item()


def _require_single_task_gp(model: Any) -> None:
    if not isinstance(model, SingleTaskGP):
        raise TypeError(f"model must be a SingleTaskGP of BoTorch, got {type(model).__name__}")


def _fit_by_botorch(model: SingleTaskGP) -> SingleTaskGP:
    device = model.train_targets.device
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        # Retries sample from the priors.
        torch.default_generator.manual_seed(_FALLBACK_SEED)
        for cuda in devices:
            with torch.cuda.device(cuda):
                torch.cuda.manual_seed(_FALLBACK_SEED)
        try:
            with torch.enable_grad():  # whatever the caller has
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError as error:
            _log.warning("hyperparameters keep their start values, since the fit failed: %s", error)
    return model.eval()


# --- which models have the closed form ---


def _why_not_closed_form(model: SingleTaskGP) -> str:
    """What a model in eval mode lacks for the closed form; empty if nothing."""
    if type(model) is not SingleTaskGP:
        return f"a plain SingleTaskGP, got {type(model).__name__}"
    tensors = [*model.train_inputs, model.train_targets, *model.parameters()]
    kinds = {f"{tensor.dtype} on {tensor.device.type}" for tensor in tensors}
    if not kinds <= {"torch.float64 on cpu", "torch.float32 on cpu"}:
        return f"float64 or float32 on the CPU, got {', '.join(sorted(kinds))}"
    return why_not_exact(model) or _why_not_modules(model) or _why_not_parameters(model)


def _why_not_modules(model: Any) -> str:
    kernel = kernel_parts(model.covar_module)[-1]
    if type(kernel) not in (RBFKernel, ReleasedInputKernel, LabelKernel):
        return f"an RBFKernel, a ReleasedInputKernel or a LabelKernel, got {type(kernel).__name__}"
    if not is_plain(model.covar_module):
        return "a kernel of all coordinates without batch"
    mean = model.mean_module
    if type(mean) not in (ConstantMean, ZeroMean) or len(mean.batch_shape):
        return f"a constant or zero mean, got {type(mean).__name__}"
    likelihood, X, y = model.likelihood, model.train_inputs[0], model.train_targets
    noise: Any = likelihood.noise_covar
    if type(noise) is FixedGaussianNoise:
        if noise.noise.shape != y.shape:
            return "known noise of each observation"
        noise = likelihood.second_noise_covar
    if noise is not None and (type(noise) is not HomoskedasticNoise or noise.noise.numel() != 1):
        return f"one noise variance of all observations, got {type(noise).__name__}"
    widths = {kernel.lengthscale.numel(), getattr(kernel, "noise_variance", kernel.lengthscale).numel()}
    fits = type(kernel) is LabelKernel or widths <= {1, X.shape[-1]}
    if not fits or len(X) != len(y):
        return "inputs that fit the kernel and the outcomes"
    if not (torch.isfinite(X).all() and torch.isfinite(y).all()):
        return "finite data"
    return "" if not list(model.added_loss_terms()) else "no added loss terms"


def _why_not_parameters(model: Any) -> str:
    found = hyperparameters(model)
    known = {id(each.raw) for each in found}
    known |= {id(parameter) for parameter in model.mean_module.parameters()}
    for name, parameter, constraint in model.named_parameters_and_constraints():
        if parameter.requires_grad and id(parameter) not in known:
            return f"no learned parameter of its own, got {name}"
        if name == "mean_module.raw_constant" and constraint is not None:
            return "a mean without constraint"
    for name, module, prior, closure, _ in model.named_priors():
        if not any(_is_prior_of(each, module, prior, closure) for each in found):
            return f"log-normal or gamma priors of its hyperparameters, got {name}, a {prior}"
    for each in found:
        if not _has_box(each):
            return f"a constraint to positive numbers between two bounds, got {each.constraint}"
    return ""


def _is_prior_of(part: Hyperparameter, module: Any, prior: Any, closure: Any) -> bool:
    """Whether a registered prior is the usual one of a hyperparameter, of a known kind."""
    own = getattr(type(part.module), f"_{part.name}_param")
    return (
        module is part.module
        and prior is part.prior
        and getattr(closure, "__func__", None) is own
        and type(prior) in PRIORS
        and prior._transform is None
        and prior.batch_shape.numel() in (1, part.raw.numel())
    )


def _has_box(part: Hyperparameter) -> bool:
    """Whether the constraint is a positive interval, mapped in a usual way, and kept at the start."""
    constraint, value = part.constraint, part.value
    transform = constraint._transform
    usual = type(transform) is torch.nn.Softplus
    if type(constraint) is Interval:
        usual = transform is torch.sigmoid
    return (
        type(constraint) in (Positive, GreaterThan, Interval)
        and (usual or transform is None)
        and bool((constraint.lower_bound >= 0).all())
        and all(bound.numel() in (1, len(value)) for bound in constraint)
        and bool(np.all((value > 0) & np.isfinite(value)))
    )


# --- the maximum ---


def _maximize(density: LogDensity) -> None:
    """Give the model the best hyperparameters that are found from several starts."""
    now, *others = density.starts()
    best = _climb(density, now, _AT)
    for start in others:
        found = _climb(density, start, _NEAR)
        if found[0] > best[0]:
            best = _climb(density, found[1], _AT)
    value, u = best
    if value == -math.inf:
        _log.warning("hyperparameters keep their start values, since no density is finite")
    else:
        density.write(u)


def _climb(density: LogDensity, start: Array, stop: dict[str, float]) -> tuple[float, Array]:
    """Highest density that L-BFGS-B meets from a start, and where."""
    free, worst, best = density.free, 0.0, (density(start)[0], start)

    def loss(x: Array) -> tuple[float, Array]:
        nonlocal worst, best
        u = start.copy()
        u[free] = x
        value, gradient, _ = density(u)
        if not math.isfinite(value):
            # Worse than all before, but finite: the line search interpolates.
            return worst + 1.0, np.zeros_like(x)
        if value > best[0]:
            best = (value, u)
        worst = max(worst, -value / density.t)
        return -value / density.t, -gradient[free] / density.t

    if free.any() and best[0] > -math.inf:
        bounds = np.column_stack([density.lower, density.upper])[free]
        minimize(loss, start[free], jac=True, method="L-BFGS-B", bounds=bounds, options=stop)
    return best
