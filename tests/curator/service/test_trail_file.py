"""The trail as a file: what is handed over is checked again, by us and by the few lines of the guide."""

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers.days import day_of
from helpers.staff_browser import console_folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from botorch_private.cli.main import main
from botorch_private.curator.service.trail_file import check_file, write_trail

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "laboratory.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return day_of(console_folder(tmp_path_factory.mktemp("made") / "folder"))


@pytest.fixture(scope="module")
def lines(folder):
    with closing(folder.open_to_read()) as reading:
        return write_trail(reading).splitlines(keepends=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "events.jsonl"


def checked(place, lines):
    place.write_text("".join(lines), encoding="utf-8", newline="")
    return check_file(place)


def test_what_is_exported_is_whole_and_says_whose_it_is(folder, lines, place):
    found = checked(place, lines)
    assert (found.count, found.problem) == (14, "")
    head = json.loads(lines[0])
    assert head["format"] == "botorch-private events"
    with closing(folder.open_to_read()) as reading:
        assert (head["identity"], found.last) == (reading.facts.identity, reading.last_hash())


def test_each_line_that_is_removed_moved_doubled_or_put_elsewhere_shows(lines, place):
    for i in range(1, len(lines)):
        others = lines[:i] + lines[i + 1 :]
        if i < len(lines) - 1:
            assert checked(place, others).count == i - 1
        assert checked(place, [*lines[: i + 1], lines[i], *lines[i + 1 :]]).count == i
        for j in range(1, i):
            swapped = lines.copy()
            swapped[i], swapped[j] = lines[j], lines[i]
            assert checked(place, swapped).count == j - 1


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_letter_that_is_changed_shows_at_its_event(lines, place, data):
    i = data.draw(st.integers(1, len(lines) - 1))
    j = data.draw(st.integers(0, len(lines[i]) - 2))
    letter = data.draw(st.characters(codec="utf-8", exclude_characters=lines[i][j]))
    spoiled = lines.copy()
    spoiled[i] = lines[i][:j] + letter + lines[i][j + 1 :]
    found = checked(place, spoiled)
    assert (found.count, bool(found.problem)) == (i - 1, True)


def test_an_event_that_can_be_read_in_two_ways_is_refused(lines, place):
    spoiled = lines.copy()
    spoiled[3] = lines[3].replace('"kind":', '"kind":"something else","kind":')
    assert checked(place, spoiled).count == 2


@pytest.mark.parametrize(
    "content",
    ["", "\n", "[]\n", "null\n", "{}\n", "not json\n", '{"format": "botorch-private release"}'],
)
def test_a_file_of_another_kind_is_refused(place, content):
    place.write_text(content)
    with pytest.raises(ValueError, match="a file of events, but"):
        check_file(place)


def test_the_lines_of_the_guide_check_it_too_and_say_where_it_breaks(lines, place, tmp_path):
    (code,) = re.findall(r"```py\n(import hashlib.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)

    def said(content):
        (tmp_path / "events.jsonl").write_text("".join(content), encoding="utf-8", newline="")
        done = subprocess.run(
            [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    assert checked(place, lines).last in said(lines)
    spoiled = lines.copy()
    spoiled[9] = lines[9].replace("2.5", "2.6")
    assert "9" in said(spoiled)
    assert "broken" in said(spoiled)
    assert "broken" in said(lines[:5] + lines[6:])


# --- commands ---


def run(*arguments, capsys):
    try:
        status = main(["curator", *map(str, arguments)])
    except SystemExit as stopped:
        status = stopped.code
    return status, *capsys.readouterr()


def test_events_are_exported_checked_and_shown_by_commands(folder, tmp_path, capsys):
    path = tmp_path / "events.jsonl"
    status, out, _ = run("export", folder.path, "--events", "--output", path, capsys=capsys)
    assert status == 0
    (last,) = re.findall("Hash of the last event: ([0-9a-f]{64})", out)
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"Events: 14, hash of the last one: {last}" in run("status", folder.path, capsys=capsys)[1]
    for what in (path, folder.path):
        status, out, _ = run("verify", what, "--kept", last.upper(), capsys=capsys)
        assert (status, f"last event: {last}" in out) == (0, True)
        assert "The hash that was kept is that of event 14." in out
        for slip in (last[:-1], last + "0", "g" + last[1:], ""):  # of the pen, not of the trail
            status, out, err = run("verify", what, "--kept", slip, capsys=capsys)
            assert (status, out) == (2, "")
            assert "argument --kept: must be the hash of an event" in err
        in_groups = " ".join(last[i : i + 8] for i in range(0, 64, 8))  # as it is written down
        assert run("verify", what, "--kept", in_groups, capsys=capsys)[0] == 0
        status, out, err = run("verify", what, "--kept", "0" * 64, capsys=capsys)
        assert (status, "no event has the hash that was kept" in err) == (1, True)
    status, out, _ = run("export", folder.path, "--events", capsys=capsys)
    assert (status, out) == (0, path.read_text())
    status, out, _ = run("status", folder.path, "--json", capsys=capsys)
    assert (json.loads(out)["events"], json.loads(out)["last_hash"]) == (14, last)


def test_a_trail_that_is_broken_is_exported_all_the_same_and_said(folder, tmp_path, capsys):
    copy = day_of(console_folder(tmp_path / "copy"))
    with closing(copy.open()) as store:
        store.submit(lambda each: each.execute("UPDATE event SET detail = 'x' WHERE id = 11")).result()
    path = tmp_path / "events.jsonl"
    for arguments in (
        ("export", copy.path, "--events", "--output", path),
        ("export", copy.path, "--events"),
        ("verify", copy.path),
        ("verify", path),
    ):
        status, _, err = run(*arguments, capsys=capsys)
        assert (status, "The trail is broken: event 11 does not follow" in err) == (1, True)
    assert len(path.read_text().splitlines()) == 15


def test_a_file_that_is_none_is_one_line_to_the_reader(tmp_path, capsys):
    (tmp_path / "x").write_text("identifier,value\n")
    for name in ("x", "y"):
        status, _, err = run("verify", tmp_path / name, capsys=capsys)
        assert (status, err.count("\n")) == (1, 1)
        assert "Traceback" not in err
