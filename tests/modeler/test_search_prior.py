"""What a history tells a modeler reaches its model; a length-scale for each feature is an option."""

import math

import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import go_on

from botorch_private import (
    CellResponse,
    Cells,
    Curator,
    Modeler,
    NoisyProjection,
    PublicScaling,
    SearchPrior,
    fit_model,
    make_model,
)
from botorch_private.modeler.models.fit import log_density

PRIOR = SearchPrior((3.0, 30.0), 7.0, outcome_noise=0.3, names=("a", "b"))
RECORDS = torch.rand(80, 2, generator=seeded(0), dtype=torch.float64)
OUTCOMES = torch.sin(6 * RECORDS[:, 0])  # the second feature says nothing
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["a", "b"])


def released(**more):
    noise = NoisyProjection(8.0, **more)
    return Curator(RECORDS, SCALING, noise, OUTCOMES, generator=seeded(1)).release


def kernel_of(**more):
    return make_model(released(), range(20), OUTCOMES[:20], **more).covar_module.base_kernel


def test_length_scales_are_the_medians_and_the_start():
    shared, each = kernel_of(prior=PRIOR), kernel_of(prior=PRIOR, ard=True)
    assert shared.lengthscale.tolist() == [[pytest.approx(7.0, rel=1e-6)]]
    assert shared.lengthscale_prior.loc.exp().item() == pytest.approx(7.0, rel=1e-6)
    assert each.lengthscale[0].tolist() == pytest.approx([3.0, 30.0], rel=1e-6)
    assert each.lengthscale_prior.loc.exp().tolist() == pytest.approx([3.0, 30.0], rel=1e-6)
    assert set(each.lengthscale_prior.scale.tolist()) == {float(kernel_of().lengthscale_prior.scale)}


def test_scatter_is_the_median_of_its_prior_unless_it_is_said():
    for more, wanted in (({}, 0.3), ({"outcome_noise": 0.1}, 0.1)):
        model = make_model(released(), [0, 1], [1.0, 2.0], prior=PRIOR, **more)
        loc = model.likelihood.noise_covar.noise_prior.loc
        assert float(loc) == pytest.approx(math.log(wanted), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_fit_in_closed_form_climbs_the_density_of_gpytorch(dtype):
    model = make_model(released(), range(20), OUTCOMES[:20], prior=PRIOR, ard=True, dtype=dtype)
    start = log_density(model)
    fit_model(model)
    best = log_density(model)
    assert best > start
    for name, raw in model.named_parameters():
        if not raw.requires_grad:
            continue
        kept = raw.data.clone()
        for step in (-0.05, 0.05):
            raw.data = kept + step
            assert log_density(model) <= best + 1e-3, name
        raw.data = kept


def test_a_modeler_searches_with_both_and_is_the_same_again():
    release = released()
    one, two = (Modeler(release, ard=True, prior=PRIOR, generator=seeded(3)) for _ in range(2))
    for modeler in (one, two):
        go_on(modeler, OUTCOMES, 12)
    assert list(one.history) == list(two.history)
    assert one.ard
    assert one.prior == PRIOR
    assert one.model().covar_module.base_kernel.lengthscale.shape == (1, 2)
    assert Modeler(release).ard is False


def test_a_length_scale_each_finds_which_feature_matters():
    curator = Curator(RECORDS, SCALING, NoisyProjection(8.0), OUTCOMES, generator=seeded(1))
    answers = [curator.query(row) for row in range(60)]
    modeler = Modeler(curator.release, ard=True, history=answers)
    first, second = modeler.model().covar_module.base_kernel.lengthscale[0].tolist()
    assert second > 2 * first


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"prior": SearchPrior((1.0,), 1.0, 0.4)}, ValueError, "prior must be for the 2 features"),
        (
            {"prior": SearchPrior((1.0, 2.0), 1.0, 0.4, ("b", "a"))},
            ValueError,
            "prior must be for the features of the release, in their order",
        ),
        ({"prior": 3.0}, TypeError, "prior must be a SearchPrior, got float"),
        ({"ard": True, "denoise": True}, ValueError, "ard must be False for rotated or projected"),
        ({"ard": "yes"}, ValueError, "ard must be True or False"),
    ],
)
def test_what_does_not_fit_the_release_is_refused_when_it_is_made(given, error, message):
    with pytest.raises(error, match=message):
        Modeler(released(), **given)


def test_rotated_rows_and_labels_are_refused():
    with pytest.raises(ValueError, match="ard must be False for rotated or projected"):
        Modeler(released(projection_dim=2), ard=True)
    Modeler(released(projection_dim=2), prior=PRIOR)
    cells = Cells({"a": [0, 0.5, 1], "b": [0, 0.5, 1]})
    labels = Curator(RECORDS, cells, CellResponse(3.0, cells), OUTCOMES).release
    for given in ({"ard": True}, {"prior": PRIOR}):
        with pytest.raises(ValueError, match="ard False and prior None for a release of labels"):
            Modeler(labels, **given)
