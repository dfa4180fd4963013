"""A search over several outcomes: weights, limits, and what holds for any search."""

import json
import math

import numpy as np
import pytest
import scipy
import torch
from botorch.models import ModelListGP
from helpers.draws import seeded
from helpers.labels import label_release

from botorch_private import (
    Constrained,
    Curator,
    History,
    Maximize,
    Minimize,
    Modeler,
    NoisyProjection,
    OutcomeMechanism,
    PublicScaling,
    Scalarized,
    make_model,
    run,
    ucb_beta,
)
from botorch_private.modeler.acquisition.named_ucb import NamedUCB
from botorch_private.modeler.models.named_posterior import NamedPosteriors

N = 60
RECORDS = torch.rand(N, 2, generator=seeded(0), dtype=torch.float64)
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0])
KNOWN = {"cost": 100 * RECORDS[:, 0], "safety": RECORDS[:, 0] * RECORDS[:, 1], "time": RECORDS[:, 1]}
CHEAP = Constrained(minimize="cost", at_least={"safety": 0.3})
GOALS = {
    "constrained": CHEAP,
    "two limits": Constrained(maximize="safety", at_most={"cost": 60.0, "time": 0.8}),
    "scalarized": Scalarized({"cost": -0.01, "safety": 1.0}),
}
every_goal = pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)


def curator(epsilon=300.0, known=None, **kwargs):
    known = KNOWN if known is None else known
    mechanism = NoisyProjection(epsilon)
    names = list(known)
    return Curator(RECORDS, SCALING, mechanism, known, outcome_names=names, **kwargs)


CURATOR = curator(generator=seeded(1))
RELEASE = CURATOR.release


def answers(goal, count, source=CURATOR):
    return [tuple(source.query(row)) for row in torch.randperm(N, generator=seeded(2))[:count].tolist()]


def modeler(goal, told=8, **kwargs):
    kwargs = {"history": answers(goal, told), "generator": seeded(3), **kwargs}
    return Modeler(RELEASE, goal=goal, **kwargs)


# --- a search ---


@every_goal
def test_a_search_finds_the_best_record_that_keeps_the_limits(goal):
    history = run(CURATOR, Modeler(RELEASE, goal=goal, generator=seeded(4)), 30, progress=False)
    table = [CURATOR.query(row).value for row in range(N)]
    wanted = table[goal.best_of(table)]
    assert history.best.value == wanted
    assert len(set(history.indices)) == 30


@every_goal
def test_pending_rows_are_asked_first_and_a_resumed_search_goes_on_as_it_would_have(goal):
    first = modeler(goal)
    batch = first.ask(3)
    assert len(set(batch)) == 3
    assert first.pending == batch
    assert first.ask() == batch[0]
    frame = first.history.to_frame()
    again = modeler(goal, history=frame, pending=batch)
    assert again.history == first.history
    first.tell(batch[0], CURATOR.query(batch[0]).value)
    again.tell(batch[0], CURATOR.query(batch[0]).value)
    assert again.ask(4) == first.ask(4)


@every_goal
def test_rows_that_are_skipped_or_taken_back(goal):
    made = modeler(goal)
    row = made.ask()
    made.skip(row)
    assert made.ask() != row
    made.take_back(made.pending[0])
    assert made.skipped == [row]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_the_units_of_outcomes_do_not_matter(unit):
    scale = {"cost": unit, "safety": 1e3 / unit, "time": 1.0}
    shift = {"cost": 7 * unit, "safety": 0.0, "time": 0.0}
    other = Constrained(
        minimize="cost", at_least={"safety": 0.3 * scale["safety"]}, at_most={"time": 0.9}
    )
    plain = Constrained(minimize="cost", at_least={"safety": 0.3}, at_most={"time": 0.9})
    told = answers(plain, 8)
    changed = [
        (row, {name: scale[name] * each + shift[name] for name, each in value.items()})
        for row, value in told
    ]
    here = Modeler(RELEASE, goal=plain, history=told, generator=seeded(3))
    there = Modeler(RELEASE, goal=other, history=changed, generator=seeded(3))
    assert here.ask(5) == there.ask(5)
    assert here.recommend() == there.recommend()


def test_one_weight_is_the_search_for_the_largest_or_the_smallest():
    told = answers(CHEAP, 8)
    for weight, goal in ((2.0, Maximize()), (-2.0, Minimize())):
        one = Modeler(
            RELEASE.of_outcome("cost"),
            goal=goal,
            history=[(row, value["cost"]) for row, value in told],
            generator=seeded(3),
        )
        several = Modeler(RELEASE, goal=Scalarized({"cost": weight}), history=told, generator=seeded(3))
        assert several.ask(3) == one.ask(3)
        assert several.recommend() == one.recommend()


def test_limits_that_all_records_keep_change_nothing():
    wide = Constrained(minimize="cost", at_most={"cost": 1e6})
    free = Scalarized({"cost": -1.0})
    assert modeler(wide).ask(4) == modeler(free).ask(4)


# --- the acquisition, and its slow twin ---


def slow_scores(models, goal, beta, candidates):
    """Row by row, in outcome units, by BoTorch's own posterior."""
    moments = {}
    for name, model in models.items():
        with torch.no_grad():
            posterior = model.posterior(candidates)
        with torch.no_grad():
            own = model.covar_module.base_kernel.own_variance(candidates[:1])
            own = float(own * model.covar_module.outputscale * model.outcome_transform.stdvs**2)
        noise = model.likelihood.noise.item() * float(model.outcome_transform.stdvs) ** 2
        mean, variance = posterior.mean[:, 0].numpy(), posterior.variance[:, 0].numpy()
        moments[name] = mean, np.sqrt(np.maximum(variance - own, 0)), np.sqrt(variance + noise)
    may, log_chance, score = [], [], []
    for i in range(len(candidates)):
        fine, chance = True, 0.0
        for name, sign, limit in goal.limits:
            mean, shared, whole = (each[i] for each in moments[name])
            fine = fine and sign * (mean - limit) + math.sqrt(beta) * shared >= 0
            chance += float(scipy.special.log_ndtr(sign * (mean - limit) / whole))
        may.append(fine)
        log_chance.append(chance)
        total = sum(w * moments[name][0][i] for name, w in goal.weights.items())
        spread = sum((w * moments[name][1][i]) ** 2 for name, w in goal.weights.items())
        score.append(total + math.sqrt(beta * spread))
    return np.array(may), np.array(log_chance), np.array(score)


@every_goal
@pytest.mark.parametrize("beta", [0.1, 4.0, ucb_beta(1, N)])
def test_the_row_is_the_one_of_a_slow_loop(goal, beta):
    made = modeler(goal, told=10)
    models = dict(zip(goal.names, made.model().models, strict=True))
    may, log_chance, score = slow_scores(models, goal, beta, RELEASE.candidates)
    told = made.history.indices
    closed = np.isin(np.arange(N), told)
    expected = np.where(may & ~closed, score, -np.inf)
    if not (may & ~closed).any():
        expected = np.where(closed, -np.inf, log_chance)
    chosen = NamedUCB(made.posterior(), goal, beta=beta).select(1, told)
    assert int(chosen) == int(expected.argmax())


def test_where_no_row_may_keep_the_limits_it_is_the_likeliest():
    goal = Constrained(minimize="cost", at_least={"safety": 50.0})
    made = modeler(goal, told=10)
    models = dict(zip(goal.names, made.model().models, strict=True))
    may, _, _ = slow_scores(models, goal, 0.01, RELEASE.candidates)
    assert not may.any()
    chosen = int(NamedUCB(made.posterior(), goal, beta=0.01).select(1, made.history.indices))
    left = [row for row in range(N) if row not in made.history.indices]
    mean, variance = made.posterior()["safety"].moments()
    stdvs = float(models["safety"].outcome_transform.stdvs)
    noise = models["safety"].likelihood.noise.item() * stdvs**2
    chance = torch.special.log_ndtr((mean - 50.0) / (variance + noise).sqrt())
    assert chosen == max(left, key=lambda row: float(chance[row]))


def test_posteriors_keep_their_memory_together_and_follow_new_models():
    made = modeler(CHEAP)
    posteriors = made.posterior()
    assert isinstance(posteriors, NamedPosteriors)
    assert posteriors.max_memory == made.max_memory // 2 * 2
    assert list(posteriors) == ["cost", "safety"]
    row = made.ask()
    made.tell(row, CURATOR.query(row).value)
    fresh = modeler(CHEAP, history=made.history).posterior()
    for name, each in made.posterior().items():
        torch.testing.assert_close(each.mean, fresh[name].mean)
        torch.testing.assert_close(each.variance, fresh[name].variance, rtol=1e-6, atol=1e-9)


# --- noise, labels, BoTorch ---


NOISE = {
    "cost": OutcomeMechanism(20.0, 0.0, (0.0, 100.0)),
    "safety": OutcomeMechanism(10.0, 0.0, (0.0, 1.0)),
    "time": OutcomeMechanism(10.0, 0.0, (0.0, 1.0)),
}


def test_the_model_of_each_outcome_knows_its_noise():
    noised = curator(outcome_mechanism=NOISE, generator=seeded(1))
    made = Modeler(noised.release, goal=CHEAP, generator=seeded(3))
    run(noised, made, 12, progress=False)
    for name, model in zip(CHEAP.names, made.model().models, strict=True):
        stdvs = float(model.outcome_transform.stdvs)
        known = float(model.likelihood.noise_covar.noise[0]) * stdvs**2
        assert known == pytest.approx(NOISE[name].noise_variance)
    assert made.recommend() in made.history.indices
    assert made.ask() not in made.history.indices


@pytest.mark.parametrize("goal", [CHEAP, GOALS["scalarized"]], ids=["constrained", "scalarized"])
def test_labels_are_searched_by_label(goal):
    release, true = label_release(n=80, epsilon=6.0)
    table = {"cost": 10.0 * true.double(), "safety": true.double() / 6 + 0.1}
    made = Modeler(release, goal=goal, generator=seeded(3))
    for _ in range(25):
        row = made.ask()
        made.tell(row, {name: float(each[row]) for name, each in table.items()})
    assert len(set(made.ask(3))) == 3
    best = made.history.best.value
    records = [{name: float(each[row]) for name, each in table.items()} for row in range(80)]
    assert goal.gain(best) == goal.gain(records[goal.best_of(records)])


def test_the_model_is_botorchs_list_of_those_that_are_made_one_by_one():
    made = modeler(CHEAP)
    model = made.model()
    assert isinstance(model, ModelListGP)
    told = made.history
    for i, name in enumerate(CHEAP.names):
        column = told.outcome_names.index(name)
        one = make_model(RELEASE.of_outcome(name), told.indices, told.values[:, column])
        one.load_state_dict(model.models[i].state_dict())
        torch.testing.assert_close(
            model.posterior(RELEASE.candidates[:5]).mean[:, i],
            one.eval().posterior(RELEASE.candidates[:5]).mean[:, 0],
        )


# --- recommend, and what may be missed ---


def test_the_recommended_row_is_the_best_that_keeps_the_limits():
    made = modeler(CHEAP, told=25)
    told = made.history
    assert made.recommend() == told.best.index


def test_where_no_answer_keeps_the_limits_the_nearest_is_recommended_and_there_is_no_best():
    goal = Constrained(minimize="cost", at_least={"safety": 0.99})
    made = modeler(goal, told=8)
    with pytest.raises(ValueError, match="none of the 8 answers so far keeps the limits"):
        _ = made.best
    row = made.recommend()
    assert row in made.history.indices
    assert "none keeps the limits yet" in repr(made.history)
    assert math.isnan(float(made.history.best_so_far[-1]))


def test_what_is_left_to_find_is_said_of_one_outcome_alone():
    made = modeler(CHEAP, told=25)
    for ask in (made.regret_bound, made.regret_sentence, made.expected_gain):
        with pytest.raises(ValueError, match="one outcome alone"):
            ask()
    with pytest.raises(ValueError, match="stop_below must be left out"):
        run(CURATOR, made, 2, stop_below=0.1)


# --- history, and what is refused ---


def test_a_history_has_a_column_for_each_outcome():
    told = answers(CHEAP, 3)
    history = History(told, goal=CHEAP)
    frame = history.to_frame()
    assert list(frame.columns) == ["round", "index", "cost", "safety", "time", "best"]
    assert history.values.shape == (3, 3)
    assert History(frame, goal=CHEAP) == history
    with pytest.raises(ValueError, match="there for one outcome alone"):
        history.cumulative_regret(0.0)
    best = [value for value in history.best_so_far.tolist() if not math.isnan(value)]
    regret = history.simple_regret(-10.0).tolist()
    assert [each for each in regret if not math.isnan(each)] == [-10.0 - value for value in best]
    assert json.loads(json.dumps([list(pair) for pair in history])) == [[r, v] for r, v in told]


@pytest.mark.parametrize(
    "value",
    [3.0, None, {"cost": 1.0}, {"cost": 1.0, "safety": math.nan}, {"cost": 1e200, "safety": 1.0}],
)
def test_a_value_that_lacks_a_number_is_refused_and_nothing_is_kept(value):
    made = modeler(CHEAP)
    before = made.history
    with pytest.raises(ValueError, match="value"):
        made.tell(made.ask(), value)
    assert made.history == before


def test_all_values_have_the_same_outcomes():
    made = modeler(CHEAP)
    with pytest.raises(ValueError, match="the outcomes of the values before"):
        made.tell(made.ask(), {"cost": 1.0, "safety": 0.5})


def test_a_value_may_be_corrected():
    made = modeler(CHEAP)
    row, value = next(iter(made.history))
    with pytest.raises(ValueError, match="correct=True"):
        made.tell(row, {**value, "cost": 0.0})
    made.tell(row, {**value, "cost": 0.0}, correct=True)
    assert next(iter(made.history)).value["cost"] == 0.0


def test_goal_and_release_must_be_about_the_same_outcomes():
    with pytest.raises(ValueError, match="goal must be Scalarized or Constrained.*cost, safety, time"):
        Modeler(RELEASE)
    with pytest.raises(ValueError, match="goal must be about outcomes among cost, safety, time"):
        Modeler(RELEASE, goal=Scalarized({"price": -1.0}))
    one = Curator(
        RECORDS,
        SCALING,
        NoisyProjection(3.0),
        KNOWN["cost"],
        outcome_mechanism=OutcomeMechanism(1.0, 0.0, (0.0, 100.0)),
    )
    with pytest.raises(ValueError, match="goal must be about one number"):
        Modeler(one.release, goal=CHEAP)
    with pytest.raises(ValueError, match="above is there for one outcome alone"):
        modeler(CHEAP).above(1.0)
