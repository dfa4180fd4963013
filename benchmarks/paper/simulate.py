"""One run of one arm, and all runs of a cell of the paper's tables."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, MutableMapping
from typing import NamedTuple

import torch
from arms import Arm, Released, Settings
from botorch.exceptions import InputDataWarning
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from hyperparameters import Hyperparameters
from problems import Problem
from streams import stream
from torch import Tensor

from botorch_private import DiscretePosterior, History, ReleasedInputKernel


class Row(NamedTuple):
    """One round of one run. Round 0 is the initial record, which counts towards both regrets."""

    problem: str
    arm: str
    log_epsilon: float
    delta: float
    projection_dim: int
    seed: int
    round: int
    simple_regret: float  # in sigma_y
    cumulative_regret: float  # in sigma_y
    better_records: int  # how many have a higher outcome than the best one found


Runs = MutableMapping[Hashable, list[int]]


def run_cell(
    problem: Problem,
    arm: Arm,
    settings: Settings,
    seeds: Iterable[int],
    *,
    rounds: int | None = None,
    known: Runs | None = None,
) -> list[Row]:
    """Run an arm once for each seed.

    Args:
        problem: One of `problems.PROBLEMS`.
        arm: One of `arms.ARMS`.
        settings: Epsilon and projection dimension of the cell.
        seeds: One for each run. A seed decides the function, the initial record, the projection
            matrix and the noise; arms share what they have in common.
        rounds: How many; None: the paper's.
        known: Runs by `run_key`, which are not run again; new ones are added.

    Returns:
        ``rounds + 1`` rows for each seed.
    """
    rounds = problem.rounds if rounds is None else rounds
    known = {} if known is None else known
    rows: list[Row] = []
    for seed in seeds:
        key = run_key(problem, arm, settings, seed, rounds)
        if key not in known:
            known[key] = simulate(problem, arm, settings, seed, rounds)
        label = (problem.name, arm.name, settings.log_epsilon, problem.delta, settings.projection_dim)
        regrets = zip(*_regrets(problem, problem.draw_outcomes(seed), known[key]), strict=True)
        rows += [Row(*label, seed, t, *regret) for t, regret in enumerate(regrets)]
    return rows


def run_key(problem: Problem, arm: Arm, settings: Settings, seed: int, rounds: int) -> Hashable:
    """Equal for runs that are the same, so that one is enough."""
    return problem.name, arm.name, arm.depends_on(problem, settings), seed, rounds


def simulate(problem: Problem, arm: Arm, settings: Settings, seed: int, rounds: int) -> list[int]:
    """Search once, and return the records asked: a random one, then one for each round."""
    outcomes = problem.draw_outcomes(seed)
    released = arm.release(problem, settings, seed)
    n = len(outcomes)
    asked = [int(torch.randint(n, (), generator=stream(seed, "initial record")))]
    ties = stream(seed, "ties")
    model = known_model(released, problem.hyperparameters, asked, outcomes[asked])
    posterior = DiscretePosterior(model, released.rows)
    for t in range(1, rounds + 1):
        index = arm.rule.choose(posterior, t, asked, ties)
        asked.append(index)
        posterior.append(index, float(outcomes[index]))
    return asked


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


def _regrets(
    problem: Problem, outcomes: Tensor, asked: list[int]
) -> tuple[list[float], list[float], list[int]]:
    """Simple and cumulative regret and rank after each question."""
    history = History(zip(asked, outcomes[asked].tolist(), strict=True))
    optimum, sigma_y = float(outcomes.max()), problem.sigma_y
    simple = history.simple_regret(optimum) / sigma_y
    cumulative = history.cumulative_regret(optimum) / sigma_y
    best = history.values.cummax(dim=0).values
    ordered = outcomes.sort().values
    better = len(outcomes) - torch.searchsorted(ordered, best, right=True)
    return simple.tolist(), cumulative.tolist(), better.tolist()
