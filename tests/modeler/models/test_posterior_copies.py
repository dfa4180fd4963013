"""Copies of a DiscretePosterior that know more: conditioned, hallucinated, duplicated."""

import copy
import pickle

import numpy as np
import pytest
import torch
from helpers.dense_gp import (
    KERNELS,
    OUTCOMES,
    ROWS,
    VALUES,
    N,
    array,
    assert_equal_posteriors,
    assert_moments,
    column,
    dense,
    gp,
    noise_of,
    seeded,
    to_model_units,
    to_outcome_units,
    uniform,
)
from torch.testing import assert_close

from botorch_private import DiscretePosterior


def test_copies_leave_the_original_as_it_was_bit_for_bit():
    posterior = DiscretePosterior(gp(), ROWS)
    posterior.append(9, 1.0)
    before = posterior.moments()
    twins = [posterior.hallucinate([4, 20]), posterior.condition_on_observations(ROWS[:2], column(3, 4))]
    twins += [twin.hallucinate([8]) for twin in twins]
    for i, twin in enumerate(twins):
        twin.append(10 + i, 5.0)
        twin.correct(9, -3.0)
        twin.moments()
    assert all(map(torch.equal, posterior.moments(), before))
    assert posterior.num_observations == 4


@pytest.mark.parametrize("count", [3, 31, 32, 40])
def test_original_and_copies_grow_in_turns_without_disturbing_each_other(count):
    chosen = torch.randint(N, (count,), generator=seeded(1)).tolist()
    first = DiscretePosterior(gp(chosen), ROWS)
    second = first.condition_on_observations(ROWS[:0], column()[:0])
    third = second.hallucinate([])
    learned = [[], [], []]
    for turn in range(12):
        for which, one in enumerate((first, second, third)):
            index, value = (7 * turn + 11 * which) % N, float(turn - which)
            one.append(index, value)
            learned[which].append((index, value))
            one.moments()
    for told, one in zip(learned, (first, second, third), strict=True):
        fresh = DiscretePosterior(gp(chosen), ROWS)
        for index, value in told:
            fresh.append(index, value)
        assert_equal_posteriors(one, fresh)


def test_a_copy_survives_that_the_original_is_cut_short_and_grows_again():
    original = DiscretePosterior(gp(range(10)), ROWS)
    twin = original.hallucinate([30])
    before = twin.moments()
    original.update(gp(range(6)))
    original.moments()
    for index in (31, 32, 34):
        original.append(index, 9.0)
        original.moments()
    assert all(map(torch.equal, twin.moments(), before))
    twin.append(35, 1.0)
    fresh = DiscretePosterior(gp(range(10)), ROWS).hallucinate([30])
    fresh.append(35, 1.0)
    assert_equal_posteriors(twin, fresh)


@pytest.mark.parametrize("kernel", ["RBF", "released", "sum"])
@pytest.mark.parametrize("known_noise", [False, True])
def test_hallucinated_means_stay_and_variances_shrink_as_in_the_dense_formula(kernel, known_noise):
    variances = [0.01, 0.3, 0.05] if known_noise else None
    model = gp(variances=variances, kernel=KERNELS[kernel])
    posterior = DiscretePosterior(model, ROWS)
    mean, variance = posterior.moments()
    chosen = [12, 4, 12, 5, 20]  # repeats, and equal rows
    twin = posterior.hallucinate(chosen)
    step_by_step = posterior
    for index in chosen:
        step_by_step = step_by_step.hallucinate([index])
    assert_close(twin.mean, mean, rtol=1e-9, atol=1e-9)
    assert (twin.variance <= variance * (1 + 1e-12)).all()
    assert (twin.variance[chosen] < 0.9 * variance[chosen]).all()
    noise = array(model.likelihood.noise) * np.ones(3)
    noise = np.concatenate([noise, np.full(5, noise.mean())])
    _, expected = dense(model, ROWS, ROWS[[0, 1, 2, *chosen]], np.zeros(8), noise)
    unit = float(model.outcome_transform.stdvs) ** 2
    np.testing.assert_allclose(array(twin.variance), expected * unit, rtol=1e-8, atol=1e-10)
    assert_equal_posteriors(step_by_step, twin)


def test_hallucinated_observations_get_the_average_noise_of_all_known_ones():
    """As `fantasize` of BoTorch does with the model that was conditioned on the same data."""
    model = gp([0, 1, 2, 9], variances=[0.01, 0.3, 0.05, 2.0], outcome="none")
    posterior = DiscretePosterior(gp(variances=[0.01, 0.3, 0.05], outcome="none"), ROWS)
    posterior.append(9, float(VALUES[9]), noise_variance=2.0)
    assert_equal_posteriors(posterior.hallucinate([7]), DiscretePosterior(model, ROWS).hallucinate([7]))


def test_conditioning_takes_points_that_are_no_candidates():
    model = gp()
    elsewhere = uniform(3, 3, seed=11)
    twin = DiscretePosterior(model, ROWS).condition_on_observations(elsewhere, column(1, 2, 3))
    X = torch.cat([ROWS[:3], elsewhere])
    targets = to_model_units(model.outcome_transform, [*array(VALUES[:3]), 1, 2, 3])
    expected = dense(model, ROWS, X, targets, noise_of(model, 6))
    assert_moments(twin, to_outcome_units(model.outcome_transform, *expected))


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda posterior: pickle.loads(pickle.dumps(posterior))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("kernel", ["RBF", "Matern 2.5", "released", "rational quadratic"])
def test_duplicates_go_on_like_the_original(kernel, duplicate):
    original = DiscretePosterior(gp(kernel=KERNELS[kernel]), ROWS)
    original.append(9, 1.0)
    before = original.moments()
    twin = duplicate(original)
    assert_equal_posteriors(twin, original, 1e-12)
    twin.append(11, 3.0)
    twin.moments()
    assert all(map(torch.equal, original.moments(), before))
    original.append(11, 3.0)
    assert_equal_posteriors(twin, original)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_hallucinating_points_is_hallucinating_candidates_and_takes_others_too(outcome):
    posterior = DiscretePosterior(gp([0, 1, 2], VALUES[:3].exp(), outcome=outcome), ROWS)
    points = posterior.hallucinate_points(ROWS[[4, 9]])
    assert_equal_posteriors(points, posterior.hallucinate([4, 9]), 1e-8)
    elsewhere = posterior.hallucinate_points(uniform(2, 3, seed=11))
    if "log" not in outcome:  # the mean of a log-normal variable shrinks with the variance
        assert_close(elsewhere.mean, posterior.mean, rtol=1e-8, atol=1e-8)
    assert (elsewhere.variance < posterior.variance * (1 + 1e-9)).all()


def test_v_is_shared_with_copies():
    posterior = DiscretePosterior(gp(), ROWS)
    posterior.moments()
    (block,), (twin,) = posterior._sweep._blocks, posterior.hallucinate([4])._sweep._blocks
    assert twin._slabs[0].data_ptr() == block._slabs[0].data_ptr()
