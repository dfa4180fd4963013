"""The attack by latent classes: what it gains on the best linear guess, and what it leaves to noise."""

import math

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    CellResponse,
    Cells,
    Curator,
    NoisyProjection,
    NoPrivacy,
    PublicScaling,
)
from botorch_private.audit import latent_class_attack
from botorch_private.curator.publish import publish
from botorch_private.datasets import hospital
from botorch_private.modeler.record_kinds import _found, _Kinds, _log_odds, _weights
from botorch_private.report.attacker import attacker

NORMAL = PublicScaling([-7.0] * 4, [7.0] * 4)


def attacked(records, scaling, mechanism, **more):
    published = publish(records, scaling, mechanism, generator=seeded(1))
    found = latent_class_attack(published.release, scaling, **more)
    truth = scaling.inverse(scaling.transform(records))[published.permutation]
    true, judged = found.true_error(truth) / scaling.unit, found.error / scaling.unit
    return true, judged, published.release


def clusters(n=3_000):
    """Two kinds of people, far apart in every feature."""
    kind = torch.randint(2, (n, 1), generator=seeded(0))
    return (3.0 * (2 * kind - 1) + torch.randn(n, 4, generator=seeded(2))).double()


def test_clusters_are_found_and_errors_shrink_to_their_width():
    true, judged, release = attacked(clusters(), NORMAL, NoisyProjection(1.0), classes=4)
    linear = attacker(release).population_length
    assert float(true.norm()) < 0.9 * linear
    assert judged.tolist() == pytest.approx(true.tolist(), rel=0.1)


def test_a_gaussian_population_leaves_what_the_best_linear_guess_leaves():
    """The honest counterpart: there is nothing more to know of it."""
    records = torch.randn(4_000, 4, generator=seeded(0), dtype=torch.float64)
    true, judged, release = attacked(records, NORMAL, NoisyProjection(2.0))
    best = attacker(release).population_length
    assert float(true.norm()) == pytest.approx(best, rel=0.03)
    assert float(judged.norm()) == pytest.approx(best, rel=0.05)


def test_half_of_the_claimed_noise_is_noticed():
    """A planted fault: rows with less noise than is stated give more away than honest ones can."""
    mechanism = NoisyProjection(2.0)
    honest = attacked(clusters(), NORMAL, mechanism, classes=4)
    published = publish(clusters(), NORMAL, mechanism, generator=seeded(1))
    scaled = NORMAL.transform(clusters())[published.permutation]
    half = scaled + 0.5 * (published.release.candidates - scaled)
    object.__setattr__(published.release, "candidates", half)
    found = latent_class_attack(published.release, NORMAL, classes=4)
    truth = NORMAL.inverse(scaled)
    assert float((found.true_error(truth) / NORMAL.unit).norm()) < 0.85 * float(honest[0].norm())


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.95), (3.0, 0.85), (8.0, 0.87)])
def test_the_hospital_is_guessed_better_than_by_averages_and_correlations(epsilon, share):
    data = hospital()
    yes_no = [name for name, unit in zip(data.features, data.units, strict=True) if unit == "yes/no"]
    scaling = PublicScaling(
        data.lower, data.upper, names=data.features, choices={each: [each] for each in yes_no}
    )
    true, judged, release = attacked(data.records, scaling, NoisyProjection(epsilon, 1e-5))
    assert float(true.norm()) < share * attacker(release).population_length
    assert float(judged.norm()) == pytest.approx(float(true.norm()), rel=0.03)
    if epsilon >= 3:  # a yes/no as wide as 10 units is known, whatever epsilon for one unit is
        places = [data.features.index(each) for each in yes_no]
        widths = (scaling.upper - scaling.lower)[places] / scaling.unit[places]
        assert float((true[places] / widths).max()) < 0.02


def test_posterior_of_one_row_agrees_with_bayes_by_enumeration():
    """Two kinds, one number, one yes/no: integrate over the number on a grid, and sum over the rest."""
    kinds = _Kinds(
        np.array([0.3, 0.7]),
        np.array([[-1.0], [2.0]]),
        np.array([[0.5], [1.5]]),
        np.array([[0.2], [0.9]]),
    )
    z, s2, low, high = np.array([[0.4, 0.1]]), 0.8, np.array([-1.0]), np.array([1.0])
    odds = _log_odds(z[:, 1:], low, high, s2)
    weight = _weights(z[:, :1], odds, kinds, s2)[0]
    grid = np.linspace(-12, 12, 20_001)
    mass = []
    for k in range(2):
        mean, variance = kinds.mean[k, 0], kinds.variance[k, 0]
        number = np.exp(-((grid - mean) ** 2) / (2 * variance) - (z[0, 0] - grid) ** 2 / (2 * s2))
        number = number.sum() / math.sqrt(variance)
        chance = kinds.high[k, 0]
        ends = [math.exp(-((z[0, 1] - end) ** 2) / (2 * s2)) for end in (-1.0, 1.0)]
        mass.append(kinds.share[k] * number * ((1 - chance) * ends[0] + chance * ends[1]))
    assert weight == pytest.approx(np.array(mass) / sum(mass), rel=1e-6)


def test_each_step_raises_the_likelihood(monkeypatch):
    rows = clusters(400).numpy()[:, :2] + np.random.default_rng(0).normal(size=(400, 2))

    def likelihood(steps):
        monkeypatch.setattr("botorch_private.modeler.record_kinds._ITERATIONS", steps)
        kinds = _found(rows, np.empty((400, 0)), 1.0, 3, np.random.default_rng(1))
        total = kinds.variance + 1.0
        parts = [
            np.log(kinds.share[k])
            - 0.5 * ((rows - kinds.mean[k]) ** 2 / total[k] + np.log(2 * math.pi * total[k])).sum(axis=1)
            for k in range(3)
        ]
        return float(np.logaddexp.reduce(parts, axis=0).sum())

    found = [likelihood(steps) for steps in range(12)]
    assert np.diff(found).min() > -1e-6
    assert found[-1] > found[0] + 10


def test_what_has_no_rows_of_features_is_refused():
    records = torch.rand(60, 4, generator=seeded(0), dtype=torch.float64)
    outcomes = records.sum(dim=1)
    rotated = Curator(records, NORMAL, NoisyProjection(3.0, projection_dim=4), outcomes).release
    with pytest.raises(ValueError, match="neither rotated nor projected"):
        latent_class_attack(rotated, NORMAL)
    bare = Curator(records, NORMAL, NoPrivacy(), outcomes).release
    with pytest.raises(ValueError, match="release must have noise on its rows"):
        latent_class_attack(bare, NORMAL)
    cells = Cells([[0, 0.5, 1]] * 4)
    labels = Curator(records, cells, CellResponse(3.0, cells), outcomes).release
    with pytest.raises(ValueError, match="labels of cells"):
        latent_class_attack(labels, NORMAL)
    noisy = Curator(records, NORMAL, NoisyProjection(3.0), outcomes).release
    with pytest.raises(ValueError, match="ranges must be"):
        latent_class_attack(noisy, PublicScaling([0.0] * 4, [1.0] * 4))
    with pytest.raises(ValueError, match="classes must be an integer >= 1"):
        latent_class_attack(noisy, NORMAL, classes=0)
    one, two = (latent_class_attack(noisy, NORMAL, seed=3).records for _ in range(2))
    assert torch.equal(one, two)
