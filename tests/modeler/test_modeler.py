import math

import numpy as np
import pytest
import torch
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers.draws import seeded
from helpers.rounds import go_on, release_of

from botorch_private import (
    History,
    Modeler,
    Observation,
    make_model,
)
from botorch_private.modeler import latest_fit
from botorch_private.modeler.goals import pursuit

N = 30


RELEASE = release_of(8 * torch.randn(N, 2, generator=seeded(0), dtype=torch.float64))
OUTCOMES = -(RELEASE.candidates - RELEASE.candidates[0]).norm(dim=1)
# rows that a model cannot tell apart, so that choices hang on how ties are broken: equal rows,
# and rows that are all equally far from each other
EQUAL_ROWS = release_of(RELEASE.candidates[:3].repeat_interleave(8, dim=0), noise_variance=0.0)
TIED = {"equal rows": EQUAL_ROWS, "equidistant rows": release_of(1e4 * torch.eye(20))}


@pytest.fixture
def fits(monkeypatch):
    """Replace the fit by a count of calls: the prior values of the hyperparameters are kept."""
    calls = []
    monkeypatch.setattr(latest_fit, "fit_model", calls.append)
    return calls


def test_a_modeler_finds_the_best_row_of_a_smooth_problem():
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, 15)
    assert modeler.best == Observation(0, 0.0)


@pytest.mark.parametrize("told", [0, 2, 7])
def test_asking_again_returns_the_same_row_until_it_is_told(told):
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, told)
    row = modeler.ask()
    assert [modeler.ask(), modeler.ask(q=1), modeler.ask()] == [row, [row], row]
    assert modeler.pending == [row]
    modeler.tell(row, 0.0)
    assert modeler.pending == []
    assert modeler.ask() != row


@pytest.mark.parametrize("told", [0, 2, 7])
def test_a_batch_is_a_list_of_different_rows_and_pending_ones_come_first(told):
    modeler = Modeler(RELEASE, generator=seeded(3))
    known = go_on(modeler, OUTCOMES, told)
    first = modeler.ask(q=3)
    assert type(first) is list
    assert all(type(row) is int for row in first)
    batch = modeler.ask(q=5)
    assert batch[:3] == first
    assert len(set(batch) | set(known)) == 5 + told
    assert modeler.pending == modeler.ask(q=5) == batch
    assert modeler.ask(q=2) == batch[:2]
    assert modeler.ask() == batch[0]


def test_a_batch_can_be_told_in_any_order_and_in_part():
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, 6)
    batch = modeler.ask(q=5)
    for row in (batch[3], batch[0]):
        modeler.tell(row, float(OUTCOMES[row]))
    left = [batch[1], batch[2], batch[4]]
    assert modeler.pending == left
    following = modeler.ask(q=5)
    assert following[:3] == left
    assert not set(following) & {batch[3], batch[0]}
    assert modeler.history.indices[-2:] == [batch[3], batch[0]]


def test_batches_of_five_search_a_whole_table():
    modeler = Modeler(RELEASE, generator=seeded(3))
    asked = []
    for _ in range(N // 5):
        batch = modeler.ask(q=5)
        asked += batch
        for row in batch:
            modeler.tell(row, float(OUTCOMES[row]))
    assert sorted(asked) == list(range(N))


def test_a_batch_asked_row_by_row_equals_one_asked_at_once():
    # pending rows count as answered with their posterior mean, whenever they were asked; beta is
    # fixed, since it would grow with each ask
    line = release_of(torch.linspace(-10, 10, 40).unsqueeze(-1), noise_variance=0.0)
    history = [(row, float(row)) for row in range(0, 12, 2)]
    at_once, grown = (Modeler(line, beta=4.0, history=history, generator=seeded(3)) for _ in range(2))
    for q in range(1, 5):
        batch = grown.ask(q=q)
    assert batch == at_once.ask(q=4)


def test_a_batch_before_any_answer_may_exceed_the_initial_design():
    modeler = Modeler(RELEASE, n_initial=3, generator=seeded(3))
    initial = modeler.ask(q=3)
    batch = modeler.ask(q=8)
    assert batch[:3] == initial
    assert len(set(batch)) == 8
    assert modeler.ask(q=8) == batch


def test_rows_can_be_told_that_were_never_asked():
    modeler = Modeler(RELEASE, generator=seeded(3))
    pending = modeler.ask()
    other = next(row for row in range(N) if row not in modeler.ask(q=5))
    modeler.tell(other, 2.0)
    assert modeler.ask() == pending
    assert modeler.best == Observation(other, 2.0)
    for _ in range(N - 1):
        row = modeler.ask()
        assert row != other
        modeler.tell(row, float(OUTCOMES[row]))


def test_before_anything_is_told_there_is_no_best_and_no_model():
    modeler = Modeler(RELEASE)
    assert modeler.history == History()
    with pytest.raises(ValueError, match=r"must hold at least one observation"):
        modeler.best  # noqa: B018
    with pytest.raises(ValueError, match=r"^indices must hold at least one measured row, got none"):
        modeler.model()


def test_another_value_for_a_row_needs_correct_and_the_same_one_changes_nothing():
    modeler = Modeler(RELEASE)
    modeler.tell(4, 1.5)
    modeler.tell(5, 1.0)
    modeler.tell(4, 1.5)
    modeler.tell(4, 1.5, correct=True)
    with pytest.raises(
        ValueError, match=r"^value must be 1.5 for index 4, which was told before, got 9.0: pass"
    ):
        modeler.tell(4, 9.0)
    assert modeler.history == History([(4, 1.5), (5, 1.0)])
    modeler.tell(4, 0.5, correct=True)
    assert modeler.history == History([(4, 0.5), (5, 1.0)])
    assert modeler.best == Observation(5, 1.0)


def test_a_correction_is_as_if_the_value_had_been_told_at_first():
    corrected, right = (Modeler(RELEASE, refit_every=3, generator=seeded(3)) for _ in range(2))
    rows = go_on(right, OUTCOMES, 8)
    for row in rows:
        corrected.tell(row, 100.0 if row == rows[2] else float(OUTCOMES[row]))
    corrected.ask()
    corrected = Modeler(RELEASE, refit_every=3, history=corrected.history, generator=seeded(3))
    corrected.model()  # fitted to the wrong value
    corrected.tell(rows[2], float(OUTCOMES[rows[2]]), correct=True)
    assert go_on(corrected, OUTCOMES, 6) == go_on(right, OUTCOMES, 6)


def test_the_same_seed_asks_the_same_rows_and_another_seed_others():
    first, second, other = (
        go_on(Modeler(RELEASE, generator=seeded(s)), OUTCOMES, 10) for s in (1, 1, 2)
    )
    assert first == second
    assert first[:5] != other[:5]


def test_without_a_generator_the_initial_rows_are_random():
    starts = {tuple(Modeler(RELEASE).ask(q=5)) for _ in range(5)}
    assert len(starts) == 5  # two are equal with probability 5 * 4 / 2 / 17,100,720


@pytest.mark.parametrize("refit_every", [1, 3])
@pytest.mark.parametrize("cut", [1, 4, 6, 9])
def test_a_resumed_run_goes_on_as_the_uninterrupted_one(refit_every, cut):
    options = {"refit_every": refit_every}
    whole = go_on(Modeler(RELEASE, generator=seeded(3), **options), OUTCOMES, 12)
    first = Modeler(RELEASE, generator=seeded(3), **options)
    asked = go_on(first, OUTCOMES, cut)
    first.ask()  # pending when the run is cut off
    second = Modeler(RELEASE, generator=seeded(3), history=first.history, **options)
    assert asked + go_on(second, OUTCOMES, 12 - cut) == whole


@pytest.mark.parametrize("release", TIED.values(), ids=TIED)
def test_a_resumed_run_breaks_ties_as_the_uninterrupted_one(fits, release):
    outcomes = torch.zeros(len(release.candidates))
    whole = go_on(Modeler(release, generator=seeded(3)), outcomes, 15)
    for cut in (6, 10, 13):
        history = [(row, 0.0) for row in whole[:cut]]
        resumed = Modeler(release, generator=seeded(3), history=history)
        assert go_on(resumed, outcomes, 15 - cut) == whole[cut:]


def test_a_run_of_batches_resumes_too():
    def batches(modeler, count):
        asked = []
        for _ in range(count):
            batch = modeler.ask(q=3)
            asked.append(batch)
            for row in batch:
                modeler.tell(row, float(OUTCOMES[row]))
        return asked

    first = Modeler(RELEASE, generator=seeded(3))
    batches(first, 3)
    second = Modeler(RELEASE, generator=seeded(3), history=first.history)
    assert batches(first, 2) == batches(second, 2)


def test_ties_are_not_broken_by_position(fits):
    # 19 rows tie each time; the lowest index every time has probability below 1e-8
    asked = go_on(
        Modeler(release_of(1e4 * torch.eye(20)), n_initial=1, generator=seeded(3)), torch.zeros(20), 12
    )
    assert asked[1:] != sorted(asked[1:])


@pytest.mark.parametrize("release", [RELEASE, *TIED.values()], ids=["plain", *TIED])
def test_no_row_is_asked_twice_and_all_rows_can_be_asked(fits, release):
    n = len(release.candidates)
    modeler = Modeler(release, generator=seeded(3))
    assert sorted(go_on(modeler, torch.zeros(n), n)) == list(range(n))
    with pytest.raises(
        ValueError, match=rf"^q must be at most the 0 rows .* got 1: the release has {n} rows"
    ):
        modeler.ask()


def test_a_batch_larger_than_the_rest_is_refused_and_a_smaller_one_is_not(fits):
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, N - 3)
    with pytest.raises(
        ValueError, match=r"^q must be at most the 3 rows that are not measured yet, got 4"
    ):
        modeler.ask(q=4)
    assert modeler.pending == []
    assert len(set(modeler.ask(q=3))) == 3


def test_an_initial_design_larger_than_the_table_takes_all_rows():
    modeler = Modeler(RELEASE, n_initial=N + 50, generator=seeded(3))
    assert modeler.n_initial == N
    assert sorted(modeler.ask(q=N)) == list(range(N))


def test_the_first_rows_are_the_initial_design(fits):
    modeler = Modeler(RELEASE, n_initial=4, generator=seeded(3))
    initial = modeler.ask(q=4)
    assert go_on(modeler, OUTCOMES, 4) == initial
    assert fits == []
    modeler.ask()
    assert len(fits) == 1


@pytest.mark.parametrize("release", [release_of([[0.0], [1.0]]), release_of([[0.0, 1.0], [0.0, 1.0]])])
def test_two_rows_work(release):
    modeler = Modeler(release, n_initial=1, generator=seeded(3))
    assert sorted(go_on(modeler, [1.0, 2.0], 2)) == [0, 1]
    assert modeler.best == Observation(1, 2.0)


def test_a_constant_column_and_one_feature_work():
    rows = torch.cat([RELEASE.candidates[:12, :1], torch.zeros(12, 1)], dim=1)
    for release in (release_of(rows), release_of(rows[:, :1])):
        asked = go_on(Modeler(release, generator=seeded(3)), OUTCOMES, 8)
        assert len(set(asked)) == 8


@pytest.mark.parametrize(
    "outcomes",
    [
        torch.zeros(N),
        torch.full((N,), -7.5e8),
        1e12 + OUTCOMES / 20,
        1e-12 * OUTCOMES,
        (OUTCOMES.median() < OUTCOMES).double(),
        (OUTCOMES / 2).exp() ** 3,
    ],
    ids=["zero", "constant", "offset 1e12", "tiny", "binary", "heavy-tailed"],
)
def test_outcomes_of_any_size_are_searched_without_a_failure(outcomes):
    modeler = Modeler(RELEASE, generator=seeded(3))
    asked = go_on(modeler, outcomes, 16)
    assert len(set(asked)) == 16
    assert modeler.best.value == float(outcomes.max())


@pytest.mark.parametrize(("factor", "offset"), [(1, 1e3), (1, 2.0**30), (1024, 0)])
def test_offset_and_factor_of_the_outcomes_do_not_change_what_is_asked(factor, offset):
    outcomes = torch.round(OUTCOMES * 64) / 64  # so that adding the offset is exact
    plain = go_on(Modeler(RELEASE, generator=seeded(3)), outcomes, 10)
    assert go_on(Modeler(RELEASE, generator=seeded(3)), factor * outcomes + offset, 10) == plain


def test_a_line_search_that_reaches_lengthscale_zero_is_survived():
    model = make_model(RELEASE, range(6), OUTCOMES[:6])
    with torch.no_grad():
        model.covar_module.base_kernel.raw_lengthscale.fill_(-1e3)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    assert torch.isfinite(mll(model(*model.train_inputs), model.train_targets))


def test_the_random_state_of_the_program_does_not_change_what_is_asked():
    asked = []
    for seed in (1, 2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # what the user's own program does to the global state
            before = torch.get_rng_state()
            asked.append(go_on(Modeler(RELEASE, generator=seeded(3)), OUTCOMES, 9))
            assert torch.equal(torch.get_rng_state(), before)
    assert asked[0] == asked[1]


@pytest.mark.parametrize(("refit_every", "expected"), [(1, [5, 6, 7, 8, 9, 10, 11]), (3, [5, 8, 11])])
def test_hyperparameters_are_refitted_after_so_many_observations(fits, refit_every, expected):
    modeler = Modeler(RELEASE, refit_every=refit_every, generator=seeded(3))
    go_on(modeler, OUTCOMES, 12)
    assert [len(mll.train_targets) for mll in fits] == expected


def test_between_refits_the_model_holds_all_data_and_the_latest_hyperparameters():
    modeler = Modeler(RELEASE, refit_every=4, generator=seeded(3))
    go_on(modeler, OUTCOMES, 5)
    fitted = modeler.model()
    go_on(modeler, OUTCOMES, 2)
    later = modeler.model()
    assert len(later.train_targets) == 7
    for name, value in fitted.named_parameters():
        assert torch.equal(value, later.get_parameter(name))
    assert not later.training


def test_a_fit_moves_the_hyperparameters():
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, 8)
    start = make_model(RELEASE, modeler.history.indices, modeler.history.values)
    assert (
        modeler.model().covar_module.base_kernel.lengthscale
        != start.covar_module.base_kernel.lengthscale
    )


def test_float32_works_and_stays_float32():
    modeler = Modeler(RELEASE, dtype=torch.float32, generator=seeded(3))
    asked = go_on(modeler, OUTCOMES, 10)
    assert len(set(asked)) == 10
    assert len(set(modeler.ask(q=3))) == 3
    model = modeler.model()
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert model.posterior(RELEASE.candidates[:1].float()).mean.dtype == torch.float32
    assert modeler.history.values.dtype == torch.float64


def test_noise_awareness_reaches_the_kernel(fits):
    for noise_aware in (True, False):
        modeler = Modeler(RELEASE, noise_aware=noise_aware)
        modeler.tell(0, 1.0)
        variance = modeler.model().covar_module.base_kernel.noise_variance
        assert variance.max() == (0.3 if noise_aware else 0.0)


def test_a_given_beta_replaces_the_schedule(monkeypatch, fits):
    seen = []
    original = pursuit.DiscreteUCB

    def spy(*args, **kwargs):
        seen.append(original(*args, **kwargs))
        return seen[-1]

    monkeypatch.setattr(pursuit, "DiscreteUCB", spy)
    go_on(Modeler(RELEASE, beta=0.25, generator=seeded(3)), OUTCOMES, 7)
    assert {acqf.beta for acqf in seen} == {0.25}
    seen.clear()
    go_on(Modeler(RELEASE, failure_probability=0.1, generator=seeded(3)), OUTCOMES, 7)
    # rounds are counted from 1 after the initial design
    by_hand = [2 * math.log(N * t**2 * math.pi**2 / (6 * 0.1)) for t in (1, 2)]
    assert [acqf.beta for acqf in seen] == pytest.approx(by_hand, rel=1e-14)
    seen.clear()
    go_on(Modeler(RELEASE, failure_probability=0.1, beta_scale=0.2, generator=seeded(3)), OUTCOMES, 7)
    assert [acqf.beta for acqf in seen] == pytest.approx([beta / 5 for beta in by_hand], rel=1e-14)


def test_expected_outcome_noise_reaches_the_model(fits):
    modeler = Modeler(RELEASE, outcome_noise=0.4)
    modeler.tell(0, 1.0)
    assert float(modeler.model().likelihood.noise_covar.noise_prior.loc) == pytest.approx(math.log(0.4))


@pytest.mark.parametrize("history", [[(4, 1.0), (2, 3.0)], History([(4, 1.0), (2, 3.0)])])
def test_a_modeler_resumes_from_pairs_or_a_history(history):
    modeler = Modeler(RELEASE, history=history)
    assert list(modeler.history) == [(4, 1.0), (2, 3.0)]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), "1", None, True, 1j, [1.0], 10**400]
)
def test_a_value_that_is_no_finite_number_is_refused_and_not_kept(value):
    modeler = Modeler(RELEASE)
    row = modeler.ask()
    with pytest.raises(ValueError, match=r"^value must be a finite number, got"):
        modeler.tell(row, value)
    assert len(modeler.history) == 0
    assert modeler.pending == [row]


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(2), 3, torch.tensor(1.5), np.array([2.5])])
def test_a_value_of_any_real_type_is_kept_as_a_float(value):
    modeler = Modeler(RELEASE)
    modeler.tell(4, value)
    assert modeler.best == Observation(4, np.asarray(value).item())
    assert type(modeler.best.value) is float


@pytest.mark.parametrize("index", [-1, N, 1.0, True, "1", None, np.array([1, 2])])
def test_an_index_that_is_no_row_is_refused_and_not_kept(index):
    modeler = Modeler(RELEASE)
    with pytest.raises(
        ValueError, match=rf"^index must be (a row index in 0..{N - 1}|an integer|one integer)"
    ):
        modeler.tell(index, 1.0)
    assert len(modeler.history) == 0


@pytest.mark.parametrize("index", [np.int32(4), torch.tensor(4), np.array([4])])
def test_an_index_of_any_integer_type_is_a_row(index):
    modeler = Modeler(RELEASE)
    modeler.tell(index, 1.0)
    assert type(modeler.history.indices[0]) is int


@pytest.mark.parametrize("q", [0, -1, 1.0, True, "2"])
def test_a_batch_size_that_is_no_count_is_refused(q):
    with pytest.raises(ValueError, match=r"^q must be an integer >= 1, got"):
        Modeler(RELEASE).ask(q=q)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"release": RELEASE.candidates}, TypeError, "^release must be a Release, got Tensor"),
        ({"release": None}, TypeError, "^release must be a Release, got NoneType"),
        (
            {"failure_probability": 0.0},
            ValueError,
            r"^failure_probability must be a number in \(0, 1\), got 0.0",
        ),
        (
            {"failure_probability": 1},
            ValueError,
            r"^failure_probability must be a number in \(0, 1\), got 1",
        ),
        ({"n_initial": 0}, ValueError, "^n_initial must be an integer >= 1, got 0"),
        ({"n_initial": 2.0}, ValueError, "^n_initial must be an integer >= 1, got 2.0"),
        ({"refit_every": 0}, ValueError, "^refit_every must be an integer >= 1, got 0"),
        ({"beta": -1.0}, ValueError, "^beta must be a finite number >= 0, got -1.0"),
        ({"beta_scale": 0.0}, ValueError, "^beta_scale must be a finite number > 0, got 0.0"),
        ({"outcome_noise": 1.0}, ValueError, r"^outcome_noise must be a number in \(0, 1\), got 1.0"),
        ({"beta": float("inf")}, ValueError, "^beta must be a finite number >= 0, got inf"),
        (
            {"dtype": torch.float16},
            ValueError,
            "^dtype must be torch.float64 or torch.float32, got torch.float16",
        ),
        (
            {"dtype": torch.int64},
            ValueError,
            "^dtype must be torch.float64 or torch.float32, got torch.int64",
        ),
        ({"generator": 3}, TypeError, "^generator must be a torch.Generator or None, got int"),
        ({"max_memory": 0}, ValueError, "^max_memory must be an integer >= 1, got 0"),
        ({"max_memory": None}, ValueError, "^max_memory must be an integer >= 1, got None"),
        ({"history": [(N, 1.0)]}, ValueError, f"^index must be a row index in 0..{N - 1}, got {N}"),
        (
            {"history": [(4, 1.0), (4, 2.0)]},
            ValueError,
            "^value must be 1.0 for index 4, which",
        ),
    ],
)
def test_unusable_arguments_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        Modeler(**{"release": RELEASE, **change})


def test_repr_shows_counts_and_no_row():
    modeler = Modeler(RELEASE)
    modeler.tell(4, 1.0)
    modeler.ask(q=2)
    assert repr(modeler) == f"Modeler({RELEASE!r}, told=1, pending=2)"


def test_a_skipped_row_is_never_asked_again_and_takes_no_part():
    modeler = Modeler(RELEASE, n_initial=2, generator=seeded(3))
    asked = []
    for turn in range(8):
        row = modeler.ask()
        assert row not in asked
        asked.append(row)
        modeler.skip(row) if turn % 2 else modeler.tell(row, float(turn))
        assert modeler.pending == []
    assert modeler.history.indices == asked[::2]
    modeler.tell(asked[1], 9.0)  # measured after all
    assert modeler.best == (asked[1], 9.0)
    assert modeler.skipped == sorted(asked[3::2])


def test_skipping_every_row_leaves_nothing_to_ask():
    modeler = Modeler(RELEASE)
    for row in range(len(RELEASE.candidates)):
        modeler.skip(row)
    with pytest.raises(ValueError, match="q must be at most the 0 rows"):
        modeler.ask()


@pytest.mark.parametrize("told", [0, 7])
def test_a_question_that_is_taken_back_is_as_if_it_had_never_been_asked(told):
    undisturbed, modeler = (Modeler(RELEASE, generator=seeded(3)) for _ in range(2))
    go_on(undisturbed, OUTCOMES, told)
    go_on(modeler, OUTCOMES, told)
    first, second = modeler.ask(q=2)
    modeler.take_back(first)
    assert modeler.pending == [second]
    modeler.take_back(second)
    assert modeler.pending == modeler.skipped == []
    assert modeler.ask(q=3) == undisturbed.ask(q=3)


def test_only_a_pending_row_is_taken_back_and_only_one_without_a_value_is_skipped():
    modeler = Modeler(RELEASE, history=[(3, 1.0)])
    for row in (3, 4):
        with pytest.raises(ValueError, match=f"^index must be a pending or skipped row, got {row}"):
            modeler.take_back(row)
    with pytest.raises(ValueError, match="^index must be a row without a value, got 3"):
        modeler.skip(3)
