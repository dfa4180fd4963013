"""What a DiscretePosterior refuses."""

import math

import pytest
import torch
from helpers.dense_gp import ROWS, N, column, gp, on_cuda

from botorch_private import DiscretePosterior, DiscreteUCB


def nan_at(row, place):
    rows = ROWS.clone()
    rows[row, place] = math.nan
    return rows


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (ROWS.float(), "candidates must have the dtype and device of the model, torch.float64 on cpu"),
        (ROWS.numpy(), "candidates must be an n x d floating-point tensor"),
        (ROWS.long(), "candidates must be an n x d floating-point tensor"),
        (ROWS[0], r"candidates must have 2 dimensions.*got shape \(3,\)"),
        (ROWS[:, :2], "candidates must have 3 columns like the inputs of the model, got 2"),
        (ROWS[:0], "candidates must have at least 1 rows, got 0"),
        (nan_at(33, 1), "candidates must be finite, got NaN in row 33, column 1"),
        (nan_at(0, 2) * math.inf, "candidates must be finite"),
    ],
)
def test_candidates_that_do_not_fit_are_refused(candidates, message):
    with pytest.raises(ValueError, match=message):
        DiscretePosterior(gp(), candidates)


@on_cuda
def test_candidates_on_another_device_are_refused():
    with pytest.raises(ValueError, match="candidates must have the dtype and device of the model"):
        DiscretePosterior(gp(), ROWS.cuda())


@pytest.mark.parametrize("max_memory", [0, -1, 1.5, True, "1 GB"])
def test_memory_that_is_no_positive_integer_is_refused(max_memory):
    with pytest.raises(ValueError, match="max_memory must be an integer >= 1, got"):
        DiscretePosterior(gp(), ROWS, max_memory=max_memory)


@pytest.mark.parametrize("index", [-1, N, 1.0, True, None, torch.tensor([1, 2])])
def test_indices_that_are_no_row_are_refused(index):
    posterior = DiscretePosterior(gp(), ROWS)
    for refused in (
        lambda: posterior.append(index, 1.0),
        lambda: posterior.correct(index, 1.0),
        lambda: posterior.hallucinate([3, index]),
    ):
        with pytest.raises(ValueError, match="must be (a|an integer|one integer) row index"):
            refused()
    assert posterior.num_observations == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, "1", None, True])
def test_values_that_are_no_finite_number_are_refused(value):
    posterior = DiscretePosterior(gp(), ROWS)
    with pytest.raises(ValueError, match="value must be a finite number, got"):
        posterior.append(9, value)
    with pytest.raises(ValueError, match="value must be a finite number, got"):
        posterior.correct(0, value)
    assert posterior.num_observations == 3


@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_values_without_a_finite_place_in_the_models_units_do_not_make_every_score_nan(value):
    posterior = DiscretePosterior(gp(values=[1.0, 2.0, 3.0], outcome="log"), ROWS)
    with pytest.raises(ValueError, match="value"):
        posterior.append(9, value)
    assert torch.isfinite(posterior.mean).all()


def test_noise_variance_is_needed_where_noise_is_known_and_refused_where_it_is_learned():
    known = DiscretePosterior(gp(variances=[0.1, 0.2, 0.3]), ROWS)
    with pytest.raises(ValueError, match="noise_variance must be given for a model with known noise"):
        known.append(9, 1.0)
    for variance in (-0.1, math.nan, math.inf, "0.1"):
        with pytest.raises(ValueError, match="noise_variance must be a finite number >= 0, got"):
            known.append(9, 1.0, noise_variance=variance)
    learned = DiscretePosterior(gp(), ROWS)
    with pytest.raises(
        ValueError, match="noise_variance must be None for a model that learns its noise"
    ):
        learned.append(9, 1.0, noise_variance=0.1)
    assert known.num_observations == learned.num_observations == 3


def test_only_a_candidate_that_was_observed_once_is_corrected():
    posterior = DiscretePosterior(gp([0, 1, 5]), ROWS)
    posterior.append(20, 1.0)  # a row equal to that of 5
    for index, times in ((9, 0), (5, 2), (33, 2)):
        with pytest.raises(ValueError, match=f"got {index}, which was observed {times} times"):
            posterior.correct(index, 1.0)


@pytest.mark.parametrize(
    ("X", "Y"),
    [(ROWS[:2], column(1, 2, 3)), (ROWS[0], column(1)), (ROWS[:2].unsqueeze(0), column(1, 2))],
)
def test_points_and_outcomes_that_do_not_fit_are_refused(X, Y):
    with pytest.raises(ValueError, match="X and Y must be m x d points and m x 1 outcomes"):
        DiscretePosterior(gp(), ROWS).condition_on_observations(X, Y)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_points_and_numbers_that_cannot_be_conditioned_on_are_refused_by_name(bad):
    posterior = DiscretePosterior(gp(variances=[0.1, 0.2, 0.3]), ROWS)
    rows, found = ROWS[:2], "NaN" if math.isnan(bad) else "an infinity"
    for X, Y, noise, message in (
        (nan_at(1, 2)[:2] if math.isnan(bad) else rows * bad, column(1, 2), None, "X must be finite"),
        (rows, column(1, bad), None, f"Y must be finite, got {found} at position 1"),
        (rows, column(1, 2), column(bad, 1), f"noise must be finite, got {found} at position 0"),
        (rows, column(1, 2), column(1, -1), "noise must be a finite number >= 0, got -1.0"),
        (rows, column(1, 2), column(1), "noise m x 1 variances of theirs"),
    ):
        with pytest.raises(ValueError, match=message):
            posterior.condition_on_observations(X, Y, noise=noise)
    with pytest.raises(ValueError, match="X must be finite"):
        posterior.hallucinate_points(rows * bad)
    for unlike, found in ((rows.float(), "3, torch.float32"), (rows[:, :2], "2, torch.float64")):
        message = f"X must have 3 columns like the candidates, torch.float64 on cpu, got {found} on cpu"
        with pytest.raises(ValueError, match=message):
            posterior.condition_on_observations(unlike, column(1, 2))
        with pytest.raises(ValueError, match=message):
            posterior.hallucinate_points(unlike)
    positive = DiscretePosterior(gp(values=[1.0, 2.0, 3.0], outcome="log"), ROWS)
    with pytest.raises(ValueError, match="Y must be finite after the model's Log, got -1.0"):
        positive.condition_on_observations(rows, column(1, -1))


def test_scores_that_are_not_finite_are_refused():
    model = gp()
    posterior = DiscretePosterior(model, ROWS)
    model.outcome_transform.means.fill_(math.nan)
    with pytest.raises(ValueError, match="model must give finite scores, got 40 of 40"):
        DiscreteUCB(posterior, None, t=1).select()


def test_candidates_of_an_acquisition_function_must_be_those_of_its_posterior():
    posterior = DiscretePosterior(gp(), ROWS)
    for same in (None, ROWS, ROWS.clone()):
        assert DiscreteUCB(posterior, same, t=1).candidates is ROWS
    for other in (ROWS[:-1], ROWS + 1, ROWS.float(), ROWS.numpy()):
        with pytest.raises(ValueError, match="candidates must be those of the DiscretePosterior"):
            DiscreteUCB(posterior, other, t=1)
