"""Numbers of runs: medians, ratios, and which targets they meet."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from experiments import Results, Runs


class Target(NamedTuple):
    """A target, what was measured, and whether it is met."""

    target: str
    measured: str
    met: bool


def total(runs: Runs) -> float:
    """Median CPU seconds of a search."""
    return statistics.median(run["total"] for run in runs)


def a_round(runs: Runs) -> float:
    """Median CPU seconds of a round after the first, which may have to build something."""
    return statistics.median(s for run in runs for s in (run["rounds"][1:] or run["rounds"]))


def last_round(runs: Runs) -> float:
    """Median CPU seconds of the last five rounds."""
    return statistics.median(s for run in runs for s in run["rounds"][-5:])


def peak(runs: Runs, field: str = "peak") -> float:
    """Largest peak memory, in MB."""
    return max(run[field] for run in runs) / 1e6


def regret(runs: Runs) -> float:
    """Mean final regret."""
    return statistics.mean(run["regret"] for run in runs)


def same_picks(runs: Runs, reference: Runs) -> tuple[int, int]:
    """How many picks equal those of other runs on the same problems, and how many there are."""
    pairs = [
        (one, other)
        for run, other_run in zip(runs, reference, strict=False)
        for one, other in zip(run["picks"], other_run["picks"], strict=False)
    ]
    return sum(one == other for one, other in pairs), len(pairs)


def objective(results: Results, name: str) -> float:
    """Mean over rounds and problems of what a fit maximizes, per point."""
    return statistics.mean(value for run in results.fits for value in run[name]["objectives"])


def fit_seconds(results: Results, name: str) -> float:
    """Median CPU seconds of a fit."""
    return statistics.median(value for run in results.fits for value in run[name]["seconds"])


def over_reading(runs: Runs) -> float:
    """Median over runs of the rounds' time, in units of reading V once in each."""
    return statistics.median(sum(run["rounds"]) / run["read"] for run in runs)


def targets(results: Results) -> list[Target]:
    """All targets."""
    sizes = results.sizes
    return [
        _same_rows(results),
        *_fixed(results),
        _at_least(
            f"one round, n = {sizes.big_n:,}, t = {sizes.big_t}: at least 80 times faster than "
            "one `optimize_acqf_discrete`",
            a_round(results.big["BoTorch"]) / a_round(results.big["ours"]),
            80,
        ),
        *_refit(results),
        *_long(results),
        *_large(results),
        _at_most(
            f"q = 10, n = {sizes.n:,}: at most 12 times q = 1",
            a_round(results.by_q[10]) / a_round(results.by_q[1]),
            12,
        ),
    ]


def _at_least(target: str, ratio: float, bound: float) -> Target:
    return Target(target, f"{ratio:.1f} times", ratio >= bound)


def _at_most(target: str, ratio: float, bound: float) -> Target:
    return Target(target, f"{ratio:.2f} times", ratio <= bound)


def _same_rows(results: Results) -> Target:
    equal = all_picks = 0
    for runs in results.fixed.values():
        same, count = same_picks(runs, results.fixed["NumPy floor"])
        equal, all_picks = equal + same, all_picks + count
    measured = f"{equal:,} of {all_picks:,} picks"
    return Target("fixed: all arms pick the same rows", measured, equal == all_picks)


def _fixed(results: Results) -> list[Target]:
    name = f"fixed, n = {results.sizes.n:,}, T = {results.sizes.rounds}"
    ours, floor, sklearn, botorch = (
        total(results.fixed[label]) for label in ("ours", "NumPy floor", "scikit-learn", "BoTorch")
    )
    return [
        _at_most(f"{name}: at most 3 times the floor", ours / floor, 3),
        _at_least(f"{name}: at least 10 times faster than scikit-learn", sklearn / ours, 10),
        _at_least(f"{name}: at least 40 times faster than BoTorch", botorch / ours, 40),
    ]


def _refit(results: Results) -> list[Target]:
    name = f"refit, n = {results.sizes.n:,}, T = {results.sizes.rounds}"
    runs = results.refit
    ours, sklearn, botorch = (
        total(runs[label]) for label in ("ours, refit", "scikit-learn, refit", "BoTorch, refit")
    )
    mine, theirs = objective(results, "ours"), objective(results, "BoTorch")
    my_regret, their_regret = regret(runs["ours, refit"]), regret(runs["BoTorch, refit"])
    return [
        Target(
            f"{name}: below scikit-learn's loop",
            f"{ours:.2f} s and {sklearn:.2f} s",
            ours < sklearn,
        ),
        _at_least(f"{name}: at least 10 times faster than BoTorch, same model", botorch / ours, 10),
        Target(
            "refit: fits as good as BoTorch's (objective per point, to 0.001)",
            f"{mine:.4f} and {theirs:.4f}",
            mine >= theirs - 1e-3,
        ),
        Target(
            "refit: final regret no worse than BoTorch's, same model",
            f"{my_regret:.4f} and {their_regret:.4f}",
            my_regret <= their_regret,
        ),
    ]


def _long(results: Results) -> list[Target]:
    name = f"fixed, n = {results.sizes.n:,}, T = {results.sizes.long_rounds}"
    ours, floor, sklearn = (
        total(results.long[label]) for label in ("ours", "NumPy floor", "scikit-learn")
    )
    return [
        _at_most(f"{name}: at most 2 times the floor", ours / floor, 2),
        _at_least(f"{name}: at least 30 times faster than scikit-learn", sklearn / ours, 30),
    ]


def _large(results: Results) -> list[Target]:
    name = f"fixed, n = {results.sizes.million:,}, T = {results.sizes.million_rounds}"
    memory = peak(results.million["ours"])
    return [
        Target(f"{name}: peak memory below 1,500 MB", f"{memory:,.0f} MB", memory < 1500),
        _at_most(f"{name}: at most 3 times reading V", over_reading(results.million["ours"]), 3),
    ]
