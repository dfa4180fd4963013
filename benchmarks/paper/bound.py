"""Theorem 3's bound beside the observed regret, with its assumptions checked on the runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import torch
from arms import AS_PRINTED, PRINTED_RULE, Settings
from cells import Cell, figure_settings
from markdown import markdown
from problems import Problem
from simulate import run_key
from summary import Results, final
from torch import Tensor

from botorch_private import ucb_beta
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.theory import (
    RegretBound,
    information_gain_bound,
    is_diagonally_dominant,
    simple_regret_bound,
)

FAILURE_PROBABILITY = 0.05  # delta_ucb, as in the paper
REGRET_OFFSET = 0.1  # epsilon_ucb in sigma_y: what a reader would call a small regret

INTRODUCTION = f"""\
### Theorem 3 beside the observed regret

The bound for Algorithm 1 as printed at the largest ε of the figure, with ε_ucb = {REGRET_OFFSET} σ_y
and δ_ucb = {FAILURE_PROBABILITY}. Its γ_T is a bound for the whole table. Diagonal dominance is checked
on the records of each run, the best record added."""


def section(
    problem: Problem, results: Results, runs: Mapping[Hashable, list[int]], seeds: range, rounds: int
) -> Iterator[str]:
    """Yield a problem's comparison, as lines."""
    settings = figure_settings(problem.name)[0]
    observed = final(results, Cell(problem.name, AS_PRINTED.name, settings))
    asked = {seed: runs[run_key(problem, AS_PRINTED, settings, seed, rounds)] for seed in seeds}
    dominant = sum(_dominant(problem, asked[seed], seed) for seed in seeds)
    distinct = sum(len(set(each)) == len(each) for each in asked.values())
    largest = max(_largest(problem, seed) for seed in seeds)
    found = evaluate(
        problem, settings, rounds, largest, diagonally_dominant=dominant == distinct == len(seeds)
    )
    yield from INTRODUCTION.splitlines()
    yield ""
    sigma_y = problem.sigma_y
    yield from markdown(
        ("what", "value"),
        [
            ("observed simple regret, in σ_y", str(observed)),
            ("Theorem 3, in σ_y", f"{found.bound / sigma_y:.3g}"),
            ("with its proof repaired, in σ_y", f"{found.repaired_bound / sigma_y:.3g}"),
            ("observations within L", f"yes: L = {largest:.3g} is the largest of all runs"),
            ("no record asked twice, as the proof needs", f"{distinct} of {len(seeds)} runs"),
            ("measured records diagonally dominant", f"{dominant} of {len(seeds)} runs"),
            ("σ_min at least ω", _word(found.singular_value_large_enough)),
            ("r as large as the theorem asks", _word(found.projection_dim_large_enough)),
            ("distortion as small as it asks", _word(found.distortion_small_enough)),
            ("prior variance at most 1", _word(found.outputscale_at_most_one)),
            ("all assumptions: the bound holds", _word(found.holds)),
            ("carries over to a private release", _word(found.transfers_to_private_release)),
        ],
    )
    yield ""


def evaluate(
    problem: Problem, settings: Settings, rounds: int, largest: float, *, diagonally_dominant: bool
) -> RegretBound:
    """Evaluate the bound for Algorithm 1 as printed under a setting of a problem.

    Args:
        problem: One of `problems.PROBLEMS`, made.
        settings: Epsilon and projection dimension.
        rounds: T.
        largest: L, the largest absolute outcome.
        diagonally_dominant: Whether the proof may use dominance in every run.
    """
    records = problem.records
    known, n = problem.hyperparameters, len(problem.records)
    kernel = ReleasedInputKernel(0.0).double()
    kernel.lengthscale = known.lengthscale
    with torch.no_grad():
        covariance = known.outputscale * kernel(records)
        gain = information_gain_bound(covariance, known.noise_variance, rounds)
    return simple_regret_bound(
        regret_offset=REGRET_OFFSET * problem.sigma_y,
        failure_probability=FAILURE_PROBABILITY,
        rounds=rounds,
        beta=ucb_beta(rounds, n, PRINTED_RULE.failure_probability),
        information_gain=gain,
        n=n,
        diameter=_diameter(records),
        lengthscale=known.lengthscale,
        outputscale=known.outputscale,
        noise_variance=known.noise_variance,
        observation_bound=largest,
        singular_value=problem.sigma_min,
        epsilon=settings.epsilon,
        delta=problem.delta,
        projection_dim=settings.projection_dim,
        diagonally_dominant=diagonally_dominant,
        observations_bounded=True,
    )


def _largest(problem: Problem, seed: int) -> float:
    return float((problem.draw_outcomes(seed) - problem.hyperparameters.mean).abs().max())


def _dominant(problem: Problem, asked: list[int], seed: int) -> bool:
    best = int(problem.draw_outcomes(seed).argmax())
    rows = problem.records[sorted({*asked, best})]
    squared = torch.cdist(rows, rows).square() / problem.hyperparameters.lengthscale**2
    return is_diagonally_dominant(problem.hyperparameters.outputscale * torch.exp(-squared / 2))


def _diameter(records: Tensor) -> float:
    """Largest distance of two records: among the vertices of their convex hull."""
    from scipy.spatial import ConvexHull

    corners = records[ConvexHull(records.numpy()).vertices]
    return float(torch.cdist(corners, corners).max())


def _word(holds: bool) -> str:
    return "yes" if holds else "no"
