"""Log posterior density of a model's hyperparameters, with its gradient, in NumPy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gpytorch.likelihoods.noise_models import HomoskedasticNoise
from gpytorch.means import ZeroMean
from gpytorch.priors import GammaPrior, LogNormalPrior
from torch import Tensor

from botorch_private.modeler.models.exactness import kernel_parts
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.label_kernel import LabelKernel
from botorch_private.modeler.models.label_likelihood import LabelLikelihood
from botorch_private.modeler.models.marginal_likelihood import Array, MarginalLikelihood

_TYPICAL_OF_CELLS = 0.5  # length-scale, where all cells of a part span 1
_GAP = {torch.float64: 1e-10, torch.float32: 1e-6}  # relative, to a bound of softplus or sigmoid


@dataclass(frozen=True)
class Hyperparameter:
    """Length-scales, an output scale or a noise variance: positive numbers of a GPyTorch module.

    Args:
        module: The kernel or noise model that has them.
        name: Their name there.
    """

    module: Any
    name: str

    @property
    def raw(self) -> Any:
        """Parameter that the numbers are a function of."""
        return getattr(self.module, f"raw_{self.name}")

    @property
    def constraint(self) -> Any:
        """Constraint that maps it to the numbers."""
        return getattr(self.module, f"raw_{self.name}_constraint")

    @property
    def prior(self) -> Any:
        """Prior of the numbers, or None."""
        return getattr(self.module, f"{self.name}_prior", None)

    @property
    def value(self) -> Array:
        """The numbers."""
        return numbers(getattr(self.module, self.name))

    def bounds(self) -> tuple[Array, Array]:
        """Least and greatest values, inside open bounds and far from overflow."""
        # The square of the least number and the inverse of that are normal numbers.
        least = math.sqrt(torch.finfo(self.raw.dtype).tiny)
        gap = _GAP[self.raw.dtype] if self.constraint.enforced else 0.0
        lower, upper = map(numbers, self.constraint)
        lower, upper = np.maximum(lower, least) * (1 + gap), np.minimum(upper, 1 / least) * (1 - gap)
        return np.full(self.raw.numel(), lower), np.full(self.raw.numel(), upper)

    def write(self, value: Array) -> None:
        """Set the numbers."""
        raw = self.constraint.inverse_transform(torch.from_numpy(value).view(self.raw.shape))
        self.module.initialize(**{f"raw_{self.name}": raw.to(self.raw.dtype)})


def hyperparameters(model: Any) -> list[Hyperparameter]:
    """Positive hyperparameters of a model, the length-scales first."""
    *scale, kernel = kernel_parts(model.covar_module)
    others = [Hyperparameter(each, "outputscale") for each in scale]
    if type(kernel) is LabelKernel:
        others.append(Hyperparameter(kernel, "scatter"))
    noise = learned_noise(model.likelihood)
    if noise is not None:
        others.append(Hyperparameter(noise, "noise"))
    return [Hyperparameter(kernel, "lengthscale"), *others]


def learned_noise(likelihood: Any) -> Any:
    """Noise model with a learned variance, alone or beside known ones; None if all are known."""
    if type(likelihood.noise_covar) is HomoskedasticNoise:
        return likelihood.noise_covar
    return likelihood.second_noise_covar


class LogDensity:
    """Log posterior density of hyperparameters, as a function of their logarithms ``u``.

    Priors are densities of the values ``exp(u)``, as in GPyTorch, and of one form:
    ``a + b u - w (u - m)^2 / 2 - r exp(u)``.

    Args:
        model: A `SingleTaskGP` in eval mode with kernel, mean, noise and priors of the known kinds.

    Attributes:
        t: Number of observations.
        free: Which entries of ``u`` are not frozen.
        lower: Least entries of ``u``.
        upper: Greatest entries of ``u``.
    """

    def __init__(self, model: Any) -> None:
        self._parts = hyperparameters(model)
        self.t = len(model.train_targets)
        self._sizes = [part.raw.numel() for part in self._parts]
        ends = np.cumsum(self._sizes)
        self._places = [slice(end - size, end) for end, size in zip(ends, self._sizes, strict=True)]
        self._names = [part.name for part in self._parts]
        self._known = {"outputscale": np.ones(1), "noise": np.zeros(1)}
        for name in self._names:
            self._known.pop(name, None)
        self._prior = np.zeros((5, sum(self._sizes)))
        for part, place in zip(self._parts, self._places, strict=True):
            for row, coefficient in zip(self._prior, PRIORS[type(part.prior)](part.prior), strict=True):
                row[place] = coefficient
        self._constant = None if type(model.mean_module) is ZeroMean else model.mean_module.raw_constant
        self._Z = numbers(model.train_inputs[0]).reshape(self.t, -1)
        self._y = numbers(model.train_targets)
        self._likelihood = _likelihood(
            self._parts[0].module,
            self._Z,
            self._y,
            known_noise=_known_noise(model.likelihood),
            mean=self._known_mean(),
        )
        self._now = np.log(np.concatenate([part.value for part in self._parts]))
        self.free = np.repeat([part.raw.requires_grad for part in self._parts], self._sizes)
        least, most = zip(*[part.bounds() for part in self._parts], strict=True)
        self._least, self._most = np.concatenate(least), np.concatenate(most)
        self.lower, self.upper = np.log(self._least), np.log(self._most)

    def __call__(self, u: Array) -> tuple[float, Array, float]:
        """Density in nats (minus infinity where it does not exist), its gradient, and the prior mean."""
        values = np.exp(u)
        learned = {name: values[place] for name, place in zip(self._names, self._places, strict=True)}
        evaluation = self._likelihood(**learned, **self._known)
        offset, slope, weight, center, rate = self._prior
        gap = u - center
        prior = offset + slope * u - weight * gap**2 / 2 - rate * values
        gradient = np.concatenate([getattr(evaluation, name) for name in self._names])
        gradient += slope - weight * gap - rate * values
        return evaluation.value + float(prior.sum()), gradient, evaluation.mean

    def write(self, u: Array) -> None:
        """Set those hyperparameters of the model that are not frozen, and its constant mean."""
        values = np.clip(np.exp(u), self._least, self._most)
        for part, place in zip(self._parts, self._places, strict=True):
            if part.raw.requires_grad:
                part.write(values[place])
        if self._constant is not None and self._constant.requires_grad:
            *_, mean = self(np.log(np.concatenate([part.value for part in self._parts])))
            self._constant.data.fill_(mean)

    def starts(self) -> list[Array]:
        """Where to climb from: the model's own values; a long and a short length-scale.

        The latter are ``e`` and ``1 / e`` times the root mean square distance of two rows, with the
        variance of the outcomes as output scale and a tenth of it as noise. Frozen values stay.
        """
        distance = self._distance()
        variance = self._y.var()
        starts = [np.clip(self._now, self.lower, self.upper)]
        for length in (math.e * distance, distance / math.e):
            typical = {"lengthscale": length, "outputscale": variance, "noise": variance / 10}
            typical["scatter"] = 0.5
            start = np.log(np.repeat([typical[name] for name in self._names], self._sizes))
            if np.isfinite(start).all():
                starts.append(np.clip(start, self.lower, self.upper))
        return [np.where(self.free, start, self._now) for start in starts]

    def _distance(self) -> float:
        if type(self._parts[0].module) is LabelKernel:
            return _TYPICAL_OF_CELLS
        return math.sqrt(2 * self._Z.var(axis=0).sum())

    def _known_mean(self) -> float | None:
        if self._constant is None:
            return 0.0
        return None if self._constant.requires_grad else float(self._constant.detach())


def _known_noise(likelihood: Any) -> float | Array:
    """Noise variances that are not learned: one of each observation, or 0."""
    known = likelihood.noise_covar
    return 0.0 if type(known) is HomoskedasticNoise else numbers(known.noise)


def _likelihood(
    kernel: Any, Z: Array, y: Array, *, known_noise: float | Array, mean: float | None
) -> Any:
    if type(kernel) is LabelKernel:
        return LabelLikelihood(kernel, Z, y, known_noise=known_noise, mean=mean)
    return MarginalLikelihood(Z, y, known_noise=known_noise, mean=mean, **_row_noise(kernel))


def _row_noise(kernel: Any) -> dict[str, Any]:
    """Noise on the rows that a kernel knows: arguments of `MarginalLikelihood`."""
    ard = kernel.lengthscale.numel() > 1
    if type(kernel) is not ReleasedInputKernel:
        return {"noise_variance": 0.0, "noise_dim": None if ard else 0}
    noise = numbers(kernel.noise_variance)
    each = ard or len(noise) > 1
    return {"noise_variance": noise, "noise_dim": None if each else kernel.noise_dim or 0}


# Coefficients are computed in the dtype that GPyTorch takes them in: that of the prior's own numbers.


def _log_normal(prior: Any) -> tuple[Any, ...]:
    offset = -numbers(prior.scale.log()) - math.log(2 * math.pi) / 2
    return offset, -1.0, 1 / numbers(prior.scale**2), numbers(prior.loc), 0.0


def _gamma(prior: Any) -> tuple[Any, ...]:
    shape, rate = prior.concentration, prior.rate
    offset = torch.xlogy(shape, rate) - torch.lgamma(shape)
    return numbers(offset), numbers(shape - 1), 0.0, 0.0, numbers(rate)


PRIORS = {LogNormalPrior: _log_normal, GammaPrior: _gamma, type(None): lambda _: (0.0,) * 5}


def numbers(tensor: Tensor) -> Array:
    """The numbers of a tensor on the CPU, in one dimension."""
    return tensor.detach().double().reshape(-1).numpy()
