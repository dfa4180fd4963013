import sys

import polars
import pyarrow
import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import release_of
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import History, Modeler, Observation

properties = settings(derandomize=True, max_examples=60, deadline=None)

observations = st.lists(st.tuples(st.integers(0, 30), st.floats(-1e6, 1e6)), min_size=1, max_size=20)


def test_regret_by_hand():
    history = History([(4, 1.0), (7, 3.0), (2, 2.0), (9, 5.0)])
    assert history.simple_regret(optimum=5.0).tolist() == [4.0, 2.0, 2.0, 0.0]
    assert history.cumulative_regret(optimum=5.0).tolist() == [4.0, 6.0, 9.0, 9.0]


@properties
@given(observations)
def test_simple_regret_falls_and_ends_at_the_gap_of_the_best(pairs):
    history = History(pairs)
    regret = history.simple_regret(1e6)
    assert len(regret) == len(pairs)
    assert (regret.diff() <= 0).all()
    assert (regret >= 0).all()
    assert float(regret[-1]) == 1e6 - history.best.value


@properties
@given(observations)
def test_cumulative_regret_is_the_sum_of_the_gaps(pairs):
    gaps = [2e6 - value for _, value in pairs]
    totals = [sum(gaps[: t + 1]) for t in range(len(gaps))]
    assert History(pairs).cumulative_regret(2e6).tolist() == pytest.approx(totals, rel=1e-12)


@properties
@given(observations)
def test_a_history_keeps_the_order_and_equals_its_copy(pairs):
    history = History(pairs)
    assert list(history) == pairs
    assert history.indices == [index for index, _ in pairs]
    assert history.values.tolist() == [value for _, value in pairs]
    assert history.values.dtype == torch.float64
    assert History(history) == history
    assert history != History([*pairs, (0, 0.0)])


def test_the_best_is_the_earliest_of_equal_values():
    assert History([(3, 1.0), (5, 2.0), (1, 2.0)]).best == Observation(5, 2.0)


def test_a_frame_has_one_row_a_round():
    frame = History([(4, 1.0), (7, 3.0), (2, 2.0)]).to_frame()
    assert frame.to_dict("list") == {
        "round": [1, 2, 3],
        "index": [4, 7, 2],
        "value": [1.0, 3.0, 2.0],
        "best": [1.0, 3.0, 3.0],
    }


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'botorch-private\[frames\]'"):
        History([(0, 1.0)]).to_frame()


def test_an_empty_history_has_no_regret_and_no_best():
    history = History()
    assert len(history) == 0
    assert history.simple_regret(1.0).tolist() == history.cumulative_regret(1.0).tolist() == []
    assert len(history.to_frame()) == 0
    assert repr(history) == "History(rounds=0)"
    with pytest.raises(ValueError, match=r"must hold at least one observation"):
        history.best  # noqa: B018


def test_repr_says_what_was_found():
    assert repr(History([(4, 1.0), (7, 3.0)])) == "History(rounds=2, best=3 at row 7)"


def test_a_history_is_not_hashable_since_it_equals_by_content():
    with pytest.raises(TypeError, match=r"unhashable"):
        hash(History())


def test_an_observation_is_a_pair_of_index_and_value():
    index, value = Observation(index=3, value=1.5)
    assert (index, value) == (3, 1.5)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((-1, 1.0), "^index must be an integer >= 0, got -1"),
        ((1.0, 1.0), "^index must be an integer >= 0, got a float"),
        ((True, 1.0), "^index must be an integer >= 0, got True"),
        ((1, float("nan")), "^value must be a finite number, got nan"),
        ((1, float("inf")), "^value must be a finite number, got inf"),
        ((1, "2.0"), "^value must be a finite number, got '2.0'"),
    ],
)
def test_a_bad_observation_is_refused(pair, message):
    with pytest.raises(ValueError, match=message):
        History([(0, 0.0), pair])


@pytest.mark.parametrize("regret", ["simple_regret", "cumulative_regret"])
def test_an_optimum_that_is_not_finite_is_refused(regret):
    with pytest.raises(ValueError, match=r"^optimum must be a finite number, got nan"):
        getattr(History([(0, 1.0)]), regret)(float("nan"))


FRAME = History([(7, 0.5), (2, -1.0), (4, 3.0)])


def test_a_history_is_made_again_from_its_frame_in_every_library():
    frame = FRAME.to_frame()
    for each in (
        frame,
        polars.from_pandas(frame),
        pyarrow.Table.from_pandas(frame),
        frame.convert_dtypes(),
    ):
        assert History(each) == FRAME


def test_a_frame_that_was_sorted_by_something_else_is_taken_by_its_rounds():
    frame = FRAME.to_frame()
    for by in ("value", "index"):
        assert History(frame.sort_values(by)) == FRAME
        assert History(frame.sort_values(by).drop(columns="round")) != FRAME
    relabelled = frame.set_axis(["c", "a", "b"])
    assert History(relabelled) == History(frame[["index", "value"]]) == FRAME


def test_a_modeler_goes_on_from_a_frame():
    release = release_of(torch.eye(9))
    modelers = [
        Modeler(release, history=given, generator=seeded(1)) for given in (FRAME, FRAME.to_frame())
    ]
    assert modelers[0].history == modelers[1].history
    assert modelers[0].ask(3) == modelers[1].ask(3)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (lambda f: f.drop(columns="index"), "it must have the column index once"),
        (lambda f: f.rename(columns={"value": "Anna"}), "it must have the column value once"),
        (lambda f: f[["index", "value", "value"]], "it must have the column value once"),
        (lambda f: f.assign(value=[1.0, None, 2.0]), "the column value lacks a value at 1"),
        (lambda f: f.set_index("index")["value"], "the labels of a Series may be rows or not"),
        (lambda f: dict(zip(f["index"], f["value"], strict=True)), "the pairs of a dict are its items"),
        (lambda f: "Anna", "the pairs of a dict are its items"),
        (lambda f: 3, "history must be pairs of row and value"),
        (lambda f: [4, 7], "position 0 is no pair"),
        (lambda f: [(4, 1.0), (7, 1.0, 2.0)], "position 1 is no pair"),
    ],
)
def test_what_is_no_history_is_refused_without_a_word_of_it(given, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        History(given(FRAME.to_frame()))
    assert "Anna" not in str(caught.value)
