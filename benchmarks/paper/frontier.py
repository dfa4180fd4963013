"""The privacy-utility frontier: regret against epsilon, and what each choice of the two parties does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from arms import BETA_SCALE, SCALED_RULE, Released
from frontier_tables import TABLES, FrontierTable, table_named
from parallel import Job
from simulate import search
from streams import stream

from botorch_private import Modeler, NoisyProjection, NoPrivacy, Release
from botorch_private.curator.publish import publish

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
FEW_EPSILONS = (1.0, 3.0, 8.0)
NO_NOISE = float("inf")
DELTA = 1e-5
INITIAL, ROUNDS = 5, 50


@dataclass(frozen=True)
class Setup:
    """What curator and modeler do.

    Attributes:
        name: In results.
        changes: What it changes of the base, in words.
        noise: As in `NoisyProjection`.
        projected: Whether records are projected, on a third of their dimensions and at most 40.
        modeler: Arguments of `Modeler`.
        known: Whether the modeler knows hyperparameters that were fitted to up to 1,500 outcomes.
        everywhere: Whether all epsilons are run, and the search without privacy.
    """

    name: str
    changes: str = ""
    noise: str = "auto"
    projected: bool = False
    modeler: tuple[tuple[str, Any], ...] = ()
    known: bool = False
    everywhere: bool = False


BASE = Setup("base", everywhere=True)
SETUPS = {
    setup.name: setup
    for setup in (
        BASE,
        Setup("l2 Laplace", "l2 Laplace noise (pure)", noise="laplace"),
        Setup("Gaussian", "Gaussian noise", noise="gaussian"),
        Setup("plain kernel", "a kernel that ignores the noise", modeler=(("noise_aware", False),)),
        Setup("denoised", "`Modeler(denoise=True)`", modeler=(("denoise", True),)),
        Setup("projected", "r = a third of d, at most 40", projected=True),
        Setup("theory's beta", '`exploration="theory"`', modeler=(("exploration", "theory"),)),
        Setup(
            "fifth of beta",
            '`exploration="theory", beta_scale=0.2`: the rule of earlier versions of this page',
            modeler=(("exploration", "theory"), ("beta_scale", BETA_SCALE)),
        ),
        Setup("no word on noise", "`outcome_noise=None`", modeler=(("outcome_noise", None),)),
        Setup(
            "known",
            "hyperparameters known from 1,500 outcomes, and a fifth of the theory's beta",
            known=True,
            everywhere=True,
        ),
    )
}
# The slowest searches: 36,000 records, of which every setup finds the best ones, and 933 features.
ONLY = {"loan": ("base", "known"), "esol, bits": ("base", "denoised", "projected")}
# Tables that stand for a choice of features are run with the base alone.
BASE_ALONE = {name for name in TABLES if "," in name and name != "esol, bits"}


class Point(NamedTuple):
    """One setup at one epsilon on one table; an infinite epsilon is the search without privacy."""

    table: str
    setup: str
    epsilon: float


def points(table: str, *, quick: bool = False) -> Iterator[Point]:
    """Yield what is run on a table; quick: at two epsilons."""
    for setup in SETUPS.values():
        if not _applies(setup, table):
            continue
        epsilons = (*EPSILONS, NO_NOISE) if setup.everywhere else FEW_EPSILONS
        for epsilon in (FEW_EPSILONS[0], epsilons[-1]) if quick else epsilons:
            yield Point(table, setup.name, epsilon)


def _applies(setup: Setup, table: str) -> bool:
    if table in BASE_ALONE and setup is not BASE:
        return False
    if setup.name not in ONLY.get(table, SETUPS):
        return False
    if setup.name == "no word on noise":
        return table_named(table).outcome_noise is not None  # without, it is the base
    return not setup.projected or projection_dim(table_named(table).width) is not None


def projection_dim(width: int) -> int | None:
    """Where records are projected: how many dimensions; None: too few features."""
    return min(40, width // 3) if width >= 9 else None


def jobs(points: list[Point], seeds: Iterable[int], rounds: int) -> Iterator[Job]:
    """Yield all runs, seed by seed."""
    for seed in seeds:
        for point in points:
            yield Job(key(point, seed, rounds), run_once, (*point, seed, rounds))


def key(point: Point, seed: int, rounds: int) -> tuple[Any, ...]:
    """What a run depends on."""
    return ("frontier", *point, seed, rounds)


def run_once(table: str, setup: str, epsilon: float, seed: int, rounds: int) -> list[int]:
    """Search once, and return the records asked: 5 random ones, then one for each round."""
    return simulate(table_named(table), SETUPS[setup], epsilon, seed, rounds)


def simulate(table: FrontierTable, setup: Setup, epsilon: float, seed: int, rounds: int) -> list[int]:
    """Release with seeded noise (which voids the guarantee: a benchmark), and search."""
    mechanism = NoPrivacy()
    if epsilon < NO_NOISE:
        dim = projection_dim(table.width) if setup.projected else None
        mechanism = NoisyProjection(epsilon, DELTA, dim, noise=setup.noise)
    noise = stream(seed, f"frontier, noise at {epsilon}")
    published = publish(table.raw, table.scaling, mechanism, generator=noise)
    outcomes = table.draw_outcomes(seed)
    initial = torch.randperm(len(outcomes), generator=stream(seed, "frontier, initial records"))
    row_of = torch.argsort(published.permutation)
    rows = row_of[initial[:INITIAL]].tolist()
    values = outcomes[published.permutation]
    how = _by_known_process if setup.known else _by_modeler
    asked = how(table, setup, published.release, values, rows, rounds, stream(seed, "frontier, ties"))
    return published.permutation[asked].tolist()


def _by_modeler(
    table: FrontierTable,
    setup: Setup,
    release: Release,
    values: torch.Tensor,
    rows: list[int],
    rounds: int,
    ties: torch.Generator,
) -> list[int]:
    options = {"outcome_noise": table.outcome_noise, **dict(setup.modeler)}
    history = [(row, float(values[row])) for row in rows]
    modeler = Modeler(release, n_initial=len(rows), history=history, generator=ties, **options)
    for _ in range(rounds):
        index = modeler.ask()
        modeler.tell(index, float(values[index]))
    return modeler.history.indices


def _by_known_process(
    table: FrontierTable,
    setup: Setup,
    release: Release,
    values: torch.Tensor,
    rows: list[int],
    rounds: int,
    ties: torch.Generator,
) -> list[int]:
    known = table.hyperparameters
    lengthscale = torch.tensor([known.lengthscale], dtype=torch.float64)
    released = Released(release.candidates, lengthscale, release.noise_variance)
    return search(released, known, SCALED_RULE, values, rows, rounds, ties)
