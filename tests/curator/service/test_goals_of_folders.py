"""The goal that a curator declares: in the folder, to modelers, and to staff."""

import json
import sqlite3

import pytest
from helpers.staff_browser import console_folder, logged_in

from botorch_private import Above, Maximize, Minimize, Target, TopK
from botorch_private.cli.main import main
from botorch_private.curator.service.console import progress
from botorch_private.curator.service.folder import Folder

OPTIONS = {
    (): Maximize(),
    ("--minimize",): Minimize(),
    ("--maximize",): Maximize(),
    ("--above", "-1.5"): Above(-1.5),
    ("--best", "3"): TopK(3),
    ("--target", "0"): Target(0.0),
}


@pytest.fixture
def init(tmp_path, monkeypatch):
    """Run the command on a small table; returns its status."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("age\n" + "\n".join(map(str, range(20, 32))) + "\n")
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")

    def call(*more):
        command = ["curator", "init", "table.csv", "clinic", "--ranges", "ranges.toml"]
        try:
            return main([*command, "--epsilon", "3", "--yes", *more])
        except SystemExit as stopped:
            return stopped.code

    return call


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_init_keeps_the_goal_in_the_folder(init, tmp_path, options):
    assert init(*options) == 0
    store = Folder(tmp_path / "clinic").open()
    assert store.facts.goal == OPTIONS[options].to_dict()
    store.close()


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--above", "nan"), 1, "init: --above must be a finite number, got nan"),
        (("--best", "13"), 1, "init: --best must be at most the 12 records of the release, got 13"),
        (("--best", "0"), 2, "argument --best: must be a whole number >= 1"),
        (("--minimize", "--target", "1"), 2, "argument --target: not allowed with argument --minimize"),
    ],
)
def test_a_goal_that_is_none_is_refused_before_anything_is_spent(
    init, tmp_path, capsys, options, status, message
):
    assert init(*options) == status
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ranges.toml", "table.csv"]


@pytest.mark.parametrize("goal", set(OPTIONS.values()), ids=repr)
def test_modelers_are_told_what_was_declared_and_nothing_of_answers(serve, tmp_path, goal):
    service = serve(folder=console_folder(tmp_path / "folder", goal=goal))
    before = service.get("/v1/release").json()["goal"]
    assert before == goal.to_dict()
    for row, value in enumerate((4.0, 2.0, 9.0)):
        service.ask(row)
        service.measure(row + 1, value)
    assert service.get("/v1/release").json()["goal"] == before


SHOWN = {
    Minimize(): ("The smallest so far is 2 days: {1}.", "Smallest so far", (4, 2, 2)),
    Target(5.0): ("The nearest to 5 so far is 4 days: {0}.", "Nearest to 5 so far", (4, 4, 4)),
    Above(3.0): (
        "The largest so far is 9 days: {2}. So far: 2 above 3 days.",
        "Largest so far",
        (4, 4, 9),
    ),
    TopK(2): (
        "The largest so far is 9 days: {2}. So far: best 9 days, number 2 of them 4 days.",
        "Largest so far",
        (4, 4, 9),
    ),
}


@pytest.mark.parametrize("goal", SHOWN, ids=repr)
def test_staff_see_values_as_they_measure_them_and_the_best_by_the_goal(
    serve, tmp_path, monkeypatch, goal
):
    service = serve(folder=console_folder(tmp_path / "folder", goal=goal))
    browser = logged_in(service)
    for row, value in enumerate((4, 2, 9)):
        service.ask(row)
        browser.enter(row + 1, str(value))
    page = browser.open("/console/progress")
    names = [service.store.identifier(row) for row in range(3)]
    sentence, heading, best = SHOWN[goal]
    text = page.text.replace(" .", ".")
    assert sentence.format(*names) in text
    assert heading in text
    for turn, (name, value, so_far) in enumerate(zip(names, (4, 2, 9), best, strict=True), start=1):
        assert f"{turn} {name} {value} {so_far}" in text
    assert page.html.count('class="dot"') == 3
    monkeypatch.setattr(progress, "_MOST_SHOWN", 1)  # the best of those that are not shown counts
    page = browser.open("/console/progress")
    assert sentence.format(*names) in page.text.replace(" .", ".")
    assert f"3 {names[2]} 9 {best[2]}" in page.text
    assert page.html.count('class="dot"') == 1


def test_a_folder_from_before_goals_maximizes_and_a_damaged_one_is_refused(tmp_path):
    folder = console_folder(tmp_path / "folder")
    database = sqlite3.connect(folder.database)
    database.execute("DELETE FROM fact WHERE name = 'goal'")
    database.commit()
    store = folder.open()
    assert store.facts.goal == Maximize().to_dict()
    store.close()
    database.execute("INSERT INTO fact VALUES ('goal', ?)", (json.dumps({"kind": "Anna"}),))
    database.commit()
    database.close()
    with pytest.raises(ValueError, match="not a curator's database, or damaged") as refused:
        folder.open()
    assert "Anna" not in str(refused.value)


@pytest.mark.parametrize("goal", ["minimize", Minimize, {"kind": "minimize"}])
def test_what_is_no_goal_makes_no_folder(tmp_path, goal):
    with pytest.raises(ValueError, match="goal must be a goal, such as Minimize"):
        console_folder(tmp_path / "folder", goal=goal)
    assert not (tmp_path / "folder").exists()
