"""The demonstration: a hospital searches for its costliest stay, with and without privacy."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import torch

from botorch_private._base import validate
from botorch_private._base.progress import tqdm
from botorch_private.curator.curator import Curator
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms import Mechanism, NoisyProjection, NoPrivacy, SpectralProjection
from botorch_private.curator.publish import planned_guarantee
from botorch_private.datasets import Dataset, hospital
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.run import run
from botorch_private.privacy.rounding import round_down, round_up
from botorch_private.privacy.warnings import NotDifferentiallyPrivate
from botorch_private.theory import expected_random_regret_curve

INITIAL = 5
DELTA = 1e-5
# What the modeler knows without the table: what a stay costs scatters, and 50 questions are few.
BETA_SCALE, OUTCOME_NOISE = 0.2, 0.4
# Algorithm 1 with as many dimensions as features; its claimed epsilon is that of the middle arm.
ARMS: dict[str, Mechanism] = {
    "original records": NoPrivacy(),
    "private, epsilon 8": NoisyProjection(8.0, DELTA),
    "private, epsilon 3": NoisyProjection(3.0, DELTA),
    "private, epsilon 1": NoisyProjection(1.0, DELTA),
    "Algorithm 1, claims epsilon 3": SpectralProjection(3.0, DELTA, 22),
}
CHANCE = "chosen at random"


@dataclass(frozen=True)
class DemoResult:
    """What the demonstration measured.

    Args:
        regret: Arm -> ``seeds x (INITIAL + rounds)`` simple regret after each measurement, the
            initial ones included, in standard deviations of the outcome.
        seconds: Wall time.
    """

    regret: dict[str, np.ndarray]
    seconds: float

    @property
    def chance(self) -> np.ndarray:
        """Expected simple regret of records chosen at random, after each measurement."""
        outcomes = hospital().outcomes
        measurements = next(iter(self.regret.values())).shape[1]
        return (expected_random_regret_curve(outcomes, measurements) / outcomes.std()).numpy()

    def table(self) -> str:
        """Simple regret after the last measurement: mean and standard error of each arm."""
        seeds, measurements = next(iter(self.regret.values())).shape
        lines = [
            f"Simple regret after {measurements} measurements ({INITIAL} chosen at random first), in "
            f"standard deviations of log cost ({seeds} run{'s' if seeds > 1 else ''} each):",
            "",
            f"  {'released rows':<32}{'regret':>8}{'std. err.':>11}   differentially private",
        ]
        for arm, runs in self.regret.items():
            error = runs[:, -1].std(ddof=1) / math.sqrt(seeds) if seeds > 1 else math.nan
            shown = f"{error:.3f}" if seeds > 1 else "-"
            lines.append(f"  {arm:<32}{runs[:, -1].mean():>8.3f}{shown:>11}   {_private(arm)}")
        lines.append(f"  {CHANCE:<32}{self.chance[-1]:>8.3f}{'exact':>11}   yes (it looks at nothing)")
        return "\n".join(lines)


def demo_scaling(data: Dataset) -> PublicScaling:
    """Public scaling of the demonstration's table, from its declared ranges."""
    kinds = zip(data.features, data.units, strict=True)
    return PublicScaling(
        data.lower,
        data.upper,
        names=data.features,
        choices={name: (name,) for name, unit in kinds if unit == "yes/no"},
    )


def describe_unit(data: Dataset) -> str:
    """Say what one unit of distance is, in the units of each feature."""
    scaling = demo_scaling(data)
    lines = ["One unit of distance is any one of these (or a part of each, by Pythagoras):"]
    widths = {step.name: step.width for step in scaling.steps}
    for name, unit, size in zip(data.features, data.units, scaling.unit.tolist(), strict=True):
        shown = f"  {round_down(size):>8}"
        if name in widths:
            step = round_up(widths[name], 3)
            lines.append(f"{shown}  of the step from no to yes in {name}, a step of {step} units")
        else:
            lines.append(f"{shown}  {unit} of {name}")
    return "\n".join(lines)


def describe_guarantees(data: Dataset) -> Iterator[str]:
    """Yield what each arm promises; known before any record is looked at."""
    scaling = demo_scaling(data)
    for arm, mechanism in ARMS.items():
        yield f"[{arm}]\n{planned_guarantee(len(data.records), scaling, mechanism)}"


def check_rounds(rounds: int) -> None:
    """Refuse more rounds than there are stays left to measure."""
    validate.count(rounds=rounds)
    most = len(hospital().records) - INITIAL
    if rounds > most:
        raise ValueError(f"rounds must be at most {most}, the stays that are left, got {rounds}")


def run_demo(*, rounds: int = 50, seeds: int = 8, workers: int | None = None) -> DemoResult:
    """Run every arm with several seeds, in parallel processes of one thread each.

    The runs of a seed share their first `INITIAL` records. Noise comes from the operating system,
    so figures vary a little from run to run.

    Args:
        rounds: Measurements after the `INITIAL` shared ones.
        seeds: Runs of each arm.
        workers: Processes; None: one a core.
    """
    check_rounds(rounds)
    validate.count(seeds=seeds)
    start = time.monotonic()
    jobs = [(arm, seed) for seed in range(seeds) for arm in ARMS]
    curves: dict[tuple[str, int], np.ndarray] = {}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(one_run, arm, seed, rounds): (arm, seed) for arm, seed in jobs}
        for future in tqdm(as_completed(futures), total=len(jobs), desc="runs", unit="run"):
            curves[futures[future]] = future.result()
    regret = {arm: np.stack([curves[arm, seed] for seed in range(seeds)]) for arm in ARMS}
    return DemoResult(regret, time.monotonic() - start)


def one_run(arm: str, seed: int, rounds: int) -> np.ndarray:
    """Simple regret of one arm after each measurement, in standard deviations of the outcome."""
    torch.set_num_threads(1)
    data = hospital()
    generator = torch.Generator().manual_seed(seed)
    first = torch.randperm(len(data.records), generator=generator)[:INITIAL]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)  # the table says so
        curator = Curator(data.records, demo_scaling(data), ARMS[arm], data.outcomes)
    row_of = torch.argsort(curator.permutation)
    modeler = Modeler(
        curator.release,
        n_initial=INITIAL,
        beta_scale=BETA_SCALE,
        outcome_noise=OUTCOME_NOISE,
        history=[curator.query(int(row_of[record])) for record in first],
        generator=generator,
    )
    history = run(curator, modeler, rounds, progress=False)
    return (history.simple_regret(float(data.outcomes.max())) / data.outcomes.std()).numpy()


def _private(arm: str) -> str:
    guarantee = ARMS[arm].guarantee(n=10**4, d=22)
    return f"yes, epsilon {guarantee.epsilon:g} a unit" if guarantee.holds else "NO"
