"""A measurement that fails: one class of errors, which says the row, and two ways to go on."""

import copy
import pickle

import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import release_of

from botorch_private import (
    Curator,
    MeasurementError,
    Modeler,
    NoisyProjection,
    NoValueError,
    Observation,
    OutcomeMechanism,
    PublicScaling,
    WithdrawnError,
    run,
)

LINE = torch.linspace(0, 1, 20, dtype=torch.float64).unsqueeze(-1)
NAN = float("nan")


def parties(objective, **options):
    curator = Curator(
        LINE,
        PublicScaling([0.0], [1.0]),
        NoisyProjection(1e3),
        objective,
        generator=seeded(1),
        **options,
    )
    return curator, Modeler(curator.release, n_initial=20, generator=seeded(2))


def broken(record):
    raise RuntimeError("broken")


FAILURES = {
    "raises": broken,
    "nothing": lambda record: None,
    "not a number": lambda record: NAN,
    "infinite": lambda record: float("inf"),
    "several": lambda record: [1.0, 2.0],
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failing_row_is_raised_with_its_row_and_stays_the_next_one(failure):
    curator, modeler = parties(failure)
    for _ in range(2):
        with pytest.raises(
            NoValueError, match="run\\(..., failures='skip'\\) or modeler.skip"
        ) as caught:
            run(curator, modeler, 3)
        assert isinstance(caught.value, MeasurementError)
        assert modeler.pending == [caught.value.row]
    modeler.skip(caught.value.row)
    assert modeler.ask() != caught.value.row


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("noised", [False, True])
def test_failing_rows_are_skipped_and_do_not_count(failure, noised):
    def sometimes(record):
        # an infinite outcome is clipped where answers are noised
        fails = broken if noised and failure is FAILURES["infinite"] else failure
        return fails(record) if record[0] < 0.4 else float(record[0])

    options = {"outcome_mechanism": OutcomeMechanism(1e4, 0.0, (0.0, 1.0))} if noised else {}
    curator, modeler = parties(sometimes, **options)
    history = run(curator, modeler, 12, failures="skip")
    assert len(history) == 12
    records = curator.permutation[modeler.skipped]
    assert (LINE[records] < 0.4).all()
    assert (LINE[curator.permutation[history.indices]] >= 0.4).all()
    with pytest.raises(ValueError, match=r"of the 20 rows were withdrawn by the curator or skipped"):
        run(curator, modeler, 20 - 12 - len(modeler.skipped), failures="skip")


def test_a_curator_of_the_users_own_says_no_value_by_the_same_class():
    class Laboratory:
        queries_left = None

        def query(self, index):
            if index % 2:
                raise NoValueError(row=index)
            return Observation(index, float(index))

    modeler = Modeler(release_of(torch.eye(10)), n_initial=10, generator=seeded(3))
    with pytest.raises(NoValueError, match=r"^row \d has no value$"):
        run(Laboratory(), modeler, 5)
    history = run(Laboratory(), modeler, 5 - len(modeler.history), failures="skip")
    assert sorted(history.indices) == [0, 2, 4, 6, 8]


def test_other_errors_are_never_skipped():
    class Offline:
        queries_left = None

        def query(self, index):
            raise ConnectionError("offline")

    modeler = Modeler(release_of(torch.eye(10)), generator=seeded(3))
    with pytest.raises(ConnectionError, match="^offline") as caught:
        run(Offline(), modeler, 5, failures="skip")
    assert modeler.skipped == []
    (row,) = modeler.pending
    assert caught.value.__notes__ == [f"Row {row} was asked for, and stays the next one."]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, TypeError, MemoryError])
@pytest.mark.parametrize("failures", ["raise", "skip"])
def test_what_stops_a_program_or_is_a_bug_is_raised_as_it_is(stop, failures):
    class Laboratory:
        queries_left = None

        def query(self, index):
            raise stop

    modeler = Modeler(release_of(torch.eye(10)), generator=seeded(3))
    with pytest.raises(stop) as caught:
        run(Laboratory(), modeler, 5, failures=failures)
    assert type(caught.value) is stop
    assert (modeler.skipped, len(modeler.pending)) == ([], 1)


class Ill:
    """A curator that answers one row with something else than a number."""

    queries_left = None

    def __init__(self, answer, row):
        self.answer, self.row = answer, row

    def query(self, index):
        return Observation(index, self.answer if index == self.row else float(index))


@pytest.mark.parametrize("answer", [NAN, float("inf"), None, "secret", [1.0, 2.0], 1e200])
def test_an_answer_that_is_no_finite_number_is_a_failure_of_its_row(answer):
    modeler = Modeler(release_of(torch.eye(10)), n_initial=10, generator=seeded(3))
    laboratory = Ill(answer, modeler.ask())
    with pytest.raises(NoValueError, match=rf"^row {laboratory.row} has no value: value must") as caught:
        run(laboratory, modeler, 5)
    assert caught.value.row == laboratory.row
    assert isinstance(caught.value.__cause__, ValueError)
    assert "secret" not in str(caught.value)
    assert modeler.pending == [laboratory.row]
    history = run(laboratory, modeler, 5, failures="skip")
    assert (len(history), modeler.skipped) == (5, [laboratory.row])


def test_an_objective_that_always_fails_does_not_use_up_all_rows():
    works = []

    def objective(record):
        if not works:
            raise TypeError("a bug")
        return float(record[0])

    curator, modeler = parties(objective)
    with pytest.raises(NoValueError, match=r"^the last 10 rows all failed \(\d+(, \d+){9}\)") as caught:
        run(curator, modeler, 3, failures="skip")
    assert isinstance(caught.value.__cause__, MeasurementError)
    assert caught.value.__cause__.row == caught.value.row
    assert len(modeler.skipped) == 10
    works.append("mended")
    for row in modeler.skipped:
        modeler.take_back(row)
    assert (modeler.skipped, len(run(curator, modeler, 20))) == ([], 20)


def test_failures_with_answers_between_them_are_skipped_however_many_they_are():
    class Laboratory:
        queries_left, turn = None, 0

        def query(self, index):
            self.turn += 1
            if self.turn % 10:
                raise NoValueError(row=index)
            return Observation(index, float(index))

    modeler = Modeler(release_of(torch.eye(60)), n_initial=60, generator=seeded(3))
    assert len(run(Laboratory(), modeler, 5, failures="skip")) == 5
    assert len(modeler.skipped) == 45


def test_skipped_rows_are_resumed_from_a_file(tmp_path):
    curator, modeler = parties(lambda record: NAN if record[0] < 0.4 else float(record[0]))
    run(curator, modeler, 6, failures="skip")
    assert modeler.skipped
    modeler.save(tmp_path / "search.json")
    again = Modeler.load(tmp_path / "search.json", curator.release)
    assert again.skipped == modeler.skipped
    assert list(run(curator, again, 5, failures="skip")) == list(
        run(curator, modeler, 5, failures="skip")
    )


def test_what_to_do_with_failures_is_one_of_two_words():
    curator, modeler = parties(FAILURES["nothing"])
    with pytest.raises(ValueError, match="failures must be one of 'raise', 'skip'"):
        run(curator, modeler, 5, failures="ignore")


def test_a_resumed_modeler_knows_what_was_skipped():
    outcomes = LINE.squeeze(-1)
    _, modeler = parties(outcomes)
    for row in modeler.ask(8)[:5]:
        modeler.tell(row, float(row))
    modeler.skip(modeler.pending[0])
    again = Modeler(
        modeler.release,
        n_initial=20,
        history=modeler.history,
        pending=[*modeler.pending, *modeler.skipped],
        skipped=modeler.skipped,
        generator=seeded(2),
    )
    assert (again.skipped, again.pending) == (modeler.skipped, modeler.pending)
    assert again.ask(9) == modeler.ask(9)
    with pytest.raises(ValueError, match="index must be a row without a value"):
        Modeler(modeler.release, history=modeler.history, skipped=modeler.history.indices[:1])
    with pytest.raises(ValueError, match="index must be a row index in 0..19"):
        Modeler(modeler.release, skipped=[20])


@pytest.mark.parametrize(
    "error",
    [WithdrawnError(3), MeasurementError("failed", 3), NoValueError("none", 3), NoValueError(row=3)],
)
def test_an_error_keeps_its_row_and_its_words_in_a_copy(error):
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), twin.row, str(twin)) == (type(error), 3, str(error))
    assert isinstance(error, RuntimeError)
