"""The straddle score is its formula, on every way in which candidates are scored."""

import math

import pytest
import torch
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import ModelListGP
from botorch.optim import optimize_acqf_discrete
from helpers.draws import seeded
from helpers.ucb_models import ASKED, X, fixed_noise, private, single

from botorch_private import DiscretePosterior, DiscreteStraddle, DiscreteUCB, ucb_beta

MODELS = {"single": single, "fixed noise": fixed_noise, "private": private}


def formula(mean, deviation, level, beta):
    return [
        math.sqrt(beta) * sd - abs(m - level)
        for m, sd in zip(mean.tolist(), deviation.tolist(), strict=True)
    ]


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("level", [-50.0, 0.3, 50.0])
def test_scores_are_the_formula_of_the_posterior(make, level):
    model = make()
    acqf = DiscreteStraddle(model, X, t=3, level=level, exploration="theory")
    assert acqf.beta == ucb_beta(3, len(X))
    with torch.no_grad():
        posterior = model.posterior(X)
    expected = torch.tensor(
        formula(posterior.mean[:, 0], posterior.variance[:, 0].sqrt(), level, acqf.beta),
        dtype=torch.float64,
    )
    torch.testing.assert_close(acqf.scores(), expected, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(acqf(X.unsqueeze(1)), expected, rtol=1e-6, atol=1e-8)
    left = [i for i in range(len(X)) if i not in ASKED]
    best = max(left, key=expected.tolist().__getitem__)
    assert acqf.select(exclude=ASKED).tolist() == [best]
    _, value = optimize_acqf_discrete(acqf, q=1, choices=X[left])
    torch.testing.assert_close(value.squeeze(), expected[best], rtol=1e-6, atol=1e-8)


def test_chunks_score_as_the_fast_posterior_does():
    several = ModelListGP(single(), fixed_noise())
    weights = torch.tensor([1.0, 0.0], dtype=torch.float64)
    options = {"t": 1, "level": 0.2, "exploration": "theory"}
    slow = DiscreteStraddle(
        several, X, posterior_transform=ScalarizedPosteriorTransform(weights), chunk_size=7, **options
    )
    torch.testing.assert_close(
        slow.scores(), DiscreteStraddle(single(), X, **options).scores(), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("exploration", ["shared", "theory"])
def test_a_level_beyond_all_means_leaves_an_upper_or_a_lower_bound(exploration):
    model = DiscretePosterior(private(), X)
    for level, maximize in ((1e140, True), (-1e140, False)):
        options = {"t": 2, "exploration": exploration}
        straddle = DiscreteStraddle(model, X, level=level, **options)
        bound = DiscreteUCB(model, X, maximize=maximize, **options)
        chosen = straddle.select(q=6, exclude=ASKED, generator=seeded(1))
        assert torch.equal(chosen, bound.select(q=6, exclude=ASKED, generator=seeded(1)))


def test_a_batch_is_what_pending_points_give_one_after_another():
    options = {"t": 1, "level": 0.3, "exploration": "theory"}
    together = DiscreteStraddle(single(), X, **options).select(q=4, exclude=ASKED).tolist()
    one_by_one = []
    for _ in range(4):
        acqf = DiscreteStraddle(single(), X, X_pending=X[one_by_one], **options)
        one_by_one += acqf.select(exclude=[*ASKED, *one_by_one]).tolist()
    assert together == one_by_one


@pytest.mark.parametrize("level", [float("nan"), float("inf"), "1", None, True])
def test_a_level_is_a_finite_number(level):
    with pytest.raises(ValueError, match="level must be a finite number"):
        DiscreteStraddle(single(), X, t=1, level=level)
