import io
import sys

import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    Curator,
    History,
    Modeler,
    NoisyProjection,
    Observation,
    PrivacyGuarantee,
    PublicScaling,
    run,
)
from botorch_private.modeler import latest_fit
from botorch_private.modeler import run as loop_module

# A grid has the ends of its range.
pytestmark = pytest.mark.filterwarnings("ignore::botorch_private.PrivacyLeakWarning")
N = 20
SCALING = PublicScaling([0.0], [1.0])
LINE = torch.linspace(0, 1, N, dtype=torch.float64).unsqueeze(-1)


def make_parties(objective=None, *, records=LINE, scaling=SCALING, seed=3, n_initial=5, **options):
    """A curator whose release is almost without noise, and a modeler."""
    objective = (lambda record: float(record[0])) if objective is None else objective
    curator = Curator(
        records, scaling, NoisyProjection(1e3), objective, generator=seeded(seed), **options
    )
    return curator, Modeler(curator.release, n_initial=n_initial, generator=seeded(seed))


@pytest.fixture
def without_fits(monkeypatch):
    """Leave the hyperparameters at their prior values, to save time."""
    monkeypatch.setattr(latest_fit, "fit_model", lambda model: None)


class Terminal(io.StringIO):
    def __init__(self, interactive=True):
        super().__init__()
        self.interactive = interactive

    def isatty(self):
        return self.interactive


def hill(records):
    """A smooth function with one best place inside the unit cube."""
    return (torch.sin(6 * records) - 10 * (records - 0.3) ** 2).sum(dim=1)


@pytest.mark.parametrize(("d", "n", "rounds"), [(1, 100, 20), (2, 150, 25)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_almost_without_noise_the_optimum_of_a_smooth_problem_is_found(d, n, rounds, seed):
    # uniform random rows find it with probability 20/100 and 25/150: all six with 4e-5
    records = torch.rand(n, d, generator=seeded(seed), dtype=torch.float64)
    outcomes = hill(records)
    curator, modeler = make_parties(
        outcomes, records=records, scaling=PublicScaling([0.0] * d, [1.0] * d), seed=seed
    )
    history = run(curator, modeler, rounds)
    assert history.best.value == float(outcomes.max())


def test_the_regret_of_the_history_is_that_of_the_measured_outcomes(without_fits):
    outcomes = torch.arange(float(N), dtype=torch.float64)
    curator, modeler = make_parties(outcomes)
    history = run(curator, modeler, 8)
    measured = outcomes[curator.permutation[history.indices]]
    assert history.values.tolist() == measured.tolist()
    best = float("-inf")
    for value, simple, cumulative in zip(
        measured.tolist(),
        history.simple_regret(N - 1).tolist(),
        history.cumulative_regret(N - 1).diff(prepend=torch.zeros(1)).tolist(),
        strict=True,
    ):
        best = max(best, value)
        assert simple == N - 1 - best
        assert cumulative == N - 1 - value


def test_the_history_is_the_whole_one_of_the_modeler(without_fits):
    curator, modeler = make_parties()
    first = run(curator, modeler, 3)
    second = run(curator, modeler, 4)
    assert len(first) == 3
    assert len(second) == 7
    assert list(second)[:3] == list(first)
    assert isinstance(second, History)
    assert second == modeler.history


def test_a_pending_row_is_measured_first(without_fits):
    curator, modeler = make_parties()
    pending = modeler.ask()
    assert run(curator, modeler, 1).indices == [pending]


def test_the_whole_table_can_be_measured(without_fits):
    curator, modeler = make_parties(max_queries=N)
    assert sorted(run(curator, modeler, N).indices) == list(range(N))
    assert curator.queries_left == 0


@pytest.mark.parametrize(
    ("rounds", "message"),
    [(6, "the curator's 5 queries left, got 6$"), (20, "the 19 rows not measured yet, got 20$")],
)
def test_more_rounds_than_budget_or_rows_are_refused_before_anything_is_measured(rounds, message):
    measured = []
    curator, modeler = make_parties(measured.append, max_queries=5)
    modeler.tell(0, 1.0)
    with pytest.raises(ValueError, match=f"^rounds must be at most {message}"):
        run(curator, modeler, rounds)
    assert measured == []
    assert modeler.pending == []


@pytest.mark.parametrize("rounds", [0, -1, 2.0, True, "3", None])
def test_rounds_must_be_a_count(rounds):
    curator, modeler = make_parties()
    with pytest.raises(ValueError, match=r"^rounds must be an integer >= 1, got"):
        run(curator, modeler, rounds)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), RuntimeError("broken")], ids=["interrupt", "error"]
)
def test_an_interrupted_run_keeps_its_history_and_goes_on_where_it_was(without_fits, error):
    failing = [False]

    def measure(record):
        if failing[0]:
            raise error
        return float(record[0])

    whole = run(*make_parties(measure), 10)
    curator, modeler = make_parties(measure)
    run(curator, modeler, 6)
    failing[0] = True
    with pytest.raises(type(error)):
        run(curator, modeler, 4)
    assert list(modeler.history) == list(whole)[:6]
    assert modeler.pending == [whole.indices[6]]
    failing[0] = False
    assert run(curator, modeler, 4) == whole


def test_anything_that_answers_indices_can_be_the_curator(without_fits):
    class Oracle:
        queries_left = None

        def query(self, index):
            return Observation(index, float(index))

    _, modeler = make_parties()
    assert len(run(Oracle(), modeler, 3)) == 3


@pytest.mark.parametrize(
    ("interactive", "progress", "quiet_seconds", "shown"),
    [(True, True, 0, True), (True, False, 0, False), (False, True, 0, False), (True, True, 60, False)],
    ids=["terminal", "not wanted", "no terminal", "short run"],
)
def test_a_bar_is_shown_on_a_terminal_in_a_long_run_only(
    monkeypatch, without_fits, interactive, progress, quiet_seconds, shown
):
    terminal = Terminal(interactive)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(loop_module, "_QUIET_SECONDS", quiet_seconds)
    curator, modeler = make_parties()
    run(curator, modeler, 3, progress=progress)
    text = terminal.getvalue()
    assert ("measuring: 100%" in text) is shown
    assert ("3/3" in text) is shown
    assert bool(text) is shown


def test_the_bar_shows_the_best_value_and_no_index(monkeypatch, without_fits):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(loop_module, "_QUIET_SECONDS", 0)
    curator, modeler = make_parties(lambda record: 12.5)
    run(curator, modeler, 3)
    assert "best 12.5" in terminal.getvalue()


def test_the_bar_shows_the_bound_once_it_is_worth_something(monkeypatch, without_fits):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(loop_module, "_QUIET_SECONDS", 0)
    outcomes = torch.linspace(0, 1, 30, dtype=torch.float64)
    curator, modeler = make_parties(outcomes, records=outcomes.unsqueeze(-1))
    run(curator, modeler, 19)
    assert "bound" not in terminal.getvalue()
    run(curator, modeler, 1)
    assert f"bound {modeler.regret_bound():.3g}" in terminal.getvalue()


def test_runs_shorter_than_two_seconds_show_no_bar():
    assert loop_module._QUIET_SECONDS == 2.0


@pytest.mark.parametrize("swap", [True, False])
def test_the_same_seeds_give_the_same_run(without_fits, swap):
    first = run(*make_parties(seed=4), 8)
    assert (run(*make_parties(seed=5 if swap else 4), 8) == first) is not swap


def test_a_modeler_of_another_release_is_refused_before_measuring():
    budget = PrivacyGuarantee.budget(1e9)
    curator = Curator(LINE, SCALING, NoisyProjection(1e3), LINE[:, 0], privacy_budget=budget)
    modeler = Modeler(curator.release)
    curator.rerelease()
    with pytest.raises(ValueError, match="modeler must work on the curator's current release"):
        run(curator, modeler, 2)
    assert len(modeler.history) == 0


def test_swapped_parties_are_refused():
    curator, modeler = make_parties()
    with pytest.raises(
        TypeError, match=r"modeler must be a Modeler, got Curator: run\(curator, modeler"
    ):
        run(modeler, curator, 2)
