"""The trail: each event follows from the one before, and whatever is changed afterwards shows."""

import hashlib
import json
import re
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from helpers.days import day_of
from helpers.staff_browser import console_folder
from hypothesis import given, settings
from hypothesis import strategies as st

import botorch_private
from botorch_private.curator.service.backup import back_up, restore
from botorch_private.curator.service.known import KnownOutcome
from botorch_private.curator.service.trail import FIELDS, _written, canonical, event_of, next_hash
from botorch_private.curator.service.trail_check import check_database, check_trail


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return day_of(console_folder(tmp_path_factory.mktemp("made") / "folder"))


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may spoil."""
    return type(made)(Path(shutil.copytree(made.path, tmp_path / "copy")))


def change(folder, *statements):
    with closing(sqlite3.connect(folder.database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def problem(folder, kept=None):
    with closing(folder.open_to_read()) as reading:
        return check_database(reading, kept).problem


def events_of(folder):
    with closing(folder.open_to_read()) as reading:
        return reading.facts.identity, [(event_of(each), each["hash"]) for each in reading.events()]


def made_anew(identity, events):
    """What somebody would do who can write and knows how hashes are made."""
    for number, event in enumerate(events, start=1):
        event = {**event, "id": number}
        identity = next_hash(identity, event)
        yield event, identity


def test_a_day_has_a_trail_that_tells_all_of_it(made):
    assert problem(made) == ""
    _, events = events_of(made)
    kinds = [event["kind"] for event, _ in events]
    settled = ["measured", "measured", "corrected", "corrected", "withdrawn", "taken"]
    assert kinds == ["made", "token", "token", *["asked"] * 5, *settled]
    corrected = events[10][0]
    assert (corrected["token"], corrected["query"], corrected["detail"]) == (2, 1, "a point too many")
    said = {"day": "2020-01-02", "instrument": "scale 3"}
    before = {"value": 2.5, **said, "comment": "fasting"}
    assert corrected["data"] == {"value": 25.0, "answer": 25.0, **said, "before": before}
    assert all(event["time"] for event, _ in events)


def test_hashes_are_those_that_a_slow_twin_makes_from_the_words_of_the_guide(made):
    last, events = events_of(made)
    for event, hashed in events:
        text = json.dumps(event, sort_keys=True, separators=(",", ":"))
        last = hashlib.sha256(last.encode() + text.encode()).hexdigest()
        assert hashed == last


@pytest.mark.parametrize("number", [1, 4, 9, 14])
@pytest.mark.parametrize(
    "change_to",
    [
        "id = 99",
        "time = '2020-01-01T00:00:00.000000+00:00'",
        "token = 1 - coalesce(token, 0)",
        "kind = 'x'",
        "query = coalesce(query, 0) + 1",
        "detail = coalesce(detail, '') || '.'",
        "detail = x'00'",
        "data = '{\"value\":7.5}'",
        "data = coalesce(data, '') || ' '",
        "data = 'NaN'",
        "hash = replace(hash, substr(hash, 1, 1), 'g')",
        "hash = NULL",
    ],
)
def test_a_change_in_any_field_of_any_event_shows_where_it_is(folder, number, change_to):
    change(folder, "PRAGMA foreign_keys = OFF", f"UPDATE event SET {change_to} WHERE id = {number}")
    found = problem(folder)
    assert re.search(rf"\b{number}\b", found), found


def test_every_field_of_an_event_is_covered(made):
    with closing(made.open_to_read()) as reading:
        assert set(reading.events()[0].keys()) == {*FIELDS, "hash"}


@pytest.mark.parametrize("number", [1, 5, 13])
def test_a_removed_event_shows(folder, number):
    change(folder, f"DELETE FROM event WHERE id = {number}")
    assert f"events {number} to {number} are missing" in problem(folder)
    change(folder, f"UPDATE event SET id = id - 1 WHERE id > {number}")  # the gap is closed
    assert f"event {number} does not follow" in problem(folder)


@pytest.mark.parametrize("number", [1, 5, 14])
def test_an_event_that_is_put_in_shows(folder, number):
    columns = "time, token, kind, query, detail, data, hash"
    change(
        folder,
        f"UPDATE event SET id = -id - 1 WHERE id >= {number}",
        "UPDATE event SET id = -id WHERE id < 0",
        f"INSERT INTO event (id, {columns}) SELECT {number}, {columns} FROM event WHERE id = 4",
    )
    assert f"event {number} does not follow" in problem(folder)


def test_events_that_are_moved_show(folder):
    change(
        folder,
        "UPDATE event SET id = -5 WHERE id = 5",
        "UPDATE event SET id = 5 WHERE id = 6",
        "UPDATE event SET id = 6 WHERE id = -5",
    )
    assert "event 5 does not follow" in problem(folder)


def test_events_that_are_cut_off_show(folder):
    change(folder, "DELETE FROM event WHERE id = 14")
    assert "events after event 13 were removed" in problem(folder)
    change(folder, "UPDATE sqlite_sequence SET seq = 13 WHERE name = 'event'")
    assert problem(folder) == ""  # it told of nothing that is stored: see the next test for the remedy
    change(folder, "DELETE FROM event WHERE id = 13")
    change(folder, "UPDATE sqlite_sequence SET seq = 12 WHERE name = 'event'")
    assert "query 3 is not as the events tell" in problem(folder)


def test_what_is_written_after_events_were_cut_off_leaves_a_gap(folder):
    change(folder, "DELETE FROM event WHERE id = 14")
    with closing(folder.open()) as store:
        store.measure(4, 1.0, 2).result()
    assert "events 14 to 14 are missing" in problem(folder)


def test_a_trail_that_was_made_anew_shows_by_a_hash_that_was_kept_and_not_without(folder):
    identity, events = events_of(folder)
    kept = [hashed for _, hashed in events]
    forged = [event for event, _ in events]
    forged[8] = {**forged[8], "data": {**forged[8]["data"], "comment": "never"}}
    anew = list(made_anew(identity, forged))
    # It follows from itself: nothing in it can show that it is not the one that was written.
    assert check_trail(identity, anew).problem == ""
    for number, each in enumerate(kept, start=1):
        found = check_trail(identity, anew, each)
        # A hash of before the change vouches for nothing after it.
        assert (found.problem == "") == (number < 9)
        assert (found.kept == number) == (number < 9)
    cut = check_trail(identity, events[:10], kept[-1])
    assert "made anew before that event, or cut off" in cut.problem
    assert check_trail(identity, events, kept[-1]).kept == 14


def test_the_trail_of_another_folder_is_none_of_this_one(made):
    _, events = events_of(made)
    assert "event 1 does not follow" in check_trail("0" * 64, events).problem


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE query SET outcome = 26 WHERE id = 1",
        "UPDATE query SET answer = 26 WHERE id = 1",
        "UPDATE query SET row = 9 WHERE id = 1",
        "UPDATE query SET instrument = 'scale 4' WHERE id = 1",
        "UPDATE query SET comment = 'fasting' WHERE id = 1",
        "UPDATE query SET measured_on = NULL WHERE id = 1",
        "UPDATE query SET state = 'withdrawn', answer = NULL WHERE id = 1",
        "UPDATE query SET state = 'pending' WHERE id = 3",
        "UPDATE query SET state = 'measured', answer = 1, outcome = 1 WHERE id = 4",
        "UPDATE query SET state = 'withdrawn' WHERE id = 4",
        "DELETE FROM query WHERE id = 4",
        "INSERT INTO query (row, state, asked) VALUES (11, 'pending', '2027')",
    ],
)
def test_values_that_are_changed_beside_the_trail_show(folder, statement):
    change(folder, statement)
    assert re.match(r"query \d+ (is not as|was removed|was put in)", problem(folder))


def test_an_outcome_that_is_known_and_changed_shows(folder):
    with closing(folder.open()) as store:
        name = store.identifier(9)
        store.know([KnownOutcome(1, name, 7.5)], None).result()
        store.know([KnownOutcome(1, name, 7.0)], None, replace=True).result()
        assert check_database(store).problem == ""
    change(folder, "UPDATE record SET outcome = 7.5 WHERE row = 9")
    assert "known of row 9 is not as the events tell" in problem(folder)


def test_a_folder_that_was_put_back_from_a_backup_goes_on_with_its_trail(folder, tmp_path):
    back_up(folder, tmp_path / "backup")
    with closing(folder.open()) as store:
        store.measure(4, 1.0, 2).result()
        late = store.last_hash()
    _, again = restore(tmp_path / "backup", tmp_path / "again", end_tokens=True)
    with closing(again.open()) as store:
        assert [event["kind"] for event in store.events()][14:] == ["restored", "revoked", "revoked"]
        assert check_database(store).problem == ""
        assert "no event has the hash that was kept" in check_database(store, late).problem


def test_a_step_that_fails_leaves_no_event_and_no_gap(folder):
    with closing(folder.open()) as store:
        wrong = [
            store.measure(4, 1.0, 99),
            store.correct(1, 9.0, " ", 2),
            store.ask("key-00000009", 0, 99),
        ]
        right = [store.measure(5, float(i), 2) for i in range(2)]
        for each in (*wrong, right[1]):
            assert each.exception() is not None
        assert right[0].result().outcome == 0.0
        assert check_database(store).problem == ""


def test_two_programs_that_write_at_once_keep_one_chain(folder):
    with closing(folder.open()) as one, closing(folder.open()) as other:

        def work(store, kind):
            for number in range(30):
                store.tokens.make("staff", f"{kind} {number}").result()

        threads = [threading.Thread(target=work, args=each) for each in ((one, "a"), (other, "b"))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert check_database(one).count == 14 + 60
        assert problem(folder) == ""


def test_nothing_but_the_trail_writes_events_and_nothing_changes_any():
    root = Path(botorch_private.__file__).parent
    writes = re.compile(r"(INSERT (OR \w+ )?INTO|UPDATE|DELETE FROM|REPLACE INTO) event\b")
    found = {
        str(path.relative_to(root)): writes.findall(path.read_text(encoding="utf-8"))
        for path in root.rglob("*.py")
    }
    assert {name: len(each) for name, each in found.items() if each} == {"curator/service/trail.py": 2}


texts = st.none() | st.text(max_size=8)
numbers = st.none() | st.integers(0, 9)
finite = st.floats(allow_nan=False, allow_infinity=False)
events = st.fixed_dictionaries({
    "time": st.text(max_size=8),
    "token": numbers,
    "kind": st.sampled_from(["asked", "measured", "x"]),
    "query": numbers,
    "detail": texts,
    "data": st.none() | st.dictionaries(st.text(max_size=3), finite),
})  # fmt: skip


@given(st.lists(events, min_size=1, max_size=8), st.data())
@settings(max_examples=60, deadline=None)
def test_any_trail_is_followed_and_any_other_is_not(found, data):
    trail = list(made_anew("f" * 64, found))
    assert check_trail("f" * 64, trail).count == len(trail)
    place = data.draw(st.integers(0, len(trail) - 1))
    event, hashed = trail[place]
    name = data.draw(st.sampled_from([each for each in FIELDS if each != "id"]))
    other = {**event, name: data.draw(events)[name]}
    spoiled = check_trail("f" * 64, [*trail[:place], (other, hashed), *trail[place + 1 :]])
    if json.dumps(other, sort_keys=True) == json.dumps(event, sort_keys=True):
        assert spoiled.problem == ""
    else:
        assert (spoiled.count, spoiled.problem.startswith(f"event {place + 1} ")) == (place, True)
    if place < len(trail) - 1:
        assert check_trail("f" * 64, trail[:place] + trail[place + 1 :]).count == place


@given(events)
@settings(max_examples=200, deadline=None)
def test_what_is_hashed_quickly_is_what_is_hashed_slowly(event):
    data = None if event["data"] is None else canonical(event["data"])
    time = "2027-01-01T00:00:00.000000+00:00"  # of the clock, and a word of ours: neither is escaped
    values = (7, time, event["token"], event["kind"], event["query"], event["detail"])
    assert _written(*values, data) == canonical(dict(zip(FIELDS, (*values, event["data"]), strict=True)))
