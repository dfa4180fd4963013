import functools
import math

import numpy as np
import pytest
import torch
from helpers.draws import seeded
from scipy.spatial import KDTree

from botorch_private import (
    DenoisedRelease,
    NoisyProjection,
    NotDifferentiallyPrivate,
    PublicScaling,
    SpectralProjection,
)
from botorch_private.audit import guess, registration, registration_attack
from botorch_private.curator.publish import publish
from botorch_private.datasets import hospital, property_prices

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{NotDifferentiallyPrivate.__module__}.NotDifferentiallyPrivate"
)
METRES = torch.tensor([111_320 * math.cos(math.radians(1.35)), 110_574], dtype=torch.float64)  # a degree


def halves(records, seed=0, rows=None):
    """Two tables of records that differ: one to release, one that is public."""
    order = torch.randperm(len(records), generator=seeded(seed))
    rows = len(records) // 2 if rows is None else rows
    return records[order[:rows]], records[order[rows : 2 * rows]]


def released(table, scaling, mechanism, seed=0):
    """A release, and the records that it shows, in the order of its rows."""
    published = publish(table, scaling, mechanism, generator=seeded(seed))
    return published.release, scaling.inverse(scaling.transform(table))[published.permutation]


@functools.cache
def flats(mechanism, seed=0):
    data = property_prices()
    scaling = PublicScaling(data.lower, data.upper)
    table, sample = halves(data.records, seed)
    return (*released(table, scaling, mechanism, seed), sample, scaling)


@functools.cache
def attacked(mechanism, seed=0):
    release, _, sample, scaling = flats(mechanism, seed)
    return registration_attack(release, sample, scaling)


def median_metres(found, truth):
    return float(((found.records - truth) * METRES).norm(dim=1).median())


def rms_units(found, truth, scaling):
    return float(((found.records - truth) / scaling.unit).square().sum(dim=1).mean().sqrt())


# --- the printed algorithm ---


@pytest.mark.parametrize(
    ("epsilon", "columns"), [(math.exp(2.8), 15), (1.0, 2)], ids=["not lifted", "lifted"]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_algorithm_1_gives_flats_away_to_who_knows_none(epsilon, columns, seed):
    """To tens of metres, on an island of 50 km."""
    mechanism = SpectralProjection(epsilon, 1e-4, columns)
    release, truth, sample, _ = flats(mechanism, seed)
    assert median_metres(attacked(mechanism, seed), truth) < 100
    assert median_metres(guess(release, sample), truth) > 6_000


def test_the_whole_table_as_sample_gives_every_record_exactly():
    data = property_prices()
    scaling = PublicScaling(data.lower, data.upper)
    release, truth = released(data.records, scaling, SpectralProjection(1.0, 1e-4, 4))
    found = registration_attack(release, data.records, scaling)
    assert float(((found.records - truth) * METRES).norm(dim=1).max()) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "features", [["age"], ["age", "meanbp", "hrt"], ["age", "meanbp", "hrt", "temp"]]
)
def test_it_works_in_other_dimensions(features):
    data = hospital()
    columns = [data.features.index(name) for name in features]
    scaling = PublicScaling([data.lower[i] for i in columns], [data.upper[i] for i in columns])
    table, sample = halves(data.records[:, columns], rows=1500)
    release, truth = released(table, scaling, SpectralProjection(3.0, 1e-5, 5))
    left = registration_attack(release, sample, scaling).true_error(truth) / truth.std(dim=0)
    assert float(left.max()) < 0.5  # guessing: the root of 2
    assert float(left.min()) < 0.15


# --- the private mechanism ---


def least_error(table, scaling, epsilon, seed=0):
    """Root mean square error in units of the best guess from ``x + noise``, by who knows all records
    but not whose is which: the mean over them, weighted by the noise's density. Nobody does better.
    """
    records = scaling.transform(table)
    mechanism = NoisyProjection(epsilon)
    noisy = mechanism.apply(records, generator=seeded(seed))
    log_density = -torch.cdist(noisy, records) / mechanism.law(records.shape[1]).scale
    best = log_density.softmax(dim=1) @ records
    return float((best - records).square().sum(dim=1).mean().sqrt())


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [16.4, 2.72, 1.0])
@pytest.mark.parametrize("columns", [2, 5])
def test_against_noise_the_attack_is_left_with_the_noise(epsilon, columns):
    mechanism = NoisyProjection(epsilon, projection_dim=columns)
    release, truth, _, scaling = flats(mechanism)
    left = rms_units(attacked(mechanism), truth, scaling)
    assert 0.95 * least_error(truth, scaling, epsilon) < left
    assert left < 1.1 * math.sqrt(2 * release.noise_variance)  # the map is not exact either


@pytest.mark.slow
def test_no_seed_gets_below_what_the_noise_allows():
    """Whose choices are lucky would show among many attackers."""
    release, truth, sample, scaling = flats(NoisyProjection(2.72, projection_dim=2), seed=3)
    errors = [
        rms_units(registration_attack(release, sample, scaling, seed=seed), truth, scaling)
        for seed in range(3)
    ]
    assert min(errors) > 0.95 * least_error(truth, scaling, 2.72)


# --- what the attacker can tell ---


@pytest.mark.parametrize(
    ("mechanism", "width"),
    [
        (SpectralProjection(3.0, 1e-4, 5), 3.0),
        (NoisyProjection(16.4, projection_dim=2), 1.2),
        (NoisyProjection(1.0, projection_dim=2), 1.2),
    ],
    ids=["algorithm 1", "epsilon 16.4", "epsilon 1"],
)
def test_the_attacker_can_tell_how_well_it_did(mechanism, width):
    found, (_, truth, *_) = attacked(mechanism), flats(mechanism)
    ratio = found.error / found.true_error(truth)
    assert 1 / width < float(ratio.min()) <= float(ratio.max()) < width


def test_the_judged_error_of_a_guess_is_its_error():
    release, truth, sample, _ = flats(NoisyProjection(1.0))
    found = guess(release, sample, seed=4)
    assert torch.allclose(found.error, found.true_error(truth), rtol=0.1)


def test_a_round_cloud_gives_no_rotation_away_and_the_attacker_can_tell():
    records = torch.randn(1000, 2, dtype=torch.float64, generator=seeded(7))
    scaling = PublicScaling([-6.0, -6.0], [6.0, 6.0])
    table, sample = halves(records)
    release, truth = released(table, scaling, SpectralProjection(3.0, 1e-4, 2))
    found = registration_attack(release, sample, scaling, seed=1)
    assert float(found.true_error(truth).max()) > 0.5
    assert float(found.error.max()) > 0.2


# --- slow, obvious twins ---


@pytest.fixture
def clouds():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), rng.normal(size=(80, 2)) ** 3


def test_misfit_equals_that_of_all_distances(clouds):
    A, B = clouds
    gaps = np.linalg.norm(A[:, None] - B[None], axis=2)
    expected = gaps.min(axis=1).mean() + gaps.min(axis=0).mean()
    assert registration._misfit(A, B, KDTree(B)) == pytest.approx(expected, rel=1e-12)


def test_one_step_of_closest_points_equals_matching_by_all_distances(clouds, monkeypatch):
    A, B = clouds
    monkeypatch.setattr(registration, "_ITERATIONS", 1)
    start = registration._Affine(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([0.3, -0.2]))
    fit = registration._closest_points(A, B, KDTree(B), start)
    gaps = np.linalg.norm(start(A)[:, None] - B[None], axis=2)
    pairs = [(i, gaps[i].argmin()) for i in np.argsort(gaps.min(axis=1))[:54]]  # the best 90 %
    pairs += [(gaps[:, j].argmin(), j) for j in np.argsort(gaps.min(axis=0))[:72]]
    design = np.array([[*A[i], 1.0] for i, _ in pairs])
    target = np.array([B[j] for _, j in pairs])
    solved = np.linalg.solve(design.T @ design, design.T @ target)
    np.testing.assert_allclose(np.vstack([fit.matrix, fit.shift]), solved, rtol=1e-9)


def test_whitening_leaves_unit_covariance_and_subtracts_noise():
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(200_000, 2)) @ np.array([[3.0, 1.0], [0.0, 0.5]])
    noise = 0.7 * rng.normal(size=signal.shape)
    plain, corrected = (
        registration._whitening(signal, 0.0),
        registration._whitening(signal + noise, 0.49),
    )
    np.testing.assert_allclose(np.cov(plain(signal).T, bias=True), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(corrected.matrix, plain.matrix, atol=0.03)  # 1 % of a variance, 3 errors
    np.testing.assert_allclose(plain.inverse()(plain(signal)), signal, atol=1e-9)


# --- the rest ---


def test_the_same_seed_gives_the_same_attack():
    data = property_prices()
    scaling = PublicScaling(data.lower, data.upper)
    table, sample = halves(data.records, rows=200)
    release, _ = released(table, scaling, NoisyProjection(2.0, projection_dim=2))
    one, two = (registration_attack(release, sample, scaling, seed=5) for _ in range(2))
    assert torch.equal(one.records, two.records)
    assert torch.equal(one.error, two.error)


def test_bad_input_is_refused():
    release, _, sample, scaling = flats(NoisyProjection(1.0))
    with pytest.raises(ValueError, match="sample must have at least 30 rows, got 10"):
        registration_attack(release, sample[:10], scaling)
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        registration_attack(release, sample, scaling, seed=-1)
    with pytest.raises(TypeError, match="release must be a Release as it came, got DenoisedRelease"):
        registration_attack(DenoisedRelease.of(release), sample, scaling)
    with pytest.raises(ValueError, match="release and sample must vary in all features"):
        registration_attack(release, torch.ones(100, 2, dtype=torch.float64), scaling)
    three = PublicScaling([0.0] * 3, [1.0] * 3)
    with pytest.raises(ValueError, match="release must have at least d=3 columns, got 2"):
        registration_attack(release, torch.rand(100, 3, dtype=torch.float64), three)
    six = PublicScaling([0.0] * 6, [1.0] * 6)
    with pytest.raises(ValueError, match="scaling must have at most 5 features, got 6"):
        registration_attack(release, torch.rand(100, 6, dtype=torch.float64), six)
    with pytest.raises(ValueError, match="sample must have at least 2 rows, got 1"):
        guess(release, sample[:1])
