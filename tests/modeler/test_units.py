"""What is chosen depends neither on the unit of the outcomes nor on a constant that was added."""

import math

import pytest
import torch
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Log, Standardize
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from helpers.draws import seeded
from helpers.outcome_tables import TABLES, branin, released, sine
from helpers.rounds import release_of

from botorch_private import DiscreteUCB, Modeler, NoisyProjection, OutcomeMechanism, PublicScaling
from botorch_private.curator.curator import Curator

ROUNDS = 30


UNITS = {
    "times 1e-12": lambda y: y * 1e-12,
    "times 1e12": lambda y: y * 1e12,
    "times 3e-7": lambda y: y * 3e-7,
    "plus 1e6 deviations": lambda y: y + 1e6 * y.std(),
    "both": lambda y: (y - 1e6 * y.std()) * 1e-9,
    "times 1e-160": lambda y: y * 1e-160,
    "times 1e140": lambda y: y * 1e140,
}


def picks(release, outcomes, rounds=ROUNDS, **settings):
    modeler = Modeler(release, generator=seeded(7), **settings)
    for _ in range(rounds):
        row = modeler.ask()
        modeler.tell(row, float(outcomes[row]))
    return [*modeler.history.indices, modeler.recommend()]


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_a_search_chooses_the_same_rows_in_every_unit(table):
    rows, outcomes = TABLES[table]()
    release = released(rows)
    expected = picks(release, outcomes)
    for name, unit in UNITS.items():
        assert picks(release, unit(outcomes)) == expected, name


SETTINGS = {
    "one initial row": {"n_initial": 1},
    "a share of noise, less exploration": {"outcome_noise": 0.3, "beta_scale": 0.2},
    "denoised rows": {"denoise": True},
    "kept hyperparameters": {"refit_every": 4},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_with_other_settings_too(settings):
    rows, outcomes = sine()
    release = released(rows)
    expected = picks(release, outcomes, 12, **settings)
    for name, unit in UNITS.items():
        assert picks(release, unit(outcomes), 12, **settings) == expected, name


def test_a_float32_modeler_takes_any_unit_and_a_constant_that_float32_could_not_hold():
    rows, outcomes = sine()
    release = released(rows)
    expected = picks(release, outcomes, 12, dtype=torch.float32)
    for name in ("times 1e-12", "times 1e12", "plus 1e6 deviations"):
        assert picks(release, UNITS[name](outcomes), 12, dtype=torch.float32) == expected, name


def test_a_batch_with_pending_rows_is_the_same_in_every_unit():
    rows, outcomes = sine()
    release = released(rows)
    chosen = []
    for unit in (lambda y: y, *UNITS.values()):
        modeler = Modeler(release, generator=seeded(7))
        for row in modeler.ask(8)[:6]:
            modeler.tell(row, float(unit(outcomes)[row]))
        chosen.append(modeler.ask(6))
    assert all(each == chosen[0] for each in chosen)


@pytest.mark.parametrize("outcome", ["constant", "noised"])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_answers_with_known_noise_are_searched_alike_in_every_unit(scale, outcome):
    rows, outcomes = branin()
    outcomes = torch.full_like(outcomes, -70.0) if outcome == "constant" else outcomes
    scaling = PublicScaling([0.0, 0.0], [1.0, 1.0])
    chosen = []
    for factor in (1.0, scale):
        mechanism = OutcomeMechanism(3.0, 0.0, (-300.0 * factor, 0.0))
        curator = Curator(
            rows,
            scaling,
            NoisyProjection(8.0),
            outcomes * factor,
            outcome_mechanism=mechanism,
            generator=seeded(8),
        )
        for n_initial in (1, 5):
            modeler = Modeler(curator.release, n_initial=n_initial, generator=seeded(9))
            for _ in range(12):
                modeler.tell(*curator.query(modeler.ask()))
            chosen.append([*modeler.history.indices, modeler.recommend()])
    assert chosen[:2] == chosen[2:]


# --- models of the user's own, without an outcome transform ---

X = torch.rand(60, 3, generator=seeded(10), dtype=torch.float64)
X = torch.cat([X, X[:20]])
Y = torch.sin(5 * X[:, :1]) + X[:, 1:2].square()


def raw_model(scale, outcome_transform=None, shift=0.0):
    kernel, likelihood = ScaleKernel(RBFKernel()), GaussianLikelihood()
    likelihood.noise_covar.raw_noise_constraint.lower_bound.fill_(0.0)
    model = SingleTaskGP(
        X[:9],
        (Y[:9] + shift) * scale,
        covar_module=kernel,
        likelihood=likelihood,
        outcome_transform=outcome_transform,
    )
    # hyperparameters in the unit of the targets, set beside the constraints, which have a unit
    own = 1.0 if outcome_transform is not None else scale**2
    for module, name, value in (
        (kernel, "outputscale", own),
        (likelihood.noise_covar, "noise", 1e-6 * own),
    ):
        constraint = getattr(module, f"raw_{name}_constraint")
        constraint._transform = constraint._inv_transform = None
        getattr(module, f"raw_{name}").data.fill_(value)
    model.mean_module.raw_constant.data.fill_(0.0)
    kernel.base_kernel.lengthscale = 0.4
    return model.eval()


POWERS = [2.0**-80, 2.0**-40, 2.0**40, 2.0**80]  # exact, so that every number is


@pytest.mark.parametrize("transform", [None, ScalarizedPosteriorTransform(torch.ones(1).double())])
@pytest.mark.parametrize("scale", POWERS)
def test_a_model_without_outcome_transform_is_searched_alike_in_every_unit(scale, transform):
    exclude = list(range(9))
    chosen, scores = [], []
    for each in (1.0, scale):
        acqf = DiscreteUCB(raw_model(each), X, t=3, posterior_transform=transform)
        chosen.append([acqf.select(q, exclude, generator=seeded(11)).tolist() for q in (1, 4)])
        scores.append(acqf.scores() / each)
    assert chosen[0] == chosen[1]
    torch.testing.assert_close(*scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 2.0**-80, 2.0**40])
def test_equal_rows_tie_in_every_unit(scale):
    acqf = DiscreteUCB(raw_model(scale), X, t=3)
    others = [row for row in range(len(X)) if row not in (12, 72)]  # 12 and 72 are equal
    found = {int(acqf.select(exclude=others, generator=seeded(seed))) for seed in range(20)}
    assert found == {12, 72}


def test_scores_are_in_the_units_of_the_outcomes():
    release = release_of(X, noise_variance=0.0)
    rows, values = [0, 5, 9, 30], [1e9 + 1, 1e9 + 3, 1e9 - 2, 1e9]
    modeler = Modeler(release, history=zip(rows, values, strict=True), generator=seeded(1))
    model = modeler.model()
    posterior = model.posterior(X)
    for maximize, sign in ((True, 1), (False, -1)):
        scores = DiscreteUCB(model, X, t=1, beta=4.0, maximize=maximize).scores()
        expected = sign * posterior.mean + 2 * posterior.variance.sqrt()
        torch.testing.assert_close(scores, expected.detach().squeeze(-1), rtol=0, atol=1e-5)


def test_a_transform_without_one_scale_has_no_absolute_rounding_either():
    chosen = []
    for scale in (1.0, 2.0**-60):
        Z = (Y - Y.min() + 1) * scale
        model = SingleTaskGP(X[:9], Z[:9], outcome_transform=Log(), covar_module=RBFKernel())
        model.mean_module.raw_constant.data.fill_(math.log(scale) + 0.5)
        chosen.append(DiscreteUCB(model, X, t=3).select(4, range(9), generator=seeded(2)).tolist())
    assert chosen[0] == chosen[1]


# --- what no unit helps ---


def test_an_outcome_that_no_model_could_take_is_refused_when_it_is_told():
    modeler = Modeler(release_of(X), generator=seeded(1))
    for value in (1e300, -2e150):
        with pytest.raises(
            ValueError, match=r"value must be at most 1e\+150 in size: choose a larger unit"
        ):
            modeler.tell(0, value)
    assert len(modeler.history) == 0
    modeler.tell(0, -1e150)
    modeler.tell(1, 1e149)
    assert modeler.ask() not in (0, 1)


@pytest.mark.parametrize("value", [0.0, 5e-324, -3.0, 1e150, 1e-12])
def test_equal_outcomes_are_searched_without_a_complaint(value):
    modeler = Modeler(release_of(X), generator=seeded(1))
    for _ in range(8):
        modeler.tell(modeler.ask(), value)
    assert modeler.recommend() == modeler.history.indices[0]
    assert len(set(modeler.history.indices)) == 8


def test_botorchs_own_standardize_keeps_its_threshold_and_that_is_why_make_model_has_none():
    tiny = Standardize(1)
    tiny(Y * 1e-12)
    assert float(tiny.stdvs) == 1.0
