"""The arms: how records are released to the modeler, and how the modeler chooses the next one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from problems import Problem
from streams import stream
from torch import Tensor

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    NoisyProjection,
    NotDifferentiallyPrivate,
    SpectralProjection,
    ucb_beta,
)
from botorch_private.modeler.acquisition.ties import best_index


class Settings(NamedTuple):
    """What a table of the paper varies.

    Attributes:
        log_epsilon: Natural logarithm of the privacy parameter, as the paper gives it.
        projection_dim: Released dimensions ``r``.
    """

    log_epsilon: float
    projection_dim: int

    @property
    def epsilon(self) -> float:
        """Privacy parameter at one unit of distance."""
        return math.exp(self.log_epsilon)


class Released(NamedTuple):
    """What the modeler sees, in the order of the records, and the kernel that it uses.

    The order gives nothing away to a search that breaks ties at random.

    Attributes:
        rows: ``n x k`` released rows; where a release has more dimensions than the records, rotated
            into as many as the records have.
        lengthscale: One, or ``k``.
        noise_variance: Of the noise on each coordinate; the kernel knows it.
    """

    rows: Tensor
    lengthscale: Tensor
    noise_variance: float = 0.0


# --- acquisition rules ---


@dataclass(frozen=True)
class Rule:
    """How the modeler chooses.

    Attributes:
        failure_probability: The paper's delta' in the schedule of beta.
        repeats: Whether a record may be asked again.
        weigh_variance: Whether sqrt(beta) weighs the posterior variance instead of the deviation.
        beta_scale: Factor of the schedule of beta.
    """

    failure_probability: float
    repeats: bool
    weigh_variance: bool = False
    beta_scale: float = 1.0

    def choose(
        self, posterior: DiscretePosterior, t: int, asked: list[int], ties: torch.Generator
    ) -> int:
        """Row of the best score in round ``t``, counted from 1."""
        exclude = [] if self.repeats else asked
        if not self.weigh_variance:
            acqf = DiscreteUCB(
                posterior,
                None,
                t,
                self.failure_probability,
                beta_scale=self.beta_scale,
                exploration="theory",
            )
            return int(acqf.select(exclude=exclude, generator=ties))
        mean, variance = posterior.moments()
        beta = ucb_beta(t, len(mean), self.failure_probability)
        scores = mean.add_(variance, alpha=math.sqrt(beta))
        return best_index(scores, exclude, ties, posterior.resolution)


# delta_ucb / 2 = 0.025 as the paper states it. Its Algorithm 2 excludes nothing, although its
# Section 2 speaks of an "unobserved input": we follow the algorithm.
PRINTED_RULE = Rule(failure_probability=0.025, repeats=True)
# What the authors' code does.
RELEASED_RULE = Rule(failure_probability=0.1, repeats=False, weigh_variance=True)
# What this package's Modeler does: the printed rule, and a record is asked once.
MODELER_RULE = Rule(failure_probability=0.025, repeats=False)
# The theory explores more than a search of 50 rounds can use; Srinivas et al. (2010, section 6) divided
# beta by 5.
BETA_SCALE = 0.2
SCALED_RULE = Rule(failure_probability=0.025, repeats=False, beta_scale=BETA_SCALE)


# --- releases ---


def originals(problem: Problem, settings: Settings, seed: int) -> Released:
    """Preprocessed records as they are."""
    return _isotropic(problem, problem.records)


def originals_public(problem: Problem, settings: Settings, seed: int) -> Released:
    """Records under declared ranges as they are: what noise alone costs the private arm."""
    return Released(problem.public_records, problem.public_lengthscale)


def as_printed(problem: Problem, settings: Settings, seed: int) -> Released:
    """Algorithm 1; where it raises singular values, the modeler's length-scale stays as it was."""
    return _isotropic(problem, _spectral(problem, problem.records, settings, seed))


def as_printed_repaired(problem: Problem, settings: Settings, seed: int) -> Released:
    """The same to a modeler who knows by how much the smallest singular value was raised."""
    released = as_printed(problem, settings, seed)
    omega = _mechanism(problem, settings).singular_value_floor
    if problem.sigma_min >= omega:
        return released
    stretch = math.sqrt(1 + (omega / problem.sigma_min) ** 2)
    return released._replace(lengthscale=released.lengthscale * stretch)


def as_released(problem: Problem, settings: Settings, seed: int) -> Released:
    """Algorithm 1 with singular values raised to ``s + omega`` instead of ``sqrt(s^2 + omega^2)``."""
    table = problem.records
    omega = _mechanism(problem, settings).singular_value_floor
    if problem.sigma_min < omega:
        u, s, vt = torch.linalg.svd(table - table.mean(dim=0), full_matrices=False)
        table = (u * (s + omega)) @ vt  # now above the floor: Algorithm 1 leaves it as it is
    return _isotropic(problem, _spectral(problem, table, settings, seed))


def noisy_public(problem: Problem, settings: Settings, seed: int) -> Released:
    """Records under declared ranges, with noise; private, but for the seed."""
    mechanism = _noisy(problem, settings)
    noise = stream(seed, f"noise of the release at {settings.log_epsilon}")
    rows = mechanism.apply(problem.public_records, generator=noise)
    return Released(rows, problem.public_lengthscale, mechanism.noise_variance(problem.width))


def noisy_originals(problem: Problem, settings: Settings, seed: int) -> Released:
    """The paper's preprocessed records with noise: one unit means what it does to Algorithm 1.

    Not private as a whole, since the preprocessing is learned from the records.
    """
    mechanism = _noisy(problem, settings)
    noise = stream(seed, f"noise of the release at {settings.log_epsilon}")
    rows = mechanism.apply(problem.records, generator=noise)
    return _isotropic(problem, rows, mechanism.noise_variance(problem.width))


# --- what a release's law depends on ---


def on_nothing(problem: Problem, settings: Settings) -> Hashable:
    """One law for all settings."""
    return ()


def on_branch(problem: Problem, settings: Settings) -> Hashable:
    """Above the floor Algorithm 1 does not use epsilon."""
    above = problem.sigma_min >= _mechanism(problem, settings).singular_value_floor
    return settings.projection_dim if above else settings


def on_epsilon(problem: Problem, settings: Settings) -> Hashable:
    """The noise depends on epsilon; there is no projection."""
    return settings.log_epsilon


@dataclass(frozen=True)
class Arm:
    """One line of a figure.

    Attributes:
        name: In results.
        release: What the curator hands over, for a problem, settings and a seed.
        rule: How the modeler chooses.
        depends_on: What the release depends on beside the seed: settings with equal values of it
            share their runs.
        learns_lengthscale: Whether the modeler fits the length-scale to what it has seen, each round.
    """

    name: str
    release: Callable[[Problem, Settings, int], Released]
    rule: Rule
    depends_on: Callable[[Problem, Settings], Hashable]
    learns_lengthscale: bool = False


AS_PRINTED = Arm("as printed", as_printed, PRINTED_RULE, on_branch)
AS_RELEASED = Arm("as released", as_released, RELEASED_RULE, on_branch)
AS_PRINTED_SCALED = Arm("as printed, scaled", as_printed, SCALED_RULE, on_branch)
REPAIRED = Arm("as printed, length-scale known", as_printed_repaired, PRINTED_RULE, on_branch)
LEARNED = Arm("as printed, length-scale learned", as_printed, PRINTED_RULE, on_branch, True)
PRIVATE = Arm("private", noisy_public, MODELER_RULE, on_epsilon)
PRIVATE_SCALED = Arm("private, scaled", noisy_public, SCALED_RULE, on_epsilon)
PRIVATE_SAME_UNIT = Arm("private, paper's unit", noisy_originals, SCALED_RULE, on_epsilon)
NON_PRIVATE = Arm("non-private", originals, MODELER_RULE, on_nothing)
NON_PRIVATE_SCALED = Arm("non-private, scaled", originals, SCALED_RULE, on_nothing)
NON_PRIVATE_PUBLIC = Arm("non-private, declared ranges", originals_public, MODELER_RULE, on_nothing)
NON_PRIVATE_AS_PRINTED = Arm("non-private, as printed", originals, PRINTED_RULE, on_nothing)
NON_PRIVATE_AS_RELEASED = Arm("non-private, as released", originals, RELEASED_RULE, on_nothing)

# A gap to the non-private search is to the one that chooses by the same rule.
BASELINES = {
    arm.rule: arm
    for arm in (NON_PRIVATE, NON_PRIVATE_SCALED, NON_PRIVATE_AS_PRINTED, NON_PRIVATE_AS_RELEASED)
}

ARMS = {
    arm.name: arm
    for arm in (
        *BASELINES.values(),
        NON_PRIVATE_PUBLIC,
        AS_PRINTED,
        AS_PRINTED_SCALED,
        REPAIRED,
        LEARNED,
        AS_RELEASED,
        PRIVATE,
        PRIVATE_SCALED,
        PRIVATE_SAME_UNIT,
    )
}


# --- how ---


def _isotropic(problem: Problem, rows: Tensor, noise_variance: float = 0.0) -> Released:
    lengthscale = torch.tensor([problem.hyperparameters.lengthscale], dtype=torch.float64)
    return Released(rows, lengthscale, noise_variance)


def _mechanism(problem: Problem, settings: Settings) -> SpectralProjection:
    return SpectralProjection(settings.epsilon, problem.delta, settings.projection_dim)


def _noisy(problem: Problem, settings: Settings) -> NoisyProjection:
    """No projection: for r >= d it is a rotation, which a search does not notice."""
    if settings.projection_dim < problem.width:
        raise ValueError(
            f"projection_dim must be at least {problem.width}, got {settings.projection_dim}"
        )
    return NoisyProjection(settings.epsilon, problem.delta)


def _spectral(problem: Problem, table: Tensor, settings: Settings, seed: int) -> Tensor:
    """Released rows of Algorithm 1; the matrix depends on seed and ``r``, not on epsilon or arm."""
    matrix = stream(seed, f"projection to {settings.projection_dim}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)  # known; that is the comparison
        rows = _mechanism(problem, settings).apply(table, generator=matrix)
    return same_distances(rows, problem.width)


def same_distances(rows: Tensor, rank: int) -> Tensor:
    """Rotate ``n x r`` rows of a given rank into ``rank`` dimensions, where r is larger.

    An isotropic kernel sees distances alone, and costs time for every column.
    """
    if rows.shape[1] <= rank:
        return rows
    _, axes = torch.linalg.eigh(rows.T @ rows)  # in ascending order
    return rows @ axes[:, -rank:]
