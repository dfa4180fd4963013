"""BoTorch's own loop over a pool, by `optimize_acqf_discrete`."""

from __future__ import annotations

from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood
from models import NewModel, default_model, isotropic_model
from problem import KAPPA


class Fixed(NewModel):
    """Fixed hyperparameters."""

    def ask(self, q: int) -> list[int]:
        """A new model for each question. BoTorch returns a point: its row has to be searched for."""
        point, _ = optimize_acqf_discrete(
            UpperConfidenceBound(self.model(), beta=KAPPA**2),
            q=1,
            choices=self.candidates,
            X_avoid=self.candidates[self.asked],
        )
        return [int((self.candidates == point).all(dim=1).nonzero()[0])]


class RefitIsotropic(Fixed):
    """The isotropic model, fitted for each question."""

    def model(self) -> SingleTaskGP:
        """Fitted by BoTorch."""
        model = isotropic_model(self.candidates[self.asked], self.values)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


class RefitDefault(Fixed):
    """BoTorch's default model, fitted for each question."""

    def model(self) -> SingleTaskGP:
        """Fitted by BoTorch."""
        model = default_model(self.candidates[self.asked], self.values)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model
