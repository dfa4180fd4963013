"""DiscretePosterior.update: another model, at the cost of what changed, also after an interrupt."""

import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from helpers.dense_gp import (
    INPUTS,
    KERNELS,
    ROWS,
    VALUES,
    assert_equal_posteriors,
    gp,
    set_hyperparameters,
)
from helpers.draws import seeded, uniform

from botorch_private import DiscretePosterior, NoisyProjection, PrivateProjectionTransform, PublicScaling
from botorch_private.modeler.models import candidate_block, prior, sweep


def counted(patch):
    """Count the numbers of covariance matrices that are evaluated."""
    numbers = []
    for kind in (prior.ForwardPrior, prior.StationaryPrior):
        for name in ("covariance", "covariance64"):
            if name in vars(kind):
                evaluate = vars(kind)[name]

                def counting(self, X, Z, evaluate=evaluate):
                    if not numbers or numbers[-1] is not None:  # not within another call
                        numbers.append(None)
                        result = evaluate(self, X, Z)
                        numbers[-1] = len(X) * len(Z)
                        return result
                    return evaluate(self, X, Z)

                patch.setattr(kind, name, counting)
    return numbers


@pytest.mark.parametrize("kernel", ["RBF", "released", "rational quadratic"])
def test_a_model_of_one_more_observation_costs_one_row_of_the_kernel(kernel, monkeypatch):
    n, t = 500, 20
    rows = uniform(n, 3, seed=2)
    posterior = DiscretePosterior(gp(range(t), uniform(t), kernel=KERNELS[kernel], rows=rows), rows)
    assert posterior.mean.shape == (n,)
    more = gp(range(t + 1), 5 + 3 * uniform(t + 1, seed=9), kernel=KERNELS[kernel], rows=rows)
    numbers = counted(monkeypatch)
    posterior.update(more)
    posterior.moments()
    assert n <= sum(numbers) <= n + t + 1
    assert_equal_posteriors(posterior, DiscretePosterior(more, rows))


@pytest.mark.parametrize("kernel", ["RBF", "rational quadratic"])
def test_other_values_and_a_correction_cost_no_kernel_at_all(kernel, monkeypatch):
    posterior = DiscretePosterior(gp(range(20), uniform(20), kernel=KERNELS[kernel]), ROWS)
    posterior.moments()
    numbers = counted(monkeypatch)
    other = gp(range(20), 5 - 3 * uniform(20, seed=9), kernel=KERNELS[kernel])
    posterior.update(other)
    posterior.moments()
    posterior.correct(7, 4.0)
    posterior.moments()
    posterior.update(gp(range(7), uniform(7), kernel=KERNELS[kernel]))
    posterior.moments()
    assert numbers == []


@pytest.mark.parametrize("known_noise", [False, True])
@pytest.mark.parametrize("kernel", ["RBF", "released", "rational quadratic"])
@pytest.mark.parametrize(
    "rows",
    [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2], [0], [9, 1, 2, 3], [3, 2, 1, 0], [0, 1, 9, 3], [8, 9]],
    ids=str,
)
def test_an_updated_posterior_equals_a_new_one(rows, kernel, known_noise):
    def model(rows, offset=0.0):
        noise = [0.01 * (1 + row) for row in rows] if known_noise else None
        return gp(rows, VALUES[rows] + offset, noise, kernel=KERNELS[kernel])

    posterior = DiscretePosterior(model([0, 1, 2, 3]), ROWS)
    posterior.moments()
    posterior.append(30, 1.0, noise_variance=0.1 if known_noise else None)
    posterior.moments()
    kept = posterior.hallucinate([12])
    before = kept.moments()
    new = model(rows, offset=2.0)
    posterior.update(new)
    assert posterior.num_observations == len(rows)
    assert_equal_posteriors(posterior, DiscretePosterior(new, ROWS))
    posterior.append(11, -1.0, noise_variance=0.2 if known_noise else None)
    fresh = DiscretePosterior(new, ROWS)
    fresh.append(11, -1.0, noise_variance=0.2 if known_noise else None)
    assert_equal_posteriors(posterior, fresh)
    assert all(map(torch.equal, kept.moments(), before))


CHANGES = {
    "length-scale": {"lengthscale": 0.3},
    "output scale": {"outputscale": 2.0},
    "noise": {"noise": 0.5},
    "mean": {"constant": -1.0},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_model_of_other_hyperparameters_is_computed_anew(change):
    posterior = DiscretePosterior(gp([0, 1, 2, 3]), ROWS)
    posterior.moments()
    new = gp([0, 1, 2, 3, 4], **change)
    posterior.update(new)
    assert_equal_posteriors(posterior, DiscretePosterior(new, ROWS))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kernel", ["RBF", "rational quadratic"])
def test_the_model_before_an_update_may_change_afterwards(kernel, change):
    old = gp([0, 1, 2], kernel=lambda: ScaleKernel(KERNELS[kernel]()))
    posterior = DiscretePosterior(old, ROWS)
    posterior.moments()
    new = gp([0, 1, 2, 3], kernel=lambda: ScaleKernel(KERNELS[kernel]()))
    posterior.update(new)
    set_hyperparameters(old, **change)
    old.train()
    fresh = DiscretePosterior(new, ROWS)
    assert_equal_posteriors(posterior, fresh)
    for one in (posterior, fresh):
        one.append(9, 2.0)
    assert_equal_posteriors(posterior, fresh)


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_a_model_of_other_width_or_dtype_is_refused_and_changes_nothing():
    posterior = DiscretePosterior(gp(kernel=RBFKernel), ROWS)
    posterior.append(9, 1.0)
    before = posterior.moments()
    wide, single = uniform(5, 4), "model must stay torch.float64 on cpu, got torch.float32 on cpu"
    for model, message in (
        (gp(kernel=RBFKernel, rows=wide), "candidates must have 4 columns"),
        (gp(kernel=MaternKernel, rows=wide), "candidates must have 4 columns"),  # other hyperparameters
        (SingleTaskGP(ROWS[:3].float(), VALUES[:3, None].float()), single),
    ):
        with pytest.raises(ValueError, match=message):
            posterior.update(model)
        assert posterior.num_observations == 4
        assert all(map(torch.equal, posterior.moments(), before))


def test_a_computation_that_was_cut_off_is_done_again(monkeypatch):
    """Ctrl-C, or a GPU that runs out of memory: nothing may look finished that is not."""
    monkeypatch.setattr(sweep, "_BLOCK", 16)
    posterior, expected = (DiscretePosterior(gp(), ROWS) for _ in range(2))
    posterior.moments()
    evaluate, calls = prior.StationaryPrior.covariance, []

    def cut_off(self, X, Z):
        calls.append(len(Z))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return evaluate(self, X, Z)

    for change in (
        lambda one: one.append(7, 1.0),
        lambda one: one.correct(7, 2.0),
        lambda one: one.update(gp([0, 1], noise=0.1)),
    ):
        change(posterior)
        change(expected)
        calls.clear()
        monkeypatch.setattr(prior.StationaryPrior, "covariance", cut_off)
        try:
            posterior.moments()
        except KeyboardInterrupt:
            assert len(calls) == 2
        monkeypatch.setattr(prior.StationaryPrior, "covariance", evaluate)
        assert_equal_posteriors(posterior, expected)


def test_a_copy_survives_that_the_original_is_cut_off(monkeypatch):
    monkeypatch.setattr(sweep, "_BLOCK", 16)
    original = DiscretePosterior(gp(range(5)), ROWS)
    twin = original.hallucinate([30])
    before = twin.moments()
    original.append(7, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(candidate_block.CandidateBlock, "_write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            original.moments()
        with pytest.raises(ZeroDivisionError):
            original.moments()
    expected = DiscretePosterior(gp(range(5)), ROWS)
    expected.append(7, 1.0)
    assert_equal_posteriors(original, expected)
    assert all(map(torch.equal, twin.moments(), before))


@pytest.mark.parametrize("inputs", INPUTS)
def test_an_updated_posterior_equals_a_new_one_also_with_another_input_transform(inputs):
    posterior = DiscretePosterior(gp(range(4)), ROWS)
    posterior.append(9, 1.0)
    posterior.moments()
    new = gp(range(5), inputs=inputs)
    posterior.update(new)
    assert_equal_posteriors(posterior, DiscretePosterior(new, ROWS))


def test_an_update_may_project_the_same_candidates_to_another_width():
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    models = []
    for width in (3, 5):
        mechanism = NoisyProjection(8.0, projection_dim=width)
        transform = PrivateProjectionTransform(ROWS, scaling, mechanism, generator=seeded(width))
        model = SingleTaskGP(
            ROWS[:4], VALUES[:4, None], covar_module=RBFKernel(), input_transform=transform
        )
        models.append(model)
    posterior = DiscretePosterior(models[0], ROWS)
    posterior.moments()
    posterior.update(models[1])
    assert_equal_posteriors(posterior, DiscretePosterior(models[1], ROWS))
