"""Fit hyperparameters.json: maximum likelihood on whole tables, as the paper did, once.

    python benchmarks/paper/fit_hyperparameters.py    # about two minutes

Not private, and not meant to be: the paper's hyperparameters come from all records and outcomes. All
arms of the reproduction know the same ones.
"""

from __future__ import annotations

import json
import statistics

import numpy as np
from frontier_tables import TABLES, FrontierTable, table_named
from hyperparameters import FILE, Hyperparameters
from preprocessing import loan_scaling, paper_scaling
from scipy.linalg import cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from tables import Table, branin_table, loan_table, property_table

SUBSET, SUBSETS = 1500, 3


def maximum_likelihood(
    X: np.ndarray, y: np.ndarray, lengthscale: np.ndarray, noise_variance: float, *, mean: bool = True
) -> tuple[np.ndarray, Hyperparameters]:
    """Fit an RBF process by L-BFGS from one start.

    Args:
        X: ``n x d`` inputs.
        y: ``n`` outcomes of variance 1.
        lengthscale: Start; one number for an isotropic kernel, ``d`` for one each.
        noise_variance: Start.
        mean: Whether the prior mean is fitted; otherwise it is 0.

    Returns:
        The length-scales, and all hyperparameters with the first of them.
    """
    k = len(lengthscale)
    columns = [X] if k == 1 else [X[:, [j]] for j in range(k)]
    squares = [cdist(x, x, "sqeuclidean") for x in columns]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        lengths, outputscale, noise = np.exp(theta[:k]), np.exp(theta[k]), np.exp(theta[k + 1])
        signal = outputscale * np.exp(
            -0.5 * sum(s / length**2 for s, length in zip(squares, lengths, strict=True))
        )
        try:
            factor = np.linalg.cholesky(signal + noise * np.eye(len(y)))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        residual = y - theta[-1]
        inverse = cho_solve((factor, True), np.eye(len(y)))
        weights = inverse @ residual
        value = 0.5 * residual @ weights + np.log(np.diag(factor)).sum()
        slope = 0.5 * (inverse - np.outer(weights, weights))
        gradient = [
            *(
                (slope * signal * s).sum() / length**2
                for s, length in zip(squares, lengths, strict=True)
            ),
            (slope * signal).sum(),
            noise * np.trace(slope),
            -weights.sum() if mean else 0.0,
        ]
        return value, np.array(gradient)

    start = np.concatenate([np.log(lengthscale), [0.0, np.log(noise_variance), 0.0]])
    bounds = [(-6, 8)] * k + [(-6, 6), (-14, 3), (-8, 8)]
    theta = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    lengths = np.exp(theta[:k])
    found = (lengths[0], np.exp(theta[k]), np.exp(theta[k + 1]), theta[-1])
    return lengths, Hyperparameters(*map(float, found))


def fit_branin() -> dict:
    """One length-scale for each input, then divided out: the shape that the paper's tables imply."""
    table = branin_table()
    lengths, found = maximum_likelihood(
        table.raw.numpy(), table.standardized.numpy(), np.full(2, 1.5), 0.001, mean=False
    )
    # After division the length-scale is 1, and the largest norm becomes 25.
    unit = paper_scaling(table.raw, lengths.tolist()).unit[0]
    isotropic = found._replace(lengthscale=float(lengths[0] / unit))
    return {"raw_lengthscales": lengths.tolist(), "isotropic": isotropic._asdict()}


def fit_property() -> dict:
    table = property_table()
    X = paper_scaling(table.raw).transform(table.raw).numpy()
    _, found = maximum_likelihood(X, table.standardized.numpy(), np.array([1.0]), 0.3)
    return {"isotropic": found._asdict()}


def fit_loan(table: Table) -> dict:
    """Median of the fits to random subsets: a fit to all loans is out of reach."""
    X, y = loan_scaling(table.raw).transform(table.raw).numpy(), table.standardized.numpy()
    fits = []
    for seed in range(SUBSETS):
        rows = np.random.default_rng(seed).choice(len(y), SUBSET, replace=False)
        fits.append(maximum_likelihood(X[rows], y[rows], np.array([3.0]), 0.3)[1])
    median = Hyperparameters(*map(statistics.median, zip(*fits, strict=True)))
    return {"isotropic": median._asdict(), "fits": [fit._asdict() for fit in fits]}


def fit_frontier(table: FrontierTable) -> dict:
    """Isotropic fit to a random subset of a table under declared ranges."""
    X, y = table.scaling.transform(table.raw).numpy(), table.draw_outcomes(0).numpy()
    rows = np.random.default_rng(0).permutation(len(y))[:SUBSET]
    scale = float(np.sqrt(X.var(axis=0).sum()))
    return maximum_likelihood(X[rows], y[rows], np.array([scale]), 0.3)[1]._asdict()


def main() -> None:
    found = {
        "branin": fit_branin(),
        "property": fit_property(),
        "loan_floor": fit_loan(loan_table("floor")),
        "loan_positive": fit_loan(loan_table("positive")),
    }
    # Written first: the paper's problems among the tables of the frontier are made from it.
    FILE.write_text(json.dumps({**found, "declared ranges": {}}, indent=2) + "\n", encoding="utf-8")
    found["declared ranges"] = {name: fit_frontier(table_named(name)) for name in TABLES}
    FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
