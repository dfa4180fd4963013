"""The transform inside BoTorch: every model equals the same model on released rows, to 1e-12."""

import copy
import io
import pickle
import struct

import pytest
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.cross_validation import batch_cross_validation, gen_loo_cv_folds, loo_cv
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms.input import ChainedInputTransform, Normalize
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    NoisyProjection,
    NotDifferentiallyPrivate,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    ReleasedInputKernel,
    SpectralProjection,
    make_model,
)

MECHANISMS = {
    "no projection": NoisyProjection(8.0),
    "rotation into r > d": NoisyProjection(8.0, projection_dim=5),
    "subspace r < d": NoisyProjection(8.0, delta=1e-5, projection_dim=2),
    "spectral": SpectralProjection(2.0, 1e-5, 4),
}
TRAIN = torch.arange(9)
TEST = torch.arange(6, 24)


def exactly(actual, expected):
    assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def same_posterior(one, other):
    exactly(one.mean, other.mean)
    exactly(one.variance, other.variance)


@pytest.fixture(params=MECHANISMS.values(), ids=MECHANISMS)
def transform(request, records, scaling):
    seed = torch.Generator().manual_seed(3)
    if isinstance(request.param, SpectralProjection):
        with pytest.warns(NotDifferentiallyPrivate):
            return PrivateProjectionTransform(records, scaling, request.param, generator=seed)
    return PrivateProjectionTransform(records, scaling, request.param, generator=seed)


@pytest.fixture
def rotated(records, scaling):
    seed = torch.Generator().manual_seed(4)
    return PrivateProjectionTransform(
        records, scaling, NoisyProjection(8.0, projection_dim=5), generator=seed
    )


@pytest.fixture
def outcomes(records):
    first = torch.sin(4 * records[:, :1]) + records[:, 1:2] / 5
    return torch.cat([first, records[:, 2:] / 100 - first.square()], dim=-1)


def gp(X, Y, release, **kwargs):
    kernel = kwargs.pop("covar_module", None) or ReleasedInputKernel.of(release)
    return SingleTaskGP(X, Y, covar_module=kernel, **kwargs)


def twins(transform, records, Y, **kwargs):
    """Return a GP on raw records with the transform, its twin on released rows without, and the rows."""
    rows, release = transform(records), transform.release
    private = gp(records[TRAIN], Y[TRAIN], release, input_transform=transform, **kwargs)
    return private, gp(rows[TRAIN], Y[TRAIN], release, **kwargs), rows


def fitted(model):
    return fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model)).model


def log_likelihood(model):
    model.train()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    return mll(model(*model.train_inputs), model.train_targets)


# --- equality with a model on released rows ---


@pytest.mark.parametrize("outcome_transform", [None, Standardize(1)], ids=["plain", "Standardize"])
def test_posterior_equals_that_of_a_model_on_released_rows(
    transform, records, outcomes, outcome_transform
):
    private, plain, rows = twins(
        transform, records, outcomes[:, :1], outcome_transform=copy.deepcopy(outcome_transform)
    )
    same_posterior(private.posterior(records[TEST]), plain.posterior(rows[TEST]))
    t_batch = private.posterior(records[TEST].unsqueeze(-2))
    same_posterior(t_batch, plain.posterior(rows[TEST].unsqueeze(-2)))


def test_fit_equals_that_of_a_model_on_released_rows(transform, records, outcomes):
    private, plain, rows = twins(transform, records, outcomes[:, :1])
    exactly(log_likelihood(private), log_likelihood(plain))
    before = log_likelihood(plain)
    fitted(private), fitted(plain)
    exactly(log_likelihood(private), log_likelihood(plain))
    assert log_likelihood(plain) > before
    same_posterior(private.posterior(records[TEST]), plain.posterior(rows[TEST]))


def test_conditioning_equals_that_of_a_model_on_released_rows(transform, records, outcomes):
    private, plain, rows = twins(transform, records, outcomes[:, :1])
    private.posterior(records[TEST]), plain.posterior(rows[TEST])
    new, values = [20, 3, 11], outcomes[[20, 3, 11], :1]
    same_posterior(
        private.condition_on_observations(records[new], values).posterior(records[TEST]),
        plain.condition_on_observations(rows[new], values).posterior(rows[TEST]),
    )


def test_fantasies_equal_those_of_a_model_on_released_rows(transform, records, outcomes):
    private, plain, rows = twins(transform, records, outcomes[:, :1])
    sampler = SobolQMCNormalSampler(torch.Size([4]), seed=1)
    new = torch.tensor([[20, 21], [3, 3]])  # two t-batches, one of them with a repeated record
    fantasies = private.fantasize(records[new], copy.deepcopy(sampler)).posterior(records[TEST])
    expected = plain.fantasize(rows[new], copy.deepcopy(sampler)).posterior(rows[TEST])
    assert fantasies.mean.shape == (4, 2, len(TEST), 1)
    same_posterior(fantasies, expected)


def test_two_outcomes_equal_those_of_a_model_on_released_rows(transform, records, outcomes):
    private, plain, rows = twins(transform, records, outcomes)
    same_posterior(private.posterior(records[TEST]), plain.posterior(rows[TEST]))
    same_posterior(
        private.condition_on_observations(records[[20]], outcomes[[20]]).posterior(records[TEST]),
        plain.condition_on_observations(rows[[20]], outcomes[[20]]).posterior(rows[TEST]),
    )


@pytest.mark.filterwarnings("ignore:Data .* not contained to the unit cube")
def test_one_of_two_outcomes_equals_that_of_a_model_on_released_rows(transform, records, outcomes):
    # `subset_output` needs BoTorch's default kernel, whose lack of unit-cube inputs it reports.
    rows = transform(records)
    private = SingleTaskGP(records[TRAIN], outcomes[TRAIN], input_transform=transform)
    plain = SingleTaskGP(rows[TRAIN], outcomes[TRAIN])
    same_posterior(
        private.subset_output([1]).posterior(records[TEST]),
        plain.subset_output([1]).posterior(rows[TEST]),
    )


def test_model_list_equals_one_on_released_rows(transform, records, outcomes):
    pairs = [twins(transform, records, outcomes[:, [m]]) for m in range(2)]
    rows = pairs[0][2]
    private = ModelListGP(*[pair[0] for pair in pairs])  # one transform serves both
    plain = ModelListGP(*[pair[1] for pair in pairs])
    same_posterior(private.posterior(records[TEST]), plain.posterior(rows[TEST]))
    sampler = SobolQMCNormalSampler(torch.Size([3]), seed=2)
    same_posterior(
        private.fantasize(records[[20, 21]], copy.deepcopy(sampler)).posterior(records[TEST]),
        plain.fantasize(rows[[20, 21]], copy.deepcopy(sampler)).posterior(rows[TEST]),
    )


def test_batched_training_data_equal_those_of_a_model_on_released_rows(transform, records, outcomes):
    batches = torch.stack([TRAIN, TRAIN + 5])
    rows = transform(records)
    Y = outcomes[batches][..., :1]
    private = gp(records[batches], Y, transform.release, input_transform=transform)
    plain = gp(rows[batches], Y, transform.release)
    for test in (TEST, torch.stack([TEST, TEST - 6])):
        posterior = private.posterior(records[test])
        assert posterior.mean.shape == (2, len(TEST), 1)
        same_posterior(posterior, plain.posterior(rows[test]))


def test_leave_one_out_equals_that_of_a_model_on_released_rows(transform, records, outcomes):
    private, plain, rows = twins(transform, records, outcomes[:, :1])
    private.posterior(records[TEST]), plain.posterior(rows[TEST])
    same_posterior(loo_cv(private).posterior, loo_cv(plain).posterior)


def test_batch_cross_validation_equals_that_of_a_model_on_released_rows(rotated, records, outcomes):
    rows, Y = rotated(records)[TRAIN], outcomes[TRAIN, :1]
    results = []
    for X, settings in ((records[TRAIN], {"input_transform": rotated}), (rows, {})):
        kernel = ReleasedInputKernel.of(rotated.release, batch_shape=torch.Size([len(TRAIN)]))
        results.append(
            batch_cross_validation(
                model_cls=SingleTaskGP,
                mll_cls=ExactMarginalLogLikelihood,
                cv_folds=gen_loo_cv_folds(X, Y),
                model_init_kwargs={"covar_module": kernel, **settings},
            )
        )
    same_posterior(results[0].posterior, results[1].posterior)


def test_chain_after_normalize_equals_a_model_on_released_rows(records, scaling, outcomes):
    # The release is of normalized records, and Normalize has declared bounds: it learns nothing.
    normalize = Normalize(3, bounds=torch.stack([scaling.lower, scaling.upper]))
    unit_box = PublicScaling([0.0] * 3, [1.0] * 3)
    inner = PrivateProjectionTransform(normalize(records), unit_box, NoisyProjection(8.0))
    rows = inner.released_rows
    chain = ChainedInputTransform(normalize=normalize, private=inner)
    private = gp(records[TRAIN], outcomes[TRAIN, :1], inner.release, input_transform=chain)
    plain = gp(rows[TRAIN], outcomes[TRAIN, :1], inner.release)
    fitted(private), fitted(plain)
    same_posterior(private.posterior(records[TEST]), plain.posterior(rows[TEST]))
    same_posterior(
        private.condition_on_observations(records[[20]], outcomes[[20], :1]).posterior(records[TEST]),
        plain.condition_on_observations(rows[[20]], outcomes[[20], :1]).posterior(rows[TEST]),
    )
    assert chain.equals(copy.deepcopy(chain))


def test_chain_after_a_learned_normalize_is_an_error_and_not_a_silent_mismatch(
    records, scaling, outcomes
):
    inner = PrivateProjectionTransform(records, scaling, NoisyProjection(8.0))
    chain = ChainedInputTransform(normalize=Normalize(3), private=inner)
    with pytest.raises(ValueError, match="X must hold records only"):
        gp(records[TRAIN], outcomes[TRAIN, :1], inner.release, input_transform=chain)


ACQUISITIONS = {
    "UpperConfidenceBound": lambda model, X: UpperConfidenceBound(model, beta=4.0),
    "LogExpectedImprovement": lambda model, X: LogExpectedImprovement(model, best_f=0.5),
    "qLogNoisyExpectedImprovement": lambda model, X: qLogNoisyExpectedImprovement(
        model,
        X_baseline=X[TRAIN],
        sampler=SobolQMCNormalSampler(torch.Size([32]), seed=1),
        prune_baseline=False,  # it draws from an unseeded sampler
    ),
    "DiscreteUCB": lambda model, X: DiscreteUCB(model, candidates=X, t=3),
}


@pytest.mark.filterwarnings("ignore:A not p.d., added jitter")  # qLogNEI: baseline rows are choices
@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("UpperConfidenceBound", 1),
        ("LogExpectedImprovement", 1),
        ("qLogNoisyExpectedImprovement", 1),
        ("qLogNoisyExpectedImprovement", 3),
        ("DiscreteUCB", 1),
        ("DiscreteUCB", 3),
    ],
)
def test_discrete_optimization_finds_the_record_of_the_row_found_on_released_rows(
    name, q, rotated, records, outcomes
):
    private, plain, rows = twins(rotated, records, outcomes[:, :1])
    found = []
    for model, X in ((private, records), (plain, rows)):
        chosen, values = optimize_acqf_discrete(ACQUISITIONS[name](model, X), q=q, choices=X)
        found.append(([int((row == X).all(dim=-1).nonzero()) for row in chosen], values))
    assert found[0][0] == found[1][0]
    exactly(found[0][1], found[1][1])


def test_two_changed_lines_give_the_picks_of_a_loop_on_released_rows(rotated, records, outcomes):
    def picks(X, **changed):
        asked = [0, 1]
        for t in range(1, 5):
            model = fitted(gp(X[asked], outcomes[asked, :1], rotated.release, **changed))
            asked += DiscreteUCB(model, candidates=X, t=t).select(exclude=asked).tolist()
        return asked

    private = picks(records, input_transform=rotated)
    assert private == picks(rotated(records))
    assert len(set(private)) == 6


# --- life cycle ---


def test_train_and_eval_after_conditioning_change_nothing(rotated, records, outcomes):
    private, _, rows = twins(rotated, records, outcomes[:, :1], outcome_transform=None)
    private.posterior(records[TEST])
    grown = private.condition_on_observations(records[[20, 21]], outcomes[[20, 21], :1])
    together = [*TRAIN.tolist(), 20, 21]
    expected = gp(rows[together], outcomes[together, :1], rotated.release, outcome_transform=None)
    same_posterior(grown.posterior(records[TEST]), expected.posterior(rows[TEST]))
    grown.train()
    assert torch.equal(grown.train_inputs[0], records[together])
    grown.eval()
    assert torch.equal(grown.train_inputs[0], rows[together])
    same_posterior(grown.posterior(records[TEST]), expected.posterior(rows[TEST]))
    exactly(log_likelihood(grown), log_likelihood(expected))


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
def test_state_dict_round_trip(mode, rotated, records, outcomes):
    donor, _, _ = twins(rotated, records, outcomes[:, :1])
    expected = fitted(donor).posterior(records[TEST])
    heir, _, _ = twins(rotated, records, outcomes[:, :1])
    heir.train(mode)
    heir.load_state_dict(donor.state_dict())
    same_posterior(heir.posterior(records[TEST]), expected)


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
def test_state_dict_of_a_model_on_another_release_is_refused(mode, rotated, records, scaling, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    again = PrivateProjectionTransform(records, scaling, NoisyProjection(8.0, projection_dim=5))
    other, _, _ = twins(again, records, outcomes[:, :1])
    private.train(mode)
    with pytest.raises(RuntimeError, match=r"input_transform\.release_sha256.*another release"):
        private.load_state_dict(other.state_dict())


def test_copies_of_a_model_share_the_released_rows(rotated, records, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    models = [private, copy.deepcopy(private)]
    private.posterior(records[TEST])
    for index in (20, 21, 22):
        models.append(models[-1].eval())
        models[-1].posterior(records[TEST])
        models.append(models[-1].condition_on_observations(records[[index]], outcomes[[index], :1]))
    assert {model.input_transform.release.candidates.data_ptr() for model in models} == {
        rotated.release.candidates.data_ptr()
    }


# --- dtype and device ---


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_float32_model_and_then_float64_model_equal_those_on_released_rows(scaling, records, outcomes):
    table = records.float().double()
    transform = PrivateProjectionTransform(table, scaling, NoisyProjection(8.0))
    rows, release = transform.released_rows, transform.release
    Y = outcomes[TRAIN, :1]
    short = gp(table[TRAIN].float(), Y.float(), release, input_transform=transform)
    expected = gp(rows[TRAIN].float(), Y.float(), release)
    answer = short.posterior(table[TEST].float())
    assert answer.mean.dtype == torch.float32
    assert torch.equal(answer.mean, expected.posterior(rows[TEST].float()).mean)
    private, plain, _ = twins(transform, table, outcomes[:, :1])
    same_posterior(private.posterior(table[TEST]), plain.posterior(rows[TEST]))


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_float32_inputs_that_are_no_records_are_refused(rotated, records, outcomes):
    with pytest.raises(ValueError, match="float32 values rarely equal the float64 records"):
        gp(records[TRAIN].float(), outcomes[TRAIN, :1].float(), rotated.release, input_transform=rotated)
    private, plain, rows = twins(rotated, records, outcomes[:, :1])
    with pytest.raises(ValueError, match="float32 values rarely equal the float64 records"):
        private.posterior(records[TEST].float())
    same_posterior(private.posterior(records[TEST]), plain.posterior(rows[TEST]))


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
        ),
    ],
)
def test_model_moved_to_a_device_answers_there(device, rotated, records, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    expected = copy.deepcopy(private).posterior(records[TEST])
    answer = private.to(device).posterior(records[TEST].to(device))
    assert answer.mean.device.type == device
    assert_close(answer.mean.cpu(), expected.mean, rtol=1e-10, atol=1e-10)
    assert_close(answer.variance.cpu(), expected.variance, rtol=1e-8, atol=1e-10)


# --- errors that must be heard ---


def test_continuous_optimization_is_an_error_that_names_the_remedy(rotated, records, scaling, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    bounds = torch.stack([scaling.lower, scaling.upper])
    acquisition = UpperConfidenceBound(private, beta=4.0)
    with pytest.raises(ValueError, match=r"optimize_acqf_discrete\(choices=records\)"):
        optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=4)
    start = records[:2].unsqueeze(-2).clone()
    with pytest.raises(ValueError, match=r"optimize_acqf_discrete\(choices=records\)"):
        optimize_acqf(acquisition, bounds, q=1, num_restarts=2, batch_initial_conditions=start)


def test_posterior_at_rows_that_are_no_records_names_their_positions(rotated, records, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    X = records[TEST].clone().unsqueeze(-2)
    X[[4, 9]] += 0.001
    with pytest.raises(ValueError, match=r"not records: \(4, 0\), \(9, 0\)"):
        private.posterior(X)


class Broken(PrivateProjectionTransform):
    def transform(self, X):
        rows = super().transform(X)
        return rows if self.training else rows * self.scale_that_does_not_exist


@pytest.mark.parametrize("wrap", [lambda model: model, ModelListGP], ids=["SingleTaskGP", "ModelListGP"])
def test_posterior_is_not_computed_on_raw_inputs_when_the_transform_breaks(
    wrap, records, scaling, outcomes
):
    # r = d: raw rows would fit where released rows belong, so that nothing else would fail.
    broken = Broken(records, scaling, NoisyProjection(8.0))
    model = gp(records[TRAIN], outcomes[TRAIN, :1], broken.release, input_transform=broken)
    with pytest.raises(RuntimeError, match="PrivateProjectionTransform failed"):
        wrap(model).posterior(records[TEST])


# --- secrets ---


def bytes_of(values):
    return [struct.pack("<d", value) for value in values.flatten().tolist()]


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


def test_the_search_for_raw_bytes_finds_them_where_they_are(records):
    for thing in (records, {"nested": [records]}, torch.nn.Parameter(records)):
        assert all(pattern in saved(thing) for pattern in bytes_of(records))


def test_state_dict_of_a_fitted_model_holds_no_raw_value(transform, records, outcomes):
    private, _, _ = twins(transform, records, outcomes[:, :1])
    private.posterior(records[TEST])
    content = saved(private.state_dict())
    assert not any(pattern in content for pattern in bytes_of(records))
    assert not any(f"{value:.4f}" in repr(private) for value in records.flatten().tolist())


@pytest.mark.parametrize("save", [saved, pickle.dumps], ids=["torch.save", "pickle"])
def test_saving_a_model_that_holds_raw_records_is_refused(save, rotated, records, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    posterior = DiscretePosterior(private, records)
    holders = [
        private,
        ModelListGP(private),
        DiscreteUCB(private, candidates=records, t=1),
        posterior,
        posterior.hallucinate([3]),
        DiscreteUCB(posterior, None, t=1),
    ]
    for holder in holders:
        with pytest.raises(pickle.PicklingError, match="holds raw records and is not pickled"):
            save(holder)


@pytest.mark.parametrize("save", [torch.save, pickle.dump], ids=["torch.save", "pickle"])
def test_a_refused_posterior_has_written_no_raw_value_by_then(save, rotated, records, outcomes):
    private, _, _ = twins(rotated, records, outcomes[:, :1])
    posterior = DiscretePosterior(private, records)
    posterior.append(3, 1.0)
    for holder in (posterior, posterior.hallucinate([5]), DiscreteUCB(posterior, None, t=1)):
        file = io.BytesIO()
        with pytest.raises(pickle.PicklingError):
            save(holder, file)
        assert not any(pattern in file.getvalue() for pattern in bytes_of(records))
        assert not any(f"{value:.4f}" in repr(holder) for value in records.flatten().tolist())
    assert not posterior.state_dict().keys() - private.state_dict(prefix="model.").keys()


def test_a_saved_model_of_the_modeler_holds_no_raw_value(transform, scaling, records, tmp_path):
    transform.release.save(tmp_path / "release")
    release = Release.load(tmp_path / "release")
    model = make_model(release, [0, 5, 7, 11], [0.5, 1.0, -0.3, 0.1])
    acquisition = DiscreteUCB(model, candidates=release.candidates, t=1)
    acquisition.select(q=2, generator=torch.Generator().manual_seed(0))
    content = saved([model, acquisition, release.candidates])
    secrets = torch.cat([records, scaling.transform(records)])
    assert not any(pattern in content for pattern in bytes_of(secrets))
    assert all(pattern in content for pattern in bytes_of(release.candidates))
