import math

import pytest
import torch

from botorch_private import NoisyProjection, NotDifferentiallyPrivate, PublicScaling, SpectralProjection
from botorch_private.audit import known_sample_attack
from botorch_private.curator.publish import publish
from botorch_private.datasets import hospital, property_prices


def attack(data, mechanism, known, *, spread=True):
    """Attack a release from the first released rows, or from affinely independent ones."""
    scaling = PublicScaling(data.lower, data.upper)
    published = publish(data.records, scaling, mechanism, generator=torch.Generator().manual_seed(1))
    order = published.permutation
    rows = list(range(known))
    if spread:
        rows = independent(scaling.transform(data.records)[order], known)
    found = known_sample_attack(published.release, rows, data.records[order[rows]], scaling)
    truth = scaling.inverse(scaling.transform(data.records))[order]
    return found, truth, scaling, published.release


def independent(scaled, count):
    """Rows that are far from the affine hull of the ones before: pivoted Gram-Schmidt."""
    rows = [0]
    rest = scaled - scaled[0]
    for _ in range(count - 1):
        row = int(rest.norm(dim=1).argmax())
        rows.append(row)
        axis = rest[row] / rest[row].norm()
        rest = rest - (rest @ axis).unsqueeze(-1) * axis
    return rows


@pytest.mark.parametrize("dims", [22, 40])
def test_23_known_patients_give_away_all_8126_of_algorithm_1(dims):
    with pytest.warns(NotDifferentiallyPrivate):
        found, truth, scaling, _ = attack(hospital(), SpectralProjection(3.0, 1e-5, dims), 23)
    assert len(found.records) == 8126
    assert float(((found.records - truth) / scaling.unit).abs().max()) < 1e-6


def test_22_known_patients_are_one_too_few():
    with pytest.warns(NotDifferentiallyPrivate):
        found, truth, scaling, _ = attack(hospital(), SpectralProjection(3.0, 1e-5, 22), 22)
    assert float((found.true_error(truth) / scaling.unit).max()) > 0.1


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_against_noise_the_attack_is_left_with_the_noise(epsilon):
    found, truth, scaling, release = attack(
        property_prices(), NoisyProjection(epsilon, projection_dim=2), 200, spread=False
    )
    left = found.true_error(truth) / scaling.unit
    noise = math.sqrt(release.noise_variance)
    spread = float(((truth - truth.mean(dim=0)) / scaling.unit).square().mean().sqrt())
    # Regression also uses where records are: neither beats the posterior of a Gaussian population.
    best = noise * spread / math.hypot(noise, spread)
    assert 0.9 * best < float(left.square().mean().sqrt()) < 1.1 * noise


def test_the_attacker_can_tell_how_well_it_did():
    found, truth, _, _ = attack(hospital(), NoisyProjection(3.0, 1e-5), 1000, spread=False)
    assert torch.allclose(found.error, found.true_error(truth), rtol=0.15)


def test_without_a_spare_record_the_attacker_cannot_tell():
    found, *_ = attack(property_prices(), NoisyProjection(3.0), 3)
    assert torch.isinf(found.error).all()


def test_without_ranges_records_that_were_not_clipped_are_exact():
    data = property_prices()
    scaling = PublicScaling(data.lower, data.upper)
    with pytest.warns(NotDifferentiallyPrivate):
        published = publish(data.records, scaling, SpectralProjection(3.0, 1e-4, 5))
    known = data.records[published.permutation[:10]]
    found = known_sample_attack(published.release, range(10), known)
    torch.testing.assert_close(found.records, data.records[published.permutation], rtol=1e-9, atol=1e-9)


def test_bad_input_is_refused():
    data = property_prices()
    release = publish(data.records, PublicScaling(data.lower, data.upper), NoisyProjection(1.0)).release
    with pytest.raises(ValueError, match=r"indices\[1\] must be"):
        known_sample_attack(release, [0, 99999], data.records[:2])
    with pytest.raises(ValueError, match="indices must be different rows, got one twice"):
        known_sample_attack(release, [0, 0], data.records[:2])
    with pytest.raises(ValueError, match="records must have a row for each of 2 indices, got 3"):
        known_sample_attack(release, [0, 1], data.records[:3])
    found = known_sample_attack(release, [0, 1, 2], data.records[:3])
    with pytest.raises(ValueError, match="records must have shape"):
        found.true_error(data.records[:5])
