"""The measuring side of a release in parts: the record behind a row is measured, once, and no other."""

import os

import pandas as pd
import pytest
import torch

from botorch_private import (
    BudgetError,
    Curator,
    MeasurementError,
    Modeler,
    NoisyProjection,
    OutcomeMechanism,
    PartsOracle,
    PublicScaling,
    RowMap,
    release_parquet,
    run,
)

N = 60
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["a", "b"])
RECORDS = torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = torch.sin(6 * RECORDS).sum(dim=1)


@pytest.fixture
def table(tmp_path):
    """Three files, with three row groups each."""
    (tmp_path / "table").mkdir()
    for i in range(3):
        some = slice(20 * i, 20 * i + 20)
        frame = pd.DataFrame(RECORDS[some].numpy(), columns=["a", "b"])
        frame["cost"], frame["word"] = OUTCOMES[some].numpy(), "secret word"
        frame.to_parquet(tmp_path / "table" / f"{i}.parquet", row_group_size=7)
    return tmp_path / "table"


@pytest.fixture
def released(table, tmp_path):
    parts = release_parquet(
        table, tmp_path / "out", SCALING, NoisyProjection(100.0), bucket_bytes=2**10, progress=False
    )
    return parts, RowMap.load(tmp_path / "out.map")


def test_each_row_is_answered_with_the_outcome_of_its_record(released):
    oracle = PartsOracle(*released, "cost")
    order = released[1].permutation
    assert [oracle.query(row).value for row in range(N)] == OUTCOMES[order].tolist()
    assert repr(oracle) == "PartsOracle(n=60, measured=60)"


def test_a_search_in_parts_is_that_of_the_release_and_the_table_in_one_piece(released):
    class Whole:
        queries_left = None

        def query(self, index):
            return oracle.query(index)

    oracle = PartsOracle(*released, "cost")
    parts = released[0]
    seeded = [torch.Generator().manual_seed(3) for _ in range(2)]
    one = run(oracle, Modeler(parts, generator=seeded[0]), rounds=9)
    assert one == run(Whole(), Modeler(parts.whole(), generator=seeded[1]), rounds=9)


def test_a_callable_gets_the_place_and_measures_once(released, table):
    asked = []

    def measure(place):
        asked.append(place)
        return released[1].read(place, ["b"])["b"]

    oracle = PartsOracle(*released, measure, max_queries=2)
    first = oracle.query(7)
    assert oracle.query(7) == first
    record = int(released[1].permutation[7])
    assert first.value == float(RECORDS[record, 1])
    assert asked == [(str(table / f"{record // 20}.parquet"), record % 20, record)]
    oracle.query(8)
    assert oracle.queries_left == 0
    with pytest.raises(BudgetError, match="max_queries=2"):
        oracle.query(9)
    assert len(asked) == 2


def touched(path):
    os.utime(path, ns=(1, 1))


def rewritten(path):
    pd.read_parquet(path).iloc[::-1].to_parquet(path)


@pytest.mark.parametrize("spoil", [touched, rewritten, os.unlink])
def test_a_file_that_was_changed_since_misleads_nobody(released, table, spoil):
    oracle = PartsOracle(*released, "cost")
    place = released[1].place(0)
    spoil(place.path)
    with pytest.raises(MeasurementError):
        oracle.query(0)
    assert isinstance(oracle.last_failure, ValueError | OSError)
    with pytest.raises((ValueError, OSError)):
        released[1].read(place, ["cost"])
    with pytest.raises((ValueError, OSError)):
        PartsOracle(*released, "cost")
    other = next(row for row in range(N) if released[1].place(row).path != place.path)
    assert oracle.query(other).value == float(OUTCOMES[released[1].place(other).record])


@pytest.mark.parametrize("objective", ["word", lambda place: "secret word", lambda place: 1 / 0])
def test_a_failure_repeats_nothing_of_the_table(released, objective):
    oracle = PartsOracle(*released, objective)
    with pytest.raises(MeasurementError) as failed:
        oracle.query(0)
    assert "secret" not in str(failed.value)
    assert failed.value.row == 0


def test_what_does_not_belong_together_is_refused(released, table, tmp_path):
    parts, places = released
    other = release_parquet(
        table,
        tmp_path / "noised",
        SCALING,
        NoisyProjection(3.0),
        outcome_guarantee=OutcomeMechanism(1.0, 0.0, (0.0, 1.0)).guarantee(),
        progress=False,
    )
    with pytest.raises(ValueError, match="must be the map of this release"):
        PartsOracle(other, places, "cost")
    with pytest.raises(ValueError, match="must not promise noise on the answers"):
        PartsOracle(other, RowMap.load(tmp_path / "noised.map"), "cost")
    with pytest.raises(ValueError, match="must have one column 'nope'"):
        PartsOracle(parts, places, "nope")
    with pytest.raises(TypeError):
        PartsOracle(parts.whole(), places, "cost")
    with pytest.raises(TypeError):
        PartsOracle(parts, str(tmp_path), "cost")
    with pytest.raises(ValueError, match="max_queries"):
        PartsOracle(parts, places, "cost", max_queries=0)
    with pytest.raises(ValueError, match="index"):
        PartsOracle(parts, places, "cost").query(N)


def test_a_curator_of_the_same_table_answers_the_same(released):
    curator = Curator(RECORDS, SCALING, NoisyProjection(100.0), OUTCOMES)
    oracle = PartsOracle(*released, "cost")
    ours = {int(released[1].permutation[row]): oracle.query(row).value for row in range(N)}
    assert ours == {int(curator.permutation[row]): curator.query(row).value for row in range(N)}
