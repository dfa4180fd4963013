"""The paper's four problems, rebuilt: records, outcomes, declared ranges, and what was assumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from hyperparameters import RELEASED, SYNTHETIC, Hyperparameters, fitted, fitted_lengthscales
from preprocessing import loan_scaling, paper_scaling
from printed import implied_interval
from streams import stream
from tables import INCOME_CAP, branin_table, loan_table, property_table
from torch import Tensor

from botorch_private import PublicScaling
from botorch_private.theory import smallest_singular_value

MAXIMISED = "outcomes are maximised; each record's outcome is drawn once, and a repeat gets it again"


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, an unknown function on it, and what the modeler is given.

    Attributes:
        name: As in the paper's tables.
        raw: ``n x d`` records in the features' own units.
        records: ``n x d`` records after the paper's preprocessing: isotropic, norm at most 25.
        public_records: ``n x d`` records under declared ranges alone.
        scaling: The declared ranges.
        draw_outcomes: The ``n`` outcomes of a run's seed; the same in every run unless said.
        sigma_y: One "sigma_y" of the paper, in units of the outcomes; regrets are reported in it.
        hyperparameters: Of the process on `records`, fixed and known to every arm.
        public_lengthscale: ``d`` length-scales of the same kernel on `public_records`.
        delta: The paper's delta.
        rounds: The paper's ``T``; the initial record comes on top.
        tail_rule: What was done to extreme outcomes.
        assumed: What the paper leaves open, and what was taken.
        sigma_min_note: How `sigma_min` came to be inside `interval`, or why it is not.
    """

    name: str
    raw: Tensor
    records: Tensor
    public_records: Tensor
    scaling: PublicScaling
    draw_outcomes: Callable[[int], Tensor]
    sigma_y: float
    hyperparameters: Hyperparameters
    public_lengthscale: Tensor
    delta: float
    rounds: int
    tail_rule: str
    assumed: tuple[str, ...]
    sigma_min_note: str

    @cached_property
    def sigma_min(self) -> float:
        """Smallest singular value of the preprocessed records."""
        return smallest_singular_value(self.records)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the paper's tables say that it was: at least the first, below the second."""
        return implied_interval(self.name)

    @property
    def inside(self) -> bool:
        """Whether ours is there, so that each table entry takes the branch that the paper's took."""
        low, high = self.interval
        return low <= self.sigma_min < high

    @property
    def width(self) -> int:
        """Features of a record."""
        return self.records.shape[1]


def synthetic_gp() -> Problem:
    """A new sample of a Gaussian process on a 100 x 100 grid in each run."""
    raw = torch.cartesian_prod(*[torch.linspace(0, 1, 100, dtype=torch.float64)] * 2)
    own = paper_scaling(raw)
    side = own.transform(raw)[:100, 1]  # the grid's coordinates along one side
    draw = _GridSampler(side, SYNTHETIC)
    return _assemble(
        "synthetic_gp",
        raw,
        own,
        PublicScaling([0.0, 0.0], [1.0, 1.0], names=["x1", "x2"]),
        draw,
        SYNTHETIC,
        delta=1e-5,
        rounds=50,
        tail_rule="none",
        assumed=(
            "length-scale 6.25 at norm 25 (side / length-scale = 5.66): the printed 1.25 is in other "
            "units, since with it at norm 25 the search would be far harder than in the paper",
            "a new function in each run, as in the authors' code; the paper speaks of one data set",
            "regret is measured on the noisy outcomes, as in the authors' code",
            "declared ranges are the grid's, so that both scalings agree",
        ),
        sigma_min_note="inside, with no choice made for it",
    )


def loan(hyperparameters: str = "fitted", tail: str = "floor") -> Problem:
    """Find the LendingClub loan with the highest return, by amount, interest rate and income.

    Args:
        hyperparameters: ``"fitted"`` to this table, or ``"released"``: those in the authors' code.
        tail: ``"floor"`` (36,000 loans) or ``"positive"`` (31,620); see `tables.loan_table`.
    """
    table = loan_table(tail)
    return _assemble(
        "loan",
        table.raw,
        loan_scaling(table.raw),
        PublicScaling([0.0, 5.0, 0.0], [35_000.0, 25.0, 200_000.0], names=["amount", "rate", "income"]),
        _constant(table.standardized),
        _choose(hyperparameters, "loan", f"loan_{tail}"),
        delta=1e-5,
        rounds=50,
        tail_rule=table.tail_rule,
        assumed=(
            "36,000 finished loans, July 2009 to December 2011; the paper does not say which it took",
            "its count and its logarithm would fit loans with a positive return only; our table has "
            "31,620 of those, which is tail='positive'",
            f"incomes above {INCOME_CAP:,.0f} US$ are set to it and features divided by their standard "
            "deviations: the cap was CHOSEN so that sigma_min falls in the interval",
            "declared ranges: the lender's largest loan, its rate card of 5 to 25 % a year, and incomes "
            "up to the top bracket of the US census; not checked against a source",
        ),
        sigma_min_note="inside because the income cap was chosen for it; no fit of length-scales gets "
        "there (income hardly matters, so that its length-scale runs off and sigma_min falls)",
    )


def singapore_property(hyperparameters: str = "fitted", capped: int = 1) -> Problem:
    """Find the Singapore location where a square metre is cheapest.

    Args:
        hyperparameters: ``"fitted"`` to this table, or ``"released"``: those in the authors' code.
        capped: How many of the lowest prices are raised to the next one.
    """
    table = property_table(capped)
    return _assemble(
        "property",
        table.raw,
        paper_scaling(table.raw),
        # One degree of longitude is one degree of latitude this close to the equator.
        PublicScaling(
            [103.59, 1.13], [104.07, 1.47], lengthscale=[1.0, 1.0], names=["longitude", "latitude"]
        ),
        _constant(table.standardized),
        _choose(hyperparameters, "property", "property"),
        delta=1e-4,
        rounds=100,
        tail_rule=table.tail_rule,
        assumed=(
            "2,004 projects with mean prices of 2016 to 2021, where the paper has single properties of "
            "an earlier year: smoother, and another table",
            "minus the logarithm of the price is maximised",
            "degrees are used as they are, without length-scales: the paper calls only the loan and "
            "Branin inputs preprocessed",
            "declared ranges: the area of use of Singapore's survey grid",
        ),
        sigma_min_note="inside, barely, and only for raw degrees; five other samples of 2,004 projects "
        "give 201.9 to 205.4, four of them inside",
    )


def branin(hyperparameters: str = "fitted") -> Problem:
    """Find the lowest of 961 values of Branin-Hoo.

    Args:
        hyperparameters: ``"fitted"`` to this table, or ``"released"``: those in the authors' code,
            which are for outcomes that are not standardized. Inputs are the same for both.
    """
    table = branin_table()
    standard = hyperparameters == "fitted"
    return _assemble(
        "branin",
        table.raw,
        paper_scaling(table.raw, fitted_lengthscales("branin")),
        PublicScaling([-5.0, 0.0], [10.0, 15.0], names=["x1", "x2"]),
        _constant(table.standardized if standard else table.values),
        _choose(hyperparameters, "branin", "branin"),
        delta=1e-3,
        rounds=50,
        tail_rule=table.tail_rule,
        assumed=(
            "minus the logarithm of Branin-Hoo is maximised; the mean of the authors' logarithm is "
            "-4.27, ours is -3.47, so that theirs was another transform or another fit",
            "length-scales by maximum likelihood on standardized outcomes with mean 0, noise learned",
            "declared ranges are the function's usual domain",
        ),
        sigma_min_note="inside for all three fits that learn the noise, outside for all six that fix it "
        "(154 to 208)",
        sigma_y=1.0 if standard else float(table.values.std(correction=0)),
    )


PROBLEMS: dict[str, Callable[..., Problem]] = {
    "synthetic_gp": synthetic_gp,
    "loan": loan,
    "property": singapore_property,
    "branin": branin,
}


class _GridSampler:
    """Exact samples of an RBF process, plus noise, on a square grid.

    The covariance of a grid is the Kronecker product of that of its sides, so that a sample is
    ``A W A^T`` with ``A A^T`` the covariance of one side and ``W`` standard normal.
    """

    def __init__(self, side: Tensor, hyperparameters: Hyperparameters) -> None:
        self._hyperparameters = hyperparameters
        squared = (side[:, None] - side).square() / hyperparameters.lengthscale**2
        values, vectors = torch.linalg.eigh(torch.exp(-squared / 2))
        self._root = vectors * values.clamp_min(0).sqrt()

    def __call__(self, seed: int) -> Tensor:
        _, outputscale, noise_variance, mean = self._hyperparameters
        k = len(self._root)
        white = torch.randn(k, k, dtype=torch.float64, generator=stream(seed, "function"))
        noise = torch.randn(k * k, dtype=torch.float64, generator=stream(seed, "noise"))
        smooth = (self._root @ white @ self._root.T).reshape(-1)
        return mean + outputscale**0.5 * smooth + noise_variance**0.5 * noise


def _constant(outcomes: Tensor) -> Callable[[int], Tensor]:
    return lambda seed: outcomes


def _choose(which: str, released: str, ours: str) -> Hyperparameters:
    if which not in ("fitted", "released"):
        raise ValueError(f"hyperparameters must be 'fitted' or 'released', got {which!r}")
    return RELEASED[released] if which == "released" else fitted(ours)


def _assemble(
    name: str,
    raw: Tensor,
    own: PublicScaling,
    declared: PublicScaling,
    draw_outcomes: Callable[[int], Tensor],
    hyperparameters: Hyperparameters,
    *,
    sigma_y: float = 1.0,
    assumed: tuple[str, ...],
    **settings,
) -> Problem:
    return Problem(
        name=name,
        raw=raw,
        records=own.transform(raw),
        public_records=declared.transform(raw),
        scaling=declared,
        draw_outcomes=draw_outcomes,
        sigma_y=sigma_y,
        hyperparameters=hyperparameters,
        public_lengthscale=hyperparameters.lengthscale * own.unit / declared.unit,
        assumed=(*assumed, MAXIMISED),
        **settings,
    )
