"""DiscretePosterior against dense formulas that share no code with it, and against BoTorch."""

import math

import numpy as np
import pytest
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from helpers.dense_gp import (
    INPUTS,
    KERNELS,
    MEANS,
    OUTCOMES,
    ROWS,
    VALUES,
    N,
    array,
    assert_equal_posteriors,
    assert_moments,
    column,
    dense,
    every_device,
    gp,
    noise_of,
    rows_of,
    seeded,
    set_hyperparameters,
    small_pieces,
    squared,
    to_model_units,
    to_outcome_units,
    uniform,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import DiscretePosterior, DiscreteUCB, ucb_beta

properties = settings(derandomize=True, max_examples=100, deadline=None, report_multiple_bugs=False)

# --- equal to the dense formula ---

indices = st.integers(0, N - 1)
values = st.floats(-3, 3)
variances = st.floats(1e-4, 1.0)
observations = st.lists(st.tuples(indices, values, variances), min_size=1, max_size=8)


@properties
@given(
    kernel=st.sampled_from(list(KERNELS)),
    scale=st.booleans(),
    mean=st.sampled_from(list(MEANS)),
    outcome=st.sampled_from(list(OUTCOMES)),
    inputs=st.sampled_from(list(INPUTS)),
    known_noise=st.booleans(),
    lengthscale=st.floats(0.2, 3),
    outputscale=st.floats(0.1, 10),
    noise=st.floats(1e-4, 1),
    trained=observations,
    batches=st.lists(observations, max_size=3),
    correction=st.none() | st.tuples(st.integers(0, 100), values),
    block=st.sampled_from([7, 16, 40]),
    kept=st.sampled_from([None, 1, 16 * 8 * 8, 10**6]),
)
def test_moments_equal_the_dense_formula(
    kernel,
    scale,
    mean,
    outcome,
    inputs,
    known_noise,
    lengthscale,
    outputscale,
    noise,
    trained,
    batches,
    correction,
    block,
    kept,
):
    known_noise &= "log" not in outcome  # BoTorch's Log refuses noise variances
    build = KERNELS[kernel]
    told = list(trained)
    to_outcome = (lambda value: math.exp(value / 3)) if "log" in outcome else float
    if "log" in outcome:
        outputscale = min(outputscale, 1.0)  # log-normal variances overflow soon
    model = gp(
        [index for index, _, _ in told],
        [to_outcome(value) for _, value, _ in told],
        [variance for _, _, variance in told] if known_noise else None,
        kernel=lambda: ScaleKernel(build()) if scale else build(),
        mean=mean,
        outcome=outcome,
        inputs=inputs,
        lengthscale=lengthscale,
        outputscale=outputscale,
        noise=noise,
    )
    transform = getattr(model, "outcome_transform", None)
    unit = float(transform.stdvs) ** 2 if outcome == "standardize" else 1.0

    def expected():
        X = rows_of(inputs)[[index for index, _, _ in told]]
        if known_noise:
            learned = np.array([variance for _, _, variance in told]) / unit
            learned[: len(trained)] = np.maximum(learned[: len(trained)], 1e-6)  # as GPyTorch does
        else:
            learned = noise_of(model, len(told))
        targets = to_model_units(transform, [to_outcome(value) for _, value, _ in told])
        return to_outcome_units(transform, *dense(model, rows_of(inputs), X, targets, learned))

    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, block=block)
        posterior = DiscretePosterior(model, ROWS, max_memory=kept)
        assert posterior.num_observations == len(told)
        assert_moments(posterior, expected())
        for batch in batches:
            for index, value, variance in batch:
                posterior.append(
                    index, to_outcome(value), noise_variance=variance if known_noise else None
                )
                told.append((index, value, variance))
            assert_moments(posterior, expected())
        if correction is not None:
            place, value = correction[0] % len(told), correction[1]
            index = told[place][0]
            equal = [i for i, (other, _, _) in enumerate(told) if ROWS[other].equal(ROWS[index])]
            if len(equal) == 1:
                posterior.correct(index, to_outcome(value))
                told[place] = (index, value, told[place][2])
                assert_moments(posterior, expected())


@pytest.mark.parametrize("kernel", ["RBF ARD", "Matern 1.5", "released", "sum"])
@pytest.mark.parametrize("count", [31, 32, 33, 64, 70])
def test_moments_equal_the_dense_formula_when_v_fills_its_slabs(kernel, count):
    chosen = torch.randint(N, (count,), generator=seeded(count)).tolist()
    model = gp(chosen[:3], kernel=KERNELS[kernel])
    grown = DiscretePosterior(model, ROWS)
    for index in chosen[3:]:
        grown.append(index, float(VALUES[index]))
        grown.mean  # noqa: B018 - one by one
    at_once = DiscretePosterior(model, ROWS)
    for index in chosen[3:]:
        at_once.append(index, float(VALUES[index]))
    targets = to_model_units(model.outcome_transform, VALUES[chosen])
    noise = noise_of(model, count)
    expected = to_outcome_units(
        model.outcome_transform, *dense(model, ROWS, ROWS[chosen], targets, noise)
    )
    assert_moments(grown, expected)
    assert_moments(at_once, expected)


@pytest.mark.parametrize("kernel", ["RBF ARD", "Matern 1.5", "released", "sum"])
def test_moments_equal_the_dense_formula_over_real_blocks_and_chunks(kernel):
    n, t = 2**16 + 3000, 33
    rows = uniform(n, 3, seed=4)
    chosen = torch.randint(n, (t,), generator=seeded(5)).tolist()
    outcomes = torch.sin(5 * rows[:, 0])
    model = gp(chosen[:30], outcomes[chosen[:30]], kernel=KERNELS[kernel], outcome="none", rows=rows)
    posterior = DiscretePosterior(model, rows)
    for index in chosen[30:]:
        posterior.mean  # noqa: B018
        posterior.append(index, float(outcomes[index]))
    edges = [0, 1, 2047, 2048, 8191, 8192, 2**16 - 1, 2**16, 2**16 + 1, n - 1, *chosen[-3:]]
    mean, variance = dense(model, rows[edges], rows[chosen], array(outcomes[chosen]), noise_of(model, t))
    np.testing.assert_allclose(array(posterior.mean)[edges], mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(array(posterior.variance)[edges], variance, rtol=1e-8, atol=1e-8)


def test_one_candidate_is_enough():
    model = gp([0])
    posterior = DiscretePosterior(model, ROWS[7:8])
    posterior.append(0, 1.5)
    targets = to_model_units(model.outcome_transform, [float(VALUES[0]), 1.5])
    expected = dense(model, ROWS[7:8], ROWS[[0, 7]], targets, noise_of(model, 2))
    assert_moments(posterior, to_outcome_units(model.outcome_transform, *expected))


def test_candidates_may_be_strided_and_may_require_gradients():
    strided = ROWS.T.contiguous().T
    assert not strided.is_contiguous()
    expected = DiscretePosterior(gp(), ROWS)
    assert_equal_posteriors(DiscretePosterior(gp(), strided), expected, 1e-12)
    leaf = ROWS.clone().requires_grad_()
    posterior = DiscretePosterior(gp(), leaf)
    posterior.append(4, 1.0)
    expected.append(4, 1.0)
    assert_equal_posteriors(posterior, expected, 1e-12)
    assert not posterior.mean.requires_grad


def test_moments_are_fresh_tensors():
    posterior = DiscretePosterior(gp(outcome="none"), ROWS)
    mean, variance = posterior.moments()
    kept = mean.clone(), variance.clone()
    mean.fill_(9.0)
    variance.fill_(9.0)
    assert torch.equal(posterior.mean, kept[0])
    assert torch.equal(posterior.variance, kept[1])


def test_a_model_without_observations_gives_its_prior():
    model = SingleTaskGP(
        ROWS[:0], column()[:0], outcome_transform=None, covar_module=ScaleKernel(RBFKernel())
    )
    set_hyperparameters(model)
    posterior = DiscretePosterior(model, ROWS)
    assert posterior.num_observations == 0
    outputscale = float(model.covar_module.outputscale.detach())
    assert_moments(posterior, (np.full(N, 0.4), np.full(N, outputscale)))
    with torch.no_grad():
        ours = posterior.posterior(ROWS[:3].unsqueeze(1), observation_noise=True)
        theirs = model.posterior(ROWS[:3].unsqueeze(1), observation_noise=True)
    assert_close(ours.variance, theirs.variance)
    posterior.append(4, 2.0)
    expected = dense(model, ROWS, ROWS[[4]], np.array([2.0]), noise_of(model, 1))
    assert_moments(posterior, expected)


# --- equal to BoTorch ---


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("variances", [None, [0.02, 0.3, 0.1]], ids=["learned", "known"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_moments_equal_the_posterior_of_botorch_before_and_after_conditioning(kernel, variances, inputs):
    model = gp(variances=variances, kernel=KERNELS[kernel], inputs=inputs)
    posterior = DiscretePosterior(model, ROWS)
    tolerance = 1e-6 if kernel == "Matern 0.5" else 1e-8  # GPyTorch's own distances of equal rows

    def assert_as(theirs):
        with torch.no_grad():
            moments = theirs.posterior(ROWS.unsqueeze(1))
        assert_moments(
            posterior, (array(moments.mean)[:, 0, 0], array(moments.variance)[:, 0, 0]), tolerance
        )

    assert_as(model)
    rows, outcomes = [7, 20, 5, 8], [1.0, -2.0, 0.5, 0.1]
    noise = None if variances is None else [0.1, 0.2, 0.05, 2.0]
    for i in range(4):
        posterior.append(rows[i], outcomes[i], noise_variance=noise and noise[i])
    unit = float(model.outcome_transform.stdvs) ** 2  # BoTorch takes noise in the model's units
    known = {} if noise is None else {"noise": column(*noise) / unit}
    assert_as(model.condition_on_observations(ROWS[rows], column(*outcomes), **known))


def test_learned_noise_on_top_of_known_noise_counts_for_appended_observations_too():
    known = torch.tensor([0.01, 0.2, 0.05], dtype=torch.float64)
    likelihood = FixedNoiseGaussianLikelihood(known, learn_additional_noise=True)
    model = SingleTaskGP(
        ROWS[:3],
        VALUES[:3, None],
        likelihood=likelihood,
        outcome_transform=None,
        covar_module=RBFKernel(),
    )
    model.likelihood.second_noise = 0.3
    posterior = DiscretePosterior(model, ROWS)
    posterior.append(9, 1.0, noise_variance=0.02)
    noise = np.array([0.01, 0.2, 0.05, 0.02]) + float(model.likelihood.second_noise.detach())
    targets = np.array([*array(VALUES[:3]), 1.0])
    assert_moments(posterior, dense(model, ROWS, ROWS[[0, 1, 2, 9]], targets, noise))


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_scores_equal_the_upper_confidence_bound_over_the_conditioned_model(outcome, maximize):
    model = gp([0, 1, 2, 3], VALUES[:4].exp(), outcome=outcome)
    posterior = DiscretePosterior(model, ROWS)
    posterior.append(9, 2.0)
    posterior.append(5, 0.5)
    model.posterior(ROWS[:1])
    conditioned = model.condition_on_observations(ROWS[[9, 5]], column(2.0, 0.5))
    beta = torch.tensor(ucb_beta(3, N), dtype=torch.float64)
    theirs = UpperConfidenceBound(conditioned, beta, maximize=maximize)(ROWS.unsqueeze(1)).detach()
    ours = DiscreteUCB(posterior, None, t=3, maximize=maximize)
    assert_close(ours.scores(), theirs, rtol=1e-8, atol=1e-8)
    assert_close(ours(ROWS.unsqueeze(1)).detach(), theirs, rtol=1e-8, atol=1e-8)
    minus = ScalarizedPosteriorTransform(torch.tensor([-1.0], dtype=torch.float64))
    if "log" not in outcome:
        negative = DiscreteUCB(posterior, None, t=3, maximize=not maximize, posterior_transform=minus)
        assert_close(negative.scores(), theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("standardize", [False, True], ids=["append", "update with a new Standardize"])
def test_forty_rounds_pick_what_plain_numpy_and_botorch_pick(standardize):
    rows = uniform(300, 4, seed=8)
    truth = torch.sin(6 * rows[:, 0]) + torch.cos(5 * rows[:, 1]) * rows[:, 2]
    beta = 4.0
    fixed = {"rows": rows, "lengthscale": 0.5, "outputscale": 1.0, "noise": 0.01, "constant": 0.0}
    fixed["outcome"] = "standardize" if standardize else "none"
    asked = [3, 1]
    model = gp(asked, truth[asked], **fixed)
    posterior = DiscretePosterior(model, rows)
    Z, y = array(rows), array(truth)
    K = np.exp(-squared(Z, Z, array(model.covar_module.base_kernel.lengthscale)) / 2)
    noise = float(model.likelihood.noise.detach())
    for _ in range(40):
        ours = int(DiscreteUCB(posterior, None, t=1, beta=beta).select(exclude=asked))
        told = (y[asked] - y[asked].mean()) / y[asked].std(ddof=1) if standardize else y[asked]
        solved = np.linalg.solve(K[np.ix_(asked, asked)] + noise * np.eye(len(asked)), K[asked])
        score = solved.T @ told + math.sqrt(beta) * np.sqrt(1 - (solved * K[asked]).sum(axis=0))
        score[asked] = -np.inf
        plain = int(score.argmax())
        rest = torch.tensor([i for i in range(300) if i not in asked])
        row, _ = optimize_acqf_discrete(
            UpperConfidenceBound(gp(asked, truth[asked], **fixed), beta), q=1, choices=rows[rest]
        )
        botorch = int((rows == row).all(dim=1).nonzero()[0])
        assert ours == plain == botorch
        asked.append(ours)
        if standardize:
            posterior.update(gp(asked, truth[asked], **fixed))
        else:
            posterior.append(ours, float(truth[ours]))


# --- devices ---


@every_device
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_device_gives_the_numbers_of_the_cpu(kernel, device):
    expected = DiscretePosterior(gp(range(6), kernel=KERNELS[kernel]), ROWS)
    posterior = DiscretePosterior(gp(range(6), kernel=KERNELS[kernel]).to(device), ROWS.to(device))
    for one in (expected, posterior):
        one.append(9, 1.0)
        one.moments()
        for index in range(10, 15):
            one.append(index, float(index % 3))
        one.correct(12, 7.0)
    assert posterior.mean.device.type == device
    twins = [one.hallucinate([30, 31]) for one in (expected, posterior)]
    for one, other in ((expected, posterior), twins):
        for wanted, actual in zip(one.moments(), other.moments(), strict=True):
            assert_close(actual.cpu(), wanted, rtol=1e-8, atol=1e-8)
    picks = [DiscreteUCB(one, None, t=2).select(q=3, exclude=[20, 33]).tolist() for one in twins]
    assert picks[0] == picks[1]
