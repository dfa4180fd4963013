"""Each goal asks, recommends and bounds as a slow twin does, with the formulas written out."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import go_on, release_of
from scipy.stats import norm

from botorch_private import (
    Above,
    Maximize,
    Minimize,
    Modeler,
    OutcomeMechanism,
    Target,
    TopK,
    make_model,
    ucb_beta,
)
from botorch_private.modeler.models.own_variance import own_variance

N = 40
RELEASE = release_of(6 * torch.randn(N, 2, generator=seeded(0), dtype=torch.float64))
OUTCOMES = torch.sin(RELEASE.candidates[:, 0] / 4) + 0.1 * RELEASE.candidates[:, 1]
GOALS = [Maximize(), Minimize(), Above(0.4), TopK(3), Target(0.1)]
LEVEL = 0.05


def answers(modeler, rows):
    """Mean and deviation of what rows would answer, by BoTorch's own posterior of another model."""
    fitted = modeler.model()
    sign = -1.0 if isinstance(modeler.goal, Minimize) else 1.0
    values = [sign * value for _, value in modeler.history]
    model = make_model(RELEASE, modeler.history.indices, values)
    model.load_state_dict(fitted.state_dict())
    with torch.no_grad():
        posterior = model.eval().posterior(RELEASE.candidates[rows], observation_noise=True)
    mean, deviation = posterior.mean[:, 0].numpy(), posterior.variance[:, 0].sqrt().numpy()
    return mean, deviation, model


def scores(goal, mean, deviation, beta):
    level = {Above: "threshold", Target: "value"}.get(type(goal))
    if level is None:
        return mean + math.sqrt(beta) * deviation
    return math.sqrt(beta) * deviation - abs(mean - getattr(goal, level))


@pytest.mark.parametrize("exploration", ["shared", "theory"])
@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_each_goal_asks_for_the_row_with_the_largest_score(goal, exploration):
    modeler = Modeler(RELEASE, goal=goal, exploration=exploration, generator=seeded(3))
    go_on(modeler, OUTCOMES, 6)
    for turn in range(2, 8):
        left = [row for row in range(N) if row not in modeler.history.indices]
        mean, deviation, model = answers(modeler, left)
        variance = deviation**2 - float(
            model.likelihood.noise.detach() * model.outcome_transform.stdvs**2
        )
        if exploration == "shared":
            own = own_variance(model, RELEASE.candidates[left]) * model.outcome_transform.stdvs**2
            variance = variance - own.numpy().reshape(-1)
        expected = scores(goal, mean, np.sqrt(variance), ucb_beta(turn, N))
        row = modeler.ask()
        assert expected[left.index(row)] == pytest.approx(expected.max(), abs=1e-7)
        modeler.tell(row, float(OUTCOMES[row]))


def chance_of(goal, told, margin, mean, deviation):
    """Sum over rows of the chance that one is what the goal's bound is about, with a margin."""
    best = sorted(told)[-(goal.k if isinstance(goal, TopK) else 1)]
    return np.sum(norm.sf(best + margin, mean, deviation))


@pytest.mark.parametrize("goal", [Maximize(), Minimize(), TopK(3)], ids=repr)
@pytest.mark.parametrize("rounds", [6, 14])
def test_the_bound_is_the_least_margin_of_its_formula(goal, rounds):
    modeler = Modeler(RELEASE, goal=goal, generator=seeded(3))
    go_on(modeler, OUTCOMES, rounds)
    left = [row for row in range(N) if row not in modeler.history.indices]
    mean, deviation, _ = answers(modeler, left)
    told = [goal.sign * value for _, value in modeler.history]
    left = modeler._answers_left(dict(modeler.history))
    bound = modeler.pursuit.bound(left, left.deviation, told, LEVEL)
    assert chance_of(goal, told, bound, mean, deviation) <= LEVEL * (1 + 1e-6)
    assert bound == 0 or chance_of(goal, told, bound * 0.999 - 1e-6, mean, deviation) > LEVEL


@pytest.mark.parametrize("rounds", [6, 14, 30])
def test_the_bound_of_the_nearest_is_its_distance_unless_no_other_is_likely_to_be_nearer(rounds):
    goal = Target(0.1)
    modeler = Modeler(RELEASE, goal=goal, generator=seeded(3))
    go_on(modeler, OUTCOMES, rounds)
    left = [row for row in range(N) if row not in modeler.history.indices]
    mean, deviation, _ = answers(modeler, left)
    told = [value for _, value in modeler.history]
    distance = min(abs(y - 0.1) for y in told)
    ends = norm.cdf(0.1 + distance, mean, deviation), norm.cdf(0.1 - distance, mean, deviation)
    nearer = float(np.sum(ends[0] - ends[1]))
    left = modeler._answers_left(dict(modeler.history))
    for level, expected in ((nearer * 1.001, 0.0), (nearer * 0.999, distance)):
        assert modeler.pursuit.bound(left, left.deviation, told, level) == expected


@pytest.mark.parametrize("rounds", [6, 14])
def test_the_bound_of_all_above_is_markovs(rounds):
    goal = Above(0.4)
    modeler = Modeler(RELEASE, goal=goal, generator=seeded(3))
    go_on(modeler, OUTCOMES, rounds)
    left = [row for row in range(N) if row not in modeler.history.indices]
    mean, deviation, _ = answers(modeler, left)
    chance = norm.sf(goal.threshold, mean, deviation)
    listed = modeler.above().unmeasured
    assert sorted(listed) == [row for row, p in zip(left, chance, strict=True) if p >= 0.5]
    missing = chance[chance < 0.5]
    told = [value for _, value in modeler.history]
    left = modeler._answers_left(dict(modeler.history))
    bound = modeler.pursuit.bound(left, left.deviation, told, LEVEL)
    expected = next(m for m in range(N) if m == len(missing) or missing.sum() / (m + 1) <= LEVEL)
    assert bound == expected


def test_markovs_bound_holds_for_rows_that_are_above_together():
    # all or none above: the worst dependence; more than M are above with the chance of one
    chance, count = 0.04, 25
    expected = chance * count
    bound = math.ceil(expected / LEVEL) - 1
    assert bound >= 0
    assert (chance if count > bound else 0.0) <= LEVEL


@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.9])
def test_rows_above_any_threshold_are_told_apart_and_the_likeliest_come_first(confidence):
    for goal in (Maximize(), Minimize(), Above(0.4)):
        modeler = Modeler(RELEASE, goal=goal, generator=seeded(3))
        go_on(modeler, OUTCOMES, 12)
        modeler.skip(next(row for row in range(N) if row not in modeler.history.indices))
        left = [row for row in range(N) if row not in [*modeler.history.indices, *modeler.skipped]]
        mean, deviation, _ = answers(modeler, left)
        chance = dict(zip(left, norm.sf(0.2, goal.sign * mean, deviation), strict=True))
        found = modeler.above(0.2, confidence)
        assert found.measured == [row for row, value in modeler.history if value > 0.2]
        assert sorted(found.unmeasured) == [row for row in left if chance[row] >= confidence]
        ordered = [chance[row] for row in found.unmeasured]
        assert ordered == sorted(ordered, reverse=True)


def test_what_is_recommended():
    told = {3: 0.5, 9: -0.25, 11: 0.75, 20: 0.0, 31: 0.6}
    noiseless = {"generator": seeded(3), "history": list(told.items())}
    assert Modeler(RELEASE, **noiseless).recommend() in told
    both = [Modeler(RELEASE, goal=goal, **noiseless).recommend() for goal in (Maximize(), TopK(1))]
    assert [both[0]] == both[1]
    several = Modeler(RELEASE, goal=TopK(9), **noiseless).recommend()
    assert sorted(several) == sorted(told)
    assert Modeler(RELEASE, goal=Above(0.4), **noiseless).recommend() == [3, 11, 31]
    assert Modeler(RELEASE, goal=Above(0.5), **noiseless).recommend() == [11, 31]
    means = Modeler(RELEASE, **noiseless).posterior().mean
    near = Modeler(RELEASE, goal=Target(0.05), **noiseless).recommend()
    assert near == min(told, key=lambda row: abs(float(means[row]) - 0.05))
    small = Modeler(RELEASE, goal=Minimize(), **noiseless).recommend()
    turned = [(row, -value) for row, value in told.items()]
    assert small == Modeler(RELEASE, history=turned, generator=seeded(3)).recommend()


@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_the_bound_of_a_search_is_wider_than_the_models_and_shrinks_to_nothing(goal):
    modeler = Modeler(RELEASE, goal=goal, generator=seeded(3))
    go_on(modeler, OUTCOMES, 12)
    told = dict(modeler.history)
    left = modeler._answers_left(told)
    values = [goal.sign * value for value in told.values()]
    assert modeler.regret_bound() >= modeler.pursuit.bound(left, left.deviation, values, LEVEL)
    assert modeler.regret_bound(0.01) >= modeler.regret_bound(0.5) >= 0
    assert modeler.regret_bound(rounds=12) == modeler.regret_bound()
    go_on(modeler, OUTCOMES, N - 12)
    assert modeler.regret_bound() == 0


def test_the_bound_of_the_k_best_needs_k_answers():
    modeler = Modeler(RELEASE, goal=TopK(3), history=[(0, 1.0), (1, 2.0)])
    assert modeler.regret_bound() == math.inf
    modeler.tell(2, 0.5)
    assert modeler.regret_bound() < math.inf
    first = [Modeler(RELEASE, goal=goal, history=modeler.history) for goal in (TopK(1), Maximize())]
    assert first[0].regret_bound() == first[1].regret_bound()


def test_the_gain_of_the_k_best_is_over_the_last_of_them_and_some_goals_have_none():
    history = [(row, float(OUTCOMES[row])) for row in range(8)]
    gains = [Modeler(RELEASE, goal=TopK(k), history=history).expected_gain() for k in (1, 3)]
    assert gains[0] == Modeler(RELEASE, history=history).expected_gain()
    assert gains[1].rest > gains[0].rest
    turned = [(row, -value) for row, value in history]
    small = Modeler(RELEASE, goal=Minimize(), history=history).expected_gain()
    assert small == Modeler(RELEASE, history=turned).expected_gain()
    for goal in (Above(0.4), Target(0.1)):
        with pytest.raises(ValueError, match="goal must be of large or of small outcomes"):
            Modeler(RELEASE, goal=goal, history=history).expected_gain()


@pytest.mark.parametrize("goal", [None, Minimize(), Above(0.4), TopK(3), Target(0.1)], ids=str)
def test_no_sentence_is_made_of_a_bound_that_is_not_there_yet(goal):
    modeler = Modeler(RELEASE, goal=goal, history=[(0, 0.5), (1, 0.5)])
    text = modeler.regret_sentence(unit="kg")
    assert text.startswith("Nothing can be said of the unmeasured records yet")
    assert "inf" not in text


def test_of_how_much_nearer_a_record_may_be_nothing_is_said():
    pursuit = Modeler(RELEASE, goal=Target(0.1)).pursuit
    assert "2 kg from 0.1" in (text := pursuit.sentence(2.0, 0.05, "kg"))
    assert text.startswith("Nothing can be excluded")
    assert "%" not in text
    assert "inf" not in pursuit.sentence(math.inf, 0.05, "kg")
    text = pursuit.sentence(0.0, 0.05, "kg")
    assert text.startswith("If the fitted model is right, the chance that ")
    assert text.endswith("nearer to 0.1 than the nearest answer is at most 5 %.")


@pytest.mark.parametrize("goal", [goal for goal in GOALS if type(goal) is not Target], ids=repr)
def test_a_sentence_says_what_is_bounded_and_on_what_condition(goal):
    text = Modeler(RELEASE, goal=goal).pursuit.sentence(2.0, 0.05, "kg")
    assert text.startswith("If the fitted model is right, the chance that ")
    assert text.endswith(" is at most 5 %.")
    assert "2" in text
    assert "guarantee" not in text


def test_noised_answers_are_told_from_the_outcome_behind_them():
    # the joint Gaussian of outcomes and answers, written out
    promise = OutcomeMechanism(5.0, 0.0, (-2.0, 2.0)).guarantee()
    release = replace(RELEASE, outcome_guarantee=promise)
    told = go_on(modeler := Modeler(release, goal=Above(0.3), generator=seeded(3)), OUTCOMES, 10)
    model = modeler.model()
    X = release.candidates[told]
    with torch.no_grad():
        prior = model.covar_module(X).to_dense()
        known = float(model.likelihood.noise_covar.noise[0])
        scatter = float(model.likelihood.second_noise)
        outcome = prior + scatter * torch.eye(len(told), dtype=torch.float64)
        gain = outcome @ torch.linalg.inv(outcome + known * torch.eye(len(told), dtype=torch.float64))
        mean = model.mean_module(X)
        expected = mean + gain @ (model.train_targets - mean)
        variance = (outcome - gain @ outcome).diagonal()
    found = modeler._knowledge().outcomes_told()
    torch.testing.assert_close(found.mean, expected, rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(found.deviation, variance.sqrt(), rtol=1e-6, atol=1e-8)
    transform = model.outcome_transform
    level = (0.3 - float(transform.means)) / float(transform.stdvs)
    chance = norm.sf(level, expected.numpy(), variance.sqrt().numpy())
    for confidence in (0.3, 0.5, 0.9):
        likely = [row for row, p in zip(told, chance, strict=True) if p >= confidence]
        assert modeler.above(confidence=confidence).measured == likely
    assert modeler.recommend() == [row for row, p in zip(told, chance, strict=True) if p >= 0.5]
