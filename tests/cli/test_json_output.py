"""--json: one document with declared fields on the standard output, and nothing else there."""

import json
import math
from contextlib import closing

import pytest
from helpers.documents import parsed
from helpers.report_samples import LOWER, NAMES, UPPER, make_release, some_records
from helpers.staff_browser import console_folder

from botorch_private import CellResponse, Cells, Curator, OutcomeMechanism, load_encoding
from botorch_private.cli import main as cli
from botorch_private.cli.documents.fields import DOCUMENTS, fields_of
from botorch_private.curator.service.make_folder import make_folder

COMMANDS = ["curator status", "optimize", "ranges check", "report"]
# What a version has stays in it. Other fields may be added.
FIELDS_OF_VERSION_1 = {
    "curator status": "guarantee.epsilon guarantee.holds guarantee.words measurements_left outcome "
    "questions.failed_ids questions.measured questions.pending release.rows release.sha256 unit",
    "optimize": "best.row best.value guarantee.epsilon measured[].row measured[].value noised outcome "
    "recommended release rounds skipped state unit",
    "ranges check": "columns diameter features[].kind features[].name features[].unit features[].width "
    "history radius",
    "report": "audits[].lower_bound costs[].epsilon features[].unit ledger.total.epsilon "
    "releases[].name secret table[].clipped total.epsilon total.holds whole_record.epsilon",
    "any of them, where it fails": "command exit_status message",
}


@pytest.mark.parametrize("command", DOCUMENTS)
def test_fields_of_a_version_stay_and_each_says_what_it_is(command):
    found = {path: meaning for path, _, meaning in fields_of(DOCUMENTS[command])}
    assert DOCUMENTS[command].VERSION == 1
    assert set(FIELDS_OF_VERSION_1[command].split()) <= set(found)
    assert all(meaning and "|" not in meaning for meaning in found.values())


def printed(capsys, command, *arguments):
    assert cli.main([*command.split(), *map(str, arguments), "--json"]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    return parsed(text, command)


def folder_of_labels(path, *, objective):
    cells = Cells({"a": [0, 0.5, 1], "b": [0, 0.5, 1]})
    records = [[i / 12, 1 - i / 12] for i in range(12)]
    noise = OutcomeMechanism(5.0, 0.0, (0.0, 10.0))
    mechanism = CellResponse(3.0, cells)
    curator = Curator(records, None, mechanism, abs, max_queries=10, outcome_mechanism=noise)
    return make_folder(path, curator, objective=objective)


@pytest.mark.parametrize("labels", [False, True])
def test_status_says_what_it_says_to_people(labels, tmp_path, capsys):
    make = folder_of_labels if labels else console_folder
    folder = make(tmp_path / "clinic", objective="lab:measure")
    with closing(folder.open()) as store:
        store.tokens.make("modeler", "m").result()
        for row in range(3):
            store.ask(f"key-{row:08d}", row, 1).result()
        number = store.begin().result().id
        store.fail(number, "broken by smith").result()
        facts, left = store.facts, store.queries_left()
    found = printed(capsys, "curator status", tmp_path / "clinic")
    assert found["guarantee"]["words"] == facts.guarantee_words
    assert found["guarantee"]["protects"] == ("whole record" if labels else "one unit")
    assert found["questions"]["pending"] == 2
    assert found["questions"]["failed_ids"] == [number]
    assert found["measurements_left"] == left
    assert (found["release"]["numbers"] is None) == labels
    assert "smith" not in json.dumps(found)


def test_ranges_say_what_one_unit_is(tmp_path, capsys):
    file = tmp_path / "ranges.toml"
    file.write_text(
        "[features.age]\nlower = 18\nupper = 100\nedges = [40]\n[features.smoker]\nkind = 'boolean'\n"
        "[features.ward]\nkind = 'category'\ncategories = ['icu', 'ä']\n"
    )
    found = printed(capsys, "ranges check", file)
    encoding = load_encoding(file)
    assert [each["name"] for each in found["features"]] == ["age", "smoker", "ward"]
    assert found["columns"] == list(encoding.names)
    assert found["diameter"] == encoding.diameter
    assert {each["name"]: each["width"] for each in found["features"]} == encoding.widths
    assert found["features"][0]["unit"] == pytest.approx(float(encoding.scaling.unit[0]), rel=1e-12)
    assert found["features"][2]["categories"] == ["icu", "ä"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder, which is the current one, with releases, their table and ranges."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    make_release("laplace").save("r.safetensors")
    make_release("none").save("none.safetensors")
    frame = pandas.DataFrame(some_records().numpy(), columns=NAMES)
    frame.assign(name="smith").to_csv("table.csv", index=False)
    lines = [
        f"[features.'{name}']\nlower = {low}\nupper = {high}"
        for name, low, high in zip(NAMES, LOWER, UPPER, strict=True)
    ]
    (tmp_path / "ranges.toml").write_text("\n".join(lines))
    return tmp_path


def test_a_report_has_the_figures_of_the_page(place, capsys):
    found = printed(capsys, "report", "r.safetensors", "--trials", 200)
    guarantee = make_release("laplace").guarantee
    assert found["total"]["epsilon"] == guarantee.epsilon
    assert found["whole_record"]["epsilon"] == guarantee.whole_record
    assert not found["secret"]
    assert found["table"] == []
    assert found["audits"][0]["refuted"] is False
    assert not (place / "report.html").exists()


def test_a_report_with_records_is_secret_and_has_no_more_digits_than_the_page(place, capsys):
    table = ("--ranges", "ranges.toml", "--records", "table.csv", "--person", "name")
    found = printed(capsys, "report", "r.safetensors", *table, "--trials", 200)
    assert found["secret"]
    assert found["most_records"]["records"] == 300
    assert found["table"][0]["clipped"] == 7
    for feature in found["table"][0]["features"]:
        for number in (feature["spread"], feature["error"]):
            assert number is None or number == float(f"{number:.4g}")
    assert "smith" not in json.dumps(found)


def test_no_limit_is_null(place, capsys):
    found = printed(capsys, "report", "none.safetensors", "--trials", 200)
    assert not found["total"]["holds"]
    assert found["total"]["epsilon"] is None
    assert math.isinf(make_release("none").guarantee.epsilon)


@pytest.mark.parametrize(
    ("arguments", "status", "command", "message"),
    [
        (["curator", "status", "none"], 1, "curator status", "none"),
        (["ranges", "check", "none.toml"], 1, "ranges check", "there is no file none.toml"),
        (["report", "nowhere.safetensors"], 2, "report", "there is no file"),
        (["report", "r.safetensors", "--text"], 2, "report", "argument --json: --text prints"),
        (["report", "r.safetensors", "--output", "x.html"], 2, "report", "argument --output: --json"),
        (["ranges", "check"], 2, "ranges check", "the following arguments are required"),
        (["optimize", "http://127.0.0.1:1", "--rounds", "1"], 1, "optimize", "--token-file"),
        (["optimize", "http://127.0.0.1:1", "--rounds", "0"], 2, "optimize", "whole number >= 1"),
    ],
)
def test_a_failure_is_a_document_too(arguments, status, command, message, place, capsys, monkeypatch):
    monkeypatch.delenv("BOTORCH_PRIVATE_TOKEN", raising=False)
    with pytest.raises(SystemExit) as stopped:
        cli.main([*arguments, "--json"])
    assert stopped.value.code == status
    told = capsys.readouterr()
    found = parsed(told.out, "any of them, where it fails")
    assert found["command"] == f"botorch-private {command}"
    assert found["exit_status"] == status
    assert message in found["message"]
    assert found["message"] in told.err


def test_without_json_a_failure_prints_nothing_for_programs(place, capsys):
    with pytest.raises(SystemExit):
        cli.main(["ranges", "check", "none.toml"])
    assert capsys.readouterr().out == ""


def test_an_error_that_nobody_foresaw_is_a_document_without_its_text(place, capsys, monkeypatch):
    def broken(path):
        raise RuntimeError("smith, 41")

    monkeypatch.setattr("botorch_private.curator.features.ranges.load_encoding", broken)
    assert cli.main(["ranges", "check", "ranges.toml", "--json"]) == 1
    found = parsed(capsys.readouterr().out, "any of them, where it fails")
    assert found["exit_status"] == 1
    assert "smith" not in found["message"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_version_are_no_failures(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command.split(), "--json", "--help"])
    assert stopped.value.code == 0
    assert "--json" in capsys.readouterr().out
