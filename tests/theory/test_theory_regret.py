import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.theory import (
    covariance_error,
    mean_constant,
    projection_dim,
    simple_regret_bound,
    singular_value_floor,
    theorem3_parameters,
    variance_constant,
)

properties = settings(derandomize=True, max_examples=50, deadline=None)

SETTING = {
    "regret_offset": 0.5,
    "failure_probability": 0.05,
    "n": 1000,
    "diameter": 4.0,
    "lengthscale": 2.0,
    "observation_bound": 3.0,
}
NU = 0.5 / (2 * math.sqrt(3) * 4 * 3)  # the smallest of 0.01203, 0.5, 0.5
DIM = projection_dim(1000, NU, 0.025)
RUN = {
    "rounds": 100,
    "beta": 30.0,
    "information_gain": 20.0,
    "outputscale": 1.0,
    "noise_variance": 0.1,
    "singular_value": 1e9,
    "epsilon": 1.0,
    "delta": 1e-4,
    "projection_dim": DIM,
    "diagonally_dominant": True,
    "observations_bounded": True,
}


def evaluate(**changes):
    return simple_regret_bound(**{**SETTING, **RUN, **changes})


def test_parameters_by_hand():
    parameters = theorem3_parameters(**SETTING)
    assert parameters.distortion == pytest.approx(NU)
    assert parameters.projection_failure_probability == 0.025
    assert parameters.ucb_failure_probability == 0.025
    assert parameters.projection_dim == math.ceil(8 * math.log(1000**2 / 0.025) / NU**2)


@pytest.mark.parametrize(
    ("changes", "distortion"),
    [
        ({"regret_offset": 1e6}, 0.5),
        ({"regret_offset": 1e6, "diameter": 8.0}, 0.125),
        ({"regret_offset": 1e6, "diameter": 1.0}, 0.5),
    ],
)
def test_distortion_stays_within_lemma_1_and_theorem_5(changes, distortion):
    assert theorem3_parameters(**{**SETTING, **changes}).distortion == pytest.approx(distortion)


@properties
@given(st.floats(1e-3, 1e3), st.floats(0.01, 50), st.floats(0.01, 100))
def test_distortion_keeps_the_offset_within_the_request(regret_offset, diameter, L):
    changes = {"regret_offset": regret_offset, "diameter": diameter, "observation_bound": L}
    nu = theorem3_parameters(**{**SETTING, **changes}).distortion
    C = covariance_error(nu, diameter, 2.0, 1.0, 1.0)
    assert math.sqrt(12) * C * L <= regret_offset * (1 + 1e-12)


def test_bound_by_hand():
    C = NU * 4
    C_1, C_2 = variance_constant(C, 1.0, 0.1), mean_constant(C, 1.0, 0.1, 3.0)
    squared = (
        0.25
        + 24 * (C_2 + C_1 * math.sqrt(30)) ** 2 * math.log(100) / 100
        + 24 / math.log(11) * 30 * 20 / 100
    )
    result = evaluate()
    assert result.bound == pytest.approx(math.sqrt(squared))
    assert result.offset == pytest.approx(0.5)
    assert result.failure_probability == 0.05


def test_repaired_bound_puts_the_larger_variance_constant():
    C = NU * 4
    C_1, C_2 = variance_constant(C, 0.5, 0.1), mean_constant(C, 0.5, 0.1, 3.0)
    squared = (
        0.25
        + 24 * (C_2 + 2 * C_1 * math.sqrt(30)) ** 2 * math.log(100) / 100
        + 24 / math.log(11) * 30 * 20 / 100
    )
    assert evaluate(outputscale=0.5).repaired_bound == pytest.approx(math.sqrt(squared))


def test_all_assumptions_met_means_the_bound_holds():
    result = evaluate()
    assert result.holds
    assert not result.transfers_to_private_release


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"observations_bounded": False}, "observations_bounded"),
        ({"diagonally_dominant": False}, "diagonally_dominant"),
        ({"singular_value": 1.0}, "singular_value_large_enough"),
        ({"projection_dim": DIM - 1}, "projection_dim_large_enough"),
        ({"distortion": NU * 1.01}, "distortion_small_enough"),
        ({"outputscale": 1.01}, "outputscale_at_most_one"),
    ],
)
def test_each_missed_assumption_is_reported_alone(changes, missed):
    result = evaluate(**changes)
    flags = {
        name
        for name, value in dataclasses.asdict(result).items()
        if value is False and name != "transfers_to_private_release"
    }
    assert flags == {missed}
    assert not result.holds
    assert math.isfinite(result.bound)


def test_singular_value_at_the_floor_is_large_enough():
    floor = singular_value_floor(1.0, 1e-4, DIM)
    assert evaluate(singular_value=floor).singular_value_large_enough
    assert not evaluate(singular_value=floor * (1 - 1e-12)).singular_value_large_enough


def test_offset_below_the_floor_is_not_the_one_asked_for():
    result = evaluate(singular_value=1.0)
    C = covariance_error(NU, 4.0, 2.0, 1.0, singular_value_floor(1.0, 1e-4, DIM))
    assert result.offset == pytest.approx(math.sqrt(12) * C * 3)
    assert result.offset > 0.5
    assert result.bound > evaluate().bound


def test_papers_own_dimensions_are_too_few_for_its_theorem():
    # n = 10,000, norm 25, l = 6.25, r = 10: the experiments are outside Theorem 3.
    result = evaluate(n=10_000, diameter=50.0, lengthscale=6.25, projection_dim=10)
    assert not result.projection_dim_large_enough


@properties
@given(st.integers(1, 10**6), st.floats(0, 100), st.floats(0, 100), st.floats(0.01, 1))
def test_bound_is_at_least_the_offset_and_at_most_the_repaired_one(rounds, beta, gain, outputscale):
    result = evaluate(rounds=rounds, beta=beta, information_gain=gain, outputscale=outputscale)
    assert result.offset <= result.bound <= result.repaired_bound


@properties
@given(st.integers(3, 10**6), st.floats(0.1, 100), st.floats(0.1, 100))
def test_bound_falls_with_rounds_and_grows_with_beta_and_information(rounds, beta, gain):
    here = evaluate(rounds=rounds, beta=beta, information_gain=gain).bound
    assert evaluate(rounds=2 * rounds, beta=beta, information_gain=gain).bound <= here
    assert evaluate(rounds=rounds, beta=2 * beta, information_gain=gain).bound > here
    assert evaluate(rounds=rounds, beta=beta, information_gain=2 * gain).bound > here


def test_bound_tends_to_the_offset():
    assert evaluate(rounds=10**14).bound == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("rounds", [1, 2, 3, 10, 1000])
def test_harmonic_sum_is_within_twice_the_logarithm_only_without_the_first_round(rounds):
    # sum of 1 / |X_{t-1}| over t = 2, ..., T, and the paper's sum of 1 / t over t = 1, ..., T
    shifted = sum(1 / (t - 1) for t in range(2, rounds + 1))
    printed = sum(1 / t for t in range(1, rounds + 1))
    assert shifted <= 2 * math.log(rounds)
    assert (printed <= 2 * math.log(rounds)) == (rounds >= 3)


def test_results_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        evaluate().transfers_to_private_release = True  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"regret_offset": 0.0}, "regret_offset must be a finite number > 0"),
        ({"failure_probability": 1.0}, "failure_probability must be a number in"),
        ({"n": 0}, "n must be an integer >= 1"),
        ({"diameter": math.inf}, "diameter must be a finite number > 0"),
        ({"lengthscale": 0}, "lengthscale must be a finite number > 0"),
        ({"observation_bound": -3}, "observation_bound must be a finite number > 0"),
        ({"rounds": 0}, "rounds must be an integer >= 1"),
        ({"beta": -1.0}, "beta must be a finite number >= 0"),
        ({"information_gain": math.nan}, "information_gain must be a finite number >= 0"),
        ({"outputscale": 0.0}, "outputscale must be a finite number > 0"),
        ({"noise_variance": 0.0}, "noise_variance must be a finite number > 0"),
        ({"singular_value": -1.0}, "singular_value must be a finite number >= 0"),
        ({"epsilon": 0.0}, "epsilon must be a finite number > 0"),
        ({"delta": 0.0}, "delta must be a number in"),
        ({"projection_dim": 0}, "projection_dim must be an integer >= 1"),
        ({"distortion": 0.0}, "distortion must be a finite number > 0"),
    ],
)
def test_bound_refuses_what_is_out_of_range(changes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(**changes)
