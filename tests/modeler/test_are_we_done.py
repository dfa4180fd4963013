"""What a modeler says of the rows that it did not measure, and when a search stops."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers.labels import label_release
from helpers.rounds import go_on, release_of
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import laplace, norm
from scipy.stats import t as student

from botorch_private import Curator, Modeler, NoPrivacy, OutcomeMechanism, PublicScaling, run
from botorch_private.modeler.keep_open import keep_open
from botorch_private.modeler.regret_bound import cautious
from botorch_private.modeler.stopping import FIRST_ROUND, BoundSoFar, StopRule

pytestmark = pytest.mark.filterwarnings("ignore::botorch_private.PrivacyLeakWarning")
N = 80


def seeded(seed=3):
    return torch.Generator().manual_seed(seed)


ROWS = torch.randn(N, 2, dtype=torch.float64, generator=seeded(0))
OUTCOMES = torch.sin(2 * ROWS[:, 0]) + ROWS[:, 1] / 2


def made(release=None, outcomes=OUTCOMES, rounds=12, **options):
    modeler = Modeler(release or release_of(ROWS, 0.1), generator=seeded(), **options)
    go_on(modeler, outcomes, rounds)
    return modeler


def slow_bound(modeler, level, left):
    """By BoTorch's own posterior, and SciPy's distributions, row by row."""
    model = modeler.model()
    posterior = model.posterior(modeler.release.candidates.double())
    mean, variance = (part.detach().squeeze(-1).numpy() for part in (posterior.mean, posterior.variance))
    unit = float(model.outcome_transform.stdvs) ** 2
    likelihood = model.likelihood
    known = 0.0
    if hasattr(likelihood, "second_noise"):
        scatter, known = likelihood.second_noise.item(), likelihood.noise_covar.noise.mean().item()
    else:
        scatter = likelihood.noise.item()
    part = level / len(left)
    wider = student.isf(part, len(modeler.history) - 1) / norm.isf(part)
    tails = max(1.0, laplace.isf(part, scale=1 / math.sqrt(2)) / norm.isf(part))
    deviation = wider * np.sqrt(variance[left] + unit * (1.6**2 * scatter + tails**2 * known))
    best = modeler.best.value

    def excess(margin):
        return norm.sf((best + margin - mean[left]) / deviation).sum() - level

    return 0.0 if excess(0) <= 0 else brentq(excess, 0, 1e4, xtol=1e-12)


def left_of(modeler):
    told = dict(modeler.history)
    return [row for row in range(N) if row not in told and row not in modeler.skipped]


@pytest.mark.parametrize("level", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("kind", ["rows", "labels", "noised answers", "float32"])
def test_the_bound_is_that_of_botorchs_posterior(kind, level):
    release, options = release_of(ROWS, 0.1), {}
    if kind == "labels":
        release, _ = label_release(n=N)
    elif kind == "noised answers":
        curator = Curator(
            ROWS,
            PublicScaling([-9.0] * 2, [9.0] * 2),
            NoPrivacy(),
            OUTCOMES,
            outcome_mechanism=OutcomeMechanism(3.0, 0.0, (-2.0, 2.0)),
        )
        release = curator.release
    elif kind == "float32":
        options = {"dtype": torch.float32}
    modeler = made(release, **options)
    modeler.skip(next(row for row in left_of(modeler)))
    modeler.ask(2)  # asked rows are not measured yet
    if kind == "float32":
        twin = made(release, history=modeler.history, skipped=modeler.skipped, rounds=0)
        assert modeler.regret_bound(level) == pytest.approx(twin.regret_bound(level), rel=0.02)
    else:
        slow = slow_bound(modeler, level, left_of(modeler))
        assert modeler.regret_bound(level) == pytest.approx(slow, rel=1e-4)


def test_rows_that_are_asked_count_and_rows_that_are_given_up_do_not():
    modeler = made()
    best = max(left_of(modeler), key=lambda row: float(modeler.posterior().mean[row]))
    bound = modeler.regret_bound()
    modeler._pending = [best]
    assert modeler.regret_bound() == pytest.approx(bound, rel=1e-6)
    modeler.skip(best)
    assert modeler.regret_bound() < bound


def test_asking_for_it_changes_no_pick():
    disturbed = Modeler(release_of(ROWS, 0.1), generator=seeded())
    picks = []
    for _ in range(12):
        if picks:
            disturbed.regret_bound()
            disturbed.regret_bound(rounds=(len(picks) + 1) // 2)
            disturbed.expected_gain()
        picks += go_on(disturbed, OUTCOMES, 1)
    assert picks == go_on(Modeler(release_of(ROWS, 0.1), generator=seeded()), OUTCOMES, 12)


@pytest.mark.parametrize("refit_every", [1, 3])
def test_the_bound_of_an_earlier_round_is_what_it_was_then(refit_every):
    modeler = Modeler(release_of(ROWS, 0.1), generator=seeded(), refit_every=refit_every)
    then = []
    for _ in range(9):
        go_on(modeler, OUTCOMES, 1)
        then.append(modeler.regret_bound())
    again = [modeler.regret_bound(rounds=k) for k in range(1, 10)]
    assert again == pytest.approx(then, rel=1e-6)


def test_the_unit_of_the_outcome_only_scales_it():
    one, other = made(), made(outcomes=1000 * OUTCOMES + 1e4)
    assert other.regret_bound() == pytest.approx(1000 * one.regret_bound(), rel=1e-4)
    assert other.expected_gain() == pytest.approx(
        [1000 * each for each in one.expected_gain()], rel=1e-4
    )


def test_nothing_is_left_once_all_is_measured_and_nothing_is_known_of_equal_answers():
    rows = release_of(ROWS[:6], 0.1)
    modeler = Modeler(rows, generator=seeded())
    with pytest.raises(ValueError, match="told"):
        modeler.regret_bound()
    with pytest.raises(ValueError, match="told"):
        modeler.expected_gain()
    go_on(modeler, torch.ones(6), 3)
    assert modeler.regret_bound() == math.inf
    assert modeler.regret_sentence().startswith("Nothing can be said")
    modeler.tell(modeler.ask(), 2.0)
    assert 0 < modeler.regret_bound() < math.inf
    go_on(modeler, torch.ones(6), 2)
    assert modeler.regret_bound() == 0
    assert modeler.expected_gain() == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"probability": 0}, "probability"),
        ({"probability": 1.0}, "probability"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 13}, "rounds"),
        ({"rounds": 2.0}, "rounds"),
    ],
)
def test_unusable_arguments_are_named(arguments, name):
    with pytest.raises(ValueError, match=name):
        made().regret_bound(**arguments)


def test_caution_fades_with_answers_and_never_narrows():
    variance, scatter = torch.tensor([1.0, 0.0, 4.0]), 0.5
    plain = (variance + scatter).sqrt().double()
    few, many = (cautious(variance, scatter, answers=count) for count in (5, 1000))
    assert bool((few > many).all() and (many > plain).all())
    # what is known exactly has no heavier tails than it has, and many answers tell the scale
    known = cautious(variance, 0.0, 0.5, answers=100_000, level=0.6)
    assert torch.allclose(known, plain, rtol=1e-4)
    for level in (0.6, 0.9):
        assert bool((cautious(variance, scatter, answers=5, level=level) > plain).all())


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.3, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("rows", [1, 50, 10_000, 1_000_000])
def test_laplace_noise_on_a_normal_answer_goes_beyond_with_no_larger_chance(rows, spread):
    level, scale = 0.05, 1.0
    part = level / rows
    variance = torch.full((rows,), spread**2, dtype=torch.float64)
    deviation = float(cautious(variance, 0.0, 2 * scale**2, answers=100_000_000, level=level)[0])
    reach = -norm.ppf(part) * deviation
    if spread == 0:
        assert laplace.sf(reach, scale=scale) <= part * (1 + 1e-4)
        return

    def beyond(z):
        return norm.pdf(z) * laplace.sf(reach - spread * z, scale=scale)

    kink = reach / spread  # where the noise has its peak
    edges = sorted({-12.0, 12.0, min(kink, 12.0), *np.linspace(-12, 12, 25)})
    chance = sum(quad(beyond, a, b)[0] for a, b in itertools.pairwise(edges))
    assert chance <= part * (1 + 1e-4)


# --- stopping ---


def scattered_curator():
    records = torch.rand(60, 1, dtype=torch.float64, generator=seeded(1))
    scatter = torch.randn(60, dtype=torch.float64, generator=seeded(10))
    outcomes = torch.sin(6 * records[:, 0]) + 0.3 * scatter
    return Curator(records, PublicScaling([0.0], [1.0]), NoPrivacy(), outcomes)


def searched(curator, rounds=50, stop_below=0.5, **options):
    modeler = Modeler(curator.release, generator=seeded(), **options)
    return run(curator, modeler, rounds, stop_below=stop_below), modeler


@pytest.mark.parametrize(
    ("bounds", "stop"),
    [
        ({19: 0.1, 20: 0.1, 21: 0.1}, 21),
        ({19: 0.1, 20: 0.5, 21: 0.1, 22: 0.1}, 22),
        ({20: 0.1, 21: 0.5, 22: 0.2, 23: 0.3}, 23),  # equal to the limit is enough
        ({20: 0.1, 22: 0.1, 24: 0.1}, 25),
    ],
)
def test_two_bounds_in_a_row_are_small_where_a_search_stops(monkeypatch, bounds, stop):
    monkeypatch.setattr(Modeler, "regret_bound", lambda self, p, rounds: bounds.get(rounds, 9.0))
    modeler = Modeler(release_of(ROWS, 0.1), generator=seeded())
    rule = StopRule(modeler, 0.3)
    for row in range(25):
        if rule.reached():
            break
        modeler.tell(row, float(row))
    assert len(modeler.history) == stop


@pytest.fixture(scope="module")
def curator():
    return scattered_curator()


def test_a_search_stops_after_two_small_bounds_and_not_before_round_20(curator):
    history, modeler = searched(curator)
    assert FIRST_ROUND < len(history) < 50
    bounds = [modeler.regret_bound(rounds=k) for k in range(FIRST_ROUND, len(history) + 1)]
    small = [bound <= 0.5 for bound in bounds]
    assert small[-2:] == [True, True]
    assert not any(a and b for a, b in itertools.pairwise(small[:-1]))
    with_much, _ = searched(curator, stop_below=1e6)
    assert len(with_much) == FIRST_ROUND + 1


def test_a_search_that_is_resumed_stops_where_an_undisturbed_one_does(curator):
    whole, _ = searched(curator)
    for done in (19, 21, len(whole) - 1, len(whole)):
        resumed = Modeler(curator.release, generator=seeded(), history=list(whole)[:done])
        assert run(curator, resumed, 50 - done, stop_below=0.5) == whole


def test_without_a_rule_all_rounds_are_measured(curator):
    history, _ = searched(curator, rounds=25, stop_below=None)
    assert len(history) == 25


@pytest.mark.parametrize(
    "options", [{"beta": 0.0}, {"beta": 1.0}, {"beta_scale": 0.1}, {"beta": 1.0, "beta_scale": 1.0}]
)
def test_rules_that_hardly_explore_are_refused_before_anything_is_measured(curator, options):
    modeler = Modeler(curator.release, **options)
    with pytest.raises(ValueError, match=r"^beta.* must be at least .*stop_below"):
        run(curator, modeler, 30, stop_below=0.3)
    assert len(modeler.history) == 0


@pytest.mark.parametrize("options", [{}, {"beta": 30.0}, {"beta_scale": 0.2}, {"beta_scale": 1.0}])
def test_rules_that_explore_are_taken(curator, options):
    assert not StopRule(Modeler(curator.release, **options), 0.3).reached()


@pytest.mark.parametrize("stop_below", [0, -1.0, math.nan, math.inf, "0.1"])
def test_an_unusable_limit_is_refused_before_anything_is_measured(curator, stop_below):
    modeler = Modeler(curator.release)
    with pytest.raises(ValueError, match="stop_below"):
        run(curator, modeler, 30, stop_below=stop_below)
    assert len(modeler.history) == 0


def test_bounds_are_computed_once_and_again_where_an_answer_or_a_row_changed(monkeypatch):
    modeler = made(rounds=22)
    calls = []
    original = Modeler.regret_bound
    monkeypatch.setattr(
        Modeler, "regret_bound", lambda *a, **k: calls.append(k["rounds"]) or original(*a, **k)
    )
    bounds = BoundSoFar(modeler)
    assert len(bounds.all()) == 3
    assert bounds.latest() == bounds.all()[-1]
    assert calls == [20, 21, 22]
    modeler.tell(modeler.history.indices[20], 9.0, correct=True)
    bounds.all()
    assert calls[3:] == [21, 22]
    modeler.skip(left_of(modeler)[0])
    bounds.all()
    assert calls[5:] == [20, 21, 22]
    assert BoundSoFar(made(rounds=19)).latest() is None


def test_with_several_questions_open_it_stops_as_well_and_leaves_them_open(curator):
    class Server:
        """A curator who answers the oldest open question at each look."""

        release, queries_left, withdrawn = curator.release, None, ()

        def __init__(self):
            self.pending = []

        def remember(self, history):
            pass

        def submit(self, row):
            if row not in self.pending:
                self.pending.append(row)

        def poll(self, wait):
            return (
                [(row, curator.query(row).value) for row in [self.pending.pop(0)]]
                if self.pending
                else []
            )

    modeler = Modeler(curator.release, generator=seeded())
    rule = StopRule(modeler, 0.5)
    keep_open(Server(), modeler, 50, pending=3, enough=rule.reached)
    assert FIRST_ROUND < len(modeler.history) < 50
    assert len(modeler.pending) == 2
    assert modeler.regret_bound() <= 0.5
