"""`curator init --output-parquet`: a folder of a table in many files, charged once, whole or absent."""

import json
import stat

import numpy as np
import pandas as pd
import pytest
import torch
from helpers.ray_cluster import ray_cluster

from botorch_private import Ledger, ReleasedParts, RowMap, load_encoding
from botorch_private.curator.service.folder import Folder


def entries(folder):
    """What the database of a folder would learn of each record, by row."""
    from contextlib import closing

    with closing(folder.open()) as store:
        return [store.behind.entry(row) for row in range(store.facts.n)]


def names_in(place):
    """What is there, apart from locks, which stay."""
    return {each.name for each in place.iterdir() if each.suffix != ".lock"}


def refused(capsys, init, *arguments, **options):
    with pytest.raises(SystemExit) as stopped:
        init(*arguments, **options)
    assert stopped.value.code in (1, 2)
    return " ".join(capsys.readouterr().err.split())


def test_a_row_is_answered_about_the_record_that_it_is_of(init, place, table):
    assert init("folder", "--id", "patient", "--objective", "column:cost") == 0
    folder = place / "folder"
    parts, places = ReleasedParts.load(folder / "release"), RowMap.load(folder / "map")
    assert len(parts.parts) > 1
    for row, record, identifier, outcome, noise in entries(Folder(folder)):
        path, position, number = places.place(row)
        there = pd.read_parquet(path).iloc[position]
        assert (number, noise) == (record, None)
        assert (identifier, outcome) == (there.patient, there.cost)
    # Noise on 180 numbers: it is that of the record, and of no other.
    scaled = load_encoding("ranges.toml").scaling.transform(
        torch.tensor(table[["age", "dose"]].to_numpy())
    )
    noise = parts.whole().candidates - scaled[places.permutation]
    assert float(noise.std()) == pytest.approx(parts.public["noise_variance"] ** 0.5, rel=0.35)


def test_only_the_curator_can_enter_and_nothing_is_left_beside(init, place):
    assert init() == 0
    assert stat.S_IMODE((place / "folder").stat().st_mode) == 0o700
    assert names_in(place) == {"stays", "ranges.toml", "folder", "stays.ledger.json"}
    inside = {each.name for each in (place / "folder").iterdir()}
    assert inside == {"release", "map", "curator.db", "ledger.json"}


def test_the_release_and_its_promise_are_those_of_a_release_in_one_piece(init, place, table):
    from botorch_private.cli.main import main

    assert init() == 0
    whole = table.reset_index(drop=True)
    whole.to_parquet(place / "whole.parquet")
    again = ["--ranges", "ranges.toml", "--epsilon", "3", "--yes"]
    assert main(["curator", "init", "whole.parquet", "one", *again]) == 0
    in_parts, in_one = (Ledger(path=place / name / "ledger.json") for name in ("folder", "one"))
    assert in_parts.total == in_one.total
    assert [each.guarantee for each in in_parts.entries] == [each.guarantee for each in in_one.entries]
    one, other = (Folder(place / name).open_to_read().facts for name in ("folder", "one"))
    assert (one.guarantee, one.guarantee_words) == (other.guarantee, other.guarantee_words)
    assert (one.n, one.projection_dim) == (other.n, other.projection_dim)


def test_a_second_release_is_added_to_the_first_however_the_files_are_named(init, place, capsys):
    assert init("one") == 0
    assert init("two", table="stays/*.parquet") == 0
    assert "By " in capsys.readouterr().out
    assert Ledger(path=place / "stays.ledger.json").total.epsilon == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("column", "named"), [(None, "1.parquet record 3"), ("patient", "P-032"), ("number", "32")]
)
def test_staff_read_the_identifier_of_a_record(init, place, table, column, named):
    for i in range(3):
        frame = pd.read_parquet(place / "stays" / f"{i}.parquet")
        frame.assign(number=range(30 * i, 30 * i + 30)).to_parquet(place / "stays" / f"{i}.parquet")
    assert init("folder", *([] if column is None else ["--id", column])) == 0
    found = {record: name for _, record, name, _, _ in entries(Folder(place / "folder"))}
    assert len(set(found.values())) == len(found) == 90
    assert found[32] == named


def test_identifiers_that_look_the_same_in_two_files_are_refused_before_anything_is_spent(
    init, place, capsys
):
    frame = pd.read_parquet(place / "stays" / "2.parquet")
    frame.loc[4, "patient"] = "P-0\u200b07"
    frame.to_parquet(place / "stays" / "2.parquet")
    said = refused(capsys, init, "folder", "--id", "patient")
    assert "row 9 of" in said
    assert "row 6 of" in said
    assert "P-007" not in said
    assert names_in(place) == {"stays", "ranges.toml"}


def test_noise_of_answers_is_drawn_once_for_each_record(init, place):
    noised = ["--outcome-epsilon", "2", "--outcome-range", "0", "1000"]
    assert init("folder", "--objective", "column:cost", *noised) == 0
    found = [noise for *_, noise in entries(Folder(place / "folder"))]
    assert found == [noise for *_, noise in entries(Folder(place / "folder"))]
    assert all(isinstance(noise, int) for noise in found)
    assert len(set(found)) > 10


def test_several_outcomes_are_kept_by_their_names(init, place, table):
    several = [
        "--outcome",
        "cost",
        "--outcome",
        "dose2",
        "--minimize",
        "--of",
        "cost",
        "--objective",
        "column",
    ]
    for i in range(3):
        frame = pd.read_parquet(place / "stays" / f"{i}.parquet")
        frame.assign(dose2=frame.dose * 2).to_parquet(place / "stays" / f"{i}.parquet")
    assert init("folder", *several) == 0
    assert ReleasedParts.load(place / "folder" / "release").whole().outcome_names == ("cost", "dose2")
    for _, record, _, outcome, _ in entries(Folder(place / "folder")):
        assert json.loads(outcome) == {
            "cost": table.cost.iloc[record],
            "dose2": 2 * table.dose.iloc[record],
        }


def test_outcomes_that_are_known_of_some_are_kept(init, place, table, capsys):
    assert init("folder", "--known", "seen") == 0
    for _, record, _, outcome, _ in entries(Folder(place / "folder")):
        expected = table.seen.iloc[record]
        assert outcome is None if np.isnan(expected) else outcome == expected
    from botorch_private.cli.main import main

    capsys.readouterr()
    assert main(["curator", "status", "folder"]) == 0
    assert "Known, and not asked for yet: 30" in capsys.readouterr().out


def test_the_price_of_a_person_counts_records_over_all_files(init, place, capsys):
    assert init("folder", "--person", "who") == 0
    assert "The person with the most records has 3." in capsys.readouterr().out
    assert "has 3." in (place / "folder" / "person.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("folder", "--id", "age"), {}, "--id must be a column that is not released"),
        (("folder", "--known", "nope"), {}, "nope"),
        (("folder", "--budget", "91"), {}, "budget must be at least 1 and at most the 90 records"),
        (("folder",), {"table": "none/*.parquet"}, "none is like"),
        (("folder",), {"table": "ranges.toml"}, "must be .parquet files"),
        (("folder", "--separator", ";"), {}, "--output-parquet is for .parquet files"),
        (("folder", "--workers", "2"), {}, "must be None without --engine"),
        (("stays",), {}, "there is something at stays already"),
        (("folder", "--known", "seen", "--plausible", "0", "50"), {}, "in row 23 of"),
        (("folder", "--projection-dim", "1", "--noise", "gaussian"), {}, "delta"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent_or_left(
    init, place, capsys, arguments, options, words
):
    assert words in refused(capsys, init, *arguments, **options)
    assert names_in(place) == {"stays", "ranges.toml"}


def test_a_folder_of_files_without_the_option_is_told_of_it(place, capsys):
    from botorch_private.cli.main import main

    with pytest.raises(SystemExit):
        main(["curator", "init", "stays", "f", "--ranges", "ranges.toml", "--epsilon", "3", "--yes"])
    assert "say --output-parquet" in " ".join(capsys.readouterr().err.split())


def test_nobody_who_did_not_agree_has_released_anything(place, monkeypatch, init, capsys):
    monkeypatch.setattr("botorch_private.cli.curator.parts.count", int)
    monkeypatch.setattr("botorch_private.cli.curator.init.agreed", lambda *_: False)
    assert init() == 1
    assert names_in(place) == {"stays", "ranges.toml"}


def test_cells_are_released_in_parts(init, place):
    (place / "ranges.toml").write_text(
        "[features.age]\nlower = 18\nupper = 100\nedges = [50]\n"
        "[features.dose]\nlower = 0\nupper = 1\nedges = [0.5]\n"
    )
    assert init("folder", "--whole-record", "--id", "patient") == 0
    facts = Folder(place / "folder").open_to_read().facts
    assert facts.projection_dim == 2
    assert facts.identity == ReleasedParts.load(place / "folder" / "release").whole().identity


@pytest.mark.slow
def test_workers_of_ray_make_the_same_folder(init, place, table):
    ray_cluster()
    assert init("folder", "--id", "patient", "--person", "who", "--engine", "ray", "--workers", "2") == 0
    assert len(Ledger(path=place / "stays.ledger.json").entries) == 1
    for _, record, identifier, _, _ in entries(Folder(place / "folder")):
        assert identifier == table.patient.iloc[record]
    assert "has 3." in (place / "folder" / "person.txt").read_text()
