"""`curator add`: a folder grows; whatever happens meanwhile, it is the old one or the new one."""

import json
import os
import random
import shutil
import signal
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from botorch_private.cli.main import main
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.service import grow as grow_module
from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.backup import back_up, restore
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.grow import grow
from botorch_private.curator.service.question import ServiceError
from botorch_private.exchange.release import Release
from botorch_private.exchange.release_digest import digest_of_file
from botorch_private.privacy.guarantee import JOINED_AGAIN, JOINED_LATER

N, M = 12, 5
ROWS = [f"p{i},{20 + 4 * i},{round(1.5 * i, 1)}" for i in range(N + M)]
HEAD = "patient,age,cost\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, which is the current one, with a table and ranges."""
    monkeypatch.chdir(tmp_path)
    write_table(N)
    Path("ranges.toml").write_text(
        "[features.age]\nlower = 18\nupper = 100\nedges = [40, 60]\n", encoding="utf-8"
    )
    return tmp_path


def write_table(count, rows=ROWS):
    Path("stays.csv").write_text(HEAD + "\n".join(rows[:count]) + "\n", encoding="utf-8")


def init(*more, epsilon="3"):
    options = ["--ranges", "ranges.toml", "--epsilon", epsilon, "--yes"]
    assert main(["curator", "init", "stays.csv", "folder", *options, *more]) == 0
    return Folder(Path("folder"))


def add(*more):
    return main(["curator", "add", "folder", "stays.csv", "--ranges", "ranges.toml", "--yes", *more])


def refused(capsys, *more):
    with pytest.raises(SystemExit) as stopped:
        add(*more)
    assert stopped.value.code == 1
    return " ".join(capsys.readouterr().err.split())


def rows_of(folder):
    with closing(folder.open_to_read()) as reading:
        return [tuple(row) for row in reading._all("SELECT * FROM record ORDER BY row")]


def assert_whole(folder, *, rows):
    """Release, database and ledger say the same; nothing is left over."""
    with closing(folder.open_to_read()) as reading:
        facts = reading.facts
    assert facts.n == rows == len(rows_of(folder)) == len(Release.load(folder.release).candidates)
    assert digest_of_file(folder.release) == facts.identity
    assert not folder.coming_release.exists()
    assert [path.name for path in folder.path.iterdir() if path.name.startswith(".")] == []
    assert Ledger(path=folder.ledger).records >= rows


def test_rows_and_answers_so_far_stay_and_the_new_ones_come_after_them(place, capsys):
    folder = init("--id", "patient", "--known", "cost")
    old, before = Release.load(folder.release), rows_of(folder)
    write_table(N + M)
    capsys.readouterr()
    assert add("--id", "patient", "--known", "cost") == 0
    said = capsys.readouterr().out
    assert "5 records of stays.csv join 12 that were released." in said
    assert "folder has 17 rows now, the first 12 as before." in said
    new, after = Release.load(folder.release), rows_of(folder)
    assert new.begins_with(old)
    assert not old.begins_with(new)
    assert torch.equal(new.candidates[:N], old.candidates)
    assert after[:N] == before
    assert [row[0] for row in after] == list(range(N + M))
    assert sorted(row[1] for row in after[N:]) == list(range(N, N + M))
    assert all((name, outcome) == (f"p{i}", 1.5 * i) for _, i, name, outcome, _ in after)
    assert JOINED_LATER in new.guarantee.assumptions
    assert new.guarantee.records == N + M
    assert_whole(folder, rows=N + M)
    assert main(["curator", "status", "folder"]) == 0
    assert "Records joined after the first 12 rows" in capsys.readouterr().out


def test_each_record_is_charged_for_its_own_row_alone_unless_people_may_be_in_both(place):
    init()
    write_table(N + 3)
    assert add() == 0
    ledger = Ledger(path="stays.ledger.json")
    assert [(each.start, each.stop) for each in ledger.entries] == [(0, N), (N, N + 3)]
    assert ledger.total.epsilon == pytest.approx(3.0)
    assert Ledger(path="folder/ledger.json").entries == ledger.entries
    write_table(N + M)
    assert add("--repeats") == 0
    ledger = Ledger(path="stays.ledger.json")
    assert (ledger.entries[-1].start, ledger.entries[-1].stop) == (0, N + M)
    assert ledger.total.epsilon == pytest.approx(6.0)
    folder = Folder(Path("folder"))
    assert JOINED_AGAIN in Release.load(folder.release).guarantee.assumptions
    with closing(folder.open_to_read()) as reading:
        assert reading.facts.guarantee == json.loads(ledger.total.to_json())
        assert [each["rows"] for each in reading.earlier_releases()] == [N, N + 3]
    assert_whole(folder, rows=N + M)


def test_new_rows_lie_about_their_records_as_far_as_the_noise_says(place):
    """At an epsilon so large that the noise is small, each row shows which record it is of."""
    folder = init(epsilon="2000")
    write_table(N + M)
    assert add() == 0
    release, rows = Release.load(folder.release), rows_of(folder)
    ages = np.array([20 + 4 * record for _, record, *_ in rows])
    shown = release.candidates[:, 0].numpy()
    slope, start = np.polyfit(ages[:N], shown[:N], 1)  # from the old rows alone
    error = (shown - (slope * ages + start))[N:]
    assert np.abs(error).max() < 10 * release.noise_variance**0.5


def test_the_noise_of_new_rows_and_answers_has_the_law_that_is_promised(place):
    outcome = ["--outcome-epsilon", "2", "--outcome-range", "0", "100"]
    init(*outcome)
    more = 600
    rows = ROWS[:N] + [f"q{i},{18.0517 + 0.1301 * i:.4f},0" for i in range(more)]
    write_table(N + more, rows)
    assert add() == 0
    folder = Folder(Path("folder"))
    release, after = Release.load(folder.release), rows_of(folder)
    noise = (
        np.array([row[4] for row in after[N:]], dtype=float) * release.outcome_guarantee.law.grid * 100
    )
    ratio = noise.var() / release.outcome_variance
    assert 0.6 < ratio < 1.6  # 600 draws of Laplace noise: 4 standard errors of 0.09
    assert len(set(noise.tolist())) > more / 2


def test_labels_of_cells_are_told_of_new_records_too(place):
    folder = init("--whole-record", epsilon="8")
    old = Release.load(folder.release)
    write_table(N + M)
    assert add() == 0
    new = Release.load(folder.release)
    assert new.begins_with(old)
    assert new.labels.tolist()[:N] == old.labels.tolist()
    assert len(new.labels) == N + M
    assert_whole(folder, rows=N + M)


def test_a_function_measures_new_records(place, monkeypatch):
    Path("laboratory.py").write_text("def measure(record):\n    return float(record[0])\n")
    folder = init("--objective", "laboratory:measure")
    write_table(N + M)
    assert add() == 0
    assert np.load(folder.records)[:, 0].tolist() == [20.0 + 4 * i for i in range(N + M)]
    assert folder.records.stat().st_mode & 0o777 == 0o600


def test_a_column_measures_new_records(place, capsys):
    init("--objective", "column:cost")
    write_table(N + M)
    assert "known must be given" in refused(capsys).replace("--known", "known")
    assert add("--known", "cost") == 0
    assert all(outcome == 1.5 * i for _, i, _, outcome, _ in rows_of(Folder(Path("folder"))))


CHANGED = [ROWS[1], ROWS[0], *ROWS[2:]]


@pytest.mark.parametrize(
    ("start", "rows", "more", "why"),
    [
        ([], ROWS[:N], [], "must hold the 12 records that were released and further ones below"),
        (["--id", "patient"], ROWS, [], "identifiers must be given".replace("identifiers", "--id")),
        (["--id", "patient"], CHANGED, ["--id", "patient"], "but their identifiers are others"),
        ([], [*ROWS, ROWS[3]], [], "people who are not in the table, but that in row 19 is the same"),
        (["--projection-dim", "1"], ROWS, [], "drawn once and kept nowhere"),
        (["--privacy-budget", "3", "0"], ROWS, ["--repeats"], "the privacy budget is epsilon 3"),
        (
            [
                "--outcome-epsilon",
                "1",
                "--outcome-range",
                "0",
                "9",
                "--shared-outcomes",
                "--budget",
                "3",
            ],
            ROWS,
            [],
            "may depend on others",
        ),
        ([], ROWS, ["--ledger", "other.json"], "there is no file"),
        ([], ROWS, ["--cells", "ranges.toml"], "must be None for a release of noisy records"),
    ],
)
def test_what_cannot_join_is_refused_before_anything_is_spent(place, capsys, start, rows, more, why):
    folder = init(*start)
    write_table(len(rows), rows)
    before = snapshot(folder)
    assert why in refused(capsys, *more)
    assert snapshot(folder) == before
    assert_whole(folder, rows=N)


def snapshot(folder):
    ledger = Path("stays.ledger.json").read_bytes()
    return ledger, folder.ledger.read_bytes(), folder.release.read_bytes(), rows_of(folder)


def test_other_ranges_another_ledger_and_a_served_folder_are_refused(place, capsys):
    folder = init()
    write_table(N + M)
    ranges = Path("ranges.toml").read_text()
    Path("ranges.toml").write_text(ranges.replace("100", "90"))
    assert "must be that of the release: its unit, names or radius are others" in refused(capsys)
    Path("ranges.toml").write_text(ranges)
    kept = Path("stays.ledger.json").read_bytes()
    Path("stays.ledger.json").write_text(
        Path("stays.ledger.json").read_text().replace('"stop": 12', '"stop": 9')
    )
    assert "must have what is entered in" in refused(capsys)
    Path("stays.ledger.json").write_bytes(kept)
    lock = folder.lock()
    assert "used by one server at a time" in refused(capsys)
    lock.release()
    assert_whole(folder, rows=N)


def test_nobody_agreed_and_nothing_is_spent(place):
    folder = init()
    write_table(N + M)
    before = snapshot(folder)
    kept = grow(folder, Path("stays.csv"), ranges=Path("ranges.toml"), agree=lambda *_: False)
    assert kept is None
    assert snapshot(folder) == before


def test_two_folders_of_one_table_grow_by_the_same_records_and_add_up(place):
    init()
    shutil.move("folder", "first")
    init()
    write_table(N + M)
    assert add() == 0
    shutil.move("folder", "second")
    shutil.move("first", "folder")
    assert add() == 0
    ledger = Ledger(path="stays.ledger.json")
    assert [(each.start, each.stop) for each in ledger.entries][2:] == [(N, N + M)] * 2
    assert ledger.total.epsilon == pytest.approx(6.0)


def grown_by_hand(folder):
    return grow(folder, Path("stays.csv"), ranges=Path("ranges.toml"), agree=lambda *_: True)


STEPS = [
    (grow_module, "publish_more"),
    (Ledger, "copy"),
    (Release, "save"),
    (grow_module, "_keep_records"),
    (grow_module, "replace"),
    (grow_module.os, "replace"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(len(STEPS)), ids=[name for _, name in STEPS])
def test_a_failure_at_any_step_leaves_the_old_folder_or_the_new_one(place, monkeypatch, step, after):
    Path("laboratory.py").write_text("def measure(record):\n    return float(record[0])\n")
    folder = init("--objective", "laboratory:measure")
    old = Release.load(folder.release)
    write_table(N + M)
    where, name = STEPS[step]
    real = getattr(where, name)

    def fails(*arguments, **options):
        if name == "replace" and where is os and arguments[0] != folder.coming_release:
            return real(*arguments, **options)
        if after:
            real(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(where, name, fails)
        with pytest.raises(KeyboardInterrupt):
            grown_by_hand(folder)
    charged = Ledger(path="stays.ledger.json").records
    assert charged == (N if step == 0 and not after else N + M)
    folder.lock().release()
    with closing(folder.open_to_read()) as reading:
        rows = reading.facts.n
    assert rows == (N + M if where is os else N)
    assert_whole(folder, rows=rows)
    if rows == N:
        assert Release.load(folder.release).identity == old.identity
        assert grown_by_hand(folder) == (N, N + M)  # and again it can be tried
        assert_whole(folder, rows=N + M)


def test_a_backup_of_an_interrupted_growth_is_whole(place, monkeypatch):
    folder = init()
    write_table(N + M)

    real = os.replace

    def dies(source, target):
        if source == folder.coming_release:
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(grow_module.os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            grown_by_hand(folder)
    assert folder.coming_release.exists()
    back_up(folder, place / "backup")
    _, again = restore(place / "backup", place / "restored")
    assert_whole(again, rows=N + M)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_200_kills_leave_the_old_folder_or_the_new_one_and_never_too_small_a_charge(place):
    folder = init()
    write_table(N + M)
    shutil.copytree("folder", "kept")
    ledger, kept = Path("stays.ledger.json"), Path("stays.ledger.json").read_bytes()
    grown_by_hand(folder)
    shutil.rmtree("folder")
    shutil.copytree("kept", "folder")
    ledger.write_bytes(kept)
    seed, ends, longest = random.Random(0), [], 0.0
    for kill in range(-3, 200):
        shutil.rmtree("folder")
        shutil.copytree("kept", "folder")
        ledger.write_bytes(kept)
        child, began = os.fork(), time.monotonic()
        if child == 0:
            grown_by_hand(folder)
            os._exit(0)
        if kill >= 0:  # those before tell how long it takes
            time.sleep(1.2 * longest * seed.random())
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if kill < 0:
            longest = max(longest, time.monotonic() - began)
            continue
        folder.lock().release()
        with closing(folder.open_to_read()) as reading:
            rows = reading.facts.n
        assert rows in (N, N + M)
        assert_whole(folder, rows=rows)
        assert Ledger(path=ledger).records >= rows
        ends.append((Ledger(path=ledger).records, rows))
        if rows == N and kill % 10 == 0:
            grown_by_hand(folder)
            assert_whole(folder, rows=N + M)
    assert {(N, N), (N + M, N + M)} <= set(ends)


def test_a_served_folder_says_from_what_it_grew_and_questions_stay(place):
    folder = init("--id", "patient")
    with closing(folder.open()) as store:
        token = store.tokens.make("modeler", "m").result()
        number = store.ask("key-of-row-3", 3, 1).result().query.id
        label = store.identifier(3)
    old = Release.load(folder.release).identity
    write_table(N + M)
    assert add("--id", "patient") == 0
    headers = {"Authorization": f"Bearer {token}"}
    with closing(folder.open()) as store, TestClient(create_app(folder, store)) as client:
        facts = client.get("/v1/release", headers=headers).json()
        assert facts["earlier"] == [{"identity": old, "rows": N}]
        assert (facts["rows"], facts["identity"]) == (N + M, Release.load(folder.release).identity)
        assert (store.query(number).row, store.identifier(3)) == (3, label)
        again = client.post(
            "/v1/queries", json={"row": 3}, headers={**headers, "Idempotency-Key": "another-key"}
        )
        assert again.json()["id"] == number
        asked = client.post(
            "/v1/queries", json={"row": N + M - 1}, headers={**headers, "Idempotency-Key": "new-rows"}
        )
        assert asked.status_code == 201


def test_a_ledger_of_an_older_time_is_not_charged(place, capsys):
    init()
    shutil.move("folder", "first")
    older = Path("stays.ledger.json").read_bytes()
    init()  # both releases are entered in this folder
    Path("stays.ledger.json").write_bytes(older)
    write_table(N + M)
    assert "must have what is entered in" in refused(capsys)
    assert Path("stays.ledger.json").read_bytes() == older


def test_the_trail_of_events_goes_on_over_a_growth(place, capsys):
    init()
    write_table(N + M)
    assert add() == 0
    capsys.readouterr()
    assert main(["curator", "export", "folder", "--events"]) == 0
    Path("trail").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["curator", "verify", "trail"]) == 0
    assert main(["curator", "verify", "folder"]) == 0


def test_a_folder_of_several_outcomes_is_refused_before_anything_is_spent(place, capsys):
    goal = ["--minimize", "--of", "cost", "--at-least", "safety=0.5"]
    init("--outcome", "cost", "--outcome", "safety", *goal)
    write_table(N + M)
    before = Path("stays.ledger.json").read_bytes()
    assert "must be one of a single outcome" in refused(capsys)
    assert Path("stays.ledger.json").read_bytes() == before


def test_a_folder_that_grows_may_allow_for_more_measurements(place, capsys):
    folder = init("--budget", "4")
    write_table(N + M)
    capsys.readouterr()
    assert add("--budget", "9") == 0
    assert "Records that may be measured: 9 in all, 4 so far." in capsys.readouterr().out
    assert main(["curator", "status", "folder", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [each["rows"] for each in status["earlier_releases"]] == [N]
    assert status["measurements_limit"] == 9
    with closing(folder.open()) as store:
        token = store.tokens.make("modeler", "m").result()
        for row in range(9):
            store.ask(f"key-{row:08d}", row + 5, 1).result()
        with pytest.raises(ServiceError, match="all 9 measurements are spent"):
            store.ask("key-of-another", 0, 1).result()
        event = next(each["detail"] for each in store.events() if each["kind"] == "grown")
        assert event.endswith("12 rows before, 17 now; 4 measurements before, 9 now")
        assert store.earlier_releases() == [{"identity": store.first_identity(), "rows": N}]
        with TestClient(create_app(folder, store)) as client:
            headers = {"Authorization": f"Bearer {token}"}
            found = client.get("/v1/release", headers=headers).json()
            assert (found["max_queries"], found["queries_left"]) == (9, 0)
    assert_whole(folder, rows=N + M)


@pytest.mark.parametrize(
    ("before", "budget", "words"),
    [
        (["--budget", "4"], "3", "--budget must be at least the 4 measurements of before"),
        (["--budget", "4"], "18", "and at most the 17 records, got 18"),
        ([], "9", "--budget must be left out: this folder has no limit"),
    ],
)
def test_a_budget_that_is_none_is_refused_before_anything_is_spent(place, capsys, before, budget, words):
    folder = init(*before)
    write_table(N + M)
    ledger = folder.ledger.read_bytes()
    assert words in refused(capsys, "--budget", budget)
    assert folder.ledger.read_bytes() == ledger == Path("stays.ledger.json").read_bytes()
    assert_whole(folder, rows=N)
