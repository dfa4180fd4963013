from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private._base import record_index
from botorch_private._base.record_index import RecordIndex

# Few values, so that equal rows and rows that differ in one bit are common.
VALUES = [0.0, -0.0, 1.0, -1.0, np.nextafter(1.0, 2.0), 5e-324, -5e-324, 1e308, 0.1]
UNKNOWN = [np.nan, np.inf, -np.inf, 7.0]
properties = settings(derandomize=True, max_examples=150, deadline=None)


class SlowTwin:
    """A dictionary from the bytes of a row, -0.0 written as 0.0, to its first record."""

    def __init__(self, table):
        self.first = {}
        for record, row in enumerate(table):
            self.first.setdefault(self.key(row), record)

    def find(self, rows):
        return [self.first.get(self.key(row), -1) for row in rows]

    @staticmethod
    def key(row):
        return (row + 0.0).tobytes()


@st.composite
def tables_and_rows(draw):
    d = draw(st.integers(1, 3))
    table = draw(st.lists(st.tuples(*[st.sampled_from(VALUES)] * d), min_size=1, max_size=30))
    strange = st.tuples(*[st.sampled_from(VALUES + UNKNOWN)] * d)
    rows = draw(st.lists(st.one_of(st.sampled_from(table), strange), max_size=30))
    return np.array(table), np.array(rows).reshape(-1, d)


def hashed_to(buckets):
    """Make different rows share a hash: only ``buckets`` hashes are left."""
    honest = record_index._hashes
    return mock.patch.object(record_index, "_hashes", lambda rows: honest(rows) % np.uint64(buckets))


@properties
@given(tables_and_rows())
def test_index_equals_a_dictionary_of_row_bytes(case):
    table, rows = case
    assert RecordIndex(table).find(rows).tolist() == SlowTwin(table).find(rows)


@pytest.mark.parametrize("buckets", [1, 2, 5])
@properties
@given(case=tables_and_rows())
def test_index_equals_a_dictionary_however_many_rows_share_a_hash(buckets, case):
    table, rows = case
    with hashed_to(buckets):
        assert RecordIndex(table).find(rows).tolist() == SlowTwin(table).find(rows)


@pytest.mark.parametrize("buckets", [3, 2**62])
@pytest.mark.parametrize("asked", [1, 1000, 1001, 3000])
def test_index_equals_a_dictionary_on_both_sides_of_the_sorted_search(asked, buckets):
    # More than 1,000 rows are searched in the order of their hashes.
    random = np.random.default_rng(asked)
    table = random.integers(0, 5, size=(200, 3)) / 3.0
    rows = random.integers(0, 6, size=(asked, 3)) / 3.0
    expected = SlowTwin(table).find(rows)
    with hashed_to(buckets):
        assert RecordIndex(table).find(rows).tolist() == expected
    assert -1 in expected or asked == 1


def test_equal_records_are_found_as_the_first_of_them():
    table = np.array([[2.0, 1.0], [3.0, 3.0], [2.0, 1.0], [3.0, 3.0], [2.0, 1.0]])
    assert RecordIndex(table).find(table).tolist() == [0, 1, 0, 1, 0]


def test_negative_zero_is_zero():
    table = np.array([[1.0, 1.0], [-0.0, 2.0]])
    assert RecordIndex(table).find(np.array([[0.0, 2.0], [-0.0, 2.0]])).tolist() == [1, 1]


def test_a_row_one_rounding_step_away_is_not_found():
    table = np.random.default_rng(0).normal(size=(50, 4))
    for column in range(4):
        rows = table.copy()
        rows[:, column] = np.nextafter(rows[:, column], np.inf)
        assert (RecordIndex(table).find(rows) == -1).all()


def test_values_in_another_column_order_are_not_the_record():
    table = np.array([[1.0, 2.0, 3.0]])
    rows = np.array([[1.0, 3.0, 2.0], [3.0, 2.0, 1.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
    assert RecordIndex(table).find(rows).tolist() == [-1, -1, -1, 0]


@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[::-1][::-1]]
)
def test_memory_layout_does_not_matter(layout):
    table = np.random.default_rng(1).normal(size=(40, 3))
    assert (RecordIndex(layout(table)).find(table) == np.arange(40)).all()
    assert (RecordIndex(table).find(layout(table)) == np.arange(40)).all()


def test_no_rows_are_found_nowhere():
    assert RecordIndex(np.ones((2, 3))).find(np.empty((0, 3))).shape == (0,)


def test_small_integers_and_flags_have_hashes_of_their_own():
    # They differ in few bits and in proportion, which is where a weak hash collides and a look-up slows.
    axis = np.arange(40.0)
    grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    flags = (np.arange(2**16)[:, None] >> np.arange(16)) % 2 * 1.0
    for table in (grid, grid - 20, grid / 8, flags):
        assert len(np.unique(record_index._hashes(table))) == len(table)
