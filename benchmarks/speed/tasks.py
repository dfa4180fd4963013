"""What is run in a process of its own. Libraries are imported by the task that needs them."""

from __future__ import annotations

import gc
import importlib
import time

import numpy as np
from measure import cpu_seconds, forget_peak, memory
from problem import Problem

ARMS = {  # name: module, class
    "NumPy floor": ("floor", "Floor"),
    "ours": ("ours", "Standing"),
    "ours, drop-in": ("ours", "DropIn"),
    "scikit-learn": ("peer_sklearn", "Fixed"),
    "PHYSBO": ("peer_physbo", "Fixed"),
    "BoTorch": ("peer_botorch", "Fixed"),
    "ours, refit": ("ours", "Refit"),
    "scikit-learn, refit": ("peer_sklearn", "Refit"),
    "PHYSBO, EI, relearn every 20": ("peer_physbo", "Relearn"),
    "BoTorch, refit": ("peer_botorch", "RefitIsotropic"),
    "BoTorch, refit, ARD": ("peer_botorch", "RefitDefault"),
}


def loop(
    arm: str,
    n: int,
    rounds: int,
    columns: int = 10,
    given: int = 5,
    seed: int = 0,
    dtype: str = "float64",
    q: int = 1,
    read: bool = False,
    regret: bool = False,
    options: dict | None = None,
) -> dict:
    """Search a pool; CPU seconds of each round, the picks, and peak memory.

    Args:
        arm: Key of `ARMS`.
        n: Number of candidates.
        rounds: Number of questions, each followed by its answers.
        columns: Number of features.
        given: Number of rows that are measured before.
        seed: Of the problem.
        dtype: Of the candidates.
        q: Rows a question.
        read: Whether to measure also how long it takes to read V once a round.
        regret: Whether to compute the regret.
        options: For the arm.
    """
    module, name = ARMS[arm]
    make = getattr(importlib.import_module(module), name)
    _search(make, Problem(200, columns, seed, dtype), 3, 5, q, {})  # imports and caches
    before = forget_peak()
    problem = Problem(n, columns, seed, dtype)
    first, seconds, picks = _search(make, problem, rounds, given, q, options or {})
    result = {"first": first, "rounds": seconds, "total": first + sum(seconds), "picks": picks}
    result |= {"peak": memory("VmHWM"), "above": memory("VmHWM") - before}
    if regret:
        result["regret"] = problem.regret([*range(given), *picks])
    if read:
        del problem
        gc.collect()
        result["read"] = reading(n, given, rounds, dtype)
    return result


def _search(
    make, problem: Problem, rounds: int, given: int, q: int, options: dict
) -> tuple[float, list[float], list[int]]:
    """CPU seconds of making an arm and of each round, and the picks; measuring does not count."""
    indices = list(range(given))  # the rows of the table are random, so the first ones are
    values = [problem.measure(index) for index in indices]
    start = time.process_time()
    arm = make(problem.Z, indices, values, problem.lengthscale, **options)
    first = time.process_time() - start
    seconds, picks = [], []
    for _ in range(rounds):
        start = time.process_time()
        rows = arm.ask(q)
        asking = time.process_time() - start
        values = [problem.measure(index) for index in rows]
        start = time.process_time()
        for index, value in zip(rows, values, strict=True):
            arm.tell(index, value)
        seconds.append(asking + time.process_time() - start)
        picks += rows
    return first, seconds, picks


def reading(n: int, given: int, rounds: int, dtype: str) -> float:
    """CPU time of reading V once in each round of a loop, by NumPy's product with a vector."""
    V = np.ones((given + rounds, n), dtype=dtype)
    out, weights = np.empty(n, dtype=dtype), np.ones(len(V), dtype=dtype)
    sizes = range(given, given + rounds)
    np.dot(weights[:given], V[:given], out=out)
    return sum(cpu_seconds(lambda t=t: np.dot(weights[:t], V[:t], out=out)) for t in sizes)


def fits(n: int, picks: list[int], given: int = 5, seed: int = 0) -> dict:
    """Fit the data that a search visited, by this package and by BoTorch.

    Returns:
        For both, CPU seconds of a fit and what it maximizes (the log marginal likelihood and the log
        prior, per point; higher is better), one number a round.
    """
    import torch
    from botorch.fit import fit_gpytorch_mll
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from models import isotropic_model

    from botorch_private import fit_model

    def by_botorch(model) -> None:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))

    problem = Problem(n, seed=seed)
    asked = [*range(given), *picks]
    X = torch.from_numpy(problem.Z)[asked]
    values = [problem.measure(index) for index in asked]
    result: dict = {}
    for name, fit in (("ours", fit_model), ("BoTorch", by_botorch)):
        fit(isotropic_model(X[:given], values[:given]))  # imports and caches
        seconds, objectives = [], []
        for t in range(given, len(asked)):
            model = isotropic_model(X[:t], values[:t])
            seconds.append(cpu_seconds(lambda model=model, fit=fit: fit(model)))
            model.train()
            with torch.no_grad():
                mll = ExactMarginalLogLikelihood(model.likelihood, model)
                objectives.append(float(mll(model(*model.train_inputs), model.train_targets)))
        result[name] = {"seconds": seconds, "objectives": objectives}
    return result


def machine(n: int) -> dict:
    """Bandwidths of one thread in GB/s: a copy, and V times a vector for 55 rows of V."""
    block = np.ones(2**25)
    target = np.empty_like(block)
    target[:] = block
    copy = min(cpu_seconds(lambda: np.copyto(target, block)) for _ in range(7))
    result = {"copy": 2 * block.nbytes / copy / 1e9}
    for size in (n, 1_000_000):
        V, out, weights = np.ones((55, size)), np.empty(size), np.ones(55)
        np.dot(weights, V, out=out)
        seconds = min(
            cpu_seconds(lambda V=V, out=out, w=weights: np.dot(w, V, out=out)) for _ in range(7)
        )
        result[f"GEMV 55 x {size:,}"] = V.nbytes / seconds / 1e9
    return result


TASKS = {"loop": loop, "fits": fits, "machine": machine}
