"""A library does not depend on what its host told NumPy, or makes of warnings.

`_base.floating_point` states the rule. Underflow is the common case: densities are 0 far out.
"""

import math
import warnings
from itertools import product

import numpy as np
import pytest
import torch
from helpers.draws import seeded, uniform

from botorch_private import (
    Curator,
    DenoisedRelease,
    DiscreteUCB,
    Modeler,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    SpectralProjection,
    add_noise,
    compose,
)
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.audit import empirical_epsilon, one_run_audit
from botorch_private.curator.mechanisms.noise import calibrate
from botorch_private.privacy.gaussian import gaussian_delta, gaussian_epsilon, gaussian_noise_std
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.theory import expected_random_regret, smallest_singular_value

N, D = 40, 5
RECORDS = uniform(N, D)
SCALING = PublicScaling([0.0] * D, [1.0] * D)
MECHANISMS = [
    NoisyProjection(1.0),
    NoisyProjection(1.0, projection_dim=D + 3),
    NoisyProjection(1.0, projection_dim=2, noise="laplace"),
    NoisyProjection(1.0, 1e-5, noise="gaussian"),
    NoisyProjection(1.0, 1e-5, 2, "gaussian"),
    NoisyProjection(50.0, 1e-9, 2, "gaussian"),
    SpectralProjection(3.0, 1e-4, 2),
    SpectralProjection(3.0, 1e-4, 9),
]


@pytest.fixture(params=["numpy raises", "warnings are errors"], autouse=True)
def strict_host(request):
    """Every floating-point error of NumPy raises, as itself or as the warning that it makes."""
    raising = request.param == "numpy raises"
    with warnings.catch_warnings(), np.errstate(all="raise" if raising else "warn"):
        warnings.simplefilter("error", RuntimeWarning)
        yield
        assert np.geterr() == dict.fromkeys(np.geterr(), "raise" if raising else "warn")


def test_the_state_of_the_host_is_back_when_a_formula_returns_or_raises():
    before = np.geterr()

    @quiet_arithmetic
    def formula(x, depth=2):
        """Recurse, as formulas call formulas."""
        np.exp(np.float64(x))
        if x == 0:
            raise ZeroDivisionError
        return formula(x, depth - 1) if depth else np.geterr()["over"]

    assert formula(-1e4) == formula(1e4) == "ignore"
    assert np.geterr() == before
    with pytest.raises(ZeroDivisionError):
        formula(0.0)
    assert np.geterr() == before
    assert formula.__doc__ == "Recurse, as formulas call formulas."


@pytest.mark.filterwarnings("ignore::botorch_private.NotDifferentiallyPrivate")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 0.0])
def test_releases(mechanism, scale):
    records = RECORDS * scale
    curator = Curator(records, SCALING, mechanism, records[:, 0])
    assert torch.isfinite(curator.release.candidates).all()
    transform = PrivateProjectionTransform(records, SCALING, mechanism)
    assert torch.isfinite(transform(records)).all()
    assert math.isfinite(curator.release.guarantee.at(1.0))
    assert str(curator.guarantee)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_records_that_join_and_answers(noise):
    delta = 1e-5 if noise == "gaussian" else 0.0
    curator = Curator(
        RECORDS,
        SCALING,
        NoisyProjection(1.0, delta, noise=noise),
        lambda record: 1e300 * float(record[0]),
        outcome_mechanism=OutcomeMechanism(1.0, delta, (-1e-9, 1e100), noise),
    )
    assert all(math.isfinite(curator.query(index).value) for index in range(N))
    assert len(curator.add(uniform(3, D, seed=1)).candidates) == N + 3


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1e3, 1e8])
@pytest.mark.parametrize(("dim", "features"), [(1, 1), (3, 3), (2, 40), (20, 21), (50, 10_000)])
def test_calibrations_at_extremes(epsilon, dim, features):
    for noise, delta in product(["laplace", "gaussian"], [1e-14, 1e-9, 1e-5, 0.1, 0.999999]):
        law = calibrate(noise, epsilon, delta, dim=dim, features=features)
        assert law.epsilon(1.0, delta) <= epsilon
        assert 0 <= law.radius(1e-300) < law.radius(0.5) < law.radius(1 - 1e-16)
        assert law.epsilon(1e-300, delta) <= law.epsilon(1e300, delta)


def test_formulas_far_out():
    assert gaussian_delta(0.0, 1e-300) == pytest.approx(0.0, abs=1e-290)
    assert gaussian_delta(1e8, 1e-8) == 0
    assert gaussian_delta(0.0, 1e8) == 1
    assert gaussian_delta(1e300, 1e-300) == 0
    assert gaussian_epsilon(1e-300, 1e-5) < 1
    assert gaussian_epsilon(1e-5, 1e6) == math.inf
    assert gaussian_noise_std(1e8, 1e-300) > 0


def test_compositions():
    laplace, gaussian, projected = (MECHANISMS[i].guarantee(N, D) for i in (0, 3, 4))
    for parts in ([laplace] * 3, [gaussian] * 3, [projected] * 2, [laplace, gaussian, projected]):
        together = compose(parts)
        assert max(part.epsilon for part in parts) < together.epsilon < math.inf
        assert together.at(1e-300) <= together.at(30.0)
        assert PrivacyGuarantee.from_json(together.to_json()) == together


def test_noise_of_somebody_elses_mechanism():
    law = NoiseLaw("gaussian", 1, 1e-6, 1)
    assert torch.isfinite(add_noise(RECORDS * 1e-300, law)).all()


def test_audits():
    scaled = SCALING.transform(RECORDS)
    neighbour = scaled.clone()
    neighbour[0, 0] += 1.0
    mechanism = NoisyProjection(2.0, 1e-3, noise="gaussian")
    found = empirical_epsilon(mechanism, scaled, neighbour, trials=1000, generator=seeded(0))
    assert found.lower_bound <= 2.0
    far = one_run_audit(NoisyProjection(2.0), scaled, scaled.flip(0), generator=seeded(0))
    assert not far.refuted


def test_formulas_of_the_paper():
    assert smallest_singular_value(RECORDS * 1e-160) > 0
    assert 0 <= expected_random_regret(RECORDS[:, 0], 39) < expected_random_regret(RECORDS[:, 0], 1)
    assert expected_random_regret(torch.arange(200_000.0), 199_000) >= 0


def test_a_search():
    release = Curator(RECORDS, SCALING, NoisyProjection(30.0), RECORDS[:, 0]).release
    modeler = Modeler(DenoisedRelease.of(release), n_initial=2, generator=seeded(0))
    for _ in range(4):
        row = modeler.ask()
        modeler.tell(row, float(row) * 1e-5)
    assert DiscreteUCB(modeler.posterior(), None, t=1).select(2).shape == (2,)
