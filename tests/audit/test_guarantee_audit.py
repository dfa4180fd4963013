"""What noise costs at least, computed in another way, is just below what guarantees claim."""

from dataclasses import replace

import pytest

from botorch_private import NoisyProjection, OutcomeMechanism, SpectralProjection, compose
from botorch_private.audit import guarantee_audit
from botorch_private.audit.claims import least_epsilon

LAPLACE = NoisyProjection(3.0).guarantee(100, 22)
GAUSSIAN = NoisyProjection(3.0, 1e-5, noise="gaussian").guarantee(100, 22)
L2 = NoisyProjection(3.0, 1e-5, noise="l2").guarantee(100, 22)


@pytest.mark.parametrize(
    ("settings", "d"),
    [
        ({}, 1),
        ({}, 22),
        ({"projection_dim": 30}, 22),
        ({"projection_dim": 4, "noise": "laplace"}, 22),
        ({"noise": "gaussian", "delta": 1e-5}, 2),
        ({"noise": "gaussian", "delta": 1e-9, "projection_dim": 4}, 22),
        ({"noise": "gaussian", "delta": 1e-5, "projection_dim": 1}, 2),
        ({"noise": "gaussian", "delta": 0.01, "projection_dim": 2}, 300),
        ({"noise": "l2", "delta": 1e-5}, 2),
        ({"noise": "l2", "delta": 1e-9}, 22),
        ({"noise": "l2", "delta": 1e-5, "projection_dim": 4}, 22),
    ],
)
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 20.0])
def test_an_honest_claim_is_the_least_that_is_true_but_for_rounding(settings, d, epsilon):
    guarantee = NoisyProjection(epsilon, **settings).guarantee(100, d)
    assert guarantee_audit(guarantee, (0.5, 1.0, 3.0, 50.0)).problems == ()
    for distance in (1.0, 3.0, 50.0):
        if settings.get("noise") == "l2" and guarantee.at(distance) > 600:
            continue  # where the audit does not look
        least = least_epsilon([guarantee], distance, guarantee.delta)
        assert 0.97 * guarantee.at(distance) < least <= guarantee.at(distance)


def test_several_releases_and_answers_are_held_to_what_they_cost_together():
    for guarantee in (
        compose([GAUSSIAN, GAUSSIAN], delta=1e-5),
        compose([LAPLACE, LAPLACE]),
        compose([L2, L2], delta=1e-5),
        OutcomeMechanism(5.0, 0.0, (0.0, 10.0)).guarantee(),
        OutcomeMechanism(1.0, 1e-6, (0.0, 10.0), noise="gaussian").guarantee(answers=20),
    ):
        found = guarantee_audit(guarantee)
        assert found.problems == ()
        assert found.unseen == ()
    two = least_epsilon([GAUSSIAN, GAUSSIAN], 1.0, 1e-5)
    assert two == pytest.approx(least_epsilon([GAUSSIAN], 2**0.5, 1e-5), rel=1e-9)
    assert least_epsilon([LAPLACE, LAPLACE], 1.0, 0.0) == pytest.approx(6.0, rel=1e-2)


def test_what_is_not_looked_at_is_said():
    spectral = SpectralProjection(1.0, 1e-5, 3).guarantee(100, 22)
    found = guarantee_audit(spectral)
    assert found.unseen == ("what a part without noise for each record costs",)
    mixed = compose([LAPLACE, GAUSSIAN], delta=1e-4)
    assert "each kind" in guarantee_audit(mixed, (1.0,)).unseen[0]


def test_l2_noise_that_is_sold_for_less_than_it_costs_is_seen():
    narrow = replace(L2, law=replace(L2.law, scale=0.97 * L2.law.scale), epsilon=3.0)
    assert guarantee_audit(narrow, (1.0,)).problems
    halved = replace(L2.law, kind="laplace")  # its pure bound alone is above the claim
    assert guarantee_audit(replace(L2, law=halved), (1.0,)).problems


def test_a_claim_below_the_least_is_refuted_at_its_distance():
    narrow = replace(LAPLACE, law=replace(LAPLACE.law, scale=0.9 * LAPLACE.law.scale), epsilon=3.0)
    (only,) = guarantee_audit(narrow).problems
    assert only.startswith("it is not so that the stated epsilon is that at one unit: 3 is stated")
    with pytest.raises(ValueError, match=r"distances\[1\] must be a finite number > 0, got 0"):
        guarantee_audit(LAPLACE, (1.0, 0.0))
