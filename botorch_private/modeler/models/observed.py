"""Observed: a model's training data and what was observed since, in the model's own units."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from torch import Tensor

from botorch_private._base import validate


class Rows(NamedTuple):
    """Observed rows: ``t x r`` inputs of the model's dtype, ``t`` noise variances and targets."""

    X: Tensor
    noise: Tensor
    targets: Tensor


class Observed:
    """Training data of an exact BoTorch model and observations that were added.

    Added values are kept in outcome units and go through the model's outcome transform each time, so
    that they follow a change of it.

    Args:
        model: A single-output exact GP without batch.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        X, targets = self._training_data()
        self._trained = X.clone(), targets.clone()  # the model's own may change in place
        self._points: list[Tensor] = []
        self._X = X[:0]
        self._values: list[float] = []
        self._noise: list[float] = []  # in squared outcome units; nan: the model learns it
        self._assumed: list[float] = []  # targets in the model's units; nan: from the value
        self._corrected: dict[int, float] = {}
        self.count = len(targets)

    @property
    def known_noise(self) -> bool:
        """Whether each observation comes with its noise variance."""
        return isinstance(self.model.likelihood, FixedNoiseGaussianLikelihood)

    def stale(self) -> bool:
        """Whether the model's training data were replaced since."""
        return not all(map(_equal, self._training_data(), self._trained))

    def fork(self) -> Observed:
        """Copy that can be added to without changing this one."""
        twin = copy.copy(self)
        for name in ("_points", "_values", "_noise", "_assumed", "_corrected"):
            setattr(twin, name, copy.copy(getattr(self, name)))
        return twin

    def add(self, points: Tensor, values: list[float], noise: list[float]) -> None:
        """Add observations at ``m x d`` points, in outcome units."""
        self._extend(points, values, noise, [math.nan] * len(points))

    def assume(self, points: Tensor, targets: list[float]) -> None:
        """Add observations at ``m x d`` points that are hoped for, in the model's units.

        Where each observation has a known noise, they get the average, as BoTorch's `fantasize` does.
        """
        m = len(points)
        self._extend(points, [0.0] * m, [math.nan] * m, targets)

    def checked_value(self, **named: Any) -> float:
        """Return the one named outcome as a number, if it is finite also in the model's units."""
        ((name, value),) = named.items()
        value = validate.number(**named)
        target, _ = self._transformed([value], [])
        if not target.isfinite().all():
            transform = type(self.model.outcome_transform).__name__
            raise ValueError(f"{name} must be finite after the model's {transform}, got {value}")
        return value

    def checked_noise(self, noise_variance: float | None) -> float:
        """Return the noise variance of one observation; NaN where the model learns it."""
        if not self.known_noise:
            if noise_variance is not None:
                raise ValueError("noise_variance must be None for a model that learns its noise")
            return math.nan
        if noise_variance is None:
            raise ValueError("noise_variance must be given for a model with known noise, got None")
        validate.non_negative(noise_variance=noise_variance)
        return float(noise_variance)

    def transform_again(self) -> None:
        """Follow a change of the model's input transform."""
        if self._points:
            self._X = self.model.transform_inputs(torch.cat(self._points)).detach()

    def _extend(
        self, points: Tensor, values: list[float], noise: list[float], targets: list[float]
    ) -> None:
        self._X = torch.cat([self._X, self.model.transform_inputs(points).detach()])
        self._points.append(points.detach())
        self._values += values
        self._noise += noise
        self._assumed += targets
        self.count += len(points)

    def positions(self, row: Tensor) -> list[int]:
        """Which observations are of a given row (``r`` numbers)."""
        return (row == self.rows().X).all(dim=1).nonzero().squeeze(-1).tolist()

    def correct(self, position: int, value: float) -> None:
        """Replace the value of an observation, in outcome units."""
        self._corrected[position] = value

    def rows(self) -> Rows:
        """All observations, the model's first."""
        X, targets = self._training_data()
        noise, targets = self.model.likelihood.noise.detach().double(), targets.double()
        if self._values:
            added, added_noise = self._transformed(self._values, self._noise)
            if not all(map(math.isnan, self._assumed)):
                assumed = torch.tensor(self._assumed, dtype=torch.float64, device=X.device)
                added = torch.where(assumed.isnan(), added, assumed)
            if self.known_noise:
                added_noise = added_noise + self.model.likelihood.second_noise
                noise = torch.cat([noise, _or_average(added_noise, noise)])
            X, targets = torch.cat([X, self._X]), torch.cat([targets, added])
        if self._corrected:
            places = torch.tensor(list(self._corrected), device=X.device)
            values, _ = self._transformed(list(self._corrected.values()), [])
            targets = targets.index_put((places,), values)
        return Rows(X, noise.expand(len(targets)), targets)

    def _transformed(self, values: list[float], noise: list[float]) -> tuple[Tensor, Tensor]:
        """Values and, where there are any, noise variances in the model's units."""
        device = self.model.train_targets.device
        Y = torch.tensor(values, dtype=torch.float64, device=device)
        Yvar = torch.tensor(noise, dtype=torch.float64, device=device)
        transform = getattr(self.model, "outcome_transform", None)
        if transform is None:
            return Y, Yvar
        if not self.known_noise:
            return transform(Y.unsqueeze(-1))[0].squeeze(-1), Yvar
        Y, Yvar = transform(Y.unsqueeze(-1), Yvar.unsqueeze(-1) if noise else None)
        return Y.squeeze(-1), Yvar.squeeze(-1) if noise else Y

    def _training_data(self) -> tuple[Tensor, Tensor]:
        model = self.model
        if model.training:
            model.eval()  # as `posterior` does: the inputs are transformed then
        return model.train_inputs[0].detach(), model.train_targets.detach()


def _or_average(added: Tensor, known: Tensor) -> Tensor:
    """Noise variances where those that are nan are the average of all others."""
    missing = added.isnan()
    return torch.where(missing, torch.cat([known, added[~missing]]).mean(), added)


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)
