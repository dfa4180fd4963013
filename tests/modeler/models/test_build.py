import io
import math

import numpy as np
import pandas as pd
import pytest
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers.dense_gp import every_device
from torch.testing import assert_close

from botorch_private import NoisyProjection, ReleasedInputKernel, make_model
from botorch_private.curator.publish import publish


def released(records, scaling):
    generator = torch.Generator().manual_seed(2)
    return publish(records, scaling, NoisyProjection(8.0), generator=generator).release


@pytest.fixture
def release(records, scaling):
    return released(records, scaling)


def fitted(model):
    return fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model)).model


def test_model_is_a_botorch_single_task_gp_on_the_measured_rows(release):
    model = make_model(release, [3, 0, 7], [1.0, 2.0, 4.0])
    assert type(model) is SingleTaskGP
    assert torch.equal(model.train_inputs[0], release.candidates[[3, 0, 7]])
    assert isinstance(model.covar_module.base_kernel, ReleasedInputKernel)
    assert isinstance(model.outcome_transform, Standardize)
    assert UpperConfidenceBound(model, beta=4.0)(release.candidates.unsqueeze(-2)).shape == (24,)


def test_model_has_the_stated_priors_and_starts(release):
    model = make_model(release, [3, 0], [1.0, 2.0])
    noise = model.likelihood.noise_covar.noise_prior
    assert (float(noise.loc), float(noise.scale)) == (-4.0, 1.0)
    outputscale = model.covar_module.outputscale_prior
    assert (float(outputscale.concentration), float(outputscale.rate)) == (2.0, 2.0)
    assert model.covar_module.outputscale.item() == pytest.approx(1.0, rel=1e-6)
    assert model.likelihood.noise.item() == pytest.approx(math.exp(-5), rel=1e-4)
    assert model.likelihood.noise_covar.raw_noise_constraint.lower_bound.item() == pytest.approx(1e-4)
    kernel, expected = model.covar_module.base_kernel, ReleasedInputKernel.of(release)
    assert torch.equal(kernel.lengthscale_prior.loc, expected.lengthscale_prior.loc)
    assert kernel.lengthscale.item() == pytest.approx(expected.lengthscale.item(), rel=1e-6)


def test_an_offset_of_the_values_moves_the_mean_and_nothing_else(release):
    # 1e12 leaves 1e-4 of absolute precision to a float64.
    values = torch.tensor([0.25, 1.0, -0.5, 0.75], dtype=torch.float64)
    near, far = (make_model(release, [1, 5, 8, 13], values + shift) for shift in (0.0, 1e12))
    near, far = near.posterior(release.candidates), far.posterior(release.candidates)
    assert_close(far.mean - 1e12, near.mean, rtol=0, atol=1e-3)
    assert_close(far.variance, near.variance, rtol=1e-3, atol=0)


def test_duplicate_records_keep_rows_of_their_own_and_work(records, scaling):
    records[5:15] = records[4]
    release = released(records, scaling)
    model = fitted(make_model(release, list(range(24)), torch.arange(24.0)))
    assert torch.isfinite(model.posterior(release.candidates).variance).all()


def test_expected_outcome_noise_is_the_median_of_its_prior(release):
    model = make_model(release, [3, 0, 1], [1.0, 2.0, 4.0], outcome_noise=0.4)
    prior = model.likelihood.noise_covar.noise_prior
    assert float(prior.cdf(torch.tensor(0.4))) == pytest.approx(0.5, abs=1e-6)
    assert model.likelihood.noise.item() == pytest.approx(0.4 / math.e, rel=1e-4)
    least = make_model(release, [3, 0, 1], [1.0, 2.0, 4.0], outcome_noise=1e-6)
    assert least.likelihood.noise.item() == pytest.approx(2e-4, rel=1e-2)
    with pytest.raises(ValueError, match="outcome_noise must be a number in"):
        make_model(release, [3], [1.0], outcome_noise=0.0)


def test_noise_unaware_model_is_the_rbf_of_the_paper(release):
    aware = make_model(release, [3, 0], [1.0, 2.0]).covar_module.base_kernel
    plain = make_model(release, [3, 0], [1.0, 2.0], noise_aware=False).covar_module.base_kernel
    assert float(aware.noise_variance) == release.noise_variance > 0
    assert float(plain.noise_variance) == 0.0
    squared = torch.cdist(release.candidates, release.candidates).square()
    expected = torch.exp(-squared / (2 * plain.lengthscale.item() ** 2))
    assert_close(plain(release.candidates).to_dense(), expected, rtol=1e-6, atol=1e-12)


def test_ard_gives_a_lengthscale_per_feature(release):
    model = make_model(release, [0, 1], [0.0, 1.0], ard=True)
    assert model.covar_module.base_kernel.lengthscale.shape == (1, 3)


@every_device
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_model_lives_in_the_asked_dtype_on_the_asked_device(dtype, device, release):
    model = make_model(release, [3, 0, 8], [1.0, 2.0, 1.5], dtype=dtype, device=device)
    tensors = [*model.parameters(), *model.train_inputs, model.train_targets]
    assert {(tensor.dtype, tensor.device.type) for tensor in tensors} == {(dtype, device)}
    answer = model.posterior(release.candidates.to(device=device, dtype=dtype)).mean
    exact = make_model(release, [3, 0, 8], [1.0, 2.0, 1.5]).posterior(release.candidates).mean
    assert_close(answer.double().cpu(), exact, rtol=1e-4, atol=1e-4)
    assert release.candidates.dtype == torch.float64


@pytest.mark.parametrize(
    ("indices", "values"),
    [
        (torch.tensor([3, 0]), torch.tensor([1.0, 2.0])),
        (np.array([3, 0]), np.array([1, 2])),
        ((3, 0), (1, 2.0)),
        ([torch.tensor(3), np.int32(0)], [1.0, 2]),
    ],
)
def test_indices_and_values_may_be_tensors_arrays_or_sequences(indices, values, release):
    model = make_model(release, indices, values)
    assert torch.equal(model.train_inputs[0], release.candidates[[3, 0]])


def test_model_is_saved_and_loaded_by_state_dict_and_by_pickle(release):
    model = fitted(make_model(release, [3, 0, 8], [1.0, 2.0, 1.5]))
    expected = model.posterior(release.candidates).mean
    heir = make_model(release, [3, 0, 8], [1.0, 2.0, 1.5])
    heir.load_state_dict(model.state_dict())
    assert_close(heir.posterior(release.candidates).mean, expected, rtol=1e-12, atol=1e-12)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    whole = torch.load(file, weights_only=False)
    assert_close(whole.posterior(release.candidates).mean, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [
        ([], [], "indices must hold at least one measured row, got none"),
        ([0, -1], [1.0, 2.0], r"indices\[1\] must be a row index in 0..23, got -1"),
        ([0, 24], [1.0, 2.0], r"indices\[1\] must be a row index in 0..23, got 24"),
        ([0, 1.0], [1.0, 2.0], r"indices\[1\] must be an integer row index, got a float"),
        ([0, True], [1.0, 2.0], r"indices\[1\] must be an integer row index, got a bool"),
        ([0, 1], [1.0], "values must have 2 entries, got 1"),
        ([0, 1], [[1.0], [2.0]], r"values must have 1 dimension, got shape \(2, 1\)"),
        ([0, 1], [1.0, float("nan")], "values must be finite, got NaN at position 1"),
        ([0, 1], [float("inf"), 1.0], "values must be finite, got an infinity at position 0"),
        ([0, 1], ["a", "b"], "values must be real numbers"),
    ],
)
def test_bad_observations_are_refused_by_position(indices, values, message, release):
    with pytest.raises(ValueError, match=message):
        make_model(release, indices, values)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64, None])
def test_other_dtypes_are_refused(dtype, release):
    with pytest.raises(ValueError, match=r"dtype must be torch\.float64 or torch\.float32"):
        make_model(release, [0, 1], [0.0, 1.0], dtype=dtype)


def test_values_that_float32_cannot_tell_apart_are_told_apart_by_a_float32_model(release):
    near = make_model(release, [0, 1, 2], [0.0, 1.0, 0.25], dtype=torch.float32)
    far = make_model(release, [0, 1, 2], [1e12, 1e12 + 1, 1e12 + 0.25], dtype=torch.float32)
    assert torch.equal(near.train_targets, far.train_targets)


@pytest.mark.parametrize(
    ("dtype", "least", "most"), [(torch.float64, "", 1e150), (torch.float32, 1e-37, 1e18)]
)
def test_values_whose_deviation_is_no_number_of_the_model_are_refused(dtype, least, most, release):
    message = (
        "values must have a standard deviation between .* in torch.float.*, got .*: choose another unit"
    )
    with pytest.raises(ValueError, match=message):
        make_model(release, [0, 1], [0.0, 2 * most], dtype=dtype)
    if least:
        with pytest.raises(ValueError, match="or dtype=torch.float64"):
            make_model(release, [0, 1], [0.0, least / 2], dtype=dtype)


@pytest.mark.parametrize("values", [[3.0] * 3, [0.1 + 0.2, 0.3, 0.3], [0.0, 5e-324, 0.0], [1e300] * 3])
def test_values_that_are_equal_up_to_rounding_say_nothing_of_a_scale(values, release):
    model = make_model(release, [0, 1, 2], values)
    assert torch.equal(model.train_targets, torch.zeros(3, dtype=torch.float64))
    assert float(model.outcome_transform.stdvs) == 1.0


def test_values_one_step_apart_at_a_large_offset_are_no_rounding(release):
    model = make_model(release, [0, 1, 2], [1e15, 1e15 + 1, 1e15 + 2])
    assert model.train_targets.tolist() == [-1.0, 0.0, 1.0]


def test_labels_of_a_series_must_be_the_indices_since_values_are_taken_by_position(release):
    indices, values = [7, 4, 9], [1.5, 0.5, 1.0]
    expected = make_model(release, indices, values).train_targets
    for series in (
        pd.Series(values, index=indices),
        pd.Series(values),
        pd.Series({4: 0.5, 9: 1.0, 7: 1.5}).loc[indices],
        pd.DataFrame({"cost": values}),
        pd.Series(values, index=indices, dtype="Float64"),
    ):
        assert torch.equal(make_model(release, indices, series).train_targets, expected)
    assert torch.equal(make_model(release, pd.Series(indices), values).train_targets, expected)
    for series in (
        pd.Series({4: 0.5, 7: 1.5, 9: 1.0}),
        pd.Series(values, index=["p7", "p4", "p9"]),
        pd.DataFrame({"cost": values}, index=[4, 7, 9]),
        pd.Series(values, index=[2, 1, 0]),
    ):
        with pytest.raises(ValueError, match=r"the indices for labels.*\.loc\[indices\]"):
            make_model(release, indices, series)
