"""The perfect attacker, judged from the release alone, against posteriors and simulated attacks."""

import math

import pytest
import torch
from helpers.report_samples import make_release, unusual

from botorch_private import NoisyProjection, PublicScaling
from botorch_private.curator.publish import publish
from botorch_private.report.attacker import attacker

N = 20_000


def population(covariance, n=N):
    """Return Gaussian rows well inside a ball of radius 25."""
    factor = torch.linalg.cholesky(torch.tensor(covariance, dtype=torch.float64))
    generator = torch.Generator().manual_seed(3)
    return torch.randn(n, len(covariance), dtype=torch.float64, generator=generator) @ factor.mT


def released(records, mechanism, width=60.0):
    d = records.shape[1]
    scaling = PublicScaling([-width] * d, [width] * d, radius=width * math.sqrt(d) * 0.5)
    # With seeded noise: what is checked are estimates, and one in a hundred is beyond any fair width.
    return scaling, publish(
        records, scaling, mechanism, generator=torch.Generator().manual_seed(5)
    ).release


@pytest.mark.parametrize(("epsilon", "width"), [(3.0, 0.05), (1.0, 0.05), (0.3, 0.3)])
def test_errors_are_those_of_the_posterior_of_a_gaussian_population(epsilon, width):
    """Variances of 20,000 noisy rows are known to 1 %: at epsilon 0.3, to a fifth of the inputs' own."""
    covariance = [[100.0, 60.0, 0.0], [60.0, 49.0, 0.0], [0.0, 0.0, 25.0]]
    scaling, release = released(population(covariance), NoisyProjection(epsilon, 1e-6, noise="gaussian"))
    unit = float(scaling.unit[0])
    s2 = release.guarantee.law.variance
    sigma = torch.tensor(covariance, dtype=torch.float64) / unit**2
    left = sigma - sigma @ torch.linalg.inv(sigma + s2 * torch.eye(3)) @ sigma
    found = attacker(release)
    assert found.mixing == "none"
    for j, feature in enumerate(found.features):
        assert feature.row_only == pytest.approx(math.sqrt(s2) * unit)
        assert feature.population == pytest.approx(math.sqrt(left[j, j]) * unit, rel=width)
        assert feature.spread == pytest.approx(math.sqrt(covariance[j][j]), rel=width)
        assert feature.population <= min(feature.row_only, feature.spread)
    assert found.population_length == pytest.approx(math.sqrt(left.trace()), rel=width)


def test_the_best_linear_guess_is_off_by_what_is_said():
    """An attack on a population that is no Gaussian: 20,000 rows, 3 % is four standard errors."""
    generator = torch.Generator().manual_seed(4)
    records = torch.rand(N, 2, dtype=torch.float64, generator=generator).square() * 40
    records[:, 1] += records[:, 0]
    scaling = PublicScaling([0.0, 0.0], [40.0, 80.0])
    published = publish(records, scaling, NoisyProjection(0.5))
    truth = records[published.permutation]
    rows = scaling.inverse(published.release.candidates)
    centred, goal = rows - rows.mean(dim=0), truth - truth.mean(dim=0)
    guess = centred @ torch.linalg.lstsq(centred, goal).solution
    errors = (guess - goal).square().mean(dim=0).sqrt()
    for feature, error in zip(attacker(published.release).features, errors.tolist(), strict=True):
        assert feature.population == pytest.approx(error, rel=0.03)


def test_a_population_drowned_in_noise_is_guessed_by_its_mean():
    _, release = released(population([[0.01, 0.0], [0.0, 0.01]]), NoisyProjection(0.2))
    found = attacker(release)
    assert found.noise_length > 5 * found.population_length
    for feature in found.features:
        assert 0 < feature.population <= feature.row_only / 3


def test_the_noise_is_that_of_the_law():
    release = make_release("laplace")
    law = release.guarantee.law
    found = attacker(release)
    assert found.noise_std == pytest.approx(math.sqrt(law.variance))
    assert found.noise_length == pytest.approx(math.sqrt(4 * law.variance))
    assert found.spread_length == release.spread


def test_a_rotation_is_taken_to_be_known_and_hides_nothing_of_the_row_alone():
    release = make_release("rotated")
    found = attacker(release)
    assert found.mixing == "rotated"
    std = math.sqrt(release.guarantee.law.variance)
    assert [feature.row_only for feature in found.features] == [
        pytest.approx(std * unit) for unit in release.guarantee.unit
    ]
    assert all(feature.population is None for feature in found.features)
    assert 0 < found.population_length < found.noise_length


def test_a_projection_tells_no_feature_from_another():
    found = attacker(make_release("projected"))
    assert found.mixing == "projected"
    assert found.features == ()
    assert found.noise_dim == 2
    assert 0 < found.population_length < found.noise_length


def test_without_raw_units_errors_are_in_units():
    release = unusual("learned")
    std = math.sqrt(release.guarantee.law.variance)
    assert all(f.row_only == pytest.approx(std) for f in attacker(release).features)


def test_one_feature_and_few_rows_are_no_special_case():
    records = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    found = attacker(publish(records, PublicScaling([0.0], [5.0]), NoisyProjection(5.0)).release)
    assert 0 < found.features[0].population <= found.features[0].row_only
