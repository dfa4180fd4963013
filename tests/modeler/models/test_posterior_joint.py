"""The joint posterior of a DiscretePosterior at any points, and BoTorch's acquisition on it."""

import warnings

import pytest
import torch
from botorch.acquisition import (
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from helpers.dense_gp import (
    INPUTS,
    KERNELS,
    OUTCOMES,
    ROWS,
    VALUES,
    N,
    array,
    assert_moments,
    gp,
)
from helpers.draws import seeded, uniform
from torch.testing import assert_close

from botorch_private import DiscretePosterior, DiscreteUCB


def conditioned(variances=None, appended=None, **settings):
    """Return a DiscretePosterior and BoTorch's model of the same observations."""
    model = gp([0, 1, 2], variances=variances, **settings)
    posterior = DiscretePosterior(model, ROWS)
    posterior.append(9, 1.0, noise_variance=appended)
    transform = model.outcome_transform
    values = torch.cat([VALUES[:3], torch.ones(1, dtype=torch.float64)])
    theirs = gp([0, 1, 2, 9], values, None if variances is None else [*variances, appended], **settings)
    theirs.set_train_data(targets=transform(values.unsqueeze(-1))[0].squeeze(-1))
    if variances is not None:
        noise = torch.tensor([*variances, appended], dtype=torch.float64)
        theirs.likelihood.noise = noise / transform.stdvs.squeeze().square()
    theirs.outcome_transform = transform
    return posterior, theirs


@pytest.mark.parametrize("observation_noise", [False, True, "tensor"])
@pytest.mark.parametrize("variances", [None, [0.02, 0.3, 0.1]], ids=["learned", "known"])
@pytest.mark.parametrize("shape", [(1,), (4,), (5, 1), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("kernel", ["RBF ARD", "released", "sum"])
def test_joint_posterior_equals_that_of_botorch(kernel, shape, variances, observation_noise):
    appended = None if variances is None else 2.0
    ours, theirs = conditioned(variances, appended, kernel=KERNELS[kernel])
    points = uniform(*shape, 3, seed=6)
    if observation_noise == "tensor":
        observation_noise = 0.1 + uniform(*shape, 1, seed=7)
    with torch.no_grad():
        one, other = (
            model.posterior(points, observation_noise=observation_noise) for model in (ours, theirs)
        )
    assert one.mean.shape == (*shape, 1)
    assert_close(one.mean, other.mean, rtol=1e-8, atol=1e-8)
    assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)
    matrices = [p.distribution.covariance_matrix for p in (one, other)]
    assert_close(*matrices, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("outcome", ["none", "log", "log, standardize"])
def test_joint_posterior_is_that_of_botorch_under_every_outcome_transform(outcome):
    values = VALUES[[0, 1, 2, 9]].exp()
    ours = DiscretePosterior(gp([0, 1, 2, 9], values, outcome=outcome), ROWS)
    points = uniform(2, 3, 3, seed=6)
    sampler = SobolQMCNormalSampler(torch.Size([8]), seed=1)
    with torch.no_grad():
        one, other = ours.posterior(points), ours.model.posterior(points)
        assert_close(one.mean, other.mean, rtol=1e-8, atol=1e-8)
        assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)
        assert_close(sampler(one), sampler(other), rtol=1e-6, atol=1e-6)


def test_joint_posterior_applies_a_posterior_transform():
    ours, theirs = conditioned()
    weights = ScalarizedPosteriorTransform(torch.tensor([-2.0], dtype=torch.float64), offset=3.0)
    points = uniform(2, 3, 3, seed=6)
    with torch.no_grad():
        one, other = (model.posterior(points, posterior_transform=weights) for model in (ours, theirs))
    assert_close(one.mean, other.mean, rtol=1e-8, atol=1e-8)
    assert_close(one.variance, other.variance, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", ["RBF", "Matern 2.5", "sum"])
def test_joint_posterior_has_the_gradients_of_botorch(kernel):
    ours, theirs = conditioned(kernel=KERNELS[kernel])
    gradients = []
    for model in (ours, theirs):
        points = uniform(4, 2, 3, seed=6).requires_grad_()
        posterior = model.posterior(points)
        weighed = (posterior.mean.sin() + posterior.variance.sqrt()).sum()
        gradients.append(torch.autograd.grad(weighed, points)[0])
    assert_close(*gradients, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_joint_posterior_at_the_candidates_is_the_moments(kernel, inputs):
    posterior = DiscretePosterior(gp(range(12), kernel=KERNELS[kernel], inputs=inputs), ROWS)
    with torch.no_grad():
        joint, marginal = posterior.posterior(ROWS), posterior.posterior(ROWS.unsqueeze(1))
    tolerance = 1e-6 if kernel == "Matern 0.5" else 1e-8  # GPyTorch's own distances of equal rows
    for moments in (joint, marginal):
        assert_moments(
            posterior, (array(moments.mean).ravel(), array(moments.variance).ravel()), tolerance
        )


def test_joint_posterior_takes_equal_points_and_points_that_are_known_almost_exactly():
    posterior = DiscretePosterior(gp(range(30), noise=1e-9, outcome="none"), ROWS)
    points = ROWS[[3, 3, 20, 5, 4]]
    joint = posterior.posterior(points)
    assert (joint.variance > -1e-9).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BoTorch reports the jitter that sampling needs
        assert torch.isfinite(joint.rsample(torch.Size([4]))).all()
    one_by_one = posterior.posterior(points.unsqueeze(1)).mean.squeeze()
    assert_close(one_by_one, VALUES[[3, 3, 20, 5, 4]], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("indices", [[1], [0, 0], [], 0])
def test_joint_posterior_knows_one_output(indices):
    posterior = DiscretePosterior(gp(), ROWS)
    assert_close(posterior.posterior(ROWS[:2], [0]).mean, posterior.posterior(ROWS[:2]).mean)
    with pytest.raises(ValueError, match=r"output_indices must be None or \[0\] for one output"):
        posterior.posterior(ROWS[:2], output_indices=indices)


# --- with acquisition functions of BoTorch ---


def monte_carlo(model, kind):
    sampler = SobolQMCNormalSampler(torch.Size([32]), seed=4)
    if kind is qUpperConfidenceBound:
        return kind(model, beta=2.0, sampler=sampler)
    if kind is qLogExpectedImprovement:
        return kind(model, best_f=0.5, sampler=sampler)
    return kind(model, X_baseline=ROWS[:3], sampler=sampler, cache_root=False, prune_baseline=False)


@pytest.mark.filterwarnings("ignore:A not p.d.")  # equal rows: the host adds jitter to sample
@pytest.mark.parametrize(
    "kind", [qUpperConfidenceBound, qLogExpectedImprovement, qLogNoisyExpectedImprovement]
)
def test_monte_carlo_acquisition_functions_take_it_for_a_model(kind):
    ours, theirs = conditioned()
    batch = ROWS[10:16].reshape(2, 3, 3)
    with torch.no_grad():
        scores = [monte_carlo(model, kind)(batch) for model in (ours, theirs)]
    assert_close(*scores, rtol=1e-5, atol=1e-5)
    row, _ = optimize_acqf_discrete(monte_carlo(ours, kind), q=2, choices=ROWS)
    expected, _ = optimize_acqf_discrete(monte_carlo(theirs, kind), q=2, choices=ROWS)
    assert torch.equal(row, expected)


@pytest.mark.filterwarnings("ignore:A not p.d.")  # equal rows: the host adds jitter to sample
@pytest.mark.parametrize("kind", [qUpperConfidenceBound, qLogNoisyExpectedImprovement])
def test_monte_carlo_acquisition_functions_keep_working_on_released_rows(kind):
    model = gp([0, 1, 2, 9], kernel=KERNELS["released"])
    rows, _ = optimize_acqf_discrete(monte_carlo(model, kind), q=2, choices=ROWS)
    assert (rows.unsqueeze(1) == ROWS).all(dim=-1).any(dim=-1).all()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_batch_is_the_same_by_select_and_by_the_discrete_optimizer(outcome):
    for seed in range(5):
        chosen = torch.randperm(20, generator=seeded(seed))[:4].tolist()
        posterior = DiscretePosterior(gp(chosen, (2 * VALUES[chosen]).exp(), outcome=outcome), ROWS)
        acqf = DiscreteUCB(posterior, None, t=3)
        picked = acqf.select(q=4, exclude=[20, 33])
        rows, _ = optimize_acqf_discrete(
            acqf, q=4, choices=ROWS[[*range(20), *range(21, 33), *range(34, N)]]
        )
        assert torch.equal(ROWS[picked], rows)
