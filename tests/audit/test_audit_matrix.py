"""Audits of every mechanism whose guarantee holds, with both noises, find no more than is claimed.

An audit at 95 % may exceed the claim by chance, once in 20. Seeds are fixed: the tests are not random.
"""

import math

import numpy as np
import pytest
from helpers.draws import seeded

from botorch_private import NoisyProjection, NotDifferentiallyPrivate, SpectralProjection
from botorch_private.audit import empirical_epsilon

EPSILONS = [0.5, 1.0, 2.0, 3.0, 5.0]
BOTH = pytest.mark.parametrize(
    "noise",
    [
        {"noise": "laplace"},
        {"noise": "l2", "delta": 1e-5},
        {"noise": "gaussian", "delta": 1e-5},
    ],
    ids=["laplace", "l2", "gaussian"],
)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_an_honest_mechanism_is_seldom_refuted(tables, noise, d, epsilon):
    """20 audits of 5,000 releases a side."""
    mechanism = NoisyProjection(epsilon, **noise)
    assert mechanism.guarantee(12, d).holds
    results = [
        empirical_epsilon(mechanism, *tables(d), trials=5_000, generator=seeded(i)) for i in range(20)
    ]
    assert sum(result.refuted for result in results) <= 2
    assert all(result.claimed == pytest.approx(epsilon, rel=1e-3) for result in results)
    assert np.median([result.lower_bound for result in results]) < epsilon


@pytest.mark.slow
@BOTH
def test_an_honest_projection_is_seldom_refuted(tables, noise):
    """20 audits of 250 releases a side, each with a projection of its own."""
    results = []
    for epsilon in EPSILONS:
        for d, projection_dim in ((2, 5), (10, 13), (4, 2), (20, 10)):  # two rotations, two subspaces
            mechanism = NoisyProjection(epsilon, projection_dim=projection_dim, **noise)
            assert mechanism.guarantee(12, d).holds
            results.append(empirical_epsilon(mechanism, *tables(d), 250, generator=seeded(d)))
    assert sum(result.refuted for result in results) <= 2
    assert max(result.lower_bound for result in results) > 1.0  # or the audits say nothing


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_bound_is_near_the_claim_for_laplace_in_two_dimensions(tables, epsilon):
    """200,000 releases a side."""
    result = empirical_epsilon(NoisyProjection(epsilon), *tables(2), trials=200_000, generator=seeded(7))
    assert 0.75 * epsilon <= result.lower_bound <= epsilon


@pytest.mark.parametrize("projection_dim", [2, 5], ids=["subspace", "rotation"])
def test_algorithm_1_is_refuted_at_once(tables, projection_dim):
    """1,000 releases a side, without an error: a bound that only their number limits."""
    mechanism = SpectralProjection(1.0, 1e-5, projection_dim)
    assert not mechanism.guarantee(30, 3).holds
    with pytest.warns(NotDifferentiallyPrivate):
        result = empirical_epsilon(mechanism, *tables(3, n=30), 1_000, generator=seeded())
    no_errors = 0.025 ** (1 / 500)  # Clopper and Pearson, 500 of 500
    assert result.lower_bound == pytest.approx(math.log((no_errors - 1e-5) / (1 - no_errors)))
    assert result.lower_bound > 4 * mechanism.epsilon
