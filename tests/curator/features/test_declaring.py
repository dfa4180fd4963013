"""The command `botorch-private ranges`: names of columns alone, and a file that must be filled in."""

import builtins
import re
import tomllib

import pandas
import pytest

from botorch_private.cli.main import main
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.features.template import Declared, template

TABLE = "id,age,diabetes,ward,cost\nP-1,41,yes,icu,1234.5\nP-2,87,no,surgery,99.25\n"
NAMES = ["id", "age", "diabetes", "ward", "cost"]
SECRETS = ["P-1", "41", "87", "icu", "surgery", "1234", "99", "2 records"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder, which is the current one, with a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path


def fails(arguments, capsys, code=1):
    with pytest.raises(SystemExit) as stopped:
        main(["ranges", *arguments])
    assert stopped.value.code == code
    return capsys.readouterr().err


@pytest.fixture
def typed(monkeypatch):
    """Return a function that plays somebody at a terminal."""

    def set_answers(*answers):
        left = list(answers)

        def answer(question):
            print(question)
            if not left:
                raise EOFError
            return left.pop(0)

        monkeypatch.setattr(builtins, "input", answer)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        return left

    return set_answers


def test_the_template_names_every_column_and_no_value(place, capsys):
    assert main(["ranges", "template", "table.csv"]) == 0
    text = capsys.readouterr().out
    assert list(tomllib.loads(text)["features"]) == NAMES
    assert all(not entry for entry in tomllib.loads(text)["features"].values())
    entries = text[text.index("[features") :]
    assert not re.search(r"\d", entries)
    for secret in SECRETS:
        assert secret not in text
    assert "Never look the numbers or the categories up in the table" in text
    pandas.read_csv("table.csv").to_parquet("table.parquet")
    assert main(["ranges", "template", "table.parquet"]) == 0
    assert capsys.readouterr().out == text


def test_tables_with_the_same_names_have_the_same_template(place, capsys):
    main(["ranges", "template", "table.csv"])
    one = capsys.readouterr().out
    (place / "table.csv").write_text(",".join(NAMES) + "\n")
    main(["ranges", "template", "table.csv"])
    assert capsys.readouterr().out == one


def test_a_half_filled_template_is_refused_with_the_feature_that_is_left(place, capsys):
    assert main(["ranges", "template", "table.csv", "--output", "ranges.toml"]) == 0
    assert "botorch-private ranges check ranges.toml" in capsys.readouterr().out
    assert "feature 'id' must have the key lower" in fails(["check", "ranges.toml"], capsys)
    text = (place / "ranges.toml").read_text().replace("[features.id]\n", "")
    text = text.replace("[features.age]\n# lower =\n# upper =", "[features.age]\nlower = 18\nupper = 99")
    (place / "ranges.toml").write_text(text)
    err = fails(["check", "ranges.toml"], capsys)
    assert "feature 'diabetes' must have the key lower, but it is missing; delete the feature" in err
    assert err.rstrip().endswith("; so is another one of: 'ward', 'cost'")
    text = text.replace("[features.ward]\n# lower =\n# upper =", "[features.ward]\nlower =\nupper =")
    (place / "ranges.toml").write_text(text)
    err = fails(["check", "ranges.toml"], capsys)
    assert err.rstrip().endswith("; so is another one of: 'ward', 'cost'")
    text = text.replace("[features.diabetes]", '[features.diabetes]\nkind = "boolean"')
    (place / "ranges.toml").write_text(text)
    err = fails(["check", "ranges.toml"], capsys)
    assert "feature 'ward' must have a value for each key, but it is missing; delete the feature" in err
    assert err.rstrip().endswith("; so is another one of: 'cost'")


def test_nothing_is_overwritten_and_wrong_inputs_are_refused(place, capsys):
    (place / "ranges.toml").write_text("mine")
    err = fails(["template", "table.csv", "--output", "ranges.toml"], capsys, code=2)
    assert "there is something at ranges.toml already" in err
    assert (place / "ranges.toml").read_text() == "mine"
    err = fails(["template", "table.csv", "--output", "no/x.toml"], capsys, code=2)
    assert "there is no folder no" in err
    assert "there is no file none.csv" in fails(["template", "none.csv"], capsys)
    assert "must be TOML" in fails(["check", "ranges.toml"], capsys)
    assert "there is no file" in fails(["check", "none.toml"], capsys)
    (place / "record.csv").write_text("smith,50\n")
    err = fails(["template", "record.csv"], capsys)
    assert "number 2 has no letter" in err
    assert "smith" not in err


def test_no_verb_prints_help_and_fails(capsys):
    assert main(["ranges"]) == 2
    assert "template" in capsys.readouterr().out


def test_somebody_at_a_terminal_is_asked_and_the_file_is_complete(place, capsys, typed):
    numbers = ["n", "100", "18", "n o", "18", "18", "100"]
    left = typed("y", "omit", "what", *numbers, "y", "c", "icu", "icu, surgery", "o")
    assert main(["ranges", "template", "table.csv", "--output", "ranges.toml"]) == 0
    assert not left
    out = capsys.readouterr().out
    for secret in SECRETS:
        assert secret not in out
    encoding = load_encoding("ranges.toml")
    assert [each.name for each in encoding.features] == ["age", "diabetes", "ward"]
    assert (encoding.features[0].lower, encoding.features[0].upper) == (18, 100)
    assert encoding.features[2].categories == ("icu", "surgery")


def test_what_is_decided_later_stays_open_and_no_answer_is_no(place, capsys, typed):
    typed("y", "", "y", "", "", "o")
    assert main(["ranges", "template", "table.csv", "--output", "ranges.toml"]) == 0
    assert "Fill it in" in capsys.readouterr().out
    features = tomllib.loads((place / "ranges.toml").read_text())["features"]
    assert features == {"id": {}, "age": {"kind": "boolean"}, "diabetes": {}, "ward": {}}
    typed("")
    assert main(["ranges", "template", "table.csv", "--output", "second.toml"]) == 0
    assert list(tomllib.loads((place / "second.toml").read_text())["features"]) == NAMES


def test_an_interrupted_dialogue_writes_nothing(place, capsys, typed):
    typed("y", "n", "18")
    assert "stopped; nothing was written" in fails(
        ["template", "table.csv", "--output", "ranges.toml"], capsys
    )
    assert not (place / "ranges.toml").exists()


def test_names_of_any_letters_survive_in_toml():
    names = [
        "a b",
        'quo"te',
        "back\\slash",
        "ünï",
        "dot.ted",
        "new\nline",
        "tab\t",
        "del\x7f",
        "😀",
        "=",
    ]
    declared = {name: Declared("category", categories=(name, "other")) for name in names}
    assert tomllib.loads(template(names, declared))["features"] == {
        name: {"kind": "category", "categories": [name, "other"]} for name in names
    }
    assert list(tomllib.loads(template(names))["features"]) == names


def test_check_says_units_widths_and_steps(place, capsys):
    (place / "ranges.toml").write_text(
        "radius = 10\n[features.age]\nlower = 0\nupper = 100\n[features.well]\nkind = 'boolean'\n"
        "[features.ward]\nkind = 'category'\ncategories = ['icu', 'surgery']\n"
    )
    assert main(["ranges", "check", "ranges.toml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # In length-scales, half of the box is 1, 1 and twice sqrt(1/2), so that a radius of 10 is sqrt(3).
    assert lines[0].split() == ["feature", "kind", "one", "unit", "is", "width", "in", "units"]
    assert lines[1].split() == ["age", "number", "8.66", "within", "0", "...", "100", "11.55"]
    assert lines[2].split()[:3] == ["well", "boolean", "0.0866"]
    assert lines[3].split()[:3] == ["ward", "category", "0.0866"]
    assert all(line.endswith("11.55") for line in lines[1:4])
    text = "\n".join(lines)
    assert "Two records are at most 20 units apart." in text
    assert "A change of well between no and yes moves a record by 11.55 units." in text
    assert "A change of ward to any other category moves a record by 11.55 units." in text
    assert "ward=icu, ward=surgery" in text


def test_the_command_line_offers_it(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "declare the features of a table, without looking at its values" in " ".join(
        capsys.readouterr().out.split()
    )
