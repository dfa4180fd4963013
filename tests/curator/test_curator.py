import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch

from botorch_private import (
    BudgetError,
    Curator,
    MeasurementError,
    NoisyProjection,
    Observation,
    PrivacyGuarantee,
    PublicScaling,
)
from botorch_private.curator.mechanisms.entropy import OSEntropy
from botorch_private.curator.publish import planned_guarantee

N, D = 12, 3
SCALING = PublicScaling([0.0] * D, [1.0] * D)
LAPLACE = NoisyProjection(3.0)
GAUSSIAN = NoisyProjection(1.0, delta=1e-5, noise="gaussian")
ALMOST_NOISELESS = NoisyProjection(epsilon=1e6)
SOURCE = torch.Generator().manual_seed(0)
RECORDS = torch.rand(N, D, generator=SOURCE, dtype=torch.float64)
OUTCOMES = torch.rand(N, generator=SOURCE, dtype=torch.float64)


def make_curator(objective=OUTCOMES, *, records=RECORDS, scaling=SCALING, mechanism=LAPLACE, **options):
    return Curator(records, scaling=scaling, mechanism=mechanism, objective=objective, **options)


class Laboratory:
    """An objective that counts what it measures, and can fail."""

    def __init__(self):
        self.measured = []
        self.error = None

    def __call__(self, record):
        if self.error is not None:
            raise self.error
        self.measured.append(record)
        return float(record.sum())


@pytest.fixture
def stop_drawing(monkeypatch):
    """Return a function: from its call on, drawing noise or an order fails the test."""

    def stop():
        def words(self, count):
            raise AssertionError("something was drawn")

        monkeypatch.setattr(OSEntropy, "words", words)

    return stop


def test_a_vector_of_outcomes_answers_for_the_record_behind_the_row():
    curator = make_curator()
    for row in range(N):
        record = int(curator.permutation[row])
        assert curator.query(row) == Observation(row, float(OUTCOMES[record]))


def test_a_callable_measures_the_raw_record_behind_the_row():
    curator = make_curator(lambda record: record.sum())
    for row in range(N):
        expected = float(RECORDS[curator.permutation[row]].sum())
        assert curator.query(row).value == pytest.approx(expected, rel=1e-15)


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")
def test_the_objective_gets_raw_features_unclipped_in_float64():
    seen = []
    curator = make_curator(lambda record: seen.append(record) or 0.0, records=100 * RECORDS.float())
    curator.query(0)
    assert seen[0].dtype == torch.float64
    assert torch.equal(seen[0], (100 * RECORDS.float()).double()[curator.permutation[0]])


@pytest.mark.parametrize("kind", ["list", "float32", "integers", "series", "tensor"])
def test_outcomes_of_any_real_type_are_answered_as_floats(kind):
    numbers = list(range(N))
    outcomes = {
        "list": numbers,
        "float32": np.float32(numbers),
        "integers": torch.tensor(numbers),
        "series": pd.Series(numbers, index=numbers[::-1]),  # by position, not by label
        "tensor": torch.tensor(numbers, dtype=torch.float64, requires_grad=True),
    }[kind]
    curator = make_curator(outcomes)
    observation = curator.query(4)
    assert type(observation.value) is float
    assert observation.value == float(curator.permutation[4])


@pytest.mark.parametrize("table", [RECORDS.tolist(), RECORDS.numpy(), pd.DataFrame(RECORDS.numpy())])
def test_records_of_any_table_type_are_accepted(table):
    curator = make_curator(lambda record: record[0], records=table)
    assert curator.query(3).value == float(RECORDS[curator.permutation[3], 0])


def test_a_record_is_measured_once_and_then_recalled():
    laboratory = Laboratory()
    curator = make_curator(laboratory)
    assert (
        curator.query(3)
        == curator.query(3)
        == curator.query(np.int64(3))
        == curator.query(torch.tensor(3))
    )
    assert len(laboratory.measured) == 1


def test_the_budget_counts_different_records_and_repeats_are_free():
    laboratory = Laboratory()
    curator = make_curator(laboratory, max_queries=3)
    answers = []
    for used, row in enumerate([5, 7, 9]):
        assert curator.queries_left == 3 - used
        answers.append(curator.query(row))
        assert curator.query(5) == answers[0]
    assert curator.queries_left == 0
    with pytest.raises(BudgetError, match=r"^all max_queries=3 measurements are spent; rows that were"):
        curator.query(0)
    assert [curator.query(row) for row in [5, 7, 9]] == answers
    assert len(laboratory.measured) == 3


def test_without_a_budget_every_record_can_be_measured():
    curator = make_curator()
    assert curator.queries_left is None
    assert sorted(curator.query(row).value for row in range(N)) == sorted(OUTCOMES.tolist())


def test_a_failing_measurement_leaves_the_curator_as_it_was():
    laboratory = Laboratory()
    curator = make_curator(laboratory, max_queries=1)
    for error, seen in ((RuntimeError("broken"), MeasurementError), (KeyboardInterrupt(),) * 2):
        laboratory.error = error
        with pytest.raises(seen if isinstance(seen, type) else type(seen)):
            curator.query(2)
        assert curator.queries_left == 1
    laboratory.error = None
    assert curator.query(2).index == 2  # measured now
    assert curator.queries_left == 0


class Unprintable:
    """Something that quotes a record when it is made a number."""

    def __float__(self):
        raise TypeError("MARKER")


@pytest.mark.parametrize(
    "objective",
    [lambda record: 1 / 0 * record, lambda record: Unprintable(), lambda r: bytearray(b"MARKER")],
)
def test_an_error_says_nothing_of_the_record_not_even_in_what_it_is_chained_to(objective):
    def with_marker(record):
        try:
            return objective(record)
        except ZeroDivisionError as error:
            raise RuntimeError(f"MARKER {record.tolist()}") from error

    curator = make_curator(with_marker)
    with pytest.raises(MeasurementError) as caught:
        curator.query(3)
    error = caught.value
    assert "MARKER" not in str(error)
    assert (error.__cause__, error.__context__) == (None, None)
    if not isinstance(error, ValueError):
        assert "measuring released row 3 failed; what went wrong is in the curator's last" in str(error)
        assert "MARKER" in str(curator.last_failure)


NAN = float("nan")
NOT_FINITE = [NAN, float("inf"), -float("inf"), np.nan, torch.tensor(NAN), np.array([np.inf])]
ARRAYS = [np.array([1.0, 2.0]), np.array([]), np.array("1.5"), torch.ones(2), torch.ones(0)]
NOT_ONE_NUMBER = [None, "1.5", b"1.5", [1.0], {}, 1j, 10**400, *ARRAYS, torch.tensor(1j)]


@pytest.mark.parametrize(
    ("wanted", "result"),
    [
        *(("a finite number", result) for result in NOT_FINITE),
        *(("one number", result) for result in NOT_ONE_NUMBER),
    ],
)
def test_a_result_that_is_no_finite_number_is_refused_and_not_charged(wanted, result):
    curator = make_curator(lambda record: result, max_queries=1)
    message = (
        f"^objective must return {wanted}, got something else for released row 4: what it is depends"
    )
    with pytest.raises(ValueError, match=message):
        curator.query(4)
    assert curator.queries_left == 1


class Stop(BaseException):
    """An error that is none of `Exception`, whose name and text tell of a record."""


class Named(type):
    def __call__(cls, *arguments):
        return type.__call__(type("MARKER", (cls,), {}), *arguments)


class Broken(RuntimeError, metaclass=Named):
    """Its type is called MARKER."""


@pytest.mark.parametrize("raised", [Broken("MARKER"), Stop("MARKER"), GeneratorExit("MARKER")])
def test_neither_the_type_nor_the_text_of_what_an_objective_raises_is_told(raised):
    laboratory = Laboratory()
    laboratory.error = raised
    curator = make_curator(laboratory)
    with pytest.raises(MeasurementError) as caught:
        curator.query(3)
    assert not {"MARKER", type(raised).__name__} & set(str(caught.value).split())
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert curator.last_failure is raised


@pytest.mark.parametrize("raised", [KeyboardInterrupt("MARKER"), SystemExit("MARKER"), SystemExit(7)])
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_or_an_exit_stops_the_program_and_says_nothing(raised, late):
    class Number:
        def __float__(self):
            raise raised

    laboratory = Laboratory()
    laboratory.error = raised
    curator = make_curator((lambda record: Number()) if late else laboratory)
    with pytest.raises(type(raised)) as caught:
        curator.query(3)
    assert caught.value is not raised
    assert caught.value.args in ((), (1,))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize(
    "result",
    [2, 2.0, np.float32(2), np.array(2), np.array([[2.0]]), torch.tensor(2), torch.full((1, 1), 2.0)],
)
def test_a_result_may_be_any_single_number(result):
    value = make_curator(lambda record: result).query(0).value
    assert value == 2.0
    assert type(value) is float


def test_an_objective_cannot_change_the_stored_record():
    seen = []

    def spoil(record):
        seen.append(record.clone())
        record.zero_()
        return 0.0

    budget = PrivacyGuarantee.budget(1e7)
    curator = make_curator(spoil, mechanism=ALMOST_NOISELESS, privacy_budget=budget)
    for row in range(N):
        curator.query(row)
    assert torch.equal(torch.stack(seen), RECORDS[curator.permutation])
    again = curator.rerelease()
    scaled = SCALING.transform(RECORDS)[curator.permutation]
    assert torch.allclose(again.candidates, scaled, atol=1e-3)


@pytest.mark.parametrize(
    "make", [torch.clone, lambda x: x.numpy().copy(), lambda x: pd.DataFrame(x.numpy().copy())]
)
def test_answers_do_not_follow_later_changes_of_the_table(make):
    records, outcomes = make(RECORDS), OUTCOMES.clone()
    measuring = make_curator(lambda record: record[0], records=records)
    known = make_curator(outcomes, records=records)
    if isinstance(records, pd.DataFrame):
        records.iloc[:] = 0.0
    else:
        records[:] = 0.0
    outcomes[:] = -1.0
    for row in range(N):
        assert measuring.query(row).value == float(RECORDS[measuring.permutation[row], 0])
        assert known.query(row).value == float(OUTCOMES[known.permutation[row]])


def test_the_release_is_one_object():
    curator = make_curator()
    release = curator.release
    curator.query(0)
    assert curator.release is release


def test_a_release_again_needs_a_budget(stop_drawing):
    curator = make_curator()
    before = curator.release
    stop_drawing()
    with pytest.raises(BudgetError, match=r"noised again, on top of epsilon 3 at one unit: .*privacy_b"):
        curator.rerelease()
    assert curator.release is before
    assert curator.guarantee == before.guarantee


def test_a_release_again_over_the_budget_draws_nothing(stop_drawing):
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(5.9))
    before, order = curator.release, curator.permutation
    stop_drawing()
    with pytest.raises(
        BudgetError,
        match=r"^the privacy budget is epsilon 5.9 .* of that 3 is spent, and with this .* would be 6: ",
    ):
        curator.rerelease()
    assert curator.release is before
    assert torch.equal(curator.permutation, order)
    assert curator.guarantee == before.guarantee


@pytest.mark.parametrize("budget", [0, -1.0, float("nan"), float("inf"), "6", True])
def test_a_budget_must_be_a_positive_number(budget):
    with pytest.raises(ValueError, match=r"^epsilon must be a finite number > 0, got"):
        PrivacyGuarantee.budget(budget)


@pytest.mark.parametrize("budget", [6.0, "6", {"epsilon": 6.0}])
def test_a_budget_that_is_no_guarantee_is_refused(stop_drawing, budget):
    stop_drawing()
    with pytest.raises(TypeError, match=r"^privacy_budget must be a PrivacyGuarantee, such as"):
        make_curator(privacy_budget=budget)


def test_a_first_release_over_the_budget_draws_nothing(stop_drawing):
    stop_drawing()
    with pytest.raises(BudgetError, match=r"of that 0 is spent, and with this epsilon would be 3: "):
        make_curator(privacy_budget=PrivacyGuarantee.budget(2.9))


def test_l2_laplace_releases_add_their_epsilons():
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(12.0))
    for releases in (2, 3, 4):
        curator.rerelease()
        assert curator.guarantee.epsilon == pytest.approx(3.0 * releases, rel=1e-9)
        assert curator.guarantee.epsilon <= 3.0 * releases
        assert len(curator.guarantee.parts) == releases
        assert curator.guarantee.holds
    with pytest.raises(BudgetError, match=r"12 is spent"):
        curator.rerelease()


def test_gaussian_releases_compose_below_their_sum():
    curator = make_curator(mechanism=GAUSSIAN, privacy_budget=PrivacyGuarantee.budget(2.0, 1e-5))
    curator.rerelease()
    assert 1.0 < curator.guarantee.epsilon < 1.6
    assert curator.guarantee.delta == 1e-5


def test_a_release_again_is_fresh_and_measurements_stay_known():
    laboratory = Laboratory()
    curator = make_curator(laboratory, max_queries=1, privacy_budget=PrivacyGuarantee.budget(6.0))
    first, order = curator.release, curator.permutation
    answer = curator.query(0)
    again = curator.rerelease()
    assert curator.release is again
    assert again is not first
    assert not torch.equal(order, curator.permutation)
    rows = {tuple(row) for row in first.candidates.tolist()}
    assert not rows & {tuple(row) for row in again.candidates.tolist()}
    row = int((curator.permutation == order[0]).nonzero())  # the same record under its new index
    assert curator.query(row) == Observation(row, answer.value)
    assert len(laboratory.measured) == 1


def test_each_release_keeps_its_own_guarantee():
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(6.0))
    again = curator.rerelease()
    assert again.guarantee == planned_guarantee(N, SCALING, LAPLACE)
    assert curator.guarantee.epsilon > again.guarantee.epsilon


def test_a_seeded_generator_voids_the_guarantee_and_is_reproducible():
    first, second = (make_curator(generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first.release.candidates, second.release.candidates)
    assert torch.equal(first.permutation, second.permutation)
    assert first.guarantee.holds is False
    assert first.guarantee.seeded is True
    with pytest.raises(BudgetError, match=r"without a guarantee that holds, .* seeded generator"):
        make_curator(
            privacy_budget=PrivacyGuarantee.budget(6.0), generator=torch.Generator().manual_seed(3)
        )


def test_repr_shows_no_record_no_outcome_and_no_order():
    curator = make_curator(max_queries=5)
    curator.query(2)
    assert repr(curator) == f"Curator({curator.release!r}, measured=1 of 5)"
    assert repr(make_curator()).endswith("measured=0)")


def test_equal_records_are_different_records():
    laboratory = Laboratory()
    curator = make_curator(laboratory, records=RECORDS[:1].expand(4, D), max_queries=2)
    curator.query(0)
    curator.query(1)
    assert len(laboratory.measured) == 2
    with pytest.raises(BudgetError, match=r"measurements are spent"):
        curator.query(2)


def test_threads_measure_once_and_keep_the_budget():
    started = []

    def slow(record):
        started.append(1)
        time.sleep(0.02)
        return 1.0

    curator = Curator(RECORDS, SCALING, NoisyProjection(1.0), slow, max_queries=3)

    def ask(index):
        try:
            return curator.query(index).value
        except BudgetError:
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [0, 1, 2, 3, 4, 5, 0, 1]))
    assert len(started) == 3
    assert curator.queries_left == 0
    assert sum(answer is not None for answer in answers) >= 3


def test_a_missing_outcome_is_refused_at_every_door_without_the_advice_to_fill_it_in():
    missing = OUTCOMES.tolist()
    missing[1] = float("nan")
    curator = make_curator(OUTCOMES)
    for door in (lambda: make_curator(missing), lambda: curator.add(RECORDS + 0.5, missing)):
        with pytest.raises(ValueError, match="got NaN at position 1; leave such records out") as refused:
            door()
        assert "fill in" not in str(refused.value)
