"""This package: a standing posterior, the drop-in for a BoTorch loop, and a refit each round."""

from __future__ import annotations

import torch
from arm import Arm
from botorch.models import SingleTaskGP
from models import NewModel, fixed_model, isotropic_model
from problem import KAPPA

from botorch_private import DiscretePosterior, DiscreteUCB, fit_model


class Standing(Arm):
    """Fixed hyperparameters: one posterior, told each measurement.

    Args:
        max_memory: Bytes that the posterior may keep.
    """

    def __init__(self, Z, indices, values, lengthscale, max_memory: int | None = None) -> None:
        super().__init__(Z, indices, values, lengthscale)
        self.candidates = torch.from_numpy(Z)
        model = fixed_model(self.candidates[indices], values, lengthscale)
        self.posterior = DiscretePosterior(model, self.candidates, max_memory=max_memory)

    def ask(self, q: int) -> list[int]:
        """Best upper confidence bounds."""
        acqf = DiscreteUCB(self.posterior, self.candidates, t=len(self.asked), beta=KAPPA**2)
        return acqf.select(q=q, exclude=self.asked).tolist()

    def tell(self, index: int, value: float) -> None:
        """Append to the posterior."""
        super().tell(index, value)
        self.posterior.append(index, value)


class DropIn(NewModel):
    """A new `DiscreteUCB` of a new model for each question, as in a BoTorch loop."""

    def ask(self, q: int) -> list[int]:
        """Best upper confidence bounds of a new model."""
        acqf = DiscreteUCB(self.model(), self.candidates, t=len(self.asked), beta=KAPPA**2)
        return acqf.select(q=q, exclude=self.asked).tolist()


class Refit(DropIn):
    """The isotropic model, fitted for each question."""

    def model(self) -> SingleTaskGP:
        """Fitted by this package."""
        model = isotropic_model(self.candidates[self.asked], self.values)
        fit_model(model)
        return model
