"""How much a search should explore: rules of a score, compared run by run on several tables.

Each run releases once with seeded noise (which voids the guarantee: a benchmark), takes 5 random rows
and then as many by a rule, with hyperparameters that are learned. Rules meet the same noise, the same
first rows and the same ties, so that they are compared by differences. A rule that does not know the
budget is run once, and read after 10, 20, 50 and 100 rounds.

The search is a lean twin of `Modeler`: the same model, priors and scores in NumPy. It fits in each of
the first 20 rounds and then in every third, and a fit starts from the last one. Seeds from 1,000 on
choose a rule; those from 5,000 on confirm it. What is done already is kept in ``exploration.jsonl``
beside the results, so that it can be stopped and goes on.

    python benchmarks/exploration.py --set choose --runs 48
    python benchmarks/exploration.py --set confirm --runs 48 --rules "theory 1,shared 1/0.2 from 10"
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from tqdm import tqdm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "paper"))

from frontier_tables import table_named  # noqa: E402 (benchmarks/paper is a folder of modules)
from streams import stream  # noqa: E402

from botorch_private import NoisyProjection, NoPrivacy, ucb_beta  # noqa: E402
from botorch_private.curator.publish import publish  # noqa: E402
from botorch_private.modeler.models.marginal_likelihood import MarginalLikelihood  # noqa: E402

Array = NDArray[Any]
RESULTS = HERE / "results"
KEPT = RESULTS / "exploration.jsonl"
SEEDS = {"choose": 1_000, "confirm": 5_000}
BUDGETS = (10, 20, 50, 100)
INITIAL, DELTA = 5, 1e-5
EVERY_ROUND, THEN_EVERY = 20, 3  # rounds with a fit
RESTARTED = 5  # every so many fits begin at a long and a short length-scale as well
SMALLER_NOISE = 3.305 / 3.731  # the l2 mechanism at d = 22, epsilon 1, delta 1e-5: a smaller deviation


class Rule(NamedTuple):
    """``mean + sqrt(scale(t) beta_t) * deviation``.

    Attributes:
        shared: Whether the deviation is that of the part which records share.
        scale: Factor of the theory's schedule in round ``t`` of ``T``.
        knows_budget: Whether it looks at ``T``.
    """

    shared: bool
    scale: Callable[[int, int], float]
    knows_budget: bool = False


def _steps(first: float, then: float, rounds: int) -> Callable[[int, int], float]:
    return lambda t, T: first if t <= rounds else then


def _decay(scale: float, least: float) -> Callable[[int, int], float]:
    return lambda t, T: max(1 / (1 + t / scale), least)


RULES = {
    "theory 1": Rule(False, _steps(1.0, 1.0, 0)),
    "theory 0.2": Rule(False, _steps(0.2, 0.2, 0)),
    "shared 1": Rule(True, _steps(1.0, 1.0, 0)),
    "shared 0.2": Rule(True, _steps(0.2, 0.2, 0)),
    "shared 0.5": Rule(True, _steps(0.5, 0.5, 0)),
    "shared 1/0.2 from 5": Rule(True, _steps(1.0, 0.2, 5)),
    "shared 0.5/0.2 from 10": Rule(True, _steps(0.5, 0.2, 10)),
    "shared 1/0.2 from 10": Rule(True, _steps(1.0, 0.2, 10)),
    "shared 1/0.2 from 20": Rule(True, _steps(1.0, 0.2, 20)),
    "shared 0.5/0.1 from 20": Rule(True, _steps(0.5, 0.1, 20)),
    "shared 1/0.05 from 20": Rule(True, _steps(1.0, 0.05, 20)),
    "shared 1/(1 + t/5)": Rule(True, _decay(5.0, 0.1)),
    "shared 1/(1 + t/10)": Rule(True, _decay(10.0, 0.1)),
    "shared 1/0.1 from T/2": Rule(True, lambda t, T: 1.0 if t <= T / 2 else 0.1, True),
    "shared 1/0.1 last third": Rule(True, lambda t, T: 1.0 if t <= 2 * T / 3 else 0.1, True),
}


class Cell(NamedTuple):
    """A table at an epsilon for one unit; ``noise`` is a factor of the deviation that `auto` has."""

    table: str
    epsilon: float
    noise: float = 1.0

    @property
    def name(self) -> str:
        """In results."""
        return f"{self.table}, epsilon {self.epsilon:g}" + (", l2" if self.noise < 1 else "")


FEW = "hospital, few, same unit"
CELLS = [Cell(table, e) for table in ("branin", "grid", "hospital", FEW) for e in (1.0, 3.0)]
FRESH_TABLES = [Cell(table, 3.0) for table in ("telemonitoring", "esol", "loan")]
L2 = [Cell("hospital", 1.0, SMALLER_NOISE)]


# --- one search ---


class Setting(NamedTuple):
    """What the modeler has: rows, outcomes to ask for, and what a release says."""

    rows: Array
    outcomes: Array
    noise_variance: float
    spread: float
    outcome_noise: float | None


def setting(cell: Cell, seed: int) -> Setting:
    """Release a table for one run."""
    table = table_named("synthetic_gp" if cell.table == "grid" else cell.table)
    raw, outcomes = table.raw, table.draw_outcomes(seed)
    if cell.table == "grid":  # every second point along each side of 90 points: 45 x 45
        kept = torch.arange(len(raw)).reshape(100, 100)[5:95:2, 5:95:2].reshape(-1)
        raw, outcomes = raw[kept], outcomes[kept]
    published = publish(
        raw,
        table.scaling,
        NoPrivacy() if math.isinf(cell.epsilon) else NoisyProjection(cell.epsilon, DELTA, None),
        generator=stream(seed, f"exploration, noise at {cell.epsilon}"),
    )
    release, order = published.release, published.permutation
    rows, variance = release.candidates.numpy(), release.noise_variance * cell.noise**2
    if cell.noise != 1:
        true = table.scaling.transform(raw)[order].numpy()
        rows = true + cell.noise * (rows - true)
    total = float(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
    spread = release.spread
    if cell.noise != 1:
        spread = math.sqrt(max(total - rows.shape[1] * variance, 0.01 * total))
    values = (outcomes / table.sigma_y)[order].numpy()
    return Setting(rows, values, variance, spread, table.outcome_noise)


class Belief(NamedTuple):
    """What the model says of all rows, in standard deviations of the answers so far.

    Attributes:
        mean: ``n`` posterior means.
        shared: ``n`` posterior variances of the part that records share.
        own: Variance of the part that is a record's own.
        noise: Variance of what scatters beside.
        center: Mean of the answers.
        unit: Their standard deviation.
    """

    mean: Array
    shared: Array
    own: float
    noise: float
    center: float
    unit: float


def search(given: Setting, rule: Rule, rounds: int, seed: int) -> list[int]:
    """Rows in the order in which they were asked."""
    n = len(given.rows)

    def score(belief: Belief, t: int, asked: list[int]) -> Array:
        variance = belief.shared + (0.0 if rule.shared else belief.own)
        beta = rule.scale(t, rounds) * ucb_beta(t, n)
        return belief.mean + math.sqrt(beta) * np.sqrt(np.maximum(variance, 1e-12))

    return search_by(given, score, rounds, seed)[0]


def search_by(
    given: Setting,
    score: Callable[[Belief, int, list[int]], Array] | None,
    rounds: int,
    seed: int,
    *,
    believe: bool = False,
) -> tuple[list[int], Belief | None]:
    """Rows in the order in which they were asked, by the largest score; None: at random.

    With ``believe`` also what the model says after all answers.
    """
    n, width = given.rows.shape
    order = np.random.default_rng([seed, 1])
    ties = np.random.default_rng([seed, 2]).random(n) * 1e-9
    first = INITIAL if score is not None else INITIAL + rounds
    asked = order.permutation(n)[:first].tolist()
    rows = (given.rows - given.rows.mean(axis=0)).astype(np.float32)
    norms = (rows**2).sum(axis=1)
    squared = np.empty((INITIAL + rounds, n), dtype=np.float32)
    for i, row in enumerate(asked):
        squared[i] = _distances(rows, norms, row)
    fit = _Fit(given)
    u = fit.start
    for t in range(first - INITIAL + 1, rounds + 1 + believe):
        known = len(asked)
        y = given.outcomes[asked]
        center, unit = y.mean(), y.std(ddof=1) or 1.0
        y = (y - center) / unit
        if t <= EVERY_ROUND or t > rounds or (t - EVERY_ROUND) % THEN_EVERY == 0:
            u = fit(given.rows[asked], y, u, again=t % RESTARTED == 1 or t > rounds)
        length, s, noise = np.exp(u)
        smooth = length**2 + 2 * given.noise_variance
        share = (length**2 / smooth) ** (width / 2)
        K = np.exp(squared[:known] * np.float32(-0.5 / smooth))
        K *= np.float32(s * share)
        K[np.arange(known), asked] = s
        matrix = K[:, asked].astype(np.float64)
        matrix[np.diag_indices(known)] = s + noise
        L = np.linalg.cholesky((matrix + matrix.T) / 2 + 1e-9 * s * np.eye(known))
        white = solve_triangular(L, np.column_stack([y, np.ones(known)]), lower=True)
        mean = (white[:, 0] @ white[:, 1]) / (white[:, 1] @ white[:, 1])
        V = solve_triangular(L.astype(np.float32), K, lower=True, overwrite_b=True, check_finite=False)
        best_guess = mean + (white[:, 0] - mean * white[:, 1]).astype(np.float32) @ V
        shared = s * share - np.einsum("ij,ij->j", V, V)
        belief = Belief(best_guess, shared, s * (1 - share), noise, float(center), float(unit))
        if t > rounds:
            return asked, belief
        assert score is not None
        scores = score(belief, t, asked) + ties
        scores[asked] = -np.inf
        pick = int(scores.argmax())
        squared[known] = _distances(rows, norms, pick)
        asked.append(pick)
    return asked, None


def _distances(rows: Array, norms: Array, row: int) -> Array:
    return np.maximum(norms + norms[row] - 2 * (rows @ rows[row]), 0)


class _Fit:
    """Length-scale, output scale and noise under the priors of `make_model`, in logarithms."""

    def __init__(self, given: Setting) -> None:
        self._given = given
        noise = -4.0 if given.outcome_noise is None else math.log(given.outcome_noise)
        self._center = np.array([math.log(2 * given.spread), 0.0, noise])
        self._weight = np.array([1 / 0.75**2, 0.0, 1.0])
        self._slope = np.array([-1.0, 1.0, -1.0])
        self._rate = np.array([0.0, 2.0, 0.0])
        self.start = np.array([math.log(given.spread), 0.0, max(noise - 1, math.log(2e-4))])
        low = [math.log(1e-4 * given.spread), -12.0, math.log(1e-4)]
        self._bounds = list(zip(low, [20.0, 12.0, 12.0], strict=True))

    def __call__(self, Z: Array, y: Array, last: Array, *, again: bool) -> Array:
        likelihood = MarginalLikelihood(
            Z, y, noise_variance=np.array([self._given.noise_variance]), noise_dim=Z.shape[1]
        )

        def loss(u: Array) -> tuple[float, Array]:
            values = np.exp(u)
            found = likelihood(values[:1], values[1:2], values[2:])
            gap = u - self._center
            prior = self._slope * u - self._weight * gap**2 / 2 - self._rate * values
            gradient = np.concatenate([found.lengthscale, found.outputscale, found.noise])
            gradient += self._slope - self._weight * gap - self._rate * values
            if not math.isfinite(found.value):
                return 1e10, np.zeros(3)
            return -(found.value + prior.sum()) / len(y), -gradient / len(y)

        starts = [last]
        if again:
            far = math.log(math.sqrt(2 * Z.var(axis=0).sum()))
            starts += [self.start, *(np.array([far + e, 0.0, math.log(0.1)]) for e in (1, -1))]
        stop = {"ftol": 1e-5, "gtol": 1e-3, "maxiter": 100}
        low, high = np.array(self._bounds).T
        ends = [
            minimize(
                loss,
                np.clip(s, low, high),
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds,
                options=stop,
            )
            for s in starts
        ]
        return min(ends, key=lambda end: end.fun).x


# --- runs ---


def run(cell: Cell, name: str, seed: int, budget: int) -> dict[str, list[float]]:
    """Regret of the best record found and mean gap of the answers, after each budget so far."""
    given = _setting(cell, seed)
    asked = search(given, RULES[name], budget, seed)
    gaps = given.outcomes.max() - given.outcomes[asked]
    read = [T for T in BUDGETS if (budget == T if RULES[name].knows_budget else budget >= T)]
    return {
        str(T): [float(gaps[: INITIAL + T].min()), float(gaps[INITIAL : INITIAL + T].mean())]
        for T in read
    }


@lru_cache(maxsize=1)
def _setting(cell: Cell, seed: int) -> Setting:
    return setting(cell, seed)


def _read() -> dict[str, dict[str, list[float]]]:
    if not KEPT.exists():
        return {}
    lines = map(json.loads, KEPT.read_text(encoding="utf-8").splitlines())
    return {line["key"]: line["read"] for line in lines}


def measure(cells: list[Cell], rules: list[str], seeds: range, budget: int) -> dict[Any, Any]:
    """Run what is missing; (rule, cell, budget) to ``runs x 2`` numbers."""
    kept = _read()
    found: dict[Any, list[Any]] = {}
    jobs = [(cell, seed, rule) for seed in seeds for cell in cells for rule in rules]
    with KEPT.open("a", encoding="utf-8") as file:
        for cell, seed, rule in tqdm(jobs, mininterval=20):
            knows = RULES[rule].knows_budget
            for T in [T for T in BUDGETS if budget >= T] if knows else [budget]:
                key = f"{rule} | {cell.name} | {seed} | {T}"
                longer = f"{rule} | {cell.name} | {seed} | {max(BUDGETS)}"
                known = key if key in kept or knows else longer
                if known not in kept:
                    kept[key] = run(cell, rule, seed, T)
                    known = key
                    file.write(json.dumps({"key": key, "read": kept[key]}) + "\n")
                    file.flush()
                for read, numbers in kept[known].items():
                    if int(read) <= budget:
                        found.setdefault((rule, cell, int(read)), []).append(numbers)
    return {key: np.array(numbers) for key, numbers in found.items()}


# --- results ---


def table(found: dict[Any, Any], cells: list[Cell], rules: list[str], base: str, T: int) -> str:
    """Paired differences to a base after ``T`` rounds: pooled, and of each cell."""
    lines = [
        "| rule | pooled, best record | pooled, all answers | "
        + " | ".join(c.name for c in cells)
        + " |",
        "| --- " * (3 + len(cells)) + "|",
    ]
    for rule in rules:
        own = [found[rule, cell, T] for cell in cells]
        gaps = [mine - found[base, cell, T] for mine, cell in zip(own, cells, strict=True)]
        each = [f"{mine[:, 0].mean():.3f}" for mine in own]
        if rule != base:
            each = [
                f"{m} ({g[:, 0].mean():+.3f} ± {_error(g[:, 0]):.3f})"
                for m, g in zip(each, gaps, strict=True)
            ]
        pooled = ["" if rule == base else f"{_pooled([g[:, k] for g in gaps])}" for k in (0, 1)]
        lines.append("| " + " | ".join([rule, *pooled, *each]) + " |")
    return "\n".join(lines)


def _error(gaps: Array) -> float:
    return float(gaps.std(ddof=1) / math.sqrt(len(gaps)))


def _pooled(gaps: list[Array]) -> str:
    """Mean of the cells' means; cells of one seed are averaged first, as they share it."""
    by_seed = np.mean(gaps, axis=0)
    return f"{by_seed.mean():+.3f} ± {_error(by_seed):.3f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=[*SEEDS], default="choose")
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--base", default="theory 1")
    parser.add_argument("--budget", type=int, choices=BUDGETS, default=100)
    parser.add_argument("--cells", choices=["eight", "fresh", "l2"], default="eight")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cells = {"eight": CELLS, "fresh": FRESH_TABLES, "l2": L2}[options.cells]
    rules, first = options.rules.split(","), SEEDS[options.set]
    found = measure(cells, rules, range(first, first + options.runs), options.budget)
    for T in BUDGETS:
        if options.budget >= T:
            print(f"\n### {T} rounds, {options.runs} runs a cell, seeds from {first:,}\n")
            print(table(found, cells, rules, options.base, T))


if __name__ == "__main__":
    main()
