"""Measurements of a sheet: all or none, the same as one by one, and a dry run that tells the truth."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest
from helpers import sheet_launcher
from helpers.named_folder import named_folder
from helpers.staff_browser import IDENTIFIERS, console_folder, many_asked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from botorch_private.curator.service.agenda import ALL
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.trail_check import check_database
from botorch_private.curator.service.worklist import worklist_csv

KILLS = 200
SEVERAL = 40  # of them, of records with several outcomes


def asked(folder, rows):
    """An open store in which so many rows are asked for; token 1 is a modeler's, token 2 is staff's."""
    store = folder.open()
    for role in ("modeler", "staff"):
        store.tokens.make(role, f"a {role}").result()
    for each in [store.ask(f"key-{row:08d}", row, 1) for row in rows]:
        each.result()
    return store


@pytest.fixture
def store(tmp_path):
    with closing(asked(console_folder(tmp_path / "folder", noised=True), range(8))) as opened:
        yield opened


def names_of(store):
    return [store.identifier(query.row) for query in store.queries()]


def sheet_of(pairs):
    return "identifier,value,date,comment\n" + "".join(f"{a},{b},2020-01-02,seen\n" for a, b in pairs)


def contents(store):
    tables = ("query", "event", "draft", "sheet", "token")
    return [[tuple(each) for each in store._all(f"SELECT * FROM {table}")] for table in tables]


def test_a_sheet_is_stored_with_its_days_and_comments_and_may_be_sent_again(store):
    text = sheet_of((name, i) for i, name in enumerate(names_of(store)))
    told = []
    store.listen(told.append)
    assert take_in(store, text, SheetForm(), token=2, dry=False)[:5] == (8, 0, 0, 0, [])
    assert [query.outcome for query in store.queries()] == list(range(8))
    assert [query.id for query in told] == list(range(1, 9))
    found = store._all("SELECT measured_on, comment FROM query")
    assert {tuple(each) for each in found} == {("2020-01-02", "seen")}
    events = [each for each in store.events() if each["kind"] == "measured"]
    assert [(each["token"], each["detail"]) for each in events] == [
        (2, f"from a sheet, row {i}") for i in range(2, 10)
    ]
    before = contents(store)
    assert take_in(store, text, SheetForm(), token=2, dry=False)[:5] == (0, 0, 8, 0, [])
    assert contents(store) == before


def test_every_row_that_cannot_be_stored_is_told_and_nothing_is_stored(store):
    names = names_of(store)
    store.measure(1, 5.0, 2).result()
    store.measure(2, 6.0, 2).result()
    store.withdraw(3, "left", 2).result()
    other = next(name for name in IDENTIFIERS if name not in names)
    text = sheet_of([
        (names[0], 5.0),
        (names[1], 6.5),
        (names[2], 1),
        (names[4], 1),
        (names[4], 1),
        ("nobody", 1),
        (other, 1),
        (names[5], 121),
        (names[6], ""),
        (names[7], "x"),
    ])  # fmt: skip
    before = contents(store)
    for dry in (True, False):
        taken = take_in(store, text, SheetForm(), token=2, dry=dry)
        assert [(each.row, each.why.split(":")[0]) for each in taken.refused] == [
            (2, "this value is stored with another date, instrument or comment"),
            (3, "another value is stored for this record"),
            (4, "nobody asks for this record"),
            (6, "it is about the same record as row 5"),
            (7, "no record has this identifier"),
            (8, "nobody asks for this record"),
            (9, "its value is outside the plausible range"),
            (11, "Type the number alone, without a unit or spaces inside, as in 3.5, -12 or 1.5e-3."),
        ]
        assert (taken.same, taken.empty, taken.implausible) == (0, 1, 1)
        if not dry:  # the refusal is an event
            assert before[1].append(contents(store)[1][-1]) is None
            assert store.events()[-1]["data"] == '{"place":"sheet","rows":8,"why":"sheet"}'
        assert contents(store) == before


def test_the_plausible_range_is_the_folders_or_a_declared_one_and_can_be_accepted(store):
    text = sheet_of([(names_of(store)[0], 121), (names_of(store)[1], 7)])

    def implausible(form):
        return [each.row for each in take_in(store, text, form, token=2, dry=True).refused]

    assert implausible(SheetForm()) == [2]
    assert implausible(SheetForm(low=0.0, high=6.0)) == [2, 3]
    assert implausible(SheetForm(low=0.0, high=200.0)) == []
    assert implausible(SheetForm(accepted=True)) == []
    assert take_in(store, text, SheetForm(accepted=True), token=2, dry=False).stored == 2


def test_an_identifier_that_looks_the_same_is_the_same(store):
    first, second = names_of(store)[:2]
    text = sheet_of([(f" {first}\N{NO-BREAK SPACE}", 1), (second.replace("-", "\N{EN DASH}"), 2)])
    assert take_in(store, text, SheetForm(), token=2, dry=False).stored == 2
    assert [query.outcome for query in store.queries()][:2] == [1.0, 2.0]


def test_what_a_program_works_on_is_refused_and_what_it_failed_at_is_not(tmp_path):
    with closing(asked(console_folder(tmp_path / "f", objective="lab:measure"), range(3))) as store:
        assert [store.begin().result().id for _ in range(2)] == [1, 2]
        store.fail(1, "broken").result()
        names = names_of(store)
        taken = take_in(store, sheet_of([(names[1], 1)]), SheetForm(), token=2, dry=False)
        assert [each.why for each in taken.refused] == ["a program works on this record now"]
        assert take_in(store, sheet_of([(names[0], 1)]), SheetForm(), token=2, dry=False).stored == 1


def test_a_worklist_that_is_filled_in_is_taken(tmp_path):
    names = ["=1+1", "-5", "@x", "a,b", 'c"d', "'e", "f;g", "h\ti"]
    with closing(asked(console_folder(tmp_path / "f", identifiers=names), range(8))) as store:
        text = worklist_csv(store, store.agenda.page(ALL, 0))
        head, *rows = text.splitlines()
        unit = store.facts.outcome_unit
        filled = [row.replace(f",,{unit},", f",{i}.5,{unit},") for i, row in enumerate(rows)]
        taken = take_in(store, "\n".join([head, *filled]), SheetForm(), token=2, dry=False)
        assert taken[:5] == (8, 0, 0, 0, [])
        assert [query.outcome for query in store.queries()] == [i + 0.5 for i in range(8)]


entries = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["1", "2", "130", "", "x", "-0"])), max_size=8
)


def row_of(store, identifier):
    return store._one("SELECT row FROM record WHERE identifier = ?", identifier)[0]


@given(entries, st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_sheet_does_what_its_values_one_by_one_would_and_a_dry_run_tells_it(twins, pairs, accepted):
    """The slow, obvious twin: each value by the step that stores one."""
    store, twin = twins
    names = [*names_of(store), "nobody", "nothing"]
    pairs = [(names[i], text) for i, text in pairs]
    filled = {name: float(text) for name, text in pairs if text not in ("", "x")}
    open_now = {names[query.id - 1] for query in store.queries() if query.outcome is None}
    stored = {names[query.id - 1]: query.outcome for query in store.queries()}
    sound = all(text != "x" for _, text in pairs)
    sound &= len(filled) == sum(text not in ("", "x") for _, text in pairs)
    for name, value in filled.items():
        sound &= name in stored and (name in open_now or stored[name] == value)
        sound &= accepted or name not in open_now or 0 <= value <= 120
    text, form = sheet_of(pairs), SheetForm(accepted=accepted)
    before = contents(store)
    dry = take_in(store, text, form, token=2, dry=True)
    assert contents(store) == before
    assert take_in(store, text, form, token=2, dry=False) == dry
    assert (dry.refused == []) == sound
    for name, value in filled.items() if sound else ():
        twin.measure(names.index(name) + 1, value, 2).result()
    assert [query.outcome for query in store.queries()] == [query.outcome for query in twin.queries()]


@pytest.fixture
def twins(tmp_path):
    """Two stores in which the same records have the same questions."""
    with closing(asked(console_folder(tmp_path / "sheet"), range(8))) as store:
        other = console_folder(tmp_path / "twin")
        with closing(other.open()) as opened:
            rows = [row_of(opened, name) for name in names_of(store)]
        with closing(asked(other, rows)) as twin:
            yield store, twin


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.slow
@pytest.mark.parametrize(("several", "kills"), [(False, KILLS - SEVERAL), (True, SEVERAL)])
def test_kills_while_a_sheet_is_stored_leave_all_of_it_or_nothing(tmp_path, several, kills):
    n, seed = (40 if several else 400), random.Random(0)
    if several:
        folder, head = named_folder(tmp_path / "made"), "identifier,cost,safety,instrument\n"
    else:
        names = [f"record {i}" for i in range(n)]
        folder, head = console_folder(tmp_path / "made", identifiers=names, max_queries=None), None
    with closing(asked(folder, range(n))) as store:
        pairs = [(name, i % 90) for i, name in enumerate(names_of(store))]
        rows = "".join(f"{name},{i % 12},0.5,scale\n" for name, i in pairs)
        (tmp_path / "sheet.csv").write_text(sheet_of(pairs) if head is None else head + rows)
    counts, longest, undisturbed = [], 0.0, 0
    with subprocess.Popen(
        [sys.executable, sheet_launcher.__file__, str(tmp_path / "sheet.csv")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as launcher:
        for kill in range(kills + 3):
            place = tmp_path / f"copy{kill}"
            shutil.copytree(folder.path, place)
            launcher.stdin.write(f"{place}\n")
            launcher.stdin.flush()
            child, began = int(launcher.stdout.readline()), time.monotonic()
            if kill >= 3:  # the first ones tell how long it takes
                time.sleep(longest * 1.2 * seed.random())
                os.kill(child, signal.SIGKILL)
            launcher.stdin.write("\n")
            launcher.stdin.flush()
            assert launcher.stdout.readline() == "ended\n"
            if kill < 3:
                longest = max(longest, time.monotonic() - began)
            with closing(type(folder)(place).open()) as store:
                measured = [query.state for query in store.queries()].count("measured")
                events = [each["kind"] for each in store.events()].count("measured")
                assert check_database(store).problem == ""
            assert measured == events
            counts.append(measured)
            undisturbed += kill < 3 and measured == n
            shutil.rmtree(place)
        launcher.stdin.close()
    assert undisturbed == 3
    assert set(counts[3:]) == {0, n}


@pytest.mark.slow
def test_ten_thousand_rows_take_seconds(tmp_path):
    n = 10_000
    with closing(many_asked(tmp_path / "folder", n).open()) as store:
        store.tokens.make("staff", "s").result()
        text = sheet_of((f"record {i}", i % 90) for i in range(n))
        began = time.process_time()
        assert take_in(store, text, SheetForm(), token=1, dry=False).stored == n
        assert time.process_time() - began < 10
