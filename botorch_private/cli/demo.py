"""The demonstration: a hospital searches for its costliest stay, with and without privacy."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context

import numpy as np
import torch

from botorch_private._base import validate
from botorch_private._base.progress import tqdm
from botorch_private.cli.demo_arms import (
    ARMS,
    DELTA,
    HISTORY_EPSILON,
    PROMISES,
    demo_scaling,
    hospital_stays,
)
from botorch_private.curator.curator import Curator
from botorch_private.curator.publish import planned_guarantee
from botorch_private.datasets import Dataset
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.run import run
from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_down, round_up
from botorch_private.privacy.warnings import NotDifferentiallyPrivate
from botorch_private.theory import expected_random_regret_curve

INITIAL = 5
CHANCE = "chosen at random"
# One arm of each kind; the guarantees of the others differ in their numbers alone.
_IN_FULL = (
    "cells, epsilon 3",
    "cells by a history, epsilon 3",
    "noise, epsilon 3 a unit",
    "original records",
    "Algorithm 1, claims 3 a unit",
)


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
    def panels(self) -> dict[str, dict[str, np.ndarray]]:
        """The same for a picture: what is promised about a whole record, and all else."""
        whole, *others = PROMISES.values()
        other = [arm for arms in others for arm in arms]
        return {
            "Epsilon is for a whole record": {arm: self.regret[arm] for arm in whole},
            "Epsilon is for one unit, or for nothing": {arm: self.regret[arm] for arm in other},
        }

    @property
    def chance(self) -> np.ndarray:
        """Expected simple regret of records chosen at random, after each measurement."""
        outcomes = hospital_stays().outcomes
        measurements = next(iter(self.regret.values())).shape[1]
        return (expected_random_regret_curve(outcomes, measurements) / outcomes.std()).numpy()

    def table(self) -> str:
        """Simple regret after the last measurement, beside what a whole record costs."""
        seeds, measurements = next(iter(self.regret.values())).shape
        chance = self.chance[-1]
        lines = [
            f"Simple regret after {measurements} measurements ({INITIAL} chosen at random first), in "
            f"standard deviations of log cost ({seeds} run{'s' if seeds > 1 else ''} each).",
            "Epsilon is for a whole record. With cells it always holds, at delta 0; 'before' is before",
            f"the first question, at delta {DELTA:g}. With noise delta is at most {DELTA:g}.",
            "",
            f"  {'':<32}{'epsilon':>9}{'before':>9}{'regret':>9}{'std. err.':>11}{'at random':>11}",
        ]
        for promise, arms in PROMISES.items():
            lines.append(promise)
            for arm in arms:
                runs = self.regret[arm]
                error = runs[:, -1].std(ddof=1) / math.sqrt(seeds) if seeds > 1 else math.nan
                shown = f"{error:.3f}" if seeds > 1 else "-"
                always, before = _epsilons(arm)
                mean = runs[:, -1].mean()
                lines.append(f"  {arm:<32}{always:>9}{before:>9}{mean:>9.3f}{shown:>11}{chance:>11.3f}")
        lines += [
            "Nothing is released",
            f"  {CHANCE:<32}{'0':>9}{'0':>9}{chance:>9.3f}{'exact':>11}{chance:>11.3f}",
        ]
        return "\n".join(lines)


def describe_promise() -> str:
    """Say in a few lines what is promised about a whole record, and to whom."""
    stays = hospital_stays()
    return (
        "A promise about a whole record: whatever one patient's stay is, the label that leaves looks "
        "the same\nup to a factor of e^epsilon, whatever is asked and answered; outcomes are another "
        f"matter.\nThe pool has {len(stays.records):,} stays. A history of {len(stays.old_records):,} "
        f"other patients may say where to cut it; each of them has\nepsilon {HISTORY_EPSILON:g} at "
        f"delta {DELTA:g} for the whole record, cost included."
    )


@cache
def arm_guarantee(arm: str) -> PrivacyGuarantee:
    """What an arm promises: known before any record of the pool is looked at."""
    stays = hospital_stays()
    plan = ARMS[arm].plan(stays)
    return planned_guarantee(len(stays.records), plan.domain, plan.mechanism)


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


def describe_guarantees() -> Iterator[str]:
    """Yield what each kind of release promises, in full."""
    for arm in _IN_FULL:
        yield f"[{arm}]\n{arm_guarantee(arm)}"


def check_rounds(rounds: int) -> None:
    """Refuse more rounds than there are stays left to measure."""
    validate.count(rounds=rounds)
    most = len(hospital_stays().records) - INITIAL
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
    stays = hospital_stays()
    generator = torch.Generator().manual_seed(seed)
    first = torch.randperm(len(stays.records), generator=generator)[:INITIAL]
    plan = ARMS[arm].plan(stays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)  # the table says so
        curator = Curator(plan.records, plan.domain, plan.mechanism, stays.outcomes)
    row_of = torch.argsort(curator.permutation)
    modeler = Modeler(
        curator.release,
        n_initial=INITIAL,
        history=[curator.query(int(row_of[record])) for record in first],
        generator=generator,
        **ARMS[arm].modeler,
    )
    history = run(curator, modeler, rounds, progress=False)
    return (history.simple_regret(float(stays.outcomes.max())) / stays.outcomes.std()).numpy()


def _epsilons(arm: str) -> tuple[str, str]:
    """Of a whole record: always, and before the first question."""
    guarantee = arm_guarantee(arm)
    if not guarantee.holds:
        return "none", "none"
    if of_whole_records(guarantee):
        return round_up(guarantee.whole_record), round_up(guarantee.shuffled(DELTA).epsilon)
    return round_up(guarantee.whole_record), "-"
