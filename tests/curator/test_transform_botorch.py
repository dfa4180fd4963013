"""The transform inside BoTorch, beyond the table of what works (tests/whole/test_compatibility.py)."""

import copy
import io
import pickle
import struct

import pytest
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.cross_validation import batch_cross_validation, gen_loo_cv_folds
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms.input import ChainedInputTransform, Normalize
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers.dense_gp import every_device
from helpers.twins import TEST, TRAIN, Twins, exactly, fitted, log_likelihood, same_posterior
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    PrivateProjectionTransform,
    ReleasedInputKernel,
)


@pytest.fixture
def case():
    """Return records with a release of more columns, and models on either."""
    return Twins()


def test_batch_cross_validation_equals_that_of_a_model_on_released_rows(case):
    Y = case.Y[TRAIN, :1]
    results = []
    for table, settings in ((case.records, {"input_transform": case.transform}), (case.rows, {})):
        kernel = ReleasedInputKernel.of(case.transform.release, batch_shape=torch.Size([len(TRAIN)]))
        results.append(
            batch_cross_validation(
                model_cls=SingleTaskGP,
                mll_cls=ExactMarginalLogLikelihood,
                cv_folds=gen_loo_cv_folds(table[TRAIN], Y),
                model_init_kwargs={"covar_module": kernel, **settings},
            ).posterior
        )
    same_posterior(*results)


def test_chain_after_a_learned_normalize_is_an_error_and_not_a_silent_mismatch(case):
    chain = ChainedInputTransform(normalize=Normalize(3), private=case.transform)
    with pytest.raises(ValueError, match="X must hold records only"):
        case.gp(case.records, input_transform=chain)


ACQUISITIONS = {
    "UpperConfidenceBound": lambda model, X: UpperConfidenceBound(model, beta=4.0),
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
    [(name, q) for name in ACQUISITIONS for q in (1, 3) if (name, q) != ("UpperConfidenceBound", 3)],
)
def test_discrete_optimization_finds_the_record_of_the_row_found_on_released_rows(name, q, case):
    found = []
    for model, X in ((case.private(), case.records), (case.plain(), case.rows)):
        chosen, values = optimize_acqf_discrete(ACQUISITIONS[name](model, X), q=q, choices=X)
        found.append(([int((row == X).all(dim=-1).nonzero()) for row in chosen], values))
    assert found[0][0] == found[1][0]
    exactly(found[0][1], found[1][1])


def test_two_changed_lines_give_the_picks_of_a_loop_on_released_rows(case):
    def picks(X, build):
        asked = [0, 1]
        for t in range(1, 5):
            model = fitted(build(train=asked))
            asked += DiscreteUCB(model, candidates=X, t=t).select(exclude=asked).tolist()
        return asked

    private = picks(case.records, case.private)
    assert private == picks(case.rows, case.plain)
    assert len(set(private)) == 6


# --- life cycle ---


def test_train_and_eval_after_conditioning_change_nothing(case):
    together = [*TRAIN.tolist(), 20, 21]
    private = case.private(outcome_transform=None)
    expected = case.plain(train=together, outcome_transform=None)
    private.posterior(case.records[TEST])
    grown = private.condition_on_observations(case.records[[20, 21]], case.Y[[20, 21], :1])
    case.same(grown, expected)
    grown.train()
    assert torch.equal(grown.train_inputs[0], case.records[together])
    grown.eval()
    assert torch.equal(grown.train_inputs[0], case.rows[together])
    case.same(grown, expected)
    exactly(log_likelihood(grown), log_likelihood(expected))


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
def test_state_dict_of_a_model_on_another_release_is_refused(mode, case):
    private = case.private().train(mode)
    other = case.gp(case.records, input_transform=case.released(seed=5))
    with pytest.raises(RuntimeError, match=r"input_transform\.release_sha256.*another release"):
        private.load_state_dict(other.state_dict())


def test_copies_of_a_model_share_the_released_rows(case):
    private = case.private()
    models = [private, copy.deepcopy(private)]
    private.posterior(case.records[TEST])
    for index in (20, 21, 22):
        models.append(models[-1].eval())
        models[-1].posterior(case.records[TEST])
        models.append(models[-1].condition_on_observations(case.records[[index]], case.Y[[index], :1]))
    assert {model.input_transform.release.candidates.data_ptr() for model in models} == {
        case.transform.release.candidates.data_ptr()
    }


# --- dtype and device ---


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_float32_model_and_then_float64_model_equal_those_on_released_rows(case):
    Y = case.Y[TRAIN, :1].float()
    short, expected = (
        SingleTaskGP(table[TRAIN].float(), Y, covar_module=case.kernel(), **more)
        for table, more in ((case.records, {"input_transform": case.transform}), (case.rows, {}))
    )
    answer = short.posterior(case.records[TEST].float())
    assert answer.mean.dtype == torch.float32
    assert torch.equal(answer.mean, expected.posterior(case.rows[TEST].float()).mean)
    case.same(*case.both())


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_float32_inputs_that_are_no_records_are_refused(case):
    strangers, Y = case.records.float() * 1.001, case.Y[TRAIN, :1].float()
    private, plain = case.both()
    for use in (
        lambda: SingleTaskGP(strangers[TRAIN], Y, input_transform=case.transform),
        lambda: private.posterior(strangers[TEST]),
    ):
        with pytest.raises(ValueError, match="float32 values rarely equal the float64 records"):
            use()
    case.same(private, plain)


@every_device
def test_model_moved_to_a_device_answers_there(device, case):
    private = case.private()
    expected = copy.deepcopy(private).posterior(case.records[TEST])
    answer = private.to(device).posterior(case.records[TEST].to(device))
    assert answer.mean.device.type == device
    assert_close(answer.mean.cpu(), expected.mean, rtol=1e-10, atol=1e-10)
    assert_close(answer.variance.cpu(), expected.variance, rtol=1e-8, atol=1e-10)


# --- errors that must be heard ---


def test_posterior_at_rows_that_are_no_records_names_their_positions(case):
    X = case.records[TEST].clone().unsqueeze(-2)
    X[[4, 9]] += 0.001
    with pytest.raises(ValueError, match=r"not records: \(4, 0\), \(9, 0\)"):
        case.private().posterior(X)


class Broken(PrivateProjectionTransform):
    def transform(self, X):
        rows = super().transform(X)
        return rows if self.training else rows * self.scale_that_does_not_exist


@pytest.mark.parametrize("wrap", [lambda model: model, ModelListGP], ids=["SingleTaskGP", "ModelListGP"])
def test_posterior_is_not_computed_on_raw_inputs_when_the_transform_breaks(wrap, case):
    # r = d: raw rows would fit where released rows belong, so that nothing else would fail.
    model = case.gp(case.records, input_transform=case.released("no projection", Broken))
    with pytest.raises(RuntimeError, match="PrivateProjectionTransform failed"):
        wrap(model).posterior(case.records[TEST])


# --- secrets ---


@pytest.mark.parametrize("save", [torch.save, pickle.dump], ids=["torch.save", "pickle"])
def test_what_holds_raw_records_is_not_saved_and_has_written_none_by_then(save, case):
    private, records = case.private(), case.records
    posterior = DiscretePosterior(private, records)
    posterior.append(3, 1.0)
    later = [posterior, posterior.hallucinate([5]), DiscreteUCB(posterior, None, t=1)]
    for holder in (private, ModelListGP(private), DiscreteUCB(private, records, t=1), *later):
        file = io.BytesIO()
        with pytest.raises(pickle.PicklingError, match="holds raw records and is not pickled"):
            save(holder, file)
        if holder in later:  # ours; a model of BoTorch writes its training data first
            values = records.flatten().tolist()
            assert not any(struct.pack("<d", value) in file.getvalue() for value in values)
            assert not any(f"{value:.4f}" in repr(holder) for value in values)
    assert not posterior.state_dict().keys() - private.state_dict(prefix="model.").keys()
