"""What several records of one person cost: `PrivacyGuarantee.at(distance, records=m)`."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import NoisyProjection, OutcomeMechanism, PrivacyGuarantee, compose
from botorch_private.privacy.composition import Shift, composed_epsilon
from botorch_private.privacy.gaussian import gaussian_delta, gaussian_epsilon, subspace_shrinkage
from botorch_private.privacy.group_privacy import majorant_delta
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw

LAPLACE = NoisyProjection(1.0).guarantee(n=2004, d=3)
GAUSSIAN = NoisyProjection(1.0, 1e-6, noise="gaussian").guarantee(n=2004, d=3)
ROTATED = NoisyProjection(1.0, 1e-6, projection_dim=5, noise="gaussian").guarantee(n=2004, d=3)
PROJECTED = NoisyProjection(1.0, 1e-6, projection_dim=2).guarantee(n=2004, d=12)
OWN = OutcomeMechanism(2.0, 0.0, (0.0, 1.0)).guarantee()
SHARED = OutcomeMechanism(2.0, 0.0, (0.0, 1.0)).guarantee(answers=7)
KINDS = [LAPLACE, GAUSSIAN, ROTATED, PROJECTED, OWN, SHARED]
KINDS += [compose([LAPLACE, OWN]), compose([GAUSSIAN, GAUSSIAN]), compose([PROJECTED, LAPLACE])]
BARE = PrivacyGuarantee("of its own", epsilon=0.5, delta=0.0, holds=True)


@pytest.mark.parametrize("guarantee", KINDS, ids=lambda g: g.mechanism)
def test_one_record_costs_what_it_did(guarantee):
    for distance in (0.0, 0.5, 1.0, 3.0):
        assert guarantee.at(distance, records=1) == guarantee.at(distance)


@given(
    guarantee=st.sampled_from(KINDS[:-1]),
    distance=st.sampled_from([0.25, 1.0, 4.0]),
    records=st.integers(1, 30),
)
@settings(max_examples=60, deadline=None)
def test_more_records_never_cost_less(guarantee, distance, records):
    cost = guarantee.at(distance, records)
    assert cost <= guarantee.at(distance, records + 1)
    assert cost <= guarantee.at(1.5 * distance, records)


@given(distance=st.floats(0.01, 50.0), records=st.integers(1, 1000))
def test_pure_noise_costs_in_proportion_to_records(distance, records):
    assert LAPLACE.at(distance, records) == pytest.approx(records * LAPLACE.at(distance), rel=1e-12)


@pytest.mark.parametrize("guarantee", [GAUSSIAN, ROTATED], ids=["d columns", "rotated"])
@pytest.mark.parametrize(("distance", "records"), [(1.0, 2), (1.0, 4), (2.5, 9), (0.1, 100)])
def test_gaussian_noise_costs_as_dp_accounting_says_of_one_shift_sqrt_records_as_far(
    guarantee, distance, records
):
    law = guarantee.law
    loss = pld.privacy_loss_distribution.from_gaussian_mechanism(
        law.scale / (math.sqrt(records) * (distance + law.rounding)),
        value_discretization_interval=1e-4,
    )
    cost = guarantee.at(distance, records)
    assert cost == pytest.approx(loss.get_epsilon_for_delta(1e-6), rel=2e-3)
    # Twin: the noise of all records, written out as one vector.
    shift = np.full(records, (distance + law.rounding) / law.scale)
    assert cost == pytest.approx(gaussian_epsilon(1e-6, np.linalg.norm(shift)), rel=1e-5)


def test_several_records_of_several_gaussian_releases_add_their_squares():
    cost = compose([GAUSSIAN] * 3, delta=1e-6).at(1.0, records=4)
    law = GAUSSIAN.law
    mu = math.sqrt(12) * (1.0 + law.rounding) / law.scale
    assert cost == pytest.approx(gaussian_epsilon(1e-6, mu), rel=1e-5)


def test_a_mixture_costs_at_least_each_part_and_at_most_their_sum():
    both = compose([LAPLACE, GAUSSIAN], delta=1e-6)
    parts = [LAPLACE.at(1.0, 3), GAUSSIAN.at(1.0, 3)]
    assert max(parts) < both.at(1.0, 3) <= sum(parts) * (1 + 1e-6)


def projected_squares(moves, dim, trials, rng):
    """Twin: squared shifts of given moves, by subspaces that are drawn."""
    d = moves.shape[1]
    found = np.empty(trials)
    for trial in range(trials):
        frame, _ = np.linalg.qr(rng.standard_normal((d, dim)))
        found[trial] = d / dim * np.square(moves @ frame).sum()
    return found


@pytest.mark.parametrize("directions", ["one", "orthogonal", "random"])
@pytest.mark.parametrize("records", [2, 5])
def test_no_directions_cost_more_through_a_random_subspace_than_is_charged(directions, records):
    """5,000 subspaces: delta by simulation stays below the one charged, by 4 standard errors."""
    d, dim, scale, delta = 8, 2, 3.0, 1e-3
    law = NoiseLaw("gaussian", dim, scale, d)
    rng = np.random.default_rng(3)
    moves = {
        "one": np.tile(np.eye(d)[0], (records, 1)),
        "orthogonal": np.eye(d)[:records],
        "random": rng.standard_normal((records, d)),
    }[directions]
    moves /= np.linalg.norm(moves, axis=1, keepdims=True)
    epsilon = law.epsilon(1.0, delta, records)
    squares = projected_squares(moves, dim, 5000, rng)
    each = np.array([gaussian_delta(epsilon, math.sqrt(s) / scale) for s in squares])
    assert each.mean() - 4 * each.std() / math.sqrt(len(each)) <= delta
    # It is not far off: one direction is the worst where delta is small.
    one = subspace_shrinkage(d, dim)
    exact = gaussian_epsilon(delta, math.sqrt(records) * one[0] / scale, one[1])
    assert exact <= epsilon <= exact * 1.02


@given(
    epsilon=st.floats(1e-3, 20.0),
    low=st.floats(1e-3, 60.0),
    more=st.floats(1e-3, 60.0),
    share=st.floats(0.0, 1.0),
)
def test_the_majorant_is_convex_and_nowhere_below_delta(epsilon, low, more, share):
    def c(square):
        return majorant_delta(epsilon, np.array([square]), np.ones(1))

    high = low + more
    between = share * low + (1 - share) * high
    chord = share * c(low) + (1 - share) * c(high)
    assert c(between) <= chord * (1 + 1e-9) + 1e-12
    for square in (low, between, high):
        assert c(square) >= gaussian_delta(epsilon, math.sqrt(square)) - 1e-12
    assert majorant_delta(epsilon * 1.1, np.array([high]), np.ones(1)) <= c(high) * (1 + 1e-9) + 1e-12


def test_outcomes_of_their_own_are_paid_for_each_record_and_shared_ones_once():
    assert OWN.at(0.0, records=3) == pytest.approx(3 * OWN.at(0.0))
    assert SHARED.at(0.0, records=3) == SHARED.at(0.0)
    both = compose([LAPLACE, SHARED])
    assert both.at(1.0, 3) == pytest.approx(LAPLACE.at(1.0, 3) + SHARED.at(0.0))


def test_a_pure_claim_is_chained_record_by_record_and_one_with_delta_is_not_at_the_same_delta():
    assert BARE.at(1.0, records=3) == 1.5
    assert BARE.at(0.5, records=3) == 1.5
    assert BARE.at(1.1, records=3) == math.inf
    assert BARE.at(0.0, records=3) == 0.0
    assert replace(BARE, delta=1e-9).at(1.0, records=2) == math.inf
    # Where a composition has delta left, the chain of Dwork & Roth applies: delta (1 + e^epsilon).
    loose = compose([replace(BARE, delta=1e-9)] * 2, delta=1e-7)
    assert loose.at(1.0, records=2) == 2.0
    tight = compose([replace(BARE, delta=1e-9)] * 2, delta=2 * (1 + math.exp(0.5)) * 1e-9)
    assert tight.at(1.0, records=2) in (2.0, math.inf)
    assert compose([replace(BARE, delta=1e-9)] * 2, delta=5e-9).at(1.0, records=2) == math.inf
    nothing = replace(BARE, epsilon=math.inf, delta=1e-9)
    assert compose([nothing, GAUSSIAN], delta=1e-4).at(1.0, records=3) == math.inf
    assert replace(BARE, epsilon=500.0, delta=1e-9).at(1.0, records=9) == math.inf


@pytest.mark.parametrize("records", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_records_is_refused(records):
    with pytest.raises(ValueError, match="records must be an integer >= 1"):
        LAPLACE.at(1.0, records=records)


def test_the_samplers_delta_of_every_record_is_reserved():
    assert GAUSSIAN.law.epsilon(1.0, 5 * DELTA_FP, records=5) == math.inf
    assert GAUSSIAN.law.epsilon(1.0, 6 * DELTA_FP, records=5) < math.inf


@dataclass(frozen=True)
class Response:
    """A law of another kind: a randomized response, pure at any distance."""

    cost: float
    delta_fp: ClassVar[float] = 0.0
    pure: ClassVar[bool] = True

    def epsilon(self, distance, delta, records=1):
        return records * self.cost

    def gaussian_squares(self, distance, records=1):
        return None

    def arithmetic_slack(self, distance):
        return 0.0


def test_a_law_of_another_kind_is_added_up_without_a_change():
    response = Response(0.75)
    assert composed_epsilon([Shift(response, 1.0, 4)], 0.0) == 3.0
    law = GAUSSIAN.law
    mixed = composed_epsilon([Shift(response, 1.0, 2), Shift(law, 1.0, 2)], 1e-6)
    assert mixed <= 1.5 + law.epsilon(1.0, 1e-6, 2) + 1e-6
