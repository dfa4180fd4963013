"""LatestFit: fitted hyperparameters, kept from one round to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from botorch.models import SingleTaskGP
from torch.nn import Module

from botorch_private.exchange.observation import Observation
from botorch_private.modeler.models.fit import fit_model

_FITTED = ("covar_module.", "likelihood.", "mean_module.")  # the rest of a state is data


class LatestFit:
    """Hyperparameters that were fitted to the first observations of a history, and to which.

    Args:
        make: Builds a model of rows and their outcomes, with hyperparameters to start from.
    """

    def __init__(self, make: Callable[[Sequence[int], Sequence[float]], SingleTaskGP]) -> None:
        self._make = make
        self._fitted_to: list[Observation] = []
        self._state: dict[str, Any] = {}
        self._learned: list[str] = []

    def model(self, observations: Sequence[Observation], *, fitted_to: int) -> SingleTaskGP:
        """Model of all observations in eval mode, with hyperparameters fitted to the first of them.

        They are fitted where the latest ones were fitted to others, or to other values.

        Args:
            observations: In the order in which they were told.
            fitted_to: How many of them the hyperparameters are to be fitted to, >= 1.
        """
        model, first = self._model_of(observations), list(observations[:fitted_to])
        if first != self._fitted_to:
            fitted = model if fitted_to == len(observations) else self._model_of(first)
            fit_model(fitted)
            state = fitted.state_dict()
            self._state = {name: state[name] for name in state if name.startswith(_FITTED)}
            self._learned = [name for name, _ in fitted.named_parameters() if name in self._state]
            self._fitted_to = first
        # BoTorch's own would take targets back to outcome units and forth, which float32 does not bear.
        Module.load_state_dict(model, self._state, strict=False)
        return model.eval()  # type: ignore[return-value]

    def kept(self, observations: Sequence[Observation]) -> dict[str, Any] | None:
        """The latest hyperparameters as JSON; None where they were fitted to other observations.

        Args:
            observations: All of the history, the first of which they must have been fitted to.
        """
        count = len(self._fitted_to)
        if not count or list(observations[:count]) != self._fitted_to:
            return None
        values = {name: self._state[name].tolist() for name in self._learned}
        return {"observations": count, "values": values}

    def keep(self, observations: Sequence[Observation], kept: Mapping[str, Any]) -> None:
        """Go on with what `kept` gave; hyperparameters of another version's model are fitted anew."""
        first = list(observations[: int(kept["observations"])])
        model = self._model_of(first)
        state = {name: each for name, each in model.state_dict().items() if name.startswith(_FITTED)}
        fitted = {name for name, _ in model.named_parameters() if name.startswith(_FITTED)}
        values = {
            name: torch.as_tensor(value, dtype=torch.float64) for name, value in kept["values"].items()
        }
        if set(values) != fitted or any(values[name].shape != state[name].shape for name in fitted):
            return
        self._state = {**state, **{name: values[name].to(state[name]) for name in fitted}}
        self._learned, self._fitted_to = list(values), first

    def _model_of(self, observations: Sequence[Observation]) -> SingleTaskGP:
        return self._make([row for row, _ in observations], [value for _, value in observations])
