"""Every goal searches in every setting, with pending rows, in batches, and after a resume."""

import pytest
import torch
from helpers.draws import seeded
from helpers.outcome_tables import TABLES, released
from helpers.remote_server import OUTCOMES, Here, make_curator, make_modeler
from helpers.rounds import release_of

from botorch_private import (
    Above,
    Curator,
    Maximize,
    Minimize,
    Modeler,
    NoisyProjection,
    PublicScaling,
    Target,
    TopK,
    run,
)

GOALS = [Maximize(), Minimize(), Above(0.8), TopK(3), Target(0.3)]
SETTINGS = {
    "almost no noise": {},
    "labels": {"labels": True},
    "noised answers": {"noised": True},
    "labels and noised answers": {"labels": True, "noised": True},
}
ROUNDS = 9


def noisy_curator():
    records = torch.rand(40, 2, generator=seeded(0), dtype=torch.float64)
    return Curator(records, PublicScaling([0.0, 0.0], [1.0, 1.0]), NoisyProjection(8.0), OUTCOMES)


def curators(name):
    return noisy_curator() if name == "noise" else make_curator(**SETTINGS[name])


@pytest.fixture(scope="module", params=["noise", *SETTINGS])
def curator(request):
    return curators(request.param)


@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_a_resumed_search_goes_on_as_an_undisturbed_one(curator, goal):
    here = Here(curator)
    modeler = make_modeler(curator.release, goal=goal)
    run(here, modeler, ROUNDS)
    told = list(modeler.history)
    assert len({row for row, _ in told}) == ROUNDS
    for stop in (3, 6):
        pending = [told[stop].index] if stop == 6 else []
        again = make_modeler(curator.release, goal=goal, history=told[:stop], pending=pending)
        run(here, again, ROUNDS - stop)
        assert list(again.history) == told
    for each in (modeler, again):
        found = each.recommend()
        rows = found if isinstance(found, list) else [found]
        assert set(rows) <= {row for row, _ in told}
        assert type(found) is (list if isinstance(goal, (TopK, Above)) else int)


@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_pending_rows_count_as_answered_and_batches_hold_different_rows(curator, goal):
    here = Here(curator)
    modeler = make_modeler(curator.release, goal=goal)
    run(here, modeler, 4)
    batch = modeler.ask(4)
    assert len(set(batch) | set(modeler.history.indices)) == 8
    one_by_one = make_modeler(curator.release, goal=goal, history=modeler.history, beta=4.0)
    at_once = make_modeler(curator.release, goal=goal, history=modeler.history, beta=4.0)
    for q in range(1, 4):
        grown = one_by_one.ask(q)
    if curator.release.cells is None:  # rows of a label are drawn, with another seed each turn
        assert grown == at_once.ask(3)
    modeler.tell(batch[2], here.query(batch[2]).value)
    assert modeler.pending == [batch[0], batch[1], batch[3]]
    resumed = make_modeler(curator.release, goal=goal, history=modeler.history, pending=modeler.pending)
    assert resumed.ask(5) == modeler.ask(5)


@pytest.mark.parametrize("table", TABLES)
def test_minimizing_makes_the_picks_of_maximizing_minus_the_outcome(table):
    rows, outcomes = TABLES[table]()
    release = released(rows)

    def search(goal, sign):
        modeler = Modeler(release, goal=goal, n_initial=4, generator=seeded(7))
        for _ in range(9):
            row = modeler.ask()
            modeler.tell(row, sign * float(outcomes[row]))
        return [*modeler.history.indices, *modeler.ask(3), modeler.recommend(), modeler.best.index], [
            sign * value for _, value in modeler.history
        ]

    assert search(Minimize(), 1.0) == search(Maximize(), -1.0)


@pytest.mark.parametrize("noised", [False, True])
@pytest.mark.parametrize("labels", [False, True])
def test_minimizing_is_maximizing_minus_the_outcome_with_labels_and_noise(labels, noised):
    release = make_curator(labels=labels, noised=noised).release
    small, large = (make_modeler(release, goal=goal) for goal in (Minimize(), Maximize()))
    for turn in range(8):
        row = small.ask()
        assert large.ask() == row
        value = float(OUTCOMES[(row + turn) % 40])
        small.tell(row, value)
        large.tell(row, -value)
    assert torch.equal(small.posterior().mean, large.posterior().mean)
    bounds = [each.regret_bound() for each in (small, large)]
    assert bounds[0] == bounds[1]
    chance = [each.above(level, 0.3) for each, level in ((small, -0.1), (large, -0.1))]
    assert all(dict(small.history)[row] > -0.1 for row in chance[0].measured) or noised
    assert all(dict(large.history)[row] > -0.1 for row in chance[1].measured) or noised


@pytest.mark.parametrize("unit", [lambda y: 1e-9 * y, lambda y: 1e9 * y + 1e12])
@pytest.mark.parametrize("make", [Above, Target])
def test_a_level_in_another_unit_is_the_same_level(make, unit):
    rows, outcomes = TABLES["sine"]()
    release = released(rows)
    level = float(outcomes.quantile(0.8))

    def picks(unit):
        modeler = Modeler(release, goal=make(float(unit(level))), generator=seeded(7))
        for _ in range(12):
            row = modeler.ask()
            modeler.tell(row, float(unit(outcomes[row])))
        return modeler.history.indices, modeler.recommend()

    assert picks(unit) == picks(lambda y: y)


def test_rows_are_told_shown_and_kept_in_the_curators_unit():
    release = release_of(torch.randn(12, 2, generator=seeded(0), dtype=torch.float64))
    modeler = Modeler(release, goal=Minimize(), history=[(3, 2.0), (4, -1.0), (5, 7.0)])
    assert modeler.history.values.tolist() == [2.0, -1.0, 7.0]
    assert modeler.best == (4, -1.0)
    assert modeler.history.to_frame()["best"].tolist() == [2.0, -1.0, -1.0]
    assert modeler.goal == Minimize()
    assert Modeler(release).goal == Maximize()


@pytest.mark.parametrize("goal", ["minimize", Minimize, -1, object()])
def test_what_is_no_goal_is_refused(goal):
    release = release_of(torch.randn(12, 2, generator=seeded(0), dtype=torch.float64))
    with pytest.raises(TypeError, match=r"goal must be Maximize\(\), Minimize\(\), Above\(threshold\)"):
        Modeler(release, goal=goal)


def test_goals_that_do_not_fit_are_refused_before_any_work():
    release = release_of(torch.randn(12, 2, generator=seeded(0), dtype=torch.float64))
    with pytest.raises(ValueError, match="k must be at most the 12 records of the release, got 13"):
        Modeler(release, goal=TopK(13))
    assert Modeler(release, goal=TopK(12)).goal.k == 12
    modeler = Modeler(release, goal=Minimize(), history=[(0, 1.0)])
    with pytest.raises(ValueError, match="threshold must be given where the goal is not Above"):
        modeler.above()
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        modeler.above(float("nan"))
    for bad in (0.0, 1.0, float("nan"), True):
        with pytest.raises(ValueError, match="confidence must be a number in"):
            modeler.above(0.5, bad)
    with pytest.raises(ValueError, match="at least one measured row"):
        Modeler(release, goal=Above(1.0)).above()
