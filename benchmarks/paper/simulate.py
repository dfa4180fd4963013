"""One run of one arm: the search, and the regrets of what it asked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable
from typing import NamedTuple

import torch
from arms import Arm, Released, Rule, Settings
from botorch.exceptions import InputDataWarning
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.priors import LogNormalPrior
from hyperparameters import Hyperparameters
from problems import Problem
from streams import stream
from torch import Tensor

from botorch_private import DiscretePosterior, History, ReleasedInputKernel, fit_model
from botorch_private.modeler.models.memory import NOTHING_KEPT


class Curves(NamedTuple):
    """One run, round by round. Round 0 is the initial record, which counts towards both regrets."""

    simple_regret: Tensor  # in sigma_y
    cumulative_regret: Tensor  # in sigma_y
    better_records: Tensor  # how many have a higher outcome than the best one found


def run_key(problem: Problem, arm: Arm, settings: Settings, seed: int, rounds: int) -> Hashable:
    """Equal for runs that are the same, so that one is enough."""
    return problem.name, arm.name, arm.depends_on(problem, settings), seed, rounds


def simulate(problem: Problem, arm: Arm, settings: Settings, seed: int, rounds: int) -> list[int]:
    """Search once, and return the records asked: a random one, then one for each round."""
    outcomes = problem.draw_outcomes(seed)
    released = arm.release(problem, settings, seed)
    initial = int(torch.randint(len(outcomes), (), generator=stream(seed, "initial record")))
    ties = stream(seed, "ties")
    return search(
        released,
        problem.hyperparameters,
        arm.rule,
        outcomes,
        [initial],
        rounds,
        ties,
        learns_lengthscale=arm.learns_lengthscale,
    )


def search(
    released: Released,
    hyperparameters: Hyperparameters,
    rule: Rule,
    outcomes: Tensor,
    initial: list[int],
    rounds: int,
    ties: torch.Generator,
    *,
    learns_lengthscale: bool = False,
) -> list[int]:
    """Search, and return the rows asked, the initial ones first.

    Hyperparameters are known, or the length-scale is a first guess alone, and fitted each round.
    """
    asked = list(initial)

    def model() -> SingleTaskGP:
        known = known_model(released, hyperparameters, asked, outcomes[asked])
        if learns_lengthscale:
            _fit_lengthscale(known, float(released.lengthscale.mean()))
        return known

    # A fit changes everything, so that nothing is worth keeping.
    kept = NOTHING_KEPT if learns_lengthscale else None
    posterior = DiscretePosterior(model(), released.rows, max_memory=kept)
    for t in range(1, rounds + 1):
        if learns_lengthscale and t > 1:
            posterior.update(model())
        index = rule.choose(posterior, t, asked, ties)
        asked.append(index)
        if not learns_lengthscale:
            posterior.append(index, float(outcomes[index]))
    return asked


def _fit_lengthscale(model: SingleTaskGP, guess: float) -> None:
    """Fit it alone; its prior is log-normal around a guess, with a deviation of 1 in the logarithm."""
    prior = LogNormalPrior(math.log(guess), 1.0)
    model.covar_module.base_kernel.register_prior("lengthscale_prior", prior, "lengthscale")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lengthscale" in name)
    fit_model(model)


def known_model(
    released: Released, hyperparameters: Hyperparameters, indices: list[int], values: Tensor
) -> SingleTaskGP:
    """Gaussian process with the noise-aware kernel and known hyperparameters."""
    rows = released.rows
    ard = len(released.lengthscale) > 1
    kernel = ReleasedInputKernel(
        released.noise_variance,
        noise_dim=rows.shape[1],
        ard_num_dims=rows.shape[1] if ard else None,
    )
    with warnings.catch_warnings():
        # Outcomes keep their units, and rows lie in a ball, not in the unit cube.
        warnings.simplefilter("ignore", InputDataWarning)
        model = SingleTaskGP(
            rows[indices],
            values.unsqueeze(-1),
            covar_module=ScaleKernel(kernel),
            mean_module=ConstantMean(),
            likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-9)),
            outcome_transform=None,
        )
    # After the model has become float64, or the numbers would be rounded to float32.
    kernel.lengthscale = released.lengthscale
    model.covar_module.outputscale = hyperparameters.outputscale
    model.likelihood.noise = hyperparameters.noise_variance
    model.mean_module.constant = hyperparameters.mean
    return model


def curves(problem: Problem, outcomes: Tensor, asked: list[int]) -> Curves:
    """Simple and cumulative regret and rank after each question of a run."""
    history = History(zip(asked, outcomes[asked].tolist(), strict=True))
    optimum, sigma_y = float(outcomes.max()), problem.sigma_y
    best = history.values.cummax(dim=0).values
    better = len(outcomes) - torch.searchsorted(outcomes.sort().values, best, right=True)
    return Curves(
        history.simple_regret(optimum) / sigma_y, history.cumulative_regret(optimum) / sigma_y, better
    )
