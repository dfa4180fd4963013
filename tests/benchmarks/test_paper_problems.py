import sys
from pathlib import Path

import numpy as np
import pytest
import torch

FOLDER = Path(__file__).parents[2] / "benchmarks" / "paper"
sys.path.insert(0, str(FOLDER))

import printed  # noqa: E402
from fit_hyperparameters import maximum_likelihood  # noqa: E402
from hyperparameters import fitted, fitted_lengthscales  # noqa: E402
from problems import PROBLEMS, branin, loan, singapore_property  # noqa: E402
from tables import INCOME_CAP, branin_table, loan_table, property_table  # noqa: E402

from botorch_private.datasets._files import read  # noqa: E402

NAMES = list(PROBLEMS)
SHAPES = {"synthetic_gp": (10_000, 2), "loan": (36_000, 3), "property": (2004, 2), "branin": (961, 2)}


@pytest.fixture(scope="module")
def problems():
    return {name: make() for name, make in PROBLEMS.items()}


def covariance(records, lengthscale):
    return torch.exp(-torch.cdist(records / lengthscale, records / lengthscale).square() / 2)


# --- what the paper prints ---


def test_the_paper_prints_72_regrets_and_12_gaps():
    entries = [entry for name in NAMES for entry in printed.tables(name)]
    assert len(entries) == 72
    assert len({entry[:5] for entry in entries}) == 72
    assert sum(entry.above_floor for entry in entries) == 48
    assert sum(len(printed.gaps(name)) for name in NAMES) == 12


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("synthetic_gp", 1002.7, 1177.4),
        ("branin", 173.7, 205.3),
        ("property", 174.2, 205.1),
        ("loan", 202.4, 237.7),
    ],
)
def test_tables_imply_these_intervals_for_the_smallest_singular_value(name, low, high):
    assert printed.implied_interval(name) == pytest.approx((low, high), abs=0.06)


# --- our tables beside it ---


@pytest.mark.parametrize(
    ("name", "sigma_min"),
    [("synthetic_gp", 1030.9), ("branin", 187.2), ("property", 202.5), ("loan", 213.3)],
)
def test_smallest_singular_value_is_the_one_that_was_reconstructed(problems, name, sigma_min):
    assert problems[name].sigma_min == pytest.approx(sigma_min, abs=0.06)
    assert problems[name].inside


@pytest.mark.parametrize("name", NAMES)
def test_problem_has_the_paper_s_size_rounds_and_delta(problems, name):
    problem = problems[name]
    assert problem.records.shape == problem.public_records.shape == SHAPES[name]
    entries = printed.tables(name)
    assert {(entry.rounds, entry.delta) for entry in entries} == {(problem.rounds, problem.delta)}
    assert problem.delta < 1 / len(problem.records)
    assert problem.assumed
    assert problem.tail_rule
    assert problem.sigma_min_note


@pytest.mark.parametrize("name", NAMES)
def test_records_are_centred_with_a_largest_norm_of_25(problems, name):
    records = problems[name].records
    torch.testing.assert_close(records.mean(dim=0), torch.zeros(records.shape[1]).double())
    assert float(records.norm(dim=1).max()) == pytest.approx(25)


@pytest.mark.parametrize("name", NAMES)
def test_public_records_are_learned_from_nothing(problems, name):
    problem = problems[name]
    assert problem.scaling.public
    assert float(problem.public_records.norm(dim=1).max()) <= 25


@pytest.mark.parametrize("name", ["synthetic_gp", "property", "branin"])
def test_kernel_is_the_same_on_the_paper_s_and_on_public_records(problems, name):
    problem = problems[name]
    some = torch.arange(0, len(problem.records), len(problem.records) // 50)
    torch.testing.assert_close(
        covariance(problem.public_records[some], problem.public_lengthscale),
        covariance(problem.records[some], problem.hyperparameters.lengthscale),
    )


@pytest.mark.parametrize("name", ["loan", "property", "branin"])
def test_outcomes_are_standardized_and_the_same_in_every_run(problems, name):
    outcomes = problems[name].draw_outcomes(0)
    assert float(outcomes.mean()) == pytest.approx(0, abs=1e-9)
    assert float(outcomes.std(correction=0)) == pytest.approx(1)
    assert torch.equal(outcomes, problems[name].draw_outcomes(1))


def test_unknown_choices_are_refused():
    with pytest.raises(ValueError, match="hyperparameters must be"):
        branin("learned")
    with pytest.raises(ValueError, match="tail must be"):
        loan_table("cut")


# --- synthetic ---


def test_synthetic_function_is_new_in_each_run_and_has_the_kernel_s_covariance(problems):
    """400 runs; correlations within 4 standard errors."""
    problem, runs = problems["synthetic_gp"], 400
    rows = [0, 1, 5, 20, 100, 505, 5050]
    draws = torch.stack([problem.draw_outcomes(seed)[rows] for seed in range(runs)])
    assert not torch.equal(draws[0], draws[1])
    expected = covariance(problem.records[rows], problem.hyperparameters.lengthscale)
    found = draws.T @ draws / runs
    assert float((found - expected).abs().max()) < 4 * (2 / runs) ** 0.5


# --- property ---


def test_property_is_the_package_s_table_with_distances_in_degrees():
    problem, table = singapore_property(), property_table()
    ratio = torch.pdist(problem.records[:50]) / torch.pdist(table.raw[:50])
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio))
    ratio = torch.pdist(problem.public_records[:50]) / torch.pdist(table.raw[:50])
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio))


def test_property_tail_rule_moves_only_the_lowest_price():
    as_found, capped = property_table(capped=0), property_table()
    moved = (as_found.values != capped.values).nonzero()
    assert moved.tolist() == [[int(as_found.values.argmax())]]
    assert float(as_found.standardized.max()) == pytest.approx(4.6, abs=0.01)
    assert float(capped.standardized.max()) < 3.5
    assert float(capped.values.max()) == float(as_found.values.sort().values[-2])


# --- loan ---


def test_loan_records_are_standardized_with_incomes_capped():
    problem, table = loan(), loan_table()
    capped = table.raw.clone()
    capped[:, 2].clamp_(max=INCOME_CAP)
    scores = (capped - capped.mean(dim=0)) / capped.std(dim=0, correction=0)
    torch.testing.assert_close(problem.records, 25 * scores / scores.norm(dim=1).max())


def test_loan_floor_keeps_all_loans_and_the_logarithm_of_every_return_above_it():
    arrays, _ = read("loan_lendingclub_2007_2011", FOLDER / "data")
    roi = torch.from_numpy(arrays["y"]).double()
    table = loan_table("floor")
    above = roi > 0.01
    assert torch.equal(table.values[above], roi[above].log())
    assert (table.values[~above] == np.log(0.01)).all()


def test_loan_with_positive_returns_only_is_inside_the_interval_too():
    problem = loan(tail="positive")
    assert len(problem.records) == 31_620
    assert problem.sigma_min == pytest.approx(203.4, abs=0.06)
    assert problem.inside


def test_loan_file_comes_with_its_provenance():
    _, provenance = read("loan_lendingclub_2007_2011", FOLDER / "data")
    assert provenance["rows"] == 36_000
    assert "no explicit open-data licence" in provenance["licence"]


# --- Branin ---


def test_branin_has_its_known_minimum_and_lengthscales():
    table = branin_table()
    best = table.values.max()
    assert float(torch.exp(-best)) == pytest.approx(0.4266, abs=1e-4)
    assert fitted_lengthscales("branin") == pytest.approx([0.536, 1.209], abs=1e-3)


def test_released_hyperparameters_of_branin_go_with_outcomes_that_are_not_standardized():
    problem = branin("released")
    outcomes = problem.draw_outcomes(0)
    assert float(outcomes.mean()) == pytest.approx(-3.47, abs=0.01)
    assert problem.sigma_y == pytest.approx(float(outcomes.std(correction=0)))


# --- fits ---


def test_fit_of_branin_ends_at_the_stored_optimum():
    table = branin_table()
    every = slice(None, None, 4)
    X, y = table.raw[every].numpy(), table.standardized[every].numpy()
    lengths, found = maximum_likelihood(X, y, np.full(2, 1.0), 0.01, mean=False)
    again, _ = maximum_likelihood(X, y, lengths * 1.1, found.noise_variance, mean=False)
    assert again == pytest.approx(lengths, rel=0.01)
    assert fitted("branin").noise_variance < 1e-3


def test_location_does_not_tell_the_cheapest_properties():
    """The facts behind the commentary on the property problem."""
    problem = PROBLEMS["property"]()
    outcomes, rows = problem.draw_outcomes(0), problem.public_records
    best = outcomes.argsort(descending=True)[:5]
    distances = torch.cdist(rows[best], rows)
    nearest = distances.argsort(dim=1)[:, 1:6]
    assert int(nearest[1, 0]) == int(best[3])  # the pair: the first is level with another after the cap
    assert float(distances[1, best[3]]) < 0.015
    others = [int(row) for row in nearest.reshape(-1) if int(row) not in best.tolist()]
    assert float(outcomes[others].median()) < 1.0 < 3.1 < float(outcomes[best].min())
    generator = torch.Generator().manual_seed(0)
    regret = [
        float(outcomes.max() - outcomes[torch.randperm(len(outcomes), generator=generator)[:101]].max())
        for _ in range(1000)
    ]
    assert sum(regret) / 1000 == pytest.approx(1.05, abs=0.05)
