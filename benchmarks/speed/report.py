"""The results as Markdown."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments import FIXED, QUICK, REFIT, Results, Runs, installed
from summary import (
    a_round,
    fit_seconds,
    last_round,
    objective,
    over_reading,
    peak,
    regret,
    same_picks,
    targets,
    total,
)

LIBRARIES = (
    "botorch-private",
    "botorch",
    "gpytorch",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "physbo",
)


def write(results: Results, path: Path) -> None:
    """Write all tables."""
    sizes = results.sizes
    lines = [
        "# Speed of a search over a pool, beside its physical floor and other libraries",
        "",
        "Written by `python benchmarks/speed`. CPU seconds of one thread, of asking and telling only: "
        "medians over fresh processes; run k of every arm is on problem k. Memory is the largest peak "
        "of a process (VmHWM), and its excess over what the process held after imports and a small "
        "search, the candidates included.",
        "",
        *_targets(results),
        "",
        *(["A quick run: its sizes are too small for the targets.", ""] if sizes == QUICK else []),
        f"## Fixed hyperparameters, n = {sizes.n:,}, T = {sizes.rounds}",
        "",
        *_fixed(results),
        "",
        f"## Fixed hyperparameters, n = {sizes.n:,}, T = {sizes.long_rounds}",
        "",
        *_searches(results.long),
        "",
        f"## One round, n = {sizes.big_n:,}, t = {sizes.big_t}",
        "",
        *_big(results),
        "",
        f"## A fit in every round, n = {sizes.n:,}, T = {sizes.rounds}",
        "",
        *_refit(results),
        "",
        "## Large pools",
        "",
        *_large(results),
        "",
        "## Growth of one round (CPU ms)",
        "",
        *_growth(results),
        "",
        "![Cost of a round](speed.png)",
        "",
        "## Machine and libraries",
        "",
        *_machine(results),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    head = list(head)
    ruler = ["---"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, ruler, *rows)]


def _ms(seconds: float) -> str:
    milliseconds = 1e3 * seconds
    return f"{milliseconds:.2f}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def _targets(results: Results) -> list[str]:
    rows = [(t.target, t.measured, "yes" if t.met else "**no**") for t in targets(results)]
    return table(("target", "measured", "met?"), rows)


def _fixed(results: Results) -> list[str]:
    floor = results.fixed["NumPy floor"]
    rows = []
    for label, runs in results.fixed.items():
        same, count = same_picks(runs, floor)
        rows.append((
            label,
            f"{total(runs):.3f}",
            f"{total(runs) / total(floor):.1f}",
            _ms(last_round(runs)),
            f"{same} of {count}",
            f"{peak(runs):,.0f}",
            f"{peak(runs, 'above'):,.0f}",
            str(len(runs)),
        ))  # fmt: skip
    head = ("arm", "CPU s", "times the floor", "last rounds, ms", "picks of the floor")
    notes = [
        "",
        '"ours" is a standing `DiscretePosterior`; "drop-in" makes a new model and a new '
        "`DiscreteUCB(model, Z)` for each question, as a BoTorch loop does. BoTorch's arm also looks "
        "for the row of the point that it gets. The floor is twenty lines of NumPy without checks.",
        *(
            f"{label} is not installed, and left out."
            for label in (*FIXED, *REFIT)
            if not installed(label)
        ),
    ]
    return table((*head, "peak MB", "above imports, MB", "runs"), rows) + notes


def _searches(runs: dict[str, Runs]) -> list[str]:
    floor = runs["NumPy floor"]
    rows = []
    for label, own in runs.items():
        same, count = same_picks(own, floor)
        figures = (f"{total(own):.2f}", f"{total(own) / total(floor):.1f}", _ms(last_round(own)))
        rows.append((label, *figures, f"{same} of {count}", f"{peak(own):,.0f}", str(len(own))))
    head = (
        "arm",
        "CPU s",
        "times the floor",
        "last rounds, ms",
        "picks of the floor",
        "peak MB",
        "runs",
    )
    return table(head, rows)


def _big(results: Results) -> list[str]:
    names = {
        "ours": "ours: append and select on a standing posterior",
        "ours, drop-in": "ours: a fresh `DiscreteUCB(model, Z).select`",
        "BoTorch": "one `optimize_acqf_discrete`",
    }
    ours = a_round(results.big["ours"])
    rows = [
        (names[label], _ms(a_round(runs)), f"{a_round(runs) / ours:.1f}", f"{peak(runs):,.0f}")
        for label, runs in results.big.items()
    ]
    picks = {label: [run["picks"][0] for run in runs] for label, runs in results.big.items()}
    equal = all(own == picks["ours"] for own in picks.values())
    note = f"All three choose the same row: {'yes' if equal else '**no**'}."
    return [*table(("what", "CPU ms", "times ours", "peak MB"), rows), "", note]


def _refit(results: Results) -> list[str]:
    ours = total(results.refit["ours, refit"])
    rows = [
        (
            label,
            f"{total(runs):.2f}",
            f"{total(runs) / ours:.1f}",
            f"{regret(runs):.4f}",
            f"{peak(runs):,.0f}",
            str(len(runs)),
        )
        for label, runs in results.refit.items()
    ]
    searches = table(("arm", "CPU s", "times ours", "mean final regret", "peak MB", "runs"), rows)
    fits = [
        (name, _ms(fit_seconds(results, name)), f"{objective(results, name):.4f}")
        for name in ("ours", "BoTorch")
    ]
    note = (
        "Both fits of the same isotropic model, on every data set that our search visited "
        "(log marginal likelihood and log prior, per point; higher is better):"
    )
    head = ("fit by", "CPU ms a fit (median)", "mean objective")
    return [*searches, "", note, "", *table(head, fits)]


def _large(results: Results) -> list[str]:
    sizes = results.sizes
    rows = [
        (label, f"{total(runs):.2f}", f"{over_reading(runs):.2f}", f"{peak(runs):,.0f}")
        for label, runs in results.million.items()
    ]
    head = (
        f"n = {sizes.million:,}, T = {sizes.million_rounds}",
        "CPU s",
        "rounds / reading V",
        "peak MB",
    )
    huge = [
        (
            f"{max_memory / 2**20:,.0f} MiB",
            f"{a_round([run]):.2f}",
            f"{max(run['rounds']):.2f}",
            f"{run['peak'] / 1e6:,.0f}",
            f"{run['above'] / 1e6:,.0f}",
        )
        for max_memory, run in results.huge.items()
    ]
    title = f"n = {sizes.huge:,}, T = {sizes.huge_rounds}, float32: ours with `max_memory`"
    huge_head = (title, "CPU s a round (median)", "slowest round", "peak MB", "above imports, MB")
    note = (
        '"Reading V" is one product of all present rows of V with a vector in each round, by NumPy, '
        "measured in the same process."
    )
    return [*table(head, rows), "", note, "", *table(huge_head, huge)]


def _growth(results: Results) -> list[str]:
    sizes = results.sizes
    lines = []
    for title, growth in (
        (f"n (t = {sizes.growth_t})", results.by_n),
        (f"t (n = {sizes.n:,})", results.by_t),
        (f"columns (n = {sizes.n:,}, t = {sizes.growth_t})", results.by_columns),
    ):
        values = list(growth["ours"])
        rows = [(arm, *(_ms(a_round(runs[value])) for value in values)) for arm, runs in growth.items()]
        lines += [*table((title, *(f"{value:,}" for value in values)), rows), ""]
    last = sizes.growth_t + 2 * max(sizes.by_q)
    title = f"q (n = {sizes.n:,}, t = {sizes.growth_t} to {last})"
    by_q = {q: a_round(runs) for q, runs in results.by_q.items()}
    rows = [
        ("ours", *(_ms(seconds) for seconds in by_q.values())),
        ("times q = 1", *(f"{seconds / by_q[1]:.1f}" for seconds in by_q.values())),
    ]
    return lines + table((title, *(str(q) for q in by_q)), rows)


def _machine(results: Results) -> list[str]:
    bandwidths = ", ".join(f"{name} {rate:.1f}" for name, rate in results.machine.items())
    return [
        f"{_processor()}; one thread. Bandwidth in GB/s: {bandwidths}.",
        "",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)
        + ".",
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.processor()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
