"""The experiments: which arm runs on what, and how often."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from measure import in_process

GIVEN = 5  # rows measured before a search starts
FIXED = {  # label: arm, dtype, whether it is slow
    "NumPy floor": ("NumPy floor", "float64", False),
    "ours": ("ours", "float64", False),
    "ours, float32": ("ours", "float32", False),
    "ours, drop-in": ("ours, drop-in", "float64", False),
    "scikit-learn": ("scikit-learn", "float64", True),
    "PHYSBO": ("PHYSBO", "float64", True),
    "BoTorch": ("BoTorch", "float64", True),
}
REFIT = (
    "ours, refit",
    "scikit-learn, refit",
    "PHYSBO, EI, relearn every 20",
    "BoTorch, refit",
    "BoTorch, refit, ARD",
)
Runs = list[dict[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """How large the experiments are."""

    n: int = 36_000
    rounds: int = 50
    long_rounds: int = 300
    big_n: int = 200_000
    big_t: int = 100
    million: int = 1_000_000
    million_rounds: int = 100
    huge: int = 10_000_000
    huge_rounds: int = 10
    huge_memory: tuple[int, ...] = (2**31, 2**28)
    by_n: tuple[int, ...] = (10_000, 30_000, 100_000, 300_000, 1_000_000)
    by_t: tuple[int, ...] = (10, 30, 100, 300)
    by_columns: tuple[int, ...] = (2, 10, 50, 200)
    by_q: tuple[int, ...] = (1, 2, 5, 10, 20)
    growth_t: int = 50
    fast: int = 5  # runs of an arm that takes less than a second
    slow: int = 3  # and of the others


QUICK = Sizes(
    n=2_000,
    rounds=10,
    long_rounds=30,
    big_n=5_000,
    big_t=20,
    million=20_000,
    million_rounds=20,
    huge=100_000,
    huge_memory=(2**31, 2**22),
    by_n=(1_000, 10_000),
    by_t=(30,),
    by_columns=(10,),
    by_q=(1, 10),
    growth_t=20,
    fast=1,
    slow=1,
)


@dataclass
class Results:
    """What was measured. Run ``k`` of every arm is on problem ``k``."""

    sizes: Sizes
    machine: dict[str, float] = field(default_factory=dict)
    fixed: dict[str, Runs] = field(default_factory=dict)
    big: dict[str, Runs] = field(default_factory=dict)
    refit: dict[str, Runs] = field(default_factory=dict)
    fits: Runs = field(default_factory=list)
    long: dict[str, Runs] = field(default_factory=dict)
    million: dict[str, Runs] = field(default_factory=dict)
    huge: dict[int, dict[str, Any]] = field(default_factory=dict)
    by_n: dict[str, dict[int, Runs]] = field(default_factory=dict)
    by_t: dict[str, dict[int, Runs]] = field(default_factory=dict)
    by_columns: dict[str, dict[int, Runs]] = field(default_factory=dict)
    by_q: dict[int, Runs] = field(default_factory=dict)


def run_all(sizes: Sizes) -> Results:
    """Run all experiments, each arm in a process of its own."""
    results = Results(sizes)
    say("bandwidth of this machine")
    results.machine = in_process("machine", n=sizes.n)
    _fixed(results, sizes)
    _big(results, sizes)
    _refit(results, sizes)
    _long(results, sizes)
    _large(results, sizes)
    _growth(results, sizes)
    return results


def say(line: str) -> None:
    """Report progress."""
    print(line, file=sys.stderr, flush=True)


def installed(arm: str) -> bool:
    """Whether the library of an arm is there; PHYSBO is not among this package's requirements."""
    return not arm.startswith("PHYSBO") or find_spec("physbo") is not None


def loop(experiment: str, arm: str, **arguments: Any) -> dict[str, Any]:
    """One search in a fresh process."""
    say(f"{experiment}: {arm} {arguments}")
    return in_process("loop", arm=arm, **arguments)


def _interleaved(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Label and number of each run; round by round, so that a slow minute meets all arms alike."""
    runs = [(label, k) for k in range(max(counts.values())) for label in counts if k < counts[label]]
    return [(label, k) for label, k in runs if installed(label)]


def _fixed(results: Results, sizes: Sizes) -> None:
    counts = {label: sizes.slow if slow else sizes.fast for label, (_, _, slow) in FIXED.items()}
    for label, seed in _interleaved(counts):
        arm, dtype, _ = FIXED[label]
        run = loop("fixed", arm, n=sizes.n, rounds=sizes.rounds, seed=seed, dtype=dtype)
        results.fixed.setdefault(label, []).append(run)


def _big(results: Results, sizes: Sizes) -> None:
    """The first round of a standing posterior builds it, so the later ones count."""
    rounds = {"ours": 6, "ours, drop-in": 2, "BoTorch": 1}
    for arm, seed in _interleaved(dict.fromkeys(rounds, sizes.slow)):
        run = loop("one round", arm, n=sizes.big_n, given=sizes.big_t, rounds=rounds[arm], seed=seed)
        results.big.setdefault(arm, []).append(run)


def _refit(results: Results, sizes: Sizes) -> None:
    for arm, seed in _interleaved(dict.fromkeys(REFIT, sizes.slow)):
        run = loop("refit", arm, n=sizes.n, rounds=sizes.rounds, seed=seed, regret=True)
        results.refit.setdefault(arm, []).append(run)
    for seed, run in enumerate(results.refit["ours, refit"]):
        say(f"fits of the data that our loop visited, seed {seed}")
        results.fits.append(in_process("fits", n=sizes.n, picks=run["picks"], seed=seed))


def _long(results: Results, sizes: Sizes) -> None:
    counts = {"NumPy floor": sizes.slow, "ours": sizes.slow, "scikit-learn": 1}
    for arm, seed in _interleaved(counts):
        run = loop("long", arm, n=sizes.n, rounds=sizes.long_rounds, seed=seed)
        results.long.setdefault(arm, []).append(run)


def _large(results: Results, sizes: Sizes) -> None:
    for arm, seed in _interleaved({"NumPy floor": sizes.slow, "ours": sizes.slow}):
        rounds = sizes.million_rounds
        run = loop("large", arm, n=sizes.million, rounds=rounds, seed=seed, read=True)
        results.million.setdefault(arm, []).append(run)
    for max_memory in sizes.huge_memory:
        results.huge[max_memory] = loop(
            "huge",
            "ours",
            n=sizes.huge,
            rounds=sizes.huge_rounds,
            dtype="float32",
            options={"max_memory": max_memory},
        )


def _growth(results: Results, sizes: Sizes) -> None:
    for arm, rounds in {"NumPy floor": 6, "ours": 6, "scikit-learn": 2, "BoTorch": 2}.items():
        for n in sizes.by_n:
            run = loop("growth in n", arm, n=n, given=sizes.growth_t, rounds=rounds)
            results.by_n.setdefault(arm, {})[n] = [run]
        for t in sizes.by_t:
            run = loop("growth in t", arm, n=sizes.n, given=t, rounds=rounds)
            results.by_t.setdefault(arm, {})[t] = [run]
    for arm in ("NumPy floor", "ours"):
        for columns in sizes.by_columns:
            run = loop(
                "growth in columns", arm, n=sizes.n, given=sizes.growth_t, rounds=6, columns=columns
            )
            results.by_columns.setdefault(arm, {})[columns] = [run]
    for q in sizes.by_q:
        # Equally many measurements for each q, so that t grows alike.
        rounds = 1 + 2 * max(sizes.by_q) // q
        for seed in range(sizes.slow):
            arguments = {"n": sizes.n, "given": sizes.growth_t, "rounds": rounds, "q": q, "seed": seed}
            results.by_q.setdefault(q, []).append(loop("growth in q", "ours", **arguments))
