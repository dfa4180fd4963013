import dataclasses
import math

import numpy as np
import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import go_on, release_of
from scipy.stats import multivariate_normal
from torch.testing import assert_close

from botorch_private import (
    DenoisedRelease,
    Modeler,
    NoisyProjection,
    NoPrivacy,
    PublicScaling,
    ReleasedInputKernel,
    fit_model,
    make_model,
)
from botorch_private.curator.publish import publish

SCALING = PublicScaling([0.0] * 6, [1.0] * 6)


def gaussian_records(n, seed=0, rank=2):
    """Correlated records inside the unit box: ``rank`` directions with most of the variance."""
    generator = seeded(seed)
    mixing = torch.randn(rank, 6, dtype=torch.float64, generator=generator)
    records = torch.randn(n, rank, dtype=torch.float64, generator=generator) @ mixing
    records += 0.05 * torch.randn(n, 6, dtype=torch.float64, generator=generator)
    return (0.5 + 0.05 * records).clamp(0, 1)


def published(records, mechanism, seed=1):
    return publish(records, SCALING, mechanism, generator=seeded(seed))


def in_features(estimates, centred):
    """Turn estimates back from principal axes to the columns of the centred rows."""
    estimates = estimates[:, (estimates != 0).any(dim=0)]
    axes = torch.linalg.lstsq(centred, estimates).solution
    return estimates @ (axes / axes.norm(dim=0)).T


def test_many_gaussian_rows_give_the_conditional_distribution():
    """Mean and variance of an input given its row, by the formula for Gaussian vectors."""
    records = gaussian_records(40_000)
    made = published(records, NoisyProjection(2.0, 1e-6, noise="gaussian"))
    X, Z = SCALING.transform(records)[made.permutation], made.release.candidates
    noise = made.release.noise_variance
    S = torch.cov(X.T)
    gain = S @ torch.linalg.inv(S + noise * torch.eye(6, dtype=torch.float64))
    expected = (Z - Z.mean(dim=0)) @ gain.T
    left = S - gain @ S
    denoised = DenoisedRelease.of(made.release)
    # Axes are free, distances are not.
    rows = slice(0, 300)
    assert_close(
        torch.pdist(denoised.candidates[rows]), torch.pdist(expected[rows]), rtol=0.05, atol=0.3
    )
    assert sum(denoised.noise_variance) == pytest.approx(float(left.trace()), rel=0.05)
    wrong = (X - X.mean(dim=0) - expected).square().sum(dim=1).mean()
    assert sum(denoised.noise_variance) == pytest.approx(float(wrong), rel=0.05)


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 10.0])
def test_estimates_are_nearer_to_the_inputs_than_the_rows_are(n, epsilon):
    records = gaussian_records(n)
    made = published(records, NoisyProjection(epsilon, 1e-5))
    X, Z = SCALING.transform(records)[made.permutation], made.release.candidates
    denoised = DenoisedRelease.of(made.release)
    inputs, raw = X - X.mean(dim=0), Z - Z.mean(dim=0)
    wrong = (inputs - in_features(denoised.candidates, raw)).square().sum()
    assert wrong < (inputs - raw).square().sum()


def test_shares_minimize_the_squared_error_with_few_rows():
    """No other share of an axis does better on average: Gavish & Donoho's claim, by simulation."""
    n, d, spike, trials = 200, 50, 2.0, 60
    generator = seeded(3)
    slopes = dict.fromkeys((0.85, 1.0, 1.15), 0.0)
    left = 0.0
    for _ in range(trials):
        direction = torch.zeros(d, dtype=torch.float64)
        direction[0] = 1.0
        X = spike**0.5 * torch.randn(n, 1, dtype=torch.float64, generator=generator) * direction
        Z = X + torch.randn(n, d, dtype=torch.float64, generator=generator)
        release = release_of(Z, noise_variance=1.0)
        denoised = DenoisedRelease.of(release)
        estimated = int((denoised.candidates != 0).any(dim=0).sum())
        assert estimated <= 3  # now and then noise is a little beyond its edge
        spiked = estimated - 1  # the largest
        centred = Z - Z.mean(dim=0)
        estimate = in_features(denoised.candidates[:, spiked:][:, :1], centred)
        for scale in slopes:
            wrong = X - X.mean(dim=0) - scale * estimate
            slopes[scale] += float(wrong.square().sum()) / n / trials
        left += denoised.noise_variance[spiked] / trials
    assert slopes[1.0] < min(slopes[0.85], slopes[1.15])
    assert left == pytest.approx(slopes[1.0], rel=0.1)


@pytest.mark.parametrize(
    ("n", "d", "signals", "variance"), [(1000, 22, 22, 0.1), (1000, 22, 22, 0.5), (300, 174, 10, 0.5)]
)
def test_what_weak_axes_vary_is_left_and_not_forgotten(n, d, signals, variance):
    """Most axes are below what noise alone makes: their variance still counts."""
    claimed = true = squared_spread = 0.0
    for seed in range(5):
        generator = seeded(seed)
        X = torch.zeros(n, d, dtype=torch.float64)
        X[:, :signals] = variance**0.5 * torch.randn(
            n, signals, dtype=torch.float64, generator=generator
        )
        Z = X + torch.randn(n, d, dtype=torch.float64, generator=generator)
        release = release_of(Z, noise_variance=1.0)
        denoised = DenoisedRelease.of(release)
        wrong = X - X.mean(dim=0) - in_features(denoised.candidates, Z - Z.mean(dim=0))
        true += float(wrong.square().sum()) / n / 5
        claimed += sum(denoised.noise_variance) / 5
        squared_spread += denoised.spread**2 / 5
    # The sum of 174 noise variances from 300 rows is off by 1 in 5.
    assert claimed == pytest.approx(true, rel=0.25)
    assert squared_spread == pytest.approx(signals * variance, rel=0.25)


def test_kernel_is_the_expected_covariance_given_the_rows():
    """Monte Carlo over inputs drawn from their posterior, for two rows."""
    made = published(gaussian_records(5_000), NoisyProjection(3.0, 1e-5, noise="gaussian"))
    denoised = DenoisedRelease.of(made.release)
    kernel = ReleasedInputKernel.of(denoised).double()
    kernel.lengthscale = 4.0
    spread = torch.tensor(denoised.noise_variance, dtype=torch.float64).diag().numpy()
    draws = []
    for i, row in enumerate(denoised.candidates[:2].numpy()):
        law = multivariate_normal(row, spread, allow_singular=True)
        draws.append(law.rvs(200_000, random_state=np.random.default_rng(i)).reshape(200_000, -1))
    expected = np.exp(-((draws[0] - draws[1]) ** 2).sum(axis=1) / (2 * 4.0**2))
    error = expected.std() / math.sqrt(len(expected))
    found = float(kernel(denoised.candidates[:1], denoised.candidates[1:2]).to_dense().detach())
    assert found == pytest.approx(expected.mean(), abs=4 * error)


def test_pure_noise_keeps_one_faint_axis():
    records = torch.full((500, 6), 0.5, dtype=torch.float64)
    made = published(records, NoisyProjection(0.5, 1e-5))
    denoised = DenoisedRelease.of(made.release)
    first = denoised.candidates[:, 0]
    assert not denoised.candidates[:, 1:].any()
    assert first.std() < 0.2 * made.release.noise_variance**0.5
    assert len(first.unique()) == 500  # rows can still be told apart


def test_without_noise_distances_stay_and_nothing_is_left():
    made = published(gaussian_records(100), NoPrivacy())
    denoised = DenoisedRelease.of(made.release)
    assert_close(torch.pdist(denoised.candidates), torch.pdist(made.release.candidates))
    assert denoised.noise_variance == (0.0,) * 6
    assert denoised.spread == pytest.approx(made.release.spread)


def test_an_isometry_into_more_dimensions_adds_no_axes():
    made = published(gaussian_records(3_000), NoisyProjection(20.0, 1e-5, projection_dim=12))
    denoised = DenoisedRelease.of(made.release)
    assert denoised.noise_dim <= 6
    direct = published(gaussian_records(3_000), NoisyProjection(20.0, 1e-5))
    assert denoised.spread == pytest.approx(DenoisedRelease.of(direct.release).spread, rel=0.02)


def test_spread_is_that_of_the_inputs():
    records = gaussian_records(20_000)
    made = published(records, NoisyProjection(1.0, 1e-6))
    X = SCALING.transform(records)
    expected = float((X - X.mean(dim=0)).square().sum(dim=1).mean().sqrt())
    assert DenoisedRelease.of(made.release).spread == pytest.approx(expected, rel=0.1)


def test_it_is_a_function_of_the_release_and_keeps_its_guarantee():
    release = published(gaussian_records(200), NoisyProjection(2.0, 1e-5)).release
    first, second = DenoisedRelease.of(release), DenoisedRelease.of(release)
    assert torch.equal(first.candidates, second.candidates)
    assert first.guarantee is release.guarantee
    assert first.isotropic
    assert first.noise_dim == len(first.noise_variance) == first.candidates.shape[1]


def test_it_is_neither_saved_nor_denoised_again(tmp_path):
    release = published(gaussian_records(50), NoisyProjection(2.0)).release
    denoised = DenoisedRelease.of(release)
    with pytest.raises(TypeError, match="save the release, and denoise it after loading"):
        denoised.save(tmp_path / "file")
    with pytest.raises(TypeError, match="Release.load the file, and denoise that"):
        DenoisedRelease.load(tmp_path / "file")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="release must be a Release as it came, got DenoisedRelease"):
        DenoisedRelease.of(denoised)
    with pytest.raises(TypeError, match="got Tensor"):
        DenoisedRelease.of(release.candidates)
    with pytest.raises(ValueError, match="ard must be False"):
        ReleasedInputKernel.of(denoised, ard=True)


def test_modeler_denoises_and_keeps_row_numbers():
    records = gaussian_records(80)
    made = published(records, NoisyProjection(3.0, 1e-5))
    values = records[made.permutation].sum(dim=1)
    modeler = Modeler(made.release, denoise=True, generator=seeded(4))
    go_on(modeler, values, 9)
    kernel = modeler.model().covar_module.base_kernel
    denoised = DenoisedRelease.of(made.release)
    assert_close(kernel.noise_variance.reshape(-1), torch.tensor(denoised.noise_variance).double())
    assert torch.equal(modeler.posterior().candidates, denoised.candidates)
    assert len({index for index, _ in modeler.history}) == 9


def test_a_denoised_model_is_fitted_and_predicts_as_botorch_does():
    made = published(gaussian_records(120), NoisyProjection(3.0, 1e-5))
    denoised = DenoisedRelease.of(made.release)
    indices = list(range(0, 120, 6))
    values = [math.sin(i) for i in indices]
    model = fit_model(make_model(denoised, indices, values))
    modeler = Modeler(made.release, denoise=True, history=zip(indices, values, strict=True))
    expected = model.posterior(denoised.candidates)
    assert_close(modeler.posterior().mean, expected.mean.squeeze(-1), rtol=1e-6, atol=1e-6)
    assert_close(modeler.posterior().variance, expected.variance.squeeze(-1), rtol=1e-6, atol=1e-6)


def test_a_changed_copy_stays_a_denoised_release():
    denoised = DenoisedRelease.of(published(gaussian_records(50), NoisyProjection(2.0)).release)
    assert isinstance(
        dataclasses.replace(denoised, candidates=denoised.candidates[:10]), DenoisedRelease
    )
