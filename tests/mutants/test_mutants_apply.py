"""The planted bugs of `mutants.toml` fit the package, and who plants them tells caught from not."""

import re
from collections import Counter
from pathlib import Path

import pytest
from mutants import runner

MUTANTS = runner.load(Path(__file__).with_name("mutants.toml"))
INNER_ROOMS = (  # of the large rooms
    "curator/features",
    "curator/mechanisms",
    "curator/service",
    "modeler/acquisition",
    "modeler/models",
    "modeler/remote",
)


def rooms():
    folders = (runner.ROOT / runner.PACKAGE).iterdir()
    return [each.name for each in folders if each.is_dir() and any(each.glob("*.py"))]


def test_every_mutant_can_be_planted():
    assert [mutant.name for mutant in MUTANTS if not mutant.applies(runner.ROOT)] == []
    assert [mutant.name for mutant in MUTANTS if mutant.before == mutant.after] == []


@pytest.mark.parametrize("room", [*rooms(), *INNER_ROOMS])
def test_every_room_has_two_mutants(room):
    assert len([mutant for mutant in MUTANTS if f"{mutant.room}/".startswith(f"{room}/")]) >= 2


def test_names_are_different():
    assert [name for name, count in Counter(each.name for each in MUTANTS).items() if count > 1] == []


def test_tests_that_are_named_exist():
    for named in {test for mutant in MUTANTS for test in mutant.tests}:
        file, _, name = named.partition("::")
        content = (runner.ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}" if name else "^(async )?def test_", content, re.MULTILINE), (
            named
        )


# --- a tree of one function, and bugs in it ---

HONEST = "def total(a, b):\n    return a + b\n"
BUG = runner.Mutant("subtracts", "room/sums.py", "a + b", "a - b", ("tests/test_sums.py",))


@pytest.fixture
def tree(tmp_path):
    package = tmp_path / "tree" / runner.PACKAGE
    (package / "room").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "room" / "sums.py").write_text(HONEST)
    tests = tmp_path / "tree" / "tests"
    tests.mkdir()
    (tests / "test_sums.py").write_text(
        f"from {runner.PACKAGE}.room.sums import total\n\n"
        "def test_total():\n    assert total(1, 2) == 3\n"
    )
    return tmp_path / "tree"


def test_a_bug_is_caught_and_one_that_changes_nothing_survives(tree, capsys):
    swapped = runner.Mutant("swaps", "room/sums.py", "a + b", "b + a", BUG.tests)
    gone = runner.Mutant("is elsewhere", "room/sums.py", "a * b", "a", BUG.tests)
    untested = runner.Mutant("has no tests", "room/sums.py", "a + b", "a - b", ("tests/absent.py",))
    assert runner.check([BUG, swapped, gone], root=tree, workers=2) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["caught", "SURVIVED", "DOES"]
    assert lines[3].endswith("2 must be looked at")
    assert (tree / runner.PACKAGE / "room" / "sums.py").read_text() == HONEST
    assert runner.plant(untested, runner.copy_tree(tree, tree.parent / "copy")) == (runner.BROKEN, [])


def test_what_fails_without_a_bug_catches_none(tree, capsys):
    (tree / "tests" / "test_sums.py").write_text("def test_total():\n    assert False\n")
    assert runner.check([BUG], root=tree, workers=1) == 1
    assert "fail, too, and catch nothing: tests/test_sums.py::test_total" in capsys.readouterr().out


def test_all_caught_is_a_success(tree):
    assert runner.check([BUG], root=tree, workers=1) == 0


def test_rooms_and_words_choose():
    others = [runner.Mutant("a", "curator/ledger.py", "", "", ()), BUG]
    assert runner.chosen(others, []) == others
    assert runner.chosen(others, ["curator"]) == runner.chosen(others, ["a"])[:1] == others[:1]
    assert runner.chosen(others, ["subtr"]) == [BUG]
    assert runner.chosen(others, ["cura"]) == []
