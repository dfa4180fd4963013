"""LabelKernel and LabelPosterior against dense twins; a search over labels by Modeler and BoTorch."""

import copy
import math

import numpy as np
import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.optim import optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers.labels import label_release, slow_covariance
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from botorch_private import (
    Curator,
    DiscreteUCB,
    Modeler,
    NoisyProjection,
    PublicScaling,
    fit_model,
    make_model,
)
from botorch_private.exchange.cell_space import CellSpace
from botorch_private.modeler.models.fit import log_density
from botorch_private.modeler.models.label_frequencies import cell_frequencies
from botorch_private.modeler.models.label_kernel import LabelKernel
from botorch_private.modeler.models.label_likelihood import LabelLikelihood
from botorch_private.modeler.models.label_posterior import LabelPosterior
from botorch_private.modeler.models.log_density import LogDensity
from botorch_private.modeler.models.posterior import DiscretePosterior
from botorch_private.privacy.response_law import ResponseLaw


def modelled(release, t=12, seed=1):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(release.candidates), generator=generator)[:t].tolist()
    values = release.labels[rows].double() + torch.randn(t, generator=generator, dtype=torch.float64)
    return make_model(release, rows, values).eval(), rows


@given(
    counts=st.lists(st.integers(0, 400), min_size=2, max_size=12).filter(lambda c: sum(c) > 0),
    epsilon=st.floats(0.2, 8.0),
)
@settings(deadline=None, max_examples=60)
def test_frequencies_are_those_of_greatest_likelihood(counts, epsilon):
    """Against expectation maximization, which climbs the same likelihood step by step."""
    law = ResponseLaw.at_most(epsilon, len(counts))
    found = cell_frequencies(torch.tensor(counts), law.p, law.q).numpy()
    told = np.full((len(counts),) * 2, law.q) + (law.p - law.q) * np.eye(len(counts))

    def likelihood(frequencies):
        return float(np.array(counts) @ np.log(told @ frequencies))

    climbed = np.full(len(counts), 1 / len(counts))
    for _ in range(300):
        share = told * climbed
        climbed = (np.array(counts) @ (share / share.sum(axis=1, keepdims=True))) / sum(counts)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0).all()
    assert likelihood(found) >= likelihood(climbed) - 1e-9 * sum(counts)


@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 3, 4)])
def test_covariances_follow_from_the_channel(shape):
    release, _ = label_release(shape=shape, epsilon=4.0)
    kernel = LabelKernel.of(release).double()
    lengthscales = [0.3, 0.7, 1.5][: len(shape)]
    kernel.lengthscale = torch.tensor([lengthscales], dtype=torch.float64)
    kernel.scatter = torch.tensor(0.4, dtype=torch.float64)
    expected = slow_covariance(release, lengthscales, 0.4, kernel.frequencies.numpy())
    found = kernel(release.candidates).to_dense().detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    diagonal = kernel(release.candidates, diag=True).detach().numpy()
    np.testing.assert_allclose(diagonal, expected.diagonal(), atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0


def test_unordered_parts_know_only_same_and_other():
    space = CellSpace((3, 1, 2), (False, True, True))
    law = ResponseLaw.at_most(30.0, 6)
    kernel = LabelKernel(space, law, torch.full((6,), 1 / 6, dtype=torch.float64))
    kernel.lengthscale = torch.tensor([[0.8, 0.5]])
    rows = torch.stack([torch.arange(6), torch.arange(6)], dim=1).double()
    found = kernel(rows).to_dense().detach()
    assert float(found[0, 2]) == pytest.approx(float(found[0, 4]))
    assert float(found[0, 2]) == pytest.approx(np.exp(-1 / (2 * 0.64)), rel=1e-3)


@pytest.mark.parametrize("shape", [(127,), (128,), (700,), (3, 131), (150, 4)])
@pytest.mark.parametrize("lengthscale", [0.02, 0.5, 20.0])
def test_long_parts_are_convolved_to_the_same(shape, lengthscale):
    """Against all pairs of cells; also the derivatives that the fit takes."""
    space = CellSpace(shape, (True,) * len(shape))
    count = space.count
    frequencies = torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    kernel = LabelKernel(
        space, ResponseLaw.at_most(9.0, count), frequencies / frequencies.sum()
    ).double()
    lengthscales = torch.full((len(shape),), lengthscale, dtype=torch.float64)
    kernel.lengthscale = lengthscales.unsqueeze(0)
    places = space.coordinates(torch.arange(count))
    squared = ((places[:, None] - places) / lengthscales).square()
    k = torch.exp(-squared.sum(dim=-1) / 2)
    dense = k @ kernel.frequencies
    weight, total = kernel.averages()
    assert torch.allclose(weight, dense, atol=1e-12)
    assert float(total.detach()) == pytest.approx(float(dense @ kernel.frequencies))
    likelihood = LabelLikelihood(kernel, np.zeros((2, 2)), np.array([0.0, 1.0]))
    for by in (None, *range(len(shape))):
        factor = 1.0 if by is None else squared[..., by]
        slow = (factor * k) @ kernel.frequencies
        found, whole = likelihood._averages(lengthscales.numpy(), by)
        np.testing.assert_allclose(found, slow.numpy(), atol=1e-12)
        assert whole == pytest.approx(float(slow @ kernel.frequencies))


@pytest.mark.parametrize("shape", [(4,), (3, 2)])
def test_the_posterior_of_labels_is_that_of_all_rows(shape):
    release, _ = label_release(shape=shape)
    model, rows = modelled(release)
    fast, slow = LabelPosterior(model, release.candidates), DiscretePosterior(model, release.candidates)
    for _ in range(3):
        for one, other in zip(fast.moments(), slow.moments(), strict=True):
            assert torch.allclose(one, other, atol=1e-10)
        new = next(row for row in range(60) if row not in rows)
        rows.append(new)
        fast.append(new, 1.5)
        slow.append(new, 1.5)
    pending = [row for row in range(60) if row not in rows][:4]
    for one, other in zip(
        fast.hallucinate(pending).moments(), slow.hallucinate(pending).moments(), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-10)


def test_botorch_agrees_about_every_row():
    release, _ = label_release()
    model, _ = modelled(release)
    mean, variance = LabelPosterior(model, release.candidates).moments()
    theirs = model.posterior(release.candidates)
    assert torch.allclose(mean, theirs.mean.squeeze(-1), atol=1e-6)
    assert torch.allclose(variance, theirs.variance.squeeze(-1), atol=1e-6)
    ours = DiscreteUCB(model, release.candidates, t=3, exploration="theory")
    bound = UpperConfidenceBound(model, beta=ours.beta)
    assert torch.allclose(ours.scores(), bound(release.candidates.unsqueeze(-2)), atol=1e-6)


@pytest.mark.parametrize("q", [1, 4])
def test_selection_takes_open_rows_of_the_best_labels(q):
    release, _ = label_release()
    model, rows = modelled(release)
    acqf = DiscreteUCB(model, release.candidates, t=3)
    chosen = acqf.select(q, exclude=rows, generator=torch.Generator().manual_seed(0)).tolist()
    assert not set(chosen) & set(rows)
    assert len(set(chosen)) == q
    scores = acqf.scores()
    scores[rows] = -torch.inf
    assert float(scores[chosen[0]]) == pytest.approx(float(scores.max()))
    rest = [row for row in range(60) if row not in chosen]
    assert set(acqf.select(60 - q, exclude=chosen, generator=torch.Generator()).tolist()) == set(rest)


def test_rows_of_one_label_are_taken_at_random():
    release, _ = label_release()
    model, _ = modelled(release)
    acqf = DiscreteUCB(model, release.candidates, t=3)
    chosen = {int(acqf.select(generator=torch.Generator().manual_seed(seed))) for seed in range(40)}
    assert len(chosen) > 3
    assert len({int(release.labels[row]) for row in chosen}) == 1
    assert int(acqf.select()) == int(acqf.select())


def test_botorchs_own_acquisitions_choose_among_rows():
    release, _ = label_release()
    model, _ = modelled(release)
    fit_model(model)
    X, _ = optimize_acqf_discrete(
        LogExpectedImprovement(model, best_f=1.0), q=1, choices=release.candidates
    )
    assert any(torch.equal(X[0], row) for row in release.candidates)


def test_gradient_of_the_density_is_right_and_the_value_is_gpytorchs():
    release, _ = label_release(shape=(3, 2, 2), epsilon=3.0)
    model, _ = modelled(release, t=20)
    density = LogDensity(model)
    u = density._now + 0.1
    density.write(u)
    value, gradient, _ = density(u)
    assert value / density.t == pytest.approx(log_density(model), abs=1e-9)
    for place in range(len(u)):
        step = np.zeros(len(u))
        step[place] = 1e-5
        slope = (density(u + step)[0] - density(u - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_the_fit_is_no_worse_than_botorchs():
    release, _ = label_release(n=200)
    model, _ = modelled(release, t=40)
    theirs = copy.deepcopy(model)
    fit_model(model)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(theirs.likelihood, theirs))
    assert log_density(model) >= log_density(theirs) - 1e-4


def test_a_search_finds_the_best_cell_and_goes_on_after_a_resume():
    release, true = label_release(n=400, shape=(6,), epsilon=4.0, seed=5)
    outcome = true.double()
    modeler = Modeler(release, generator=torch.Generator().manual_seed(2))
    for _ in range(25):
        row = modeler.ask()
        modeler.tell(row, float(outcome[row]))
    assert modeler.best.value == 5.0
    late = [row for row, _ in list(modeler.history)[10:]]
    assert outcome[late].mean() > 4.0
    again = Modeler(release, generator=torch.Generator().manual_seed(2), history=modeler.history)
    assert again.ask(3) == modeler.ask(3)
    assert int(outcome[modeler.recommend()]) == 5


def test_settings_that_labels_do_not_have_are_refused():
    release, _ = label_release()
    for wrong in ({"noise_aware": False}, {"ard": True}):
        with pytest.raises(ValueError, match="for a release of labels"):
            make_model(release, [0], [1.0], **wrong)


def test_hyperparameters_are_found_again():
    """With plenty of data the fit comes near the truth; SciPy minimizes the same density by itself."""
    release, _ = label_release(n=300, shape=(5,), epsilon=6.0)
    model, _ = modelled(release, t=60)
    fit_model(model)
    density = LogDensity(model)
    best = minimize(
        lambda u: -density(u)[0], density._now, method="Nelder-Mead", options={"maxiter": 4000}
    )
    assert density(density._now)[0] >= -best.fun - 1e-3


def test_a_release_of_coordinates_is_refused_with_what_is_wanted():
    scaling = PublicScaling([0.0], [1.0])
    release = Curator(torch.rand(9, 1).double(), scaling, NoisyProjection(3.0), torch.rand(9)).release
    with pytest.raises(ValueError, match="CellResponse"):
        LabelKernel.of(release)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rows: rows[:3] + 0.25,
        lambda rows: rows[:3] - 10.0,
        lambda rows: rows[:3] * torch.tensor([9.0, 1.0]) + 1,
        lambda rows: torch.rand(60, 2, dtype=torch.float64),
        lambda rows: rows[:3] * math.nan,
    ],
    ids=["between", "below", "above", "records", "nan"],
)
def test_points_that_are_no_rows_of_labels_are_refused(wrong):
    """They would be taken for the label that they are rounded to."""
    release, _ = label_release()
    model, _ = modelled(release)
    rows = wrong(release.candidates)
    with pytest.raises(ValueError, match=r"release.candidates, a label in 0\.\.5"):
        _ = model.posterior(rows).mean
    with pytest.raises(ValueError, match="candidates"):
        DiscreteUCB(model, rows, t=1).select()
