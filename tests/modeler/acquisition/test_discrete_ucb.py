import copy
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.exceptions.warnings import BotorchWarning, InputDataWarning
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models import fully_bayesian as botorch_fully_bayesian
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.optim import optimize_acqf_discrete
from helpers.draws import seeded, uniform
from helpers.ucb_models import ASKED, X, Y, fixed_noise, kernel, private, single
from torch.testing import assert_close

from botorch_private import (
    DiscreteUCB,
    NoisyProjection,
    TiedScoresWarning,
    make_model,
    ucb_beta,
)
from botorch_private.curator.publish import publish

WEIGHTS = ScalarizedPosteriorTransform(torch.tensor([0.3, 0.7], dtype=torch.float64))


def two_outcomes():
    return SingleTaskGP(X[ASKED], Y[ASKED], covar_module=kernel())


def two_outcomes_fixed_noise():
    noise = 0.01 + 0.1 * uniform(len(ASKED), 2, seed=3)
    return SingleTaskGP(X[ASKED], Y[ASKED], noise, covar_module=kernel())


def model_list():
    one = SingleTaskGP(X[ASKED], Y[ASKED, :1], covar_module=kernel())
    noise = torch.full_like(Y[ASKED[:4], 1:], 0.02)
    other = SingleTaskGP(X[ASKED[:4]], Y[ASKED[:4], 1:], noise, covar_module=kernel())
    return ModelListGP(one, other)


def fully_bayesian():
    """Return an ensemble of three GPs with made-up samples of its hyperparameters."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        if not hasattr(botorch_fully_bayesian, "_check_jax_available"):
            pytest.skip("this BoTorch samples with Pyro")
        if not hasattr(botorch_fully_bayesian, "jnp"):  # JAX is needed for sampling only
            patch.setattr(botorch_fully_bayesian, "_check_jax_available", lambda: None)
            patch.setattr(botorch_fully_bayesian, "jnp", np, raising=False)
        warnings.simplefilter("ignore", InputDataWarning)  # outcomes are not standardized
        model = SaasFullyBayesianSingleTaskGP(X[ASKED], Y[ASKED, :1])
    samples = {"lengthscale": 0.5 + uniform(3, 1, 3, seed=1), "outputscale": 1 + uniform(3, seed=2)}
    model.load_mcmc_samples(
        {**samples, "mean": uniform(3, seed=3), "noise": 0.1 * uniform(3, 1, seed=4)}
    )
    return model


MODELS = {
    "SingleTaskGP": (single, None),
    "fixed noise": (fixed_noise, None),
    "two outcomes": (two_outcomes, WEIGHTS),
    "two outcomes, fixed noise": (two_outcomes_fixed_noise, WEIGHTS),
    "ModelListGP": (model_list, WEIGHTS),
    "private": (private, None),
    "fully Bayesian": (fully_bayesian, None),
}
every_model = pytest.mark.parametrize(("build", "weights"), MODELS.values(), ids=MODELS)


def ucb(model, t=3, **kwargs):
    return DiscreteUCB(model, kwargs.pop("candidates", X), t=t, **kwargs)


def given_scores(values):
    """Return a model whose mean at candidate i (an n x 1 column of numbers 0..n-1) is the i-th value."""
    table = torch.as_tensor(values, dtype=torch.float64)
    model = GenericDeterministicModel(lambda points: table[points.squeeze(-1).long()].unsqueeze(-1))
    return ucb(model, candidates=torch.arange(len(table), dtype=torch.float64).unsqueeze(-1))


# --- scores ---


@pytest.mark.parametrize("maximize", [True, False])
@every_model
def test_scores_equal_the_upper_confidence_bound_of_botorch(build, weights, maximize):
    model = build()
    ours = ucb(model, posterior_transform=weights, maximize=maximize, exploration="theory")
    theirs = UpperConfidenceBound(
        model,
        beta=torch.tensor(ucb_beta(3, 40), dtype=torch.float64),
        posterior_transform=weights,
        maximize=maximize,
    )
    expected = theirs(X.unsqueeze(-2))
    assert_close(ours(X.unsqueeze(-2)), expected, rtol=1e-12, atol=1e-12)
    assert_close(ours.scores(), expected.detach(), rtol=1e-12, atol=1e-12)


@every_model
def test_scores_do_not_depend_on_the_chunks(build, weights):
    model = build()
    whole = ucb(model, posterior_transform=weights).scores()
    for chunk_size in (1, 13, 39, 40, 1000):
        chunked = ucb(model, posterior_transform=weights, chunk_size=chunk_size).scores()
        assert_close(chunked, whole, rtol=1e-11, atol=1e-11)


def test_beta_is_that_of_the_round_in_float64():
    assert ucb(single(), t=7).beta == ucb_beta(7, 40, 0.025)
    assert ucb(single(), t=7, failure_probability=0.1).beta == ucb_beta(7, 40, 0.1)
    assert ucb(single(), t=7, beta_scale=0.2).beta == pytest.approx(
        ucb_beta(7, 40, 0.025) / 5, rel=1e-15
    )
    assert ucb(single(), beta=0.1).beta == ucb(single(), beta=0.1, beta_scale=0.2).beta == 0.1
    mean = single().posterior(X).mean.squeeze(-1)
    assert_close(ucb(single(), beta=0).scores(), mean.detach(), rtol=1e-12, atol=1e-12)


def test_gradient_in_the_points_is_that_of_botorch():
    points = X[[3, 9, 20, 31]].unsqueeze(1).requires_grad_()
    beta = torch.tensor(ucb_beta(3, 40), dtype=torch.float64)
    ours, theirs = ucb(single())(points).sum(), UpperConfidenceBound(single(), beta)(points).sum()
    gradients = [torch.autograd.grad(score, points)[0] for score in (ours, theirs)]
    assert_close(*gradients, rtol=1e-10, atol=1e-10)


# --- choosing one ---


@every_model
def test_select_takes_the_best_score_and_the_discrete_optimizer_the_same_row(build, weights):
    acqf = ucb(build(), posterior_transform=weights)
    chosen = acqf.select()
    assert chosen.dtype == torch.int64
    assert chosen.tolist() == [int(acqf.scores().argmax())]
    row, value = optimize_acqf_discrete(acqf, q=1, choices=X)
    assert torch.equal(row, X[chosen])
    assert_close(value, acqf.scores()[chosen][0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [list, set, tuple, torch.tensor, np.array, iter])
def test_excluded_rows_are_not_chosen(kind):
    acqf = ucb(single())
    order = acqf.scores().argsort(descending=True).tolist()
    assert acqf.select(exclude=kind(order[:5])).tolist() == order[5:6]


def test_excluding_nothing_is_the_default_and_repeats_are_allowed():
    acqf = ucb(single(), beta=0)  # the best mean may well be at a measured row
    best = acqf.select()
    assert torch.equal(acqf.select(exclude=[]), best)
    assert torch.equal(acqf.select(), best)


def test_excluding_row_after_row_walks_through_all_rows_by_score_until_none_is_left():
    acqf = ucb(single())
    asked = []
    while len(asked) < 40:
        asked += acqf.select(exclude=asked).tolist()
    assert asked == acqf.scores().argsort(descending=True).tolist()
    with pytest.raises(ValueError, match="q must be at most the 0 candidates left, got 1"):
        acqf.select(exclude=asked)
    with pytest.raises(ValueError, match="q must be at most the 3 candidates left, got 4"):
        acqf.select(q=4, exclude=asked[:37])
    assert sorted(acqf.select(q=3, exclude=asked[:37]).tolist()) == sorted(asked[37:])


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        ([-1], "exclude must be a row index in 0..39, got -1"),
        ([0, 40], "exclude must be a row index in 0..39, got 40"),
        ([1.0], "exclude must be an integer row index, got a float"),
        ([True], "exclude must be an integer row index, got a bool"),
        (torch.zeros(40, dtype=torch.bool), "exclude must be one integer row index"),
        (3, "exclude must be a collection of row indices, got"),
        (torch.tensor(3), "exclude must be a collection of row indices, got"),
    ],
)
def test_exclusions_that_are_no_row_indices_are_refused(exclude, message):
    with pytest.raises(ValueError, match=message):
        ucb(single()).select(exclude=exclude)


def test_selecting_does_not_change_the_model():
    model = private()
    model.posterior(X)
    before = copy.deepcopy(model.state_dict()), model.posterior(X).mean
    ucb(model).select(q=3)
    after = model.state_dict(), model.posterior(X).mean
    assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])
    assert torch.equal(before[1], after[1])


# --- ties ---


def test_lowest_index_wins_a_tie_and_the_tie_is_reported():
    acqf = given_scores([0.0, 3.0, 1.0, 3.0, 3.0])
    with pytest.warns(
        TiedScoresWarning, match="3 candidates tie for the best score, the lowest index 1"
    ):
        assert acqf.select().tolist() == [1]
    with pytest.warns(
        TiedScoresWarning, match="2 candidates tie for the best score, the lowest index 3"
    ):
        assert acqf.select(exclude=[1]).tolist() == [3]
    assert acqf.select(exclude=[1, 3]).tolist() == [4]  # nothing to report


def test_scores_within_rounding_are_ties_and_others_are_not():
    with pytest.warns(TiedScoresWarning):
        assert given_scores([1.0, 1.0 + 1e-15]).select().tolist() == [0]
    assert given_scores([1.0, 1.0 + 1e-12]).select().tolist() == [1]
    with pytest.warns(TiedScoresWarning):
        assert given_scores([-5.0, -5.0 * (1 + 1e-15), -6.0]).select().tolist() == [0]


def test_generator_breaks_ties_uniformly_and_silently():
    # 600 draws among 3 rows: each count within 4.5 standard errors (sd 11.5) of 200.
    acqf = given_scores([0.0, 3.0, 1.0, 3.0, 3.0])
    generator = seeded(5)
    drawn = [int(acqf.select(generator=generator)) for _ in range(600)]
    assert set(drawn) == {1, 3, 4}
    assert all(abs(drawn.count(row) - 200) < 52 for row in (1, 3, 4))
    generator.manual_seed(5)
    assert [int(acqf.select(generator=generator)) for _ in range(20)] == drawn[:20]


def test_warning_of_a_tie_points_at_the_caller():
    with pytest.warns(TiedScoresWarning) as caught:
        given_scores([1.0, 1.0]).select()
    assert caught[0].filename == __file__


def test_ten_identical_best_rows_give_one_index():
    rows = X.clone()
    best = int(ucb(single()).select())
    rows[20:30] = rows[best]
    identical = sorted({*range(20, 30), best})
    acqf = ucb(single(), candidates=rows)
    with pytest.warns(TiedScoresWarning, match=f"{len(identical)} candidates tie"):
        assert acqf.select().tolist() == identical[:1]
    with pytest.warns(TiedScoresWarning):
        assert len(set(acqf.select(q=4).tolist())) == 4


def test_unscaled_candidates_are_reported_and_not_walked_through_in_silence():
    # Standard deviation 1e4 under a length-scale of about 1: no row tells anything of another.
    rows = 1e4 * torch.randn(50, 3, dtype=torch.float64, generator=seeded(1))
    model = SingleTaskGP(rows[:5], Y[:5, :1], covar_module=kernel())
    acqf = ucb(model, candidates=rows)
    with pytest.warns(TiedScoresWarning, match="45 candidates tie.*check the model if it should tell"):
        assert acqf.select(exclude=range(5)).tolist() == [5]
    drawn = acqf.select(exclude=range(5), generator=seeded(1))
    assert int(drawn) != 5


# --- batches and pending rows ---


@every_model
def test_batch_through_the_discrete_optimizer_equals_select_and_restores_the_model(build, weights):
    model = build()
    acqf = ucb(model, posterior_transform=weights)
    assert acqf.X_pending is None
    rows, values = optimize_acqf_discrete(acqf, q=4, choices=X)
    assert acqf.X_pending is None
    assert acqf.model is model
    chosen = acqf.select(q=4)
    assert torch.equal(rows, X[chosen])
    assert values.shape == (4,)
    assert len(set(chosen.tolist())) == 4
    assert acqf.X_pending is None
    assert acqf.model is model


@every_model
def test_batch_equals_choosing_one_after_the_other_with_the_earlier_ones_pending(build, weights):
    acqf = ucb(build(), posterior_transform=weights)
    chosen = []
    for _ in range(4):
        acqf.set_X_pending(X[chosen])
        scores = acqf.scores()
        scores[chosen] = -math.inf
        chosen.append(int(scores.argmax()))
    acqf.set_X_pending(None)
    assert acqf.select(q=4).tolist() == chosen
    assert acqf.select(q=1).tolist() == chosen[:1]


def moments(model, weights):
    posterior = model.posterior(X, posterior_transform=weights)
    return posterior.mean.detach(), posterior.variance.detach()


@every_model
def test_pending_rows_keep_the_mean_and_shrink_the_deviation(build, weights):
    model = build()
    acqf = ucb(model, posterior_transform=weights)
    acqf.set_X_pending(X[[10, 20, 30]])
    (mean, variance), (after_mean, after_variance) = (
        moments(model, weights),
        moments(acqf.model, weights),
    )
    assert_close(after_mean, mean, rtol=1e-8, atol=1e-8)
    assert (after_variance <= variance * (1 + 1e-9)).all()
    pending = after_variance[..., [10, 20, 30], :] / variance[..., [10, 20, 30], :]
    assert float(pending.max()) < 0.9


@pytest.mark.parametrize("build", [single, fixed_noise], ids=["inferred noise", "fixed noise"])
def test_deviation_with_pending_rows_equals_the_dense_formula(build):
    model = build()
    acqf = ucb(model)
    pending = [10, 20, 30]
    acqf.set_X_pending(X[pending])
    model.eval()
    known = [*ASKED, *pending]
    K = model.covar_module(X).to_dense().detach()
    noise = model.likelihood.noise.detach().expand(len(ASKED))
    noise = torch.cat([noise, noise.mean().expand(3)])  # a new row has the average noise
    gram = K[known][:, known] + noise.diag()
    reduction = (K[:, known] @ torch.linalg.solve(gram, K[known])).diagonal()
    expected = (K.diagonal() - reduction) * model.outcome_transform.stdvs.square().squeeze()
    actual = acqf.model.posterior(X).variance.detach().squeeze(-1)
    assert_close(actual, expected, rtol=1e-8, atol=1e-10)
    score = model.posterior(X).mean.detach().squeeze(-1) + math.sqrt(acqf.beta) * expected.sqrt()
    assert_close(acqf.scores(), score, rtol=1e-6, atol=1e-6)


def test_rows_that_the_user_set_pending_stay_pending_after_a_batch():
    acqf = ucb(private())
    acqf.set_X_pending(X[[10, 11]])
    before = acqf.scores()
    chosen = acqf.select(q=3, exclude=[10, 11])
    assert torch.equal(acqf.X_pending, X[[10, 11]])
    assert_close(acqf.scores(), before, rtol=1e-9, atol=1e-9)
    acqf.set_X_pending(None)
    acqf.set_X_pending(X[[10, 11]])
    rows, _ = optimize_acqf_discrete(acqf, q=3, choices=X, X_avoid=X[[10, 11]])
    assert torch.equal(rows, X[chosen])
    assert torch.equal(acqf.X_pending, X[[10, 11]])


@pytest.mark.parametrize("pending", [None, X[[10, 11]]], ids=["none", "two"])
@pytest.mark.parametrize(
    ("build", "weights"), [(single, None), (two_outcomes, WEIGHTS)], ids=["fast", "in chunks"]
)
def test_pending_rows_are_restored_after_an_error(build, weights, pending, monkeypatch):
    acqf = ucb(build(), posterior_transform=weights)
    acqf.set_X_pending(pending)
    before, score, calls = acqf.scores(), acqf._scores, []

    def break_down_the_second_time(posterior):
        calls.append(posterior)
        if len(calls) == 2:
            raise RuntimeError("broken on the second pick")
        return score(posterior)

    monkeypatch.setattr(acqf, "_scores", break_down_the_second_time)
    with pytest.raises(RuntimeError, match="broken on the second pick"):
        acqf.select(q=3)
    assert acqf.X_pending is None if pending is None else torch.equal(acqf.X_pending, pending)
    monkeypatch.setattr(acqf, "_scores", score)
    assert_close(acqf.scores(), before, rtol=1e-9, atol=1e-9)


def test_pending_rows_are_copied_and_do_not_get_gradients_as_in_botorch():
    acqf, pending = ucb(single()), X[[10, 11]].clone().requires_grad_()
    with pytest.warns(BotorchWarning, match="Pending points require a gradient"):
        acqf.set_X_pending(pending)
    with torch.no_grad():
        pending.zero_()
    assert torch.equal(acqf.X_pending, X[[10, 11]])
    assert not acqf.X_pending.requires_grad
    assert_close(acqf.scores(), ucb(single(), X_pending=X[[10, 11]]).scores())


def test_pending_rows_that_do_not_fit_leave_everything_as_it_was():
    model = single()
    acqf = ucb(model)
    with pytest.raises(ValueError, match="X_pending must be an m x 3 tensor"):
        acqf.set_X_pending(X[:2, :2])
    assert acqf.X_pending is None
    assert acqf.model is model


# --- what it refuses ---


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_an_error_and_not_a_choice(value):
    acqf = given_scores([0.0, 1.0, 2.0, value, 4.0, value])
    message = r"model must give finite scores, got 2 of 6 that are not \(first: candidate 3\)"
    with pytest.raises(ValueError, match=message):
        acqf.select()
    with pytest.raises(ValueError, match=message):
        acqf.select(exclude=[3, 5])


def test_another_dtype_than_that_of_the_model_is_refused_and_the_model_keeps_its_precision():
    model = single()
    with pytest.raises(
        ValueError, match="X must be torch.float64 like the candidates, got torch.float32"
    ):
        ucb(model)(X.float().unsqueeze(-2))
    with pytest.raises(
        ValueError, match="candidates must have the dtype of the model, got torch.float32"
    ):
        ucb(model, candidates=X.float())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_a_float32_model_with_float32_candidates_works():
    model = SingleTaskGP(X[ASKED].float(), Y[ASKED, :1].float(), covar_module=kernel())
    acqf = ucb(model, candidates=X.float())
    assert acqf.scores().dtype == torch.float32
    assert_close(acqf.scores().double(), ucb(single()).scores(), rtol=1e-4, atol=1e-4)


def test_two_outcomes_need_a_posterior_transform():
    with pytest.raises(UnsupportedError, match="posterior transform"):
        ucb(two_outcomes())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"t": 0}, "t must be an integer >= 1, got 0"),
        ({"t": 1.5}, r"t must be an integer >= 1, got 1\.5"),
        ({"failure_probability": 0.0}, r"failure_probability must be a number in \(0, 1\)"),
        ({"beta": -1.0}, r"beta must be a finite number >= 0, got -1\.0"),
        ({"beta_scale": 0.0}, r"beta_scale must be a finite number > 0, got 0\.0"),
        ({"beta": math.nan}, "beta must be a finite number >= 0, got nan"),
        ({"chunk_size": 0}, "chunk_size must be an integer >= 1, got 0"),
        ({"candidates": X / 0}, "candidates must be finite, got an infinity in row 0, column 0"),
        ({"candidates": X.long()}, "candidates must be an n x d floating-point tensor"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ucb(single(), **arguments)


@pytest.mark.parametrize("q", [0, -1, 1.0, True])
def test_a_bad_number_of_rows_is_refused(q):
    with pytest.raises(ValueError, match="q must be an integer >= 1"):
        ucb(single()).select(q=q)


# --- inputs that broke other packages (models of `make_model` on a release) ---


@pytest.fixture
def release(records, scaling):
    return publish(records, scaling, NoisyProjection(8.0), generator=seeded(6)).release


def picks(release, indices, values, q=3):
    model = make_model(release, indices, values)
    acqf = DiscreteUCB(model, release.candidates, t=1)
    return acqf.select(q, exclude=indices, generator=seeded(0)).tolist()


@pytest.mark.parametrize("values", [[3.0], [0.0], [1e12]])
def test_one_measurement_is_enough_to_choose(values, release):
    assert len({*picks(release, [5], values), 5}) == 4


@pytest.mark.parametrize(("values", "offset"), [([0.25, 1.0, -0.5], 1e12), ([4.0, 4.0, 4.0], -11.0)])
def test_an_offset_does_not_change_the_choice(values, offset, release):
    values = torch.tensor(values, dtype=torch.float64)
    assert picks(release, [5, 9, 2], values) == picks(release, [5, 9, 2], values + offset)


def test_frozen_hyperparameters_are_no_obstacle(release):
    model = make_model(release, [5, 9, 2], [0.25, 1.0, -0.5]).requires_grad_(False)
    acqf = DiscreteUCB(model, release.candidates, t=1)
    assert acqf.select(exclude=[5, 9, 2]).tolist() == picks(release, [5, 9, 2], [0.25, 1.0, -0.5], q=1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_scores_on_a_device_equal_those_on_the_cpu(release):
    values = [0.25, 1.0, -0.5]
    there = DiscreteUCB(
        make_model(release, [5, 9, 2], values, device="cuda"), release.candidates.cuda(), t=1
    )
    here = DiscreteUCB(make_model(release, [5, 9, 2], values), release.candidates, t=1)
    assert_close(there.scores().cpu(), here.scores(), rtol=1e-9, atol=1e-9)
    assert there.select(q=3).tolist() == here.select(q=3).tolist()


# --- memory ---

SCORE_36000_ROWS = """
import torch
from botorch_private import DiscreteUCB, NoisyProjection, PublicScaling, make_model
from botorch_private.curator.publish import publish

def peak_kilobytes():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1])

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
records = torch.rand(36_000, 10, dtype=torch.float64, generator=generator)
scaling = PublicScaling([0.0] * 10, [1.0] * 10)
release = publish(records, scaling, NoisyProjection(50.0), generator=generator).release
model = make_model(release, range(50), torch.randn(50, generator=generator))
acqf = DiscreteUCB(model, release.candidates, t=50)
acqf(release.candidates[:2].unsqueeze(-2))
before = peak_kilobytes()
acqf.select(q=2, exclude=range(50), generator=generator)
print((peak_kilobytes() - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_scoring_36000_rows_of_10_after_50_measurements_adds_less_than_300_megabytes():
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCORE_36000_ROWS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0 <= float(finished.stdout) < 300
