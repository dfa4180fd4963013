"""Calibration to the published numbers, and the laws of what is drawn."""

import math

import dp_accounting
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from botorch_private import NoisyProjection, OutcomeMechanism
from botorch_private.curator.mechanisms.entropy import SeededEntropy
from botorch_private.curator.mechanisms.noise import calibrate, sample_on_grid
from botorch_private.privacy.gaussian import gaussian_noise_std
from botorch_private.privacy.noise_law import DELTA_FP, GRID, NoiseLaw

EPSILONS = (0.5, 1, 2, 3, 5, 8, 15)
# E|noise| at sensitivity 1, delta = 1e-5: Gaussian / l2 Laplace.
MEAN_NORMS = {
    2: ((8.81, 4), (4.68, 2), (2.50, 1), (1.74, 0.667), (1.12, 0.4), (0.752, 0.25), (0.454, 0.133)),
    3: ((11.2, 6), (5.95, 3), (3.18, 1.5), (2.22, 1), (1.42, 0.6), (0.958, 0.375), (0.578, 0.2)),
    10: ((21.7, 20), (11.5, 10), (6.15, 5), (4.29, 3.33), (2.75, 2), (1.85, 1.25), (1.12, 0.667)),
    20: ((31.1, 40), (16.5, 20), (8.81, 10), (6.14, 6.67), (3.94, 4), (2.65, 2.5), (1.60, 1.33)),
}


def entropy(seed=0):
    return SeededEntropy(torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("k", MEAN_NORMS)
@pytest.mark.parametrize(("position", "epsilon"), list(enumerate(EPSILONS)))
def test_mean_norm_equals_published_numbers(k, position, epsilon):
    gaussian = calibrate("gaussian", epsilon, 1e-5, dim=k, features=k).scale
    laplace = calibrate("laplace", epsilon, 0.0, dim=k, features=k).scale
    chi_mean = math.sqrt(2) * math.exp(gammaln((k + 1) / 2) - gammaln(k / 2))
    expected_gaussian, expected_laplace = MEAN_NORMS[k][position]
    assert gaussian * chi_mean == pytest.approx(expected_gaussian, rel=5e-3)
    assert laplace * k == pytest.approx(expected_laplace, rel=5e-3)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 12, 22, 60])
def test_auto_takes_the_smallest_variance_and_pure_noise_within_a_per_cent(epsilon, k):
    laws = {
        kind: calibrate(kind, epsilon, 1e-5, dim=k, features=k) for kind in ("laplace", "l2", "gaussian")
    }
    auto = calibrate("auto", epsilon, 1e-5, dim=k, features=k)
    least = min(laws.values(), key=lambda law: law.variance)
    pure = least.variance >= 0.99 * laws["laplace"].variance
    assert auto == (laws["laplace"] if pure else least)
    assert auto.kind == ("laplace" if k <= 2 else "l2") or k in (3, 4)


def test_auto_without_delta_is_laplace_in_any_dimension():
    for delta in (0.0, DELTA_FP):  # the sampler's share alone is no delta
        assert calibrate("auto", 1.0, delta, dim=500, features=500).kind == "laplace"


def test_auto_needs_no_l2_laplace_where_that_cannot_be_drawn():
    with pytest.raises(ValueError, match="epsilon must be larger for noise in 10000 dimensions"):
        calibrate("laplace", 0.25, 0.0, dim=10_000, features=10_000)
    law = calibrate("auto", 0.25, 1e-5, dim=10_000, features=10_000)
    assert law.variance == calibrate("gaussian", 0.25, 1e-5, dim=10_000, features=10_000).variance


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    epsilon=st.floats(0.05, 20),
    delta=st.floats(1e-9, 1e-2),
    dim=st.integers(1, 60),
    extra=st.integers(0, 60),
)
def test_calibration_keeps_epsilon_and_wastes_nothing(kind, epsilon, delta, dim, extra):
    law = calibrate(kind, epsilon, delta, dim=dim, features=dim + extra)
    assert epsilon * (1 - 1e-7) < law.epsilon(1.0, delta) <= epsilon
    if kind == "gaussian" and extra == 0:
        # Nothing hidden: dp-accounting's own number at the rounded sensitivity is as large or smaller.
        shift = 1 + math.sqrt(dim) * GRID
        assert law.scale >= dp_accounting.get_sigma_gaussian(epsilon, delta) * shift * (1 - 1e-9)


@pytest.mark.parametrize(("d", "r"), [(10, 5), (20, 5), (50, 10), (100, 20), (784, 50)])
def test_projected_noise_is_averaged_for_gaussian_and_worst_case_for_laplace(d, r):
    gaussian = calibrate("gaussian", 1.0, 1e-5, dim=r, features=d)
    laplace = calibrate("laplace", 1.0, 0.0, dim=r, features=d)
    worst = math.sqrt(d / r)
    assert 3.7306 < gaussian.scale < 0.95 * gaussian_noise_std(1.0, 1e-5, worst)
    assert worst < laplace.scale < worst * 1.001


@pytest.mark.parametrize(
    ("kind", "k"), [("laplace", 1), ("laplace", 2), ("laplace", 7), ("gaussian", 3)]
)
def test_noise_has_the_radius_and_direction_law_it_claims(kind, k):
    # 50,000 records; Kolmogorov-Smirnov sees differences of 0.8 % in a distribution function.
    law = NoiseLaw(kind, k, 1.5, k)
    noise = sample_on_grid(law, 50_000, entropy(k)) * law.grid
    radius = np.linalg.norm(noise, axis=1)
    radius_law = stats.gamma(k, scale=1.5) if kind == "laplace" else stats.chi(k, scale=1.5)
    assert stats.kstest(radius, radius_law.cdf).pvalue > 1e-3
    # One coordinate of a uniform direction: (1 + u) / 2 ~ Beta((k-1)/2, (k-1)/2); k = 1 is a sign.
    moved = radius > 0  # in one dimension some noise rounds to 0
    direction, radius = noise[moved, 0] / radius[moved], radius[moved]
    if k == 1:
        assert abs((direction > 0).mean() - 0.5) < 4 * 0.5 / math.sqrt(len(noise))
    else:
        half = (k - 1) / 2
        assert stats.kstest((1 + direction) / 2, stats.beta(half, half).cdf).pvalue > 1e-3
    # Direction and radius are independent: no rank correlation beyond 4 standard errors.
    assert abs(stats.spearmanr(direction, radius).statistic) < 4 / math.sqrt(len(noise))


@pytest.mark.parametrize(("kind", "k"), [("laplace", 2), ("laplace", 22), ("gaussian", 22)])
def test_noise_variance_per_coordinate_is_what_the_kernel_is_told(kind, k):
    law = calibrate(kind, 2.0, 1e-5, dim=k, features=k)
    noise = sample_on_grid(law, 40_000, entropy(1)) * law.grid
    # The relative error of a variance from n * k values: about 4 sqrt(kurtosis / (n k)).
    assert noise.var() == pytest.approx(law.variance, rel=4 * math.sqrt(8 / noise.size))
    off_diagonal = np.cov(noise.T) - np.diag(np.diag(np.cov(noise.T)))
    assert np.abs(off_diagonal).max() < 6 * law.variance / math.sqrt(len(noise))


def test_noise_is_whole_grid_steps():
    law = calibrate("laplace", 1.0, 0.0, dim=3, features=3)
    steps = sample_on_grid(law, 1000, entropy())
    assert steps.dtype == np.int64
    assert math.frexp(law.grid)[0] == 0.5  # a power of two: multiplying by it rounds nothing


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_probabilities_on_the_grid_keep_the_metric_guarantee(kind):
    """Exact cell probabilities in one dimension: a slow twin of the whole calibration."""
    epsilon, delta = 1.0, 1e-3
    law = calibrate(kind, epsilon, delta, dim=1, features=1)
    continuous = stats.laplace(scale=law.scale) if kind == "laplace" else stats.norm(scale=law.scale)
    shift = math.floor((1 + law.rounding) / law.grid)
    cells = np.arange(-80_000, 80_001)
    edges = (cells[:, None] + np.array([-0.5, 0.5])) * law.grid

    def mass(centre):
        lower, upper = (edges - centre * law.grid).T
        right = lower > 0
        by_tail = continuous.sf(lower) - continuous.sf(upper)
        return np.where(right, by_tail, continuous.cdf(upper) - continuous.cdf(lower))

    here, there = mass(0), mass(shift)
    excess = np.maximum(here - math.exp(epsilon) * there, 0).sum()
    if kind == "laplace":
        inside = (there > 1e-250) & (here > 1e-250)
        assert np.abs(np.log(here[inside] / there[inside])).max() <= epsilon + 1e-7
    assert excess <= (1e-9 if kind == "laplace" else delta)
    if kind == "gaussian":
        assert excess > 0.99 * delta  # and nothing is wasted


@pytest.mark.parametrize(("dim", "features"), [(1, 1), (22, 22), (10_000, 10_000), (5, 22)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (8.0, 1e-12)])
def test_l2_noise_keeps_epsilon_and_wastes_little(dim, features, epsilon, delta):
    law = calibrate("l2", epsilon, delta, dim=dim, features=features)
    assert epsilon * (1 - 2e-3) < law.epsilon(1.0, delta) <= epsilon
    assert law.variance < calibrate("gaussian", epsilon, delta, dim=dim, features=features).variance
    assert law.pure_epsilon(1.0) > epsilon * (1 - 1e-9)  # in one dimension next to nothing is gained
    assert law.epsilon(1.0, DELTA_FP) == law.pure_epsilon(1.0)  # without a delta it is l2 Laplace


def test_a_whole_record_of_22_features_costs_little_more_than_in_proportion():
    guarantee = NoisyProjection(3.0, 1e-5, noise="l2").guarantee(1000, 22)
    assert guarantee.at(50.0) < 205
    assert guarantee.at(50.0) < guarantee.pure_at(50.0) < 205
    assert "At a delta of 8.9e-16, epsilon is 4." in str(guarantee)
    assert type(guarantee).from_json(guarantee.to_json()) == guarantee


def test_gaussian_noise_without_delta_is_refused():
    with pytest.raises(ValueError, match="delta must be above 9e-16 for Gaussian noise, got 0.0"):
        calibrate("gaussian", 1.0, 0.0, dim=2, features=2)
    with pytest.raises(ValueError, match="delta must be above"):
        calibrate("gaussian", 1.0, DELTA_FP, dim=2, features=2)


def test_noise_too_wide_for_float64_is_refused_rather_than_underestimated():
    with pytest.raises(ValueError, match=r"epsilon must be larger for noise in 22 dimensions"):
        calibrate("laplace", 1e-4, 0.0, dim=22, features=22)


TOO_LARGE = [
    (lambda: NoisyProjection(1e9, delta=1e-5), "1e.08 for Gaussian noise, got 1e.09.*noise='laplace'"),
    (lambda: NoisyProjection(1e9, 1e-5, noise="gaussian"), "1e.08 for Gaussian noise"),
    (lambda: NoisyProjection(1e30, 1e-5, 2), "1e.08 for Gaussian noise"),
    (lambda: OutcomeMechanism(1e9, 1e-5, (0.0, 1.0)), "1e.08 for Gaussian noise"),
    (lambda: NoisyProjection(1e301), "1e.300 for l2 Laplace noise, got 1e.301"),
    (lambda: gaussian_noise_std(1e300, 1e-5), "1e.08 for Gaussian noise"),
]


@pytest.mark.parametrize(("make", "message"), TOO_LARGE)
def test_an_epsilon_that_is_too_large_is_refused_as_such_with_the_largest(make, message):
    with pytest.raises(ValueError, match=f"epsilon must be at most {message}"):
        make()


@pytest.mark.parametrize("d", [1, 2, 5, 300])
@pytest.mark.parametrize("delta", [1e-14, 1e-5, 0.5])
def test_the_largest_epsilon_is_calibrated_for(d, delta):
    for mechanism in (
        NoisyProjection(1e8, delta, noise="gaussian"),
        NoisyProjection(1e8, delta, 1, "gaussian"),
        NoisyProjection(1e8, delta),
        NoisyProjection(1e300),
    ):
        law = mechanism.law(d)
        assert 0 < law.epsilon(1.0, max(delta, DELTA_FP)) <= mechanism.epsilon
