"""Exploration by the deviation that records share, against a dense twin of the two parts."""

import math

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Log
from botorch.optim import optimize_acqf_discrete
from helpers.labels import label_release
from helpers.ucb_models import X, Y, single
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    Modeler,
    NoisyProjection,
    PublicScaling,
    make_model,
    ucb_beta,
)
from botorch_private.curator.publish import publish
from botorch_private.modeler.models.label_posterior import LabelPosterior

ASKED = [3, 17, 29, 41, 8, 55]


def noised_release(epsilon=2.0, n=60, seed=1):
    generator = torch.Generator().manual_seed(seed)
    table = torch.rand(n, 3, dtype=torch.float64, generator=generator)
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    mechanism = NoisyProjection(epsilon, 1e-5, None)
    return publish(table, scaling, mechanism, generator=generator).release


def modelled(release, asked=ASKED, scatter=0.1):
    rows = release.candidates[asked]
    values = rows.sin().sum(dim=1) * 3 + torch.linspace(0, scatter, len(asked), dtype=torch.float64)
    model = make_model(release, asked, values).eval()
    model.covar_module.outputscale = 1.7  # not the 1 that it starts with
    return model


def dense(model, candidates, shared_kernel):
    """Posterior deviation of the shared part, in outcome units: one solve with the whole matrix."""
    rows = model.train_inputs[0]
    s = model.covar_module.outputscale.detach()
    with torch.no_grad():
        whole = model.covar_module(rows).to_dense()
        whole = whole + model.likelihood.noise * torch.eye(len(rows), dtype=torch.float64)
        cross = s * shared_kernel(candidates, rows)
        prior = s * shared_kernel(candidates, candidates).diagonal()
    variance = prior - (cross * torch.linalg.solve(whole, cross.T).T).sum(dim=1)
    return variance.clamp_min(0).sqrt() * model.outcome_transform.stdvs.squeeze()


def smooth_part(kernel):
    """What different records have in common, also of a record with itself."""

    def covariance(one, other):
        squared = torch.cdist(one, other).square() / kernel.smooth_lengthscale.double().square()
        return (kernel.shared_variance.double().squeeze() * torch.exp(-squared / 2)).detach()

    return covariance


def deviations(acqf):
    """``std`` in ``mean + sqrt(beta) std``."""
    mean = DiscreteUCB(acqf.model, acqf.candidates, t=1, beta=0.0).scores()
    return (acqf.scores() - mean) / math.sqrt(acqf.beta)


def unmeasured(candidates, asked=ASKED):
    left = torch.ones(len(candidates), dtype=torch.bool)
    left[asked] = False
    return left


@settings(deadline=None, max_examples=15, derandomize=True)
@given(st.floats(0.3, 20.0), st.integers(1, 6), st.floats(0.2, 5.0))
def test_the_deviation_is_that_of_the_part_which_records_share(epsilon, t, factor):
    release = noised_release(epsilon)
    model = modelled(release, ASKED[:t])
    kernel = model.covar_module.base_kernel
    kernel.lengthscale = kernel.lengthscale * factor
    left = unmeasured(release.candidates, ASKED[:t])
    expected = dense(model, release.candidates, smooth_part(kernel))[left]
    found = deviations(DiscreteUCB(model, release.candidates, t=3))[left]
    assert_close(found, expected, rtol=1e-6, atol=1e-5 * float(model.outcome_transform.stdvs))


def test_the_same_of_labels():
    release, _ = label_release()
    model = modelled(release, asked=[3, 17, 29])
    kernel = model.covar_module.base_kernel

    def shared(one, other):
        return kernel.shared(one[:, 0].long().unsqueeze(-1), other[:, 0].long()).double()

    left = unmeasured(release.candidates, [3, 17, 29])
    expected = dense(model, release.candidates, shared)[left]
    posterior = LabelPosterior(model, release.candidates)
    assert_close(deviations(DiscreteUCB(posterior, None, t=3))[left], expected, rtol=1e-6, atol=1e-6)
    by_row = DiscretePosterior(model, release.candidates)
    assert_close(deviations(DiscreteUCB(by_row, None, t=3))[left], expected, rtol=1e-6, atol=1e-6)


def test_a_measured_row_has_nothing_left_to_teach():
    release = noised_release()
    model = modelled(release)
    model.likelihood.noise = 1e-4
    found = deviations(DiscreteUCB(model, release.candidates, t=3))
    assert float(found[ASKED].max()) < 0.05 * float(found[unmeasured(release.candidates)].min())


def test_kept_from_round_to_round_it_is_that_of_a_fresh_posterior():
    release = noised_release()
    model = modelled(release)
    posterior = DiscretePosterior(model, release.candidates)
    posterior.append(11, 0.3)
    posterior.append(23, 0.8)
    again = posterior.condition_on_observations(X=release.candidates[[31]], Y=torch.ones(1, 1).double())
    fresh = DiscretePosterior(again.model, release.candidates).condition_on_observations(
        release.candidates[[11, 23, 31]], torch.tensor([[0.3], [0.8], [1.0]], dtype=torch.float64)
    )
    assert_close(again.ranking(shared=True).variance, fresh.ranking(shared=True).variance)


def test_a_row_by_itself_and_the_discrete_optimizer_agree_with_select():
    release = noised_release()
    model = modelled(release)
    acqf = DiscreteUCB(model, release.candidates, t=3)
    left = unmeasured(release.candidates)
    points = release.candidates.unsqueeze(-2)
    assert_close(acqf(points).detach()[left], acqf.scores()[left], rtol=1e-9, atol=1e-9)
    open_rows = release.candidates[left]
    best, _ = optimize_acqf_discrete(acqf, q=1, choices=open_rows)
    assert torch.equal(best[0], release.candidates[int(acqf.select(exclude=ASKED))])


def test_batches_count_pending_rows_in_both_ways():
    release = noised_release()
    model = modelled(release)
    acqf = DiscreteUCB(model, release.candidates, t=3)
    first, second = acqf.select(q=2, exclude=ASKED).tolist()
    acqf.set_X_pending(release.candidates[[first]])
    assert int(acqf.select(exclude=[*ASKED, first])) == second


def test_a_kernel_without_a_part_of_each_record_has_the_whole_deviation():
    shared, theory = (DiscreteUCB(single(), X, t=3, exploration=e) for e in ("shared", "theory"))
    assert torch.equal(shared.scores(), theory.scores())
    exact = modelled(noised_release(epsilon=1e7))
    rows = noised_release(epsilon=1e7).candidates
    shared, theory = (DiscreteUCB(exact, rows, t=3, exploration=e) for e in ("shared", "theory"))
    assert_close(shared.scores(), theory.scores(), rtol=1e-4, atol=1e-4)


def test_an_outcome_transform_after_which_variances_do_not_add_up_has_the_whole_deviation():
    release = noised_release()
    kernel = modelled(release).covar_module
    rows = release.candidates[ASKED]
    model = SingleTaskGP(rows, Y[: len(ASKED), :1].exp(), covar_module=kernel, outcome_transform=Log())
    shared, theory = (
        DiscreteUCB(model, release.candidates, t=3, exploration=e) for e in ("shared", "theory")
    )
    assert torch.equal(shared.scores(), theory.scores())
    points = release.candidates.unsqueeze(-2)
    assert torch.equal(shared(points), theory(points))


def test_the_schedule_is_the_theorys_for_ten_rounds_and_a_fifth_of_it_afterwards():
    for t, scale in ((1, 1.0), (10, 1.0), (11, 0.2), (100, 0.2)):
        assert DiscreteUCB(single(), X, t=t).beta == scale * ucb_beta(t, 40)
        assert DiscreteUCB(single(), X, t=t, exploration="theory").beta == ucb_beta(t, 40)
        assert DiscreteUCB(single(), X, t=t, beta_scale=0.5).beta == 0.5 * ucb_beta(t, 40)


@pytest.mark.parametrize("exploration", ["shared", "theory"])
def test_a_modeler_hands_its_exploration_on(exploration):
    release = noised_release()
    history = list(zip(ASKED, [0.1, 0.9, 0.4, 0.3, 0.8, 0.2], strict=True))
    modeler = Modeler(release, history=history, n_initial=2, exploration=exploration)
    acqf = DiscreteUCB(modeler.posterior(), None, t=5, exploration=exploration)
    assert modeler.ask() == int(acqf.select(exclude=ASKED))


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="exploration must be one of 'shared', 'theory', got 'greedy'"):
        DiscreteUCB(single(), X, t=1, exploration="greedy")
    with pytest.raises(ValueError, match="exploration must be one of 'shared', 'theory', got 3"):
        Modeler(noised_release(), exploration=3)  # type: ignore[arg-type]
