"""Cells: each record in exactly one, by what was declared; refusals say rows and no values."""

import math

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import CellResponse, Curator, Encoding, Ledger, PrivacyGuarantee, PublicScaling
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.cells_file import load_cells, save_cells
from botorch_private.curator.cells.suggest_cells import suggest_cells, suggested_count
from botorch_private.curator.features.kinds import Category, Number, YesNo
from botorch_private.curator.publish import publish

SECRET = 7_654_321.125


def slow_cell(record, edges):
    """Where a record lies, one comparison at a time."""
    number = 0
    for value, ends in zip(record, edges, strict=True):
        place = sum(value >= end for end in ends[1:-1])
        number = number * (len(ends) - 1) + place
    return number


@given(
    records=st.lists(st.tuples(*[st.floats(-20, 20)] * 2), min_size=1, max_size=20),
    first=st.lists(st.integers(-10, 10), min_size=2, max_size=5, unique=True).map(sorted),
    second=st.lists(st.integers(-10, 10), min_size=3, max_size=5, unique=True).map(sorted),
)
@settings(deadline=None)
def test_a_grid_agrees_with_its_slow_twin(records, first, second):
    cells = Cells([first, second])
    found = cells.of_records(np.array(records)).tolist()
    assert found == [slow_cell(record, (first, second)) for record in records]
    assert cells.count == (len(first) - 1) * (len(second) - 1)


def test_values_outside_count_as_the_nearest_end_and_are_seen_as_clipped():
    cells = Cells({"age": [18, 40, 65]})
    assert cells.of_records([[-999.0], [40.0], [1e9], [65.0]]).tolist() == [0, 1, 1, 1]
    assert cells.clipped([[-999.0], [40.0], [1e9], [65.0]]).tolist() == [True, False, True, False]


def test_order_of_rows_is_followed():
    """At epsilon 40 no label is a lie: each row tells the cell of the record that it stands for."""
    cells = Cells([list(range(51))])
    table = torch.arange(50, dtype=torch.float64).unsqueeze(-1) + 0.5
    published = publish(table, None, CellResponse(40.0, cells))
    assert published.release.labels.tolist() == published.permutation.tolist()


def test_a_joining_record_in_no_cell_is_refused_before_anything_is_spent():
    cells = Cells.of(lambda record: int(record[0]) if record[0] < 3 else None, 3, features=1)
    ledger = Ledger(PrivacyGuarantee.budget(100.0))
    mechanism = CellResponse(3.0, cells)
    curator = Curator([[0.0], [1.0], [2.0]], None, mechanism, [1.0, 2.0, 3.0], ledger=ledger)
    before = ledger.entries
    with pytest.raises(ValueError, match="row 1 is in none or in several"):
        curator.add([[1.5], [7.0]], [1.0, 1.0])
    assert ledger.entries == before
    assert len(curator.release.candidates) == 3
    assert len(curator.add([[1.5]], [1.0]).candidates) == 4


def test_a_function_is_asked_once_for_each_record_of_a_release():
    asked = []

    def cell(record):
        asked.append(float(record[0]))
        return int(record[0])

    publish([[0.0], [1.0], [0.5]], None, CellResponse(3.0, Cells.of(cell, 2, features=1)))
    assert asked == [0.0, 1.0, 0.5]


def test_declared_features_have_their_cells():
    encoding = Encoding(
        [Number("age", 18, 100, edges=(40,)), YesNo("sick"), Category("ward", ("a", "b", "c"))]
    )
    cells = Cells.of_encoding(encoding)
    assert cells.space.shape == (2, 2, 3)
    assert cells.space.ordered == (True, False, False)
    table = pandas.DataFrame({"age": [20, 90], "sick": ["no", "yes"], "ward": ["c", "b"]})
    assert cells.of_records(encoding.encode(table)).tolist() == [2, 6 + 3 + 1]


@pytest.mark.parametrize("codes", [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [2.0, 0.0]])
def test_a_record_in_no_category_or_in_two_is_refused_by_its_row(codes):
    cells = Cells.of_encoding(Encoding([Category("ward", ("a", "b"))]))
    with pytest.raises(ValueError, match="row 1 is in none or in several, by 'ward'"):
        cells.of_records([[1.0, 0.0], codes])


@pytest.mark.parametrize(
    "function",
    [
        lambda record: None,
        lambda record: -1,
        lambda record: 2,
        lambda record: 0.5,
        lambda record: math.nan,
        lambda record: [0, 1],
        lambda record: [False, True],
        lambda record: "0",
        lambda record: str(record),
        lambda record: 10**400,
        lambda record: (_ for _ in ()).throw(RuntimeError(f"bad {record}")),
    ],
)
def test_what_a_function_says_of_a_record_is_not_shown(function):
    cells = Cells.of(lambda record: 0 if record[0] == 0 else function(record), 2, features=1)
    with pytest.raises(ValueError, match="row 1 is in none") as caught:
        cells.of_records([[0.0], [SECRET]])
    assert str(int(SECRET)) not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_batched_function_gives_one_number_for_each_record():
    cells = Cells.of(lambda rows: (rows[:, 0] > 1).long(), 2, features=1, batched=True)
    assert cells.of_records([[0.0], [2.0]]).tolist() == [0, 1]
    short = Cells.of(lambda rows: [0], 2, features=1, batched=True)
    with pytest.raises(ValueError, match="one whole number for each record"):
        short.of_records([[0.0], [2.0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: (rows[:, 0] > rows[:, 0].median()).long(),
        lambda rows: torch.argsort(torch.argsort(rows[:, 0])) * 2 // len(rows),
        lambda rows: (rows[:, 0] > rows[:, 0].roll(1)).long(),
        lambda rows: (rows[:, 0] >= rows[0, 0]).long(),
    ],
)
def test_a_batched_function_that_compares_records_is_refused_before_anything_is_spent(function):
    """Its labels would depend on other records, and no guarantee would hold."""
    records = torch.rand(200, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    ledger = Ledger(PrivacyGuarantee.budget(100.0))
    cells = Cells.of(function, 2, features=1, batched=True)
    with pytest.raises(ValueError, match="must number each record by itself") as caught:
        Curator(records, None, CellResponse(3.0, cells), torch.zeros(200), ledger=ledger)
    assert not any(str(float(value)) in str(caught.value) for value in records[:, 0])
    assert ledger.entries == ()


def test_a_batched_model_that_rounds_otherwise_alone_is_no_alarm():
    """One record on an edge may fall to the other side, as a matrix product of one row does."""
    odd = torch.rand(50, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    cells = Cells.of(
        lambda rows: ((rows[:, 0] > 0.5) ^ ((rows[:, 0] == odd[0, 0]) & (len(rows) > 1))).long(),
        2,
        features=1,
        batched=True,
    )
    assert len(cells.of_records(odd)) == 50


def test_a_function_cannot_change_the_records():
    def spoil(rows):
        rows[:] = 0
        return np.zeros(len(rows))

    table = torch.ones(3, 1, dtype=torch.float64)
    Cells.of(spoil, 2, features=1, batched=True).of_records(table)
    assert table.tolist() == [[1.0]] * 3


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({}, "must map each feature"),
        ("ab", "must map each feature"),
        ({"age": [18]}, "both ends"),
        ({"age": [18, 18, 30]}, "must rise"),
        ({"age": [30, 18]}, "must rise"),
        ({"age": [18, math.inf]}, "finite"),
        ({"age": [18, 100]}, "2 to 10000 cells in all, got 1"),
        ([list(range(102)), list(range(102))], "2 to 10000 cells in all, got 10201"),
    ],
)
def test_unusable_edges_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        Cells(edges)


@pytest.mark.parametrize("edges", [(18, 40), (40, 30), (40, 100), (40, 40), (-1, 40)])
def test_edges_outside_the_declared_range_are_refused(edges):
    with pytest.raises(ValueError, match="must rise, and lie inside its range"):
        Number("age", 18, 100, edges=edges)


def test_tables_with_other_columns_are_refused():
    cells = Cells({"age": [18, 40, 100]})
    with pytest.raises(ValueError, match="age"):
        cells.of_records(pandas.DataFrame({"weight": [50.0]}))
    with pytest.raises(ValueError, match="must have 1 columns"):
        cells.of_records([[1.0, 2.0]])
    with pytest.raises(ValueError, match="row 0"):
        cells.of_records([[math.nan]])


def test_a_file_of_ranges_declares_cells(tmp_path):
    path = tmp_path / "ranges.toml"
    path.write_text(
        "[features.age]\nlower = 18\nupper = 100\nedges = [40, 65]\n[features.sick]\nkind = 'boolean'\n"
    )
    assert load_cells(path).space.shape == (3, 2)
    path.write_text("[features.age]\nlower = 18\nupper = 100\n")
    with pytest.raises(ValueError, match=r"ranges.toml: feature 'age' must have edges"):
        load_cells(path)
    path.write_text("[features.age]\nlower = 18\nupper = 100\nedges = [65, 40]\n")
    with pytest.raises(ValueError, match=r"'age'.*must rise"):
        load_cells(path)


@pytest.mark.parametrize(
    ("epsilon", "count"), [(0.1, 2), (1.0, 2), (2.0, 3), (3.0, 4), (5.0, 12), (8.0, 55)]
)
def test_suggested_counts_follow_from_epsilon_alone(epsilon, count):
    assert suggested_count(epsilon) == count


def test_a_suggestion_divides_declared_ranges_evenly():
    encoding = Encoding([Number("age", 20, 100), Number("dose", 0, 8), YesNo("sick")])
    found = suggest_cells(8.0, encoding)
    assert found.features[0].edges == tuple(20.0 + 80.0 * step / 6 for step in range(1, 6))
    assert Cells.of_encoding(found).space.shape == (6, 6, 2)


def test_cells_of_a_history_are_restored_from_their_file(tmp_path):
    generator = torch.Generator().manual_seed(0)
    records = torch.rand(200, 2, generator=generator, dtype=torch.float64)
    scaling = PublicScaling([0, 0], [1, 1], names=["age", "dosé"])
    cells = Cells.from_history(
        records, records[:, 0], scaling, outcome_range=(0, 1), cuts=[0.5, 0.9], epsilon=4.0
    )
    path = tmp_path / "cells.toml"
    save_cells(cells, path)
    again = load_cells(path)
    assert torch.equal(again.of_records(records), cells.of_records(records))
    assert again.score.promise == cells.score.promise
    with pytest.raises(FileExistsError):
        save_cells(cells, path)
    path.write_text(path.read_text().replace("weights", "weight"))
    with pytest.raises(ValueError, match="was changed or is not whole"):
        load_cells(path)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("norm = ", "norm = nan"),
        ("norm = ", "norm = -1.0"),
        ("people = ", "people = 0"),
        ("epsilon = ", "epsilon = -1.0"),
        ("delta = ", "delta = 2.0"),
        ("lower = ", "lower = [2.0, 0.0]"),
        ("cuts = ", "cuts = [0.5, 0.5]"),
    ],
)
def test_a_file_of_cells_with_numbers_that_cannot_be_is_refused(tmp_path, line, instead):
    records = torch.rand(60, 2, dtype=torch.float64)
    cells = Cells.from_history(
        records, records[:, 0], PublicScaling([0, 0], [1, 1]), outcome_range=(0, 1)
    )
    path = tmp_path / "cells.toml"
    save_cells(cells, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    changed = [instead if each.startswith(line) else each for each in lines]
    assert changed != lines
    path.write_text("\n".join(changed), encoding="utf-8")
    with pytest.raises(ValueError, match="was changed or is not whole"):
        load_cells(path)
