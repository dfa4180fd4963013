"""A server whose folder and database hold the mark tells it to nobody, but identifiers to its staff."""

import importlib
import sqlite3

import pytest
from helpers.marked import listening
from helpers.planted import BYTES, NUMBER, TEXT, found_in, tried
from helpers.staff_browser import StaffBrowser, console_folder
from starlette.testclient import TestClient

from botorch_private.cli.main import main
from botorch_private.curator.service import app as application
from botorch_private.curator.service.agenda import Agenda
from botorch_private.curator.service.log import PlainFormatter
from botorch_private.curator.service.measuring import Measuring, MeasuringError
from botorch_private.curator.service.reading import Reading
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.worker import answer

IDENTIFIERS = [f"{TEXT}-{i}" for i in range(12)]
BODIES = [
    {"row": TEXT},
    {"row": NUMBER},
    {"row": [NUMBER]},
    {TEXT: NUMBER},
    {"row": 0, TEXT: NUMBER},
    {"value": TEXT},
    {"value": NUMBER, TEXT: 1},
    {"value": f"{NUMBER} x"},
    {"reason": [TEXT]},
    {"value": NUMBER, "reason": TEXT * 400},
    [TEXT],
    TEXT,
    NUMBER,
]
PATHS = [
    ("POST", "/v1/queries"),
    ("GET", "/v1/queries"),
    ("GET", "/v1/queries/1"),
    ("GET", f"/v1/queries/{TEXT}"),
    ("GET", f"/v1/queries?after={TEXT}&limit={NUMBER}"),
    ("GET", f"/v1/{TEXT}"),
    (TEXT.replace("-", ""), "/v1/queries"),
    ("GET", "/v1/release"),
    ("GET", "/v1/guarantee"),
    ("GET", "/v1/health"),
    ("PUT", "/v1/staff/queries/1/measurement"),
    ("PUT", "/v1/staff/queries/1/correction"),
    ("PUT", "/v1/staff/queries/1/withdrawal"),
    ("PUT", f"/v1/staff/queries/{TEXT}/measurement"),
    ("PUT", "/v1/staff/queries/9/measurement"),
    ("GET", "/console"),
    ("GET", f"/console/{TEXT}"),
    ("GET", f"/console/questions/{TEXT}"),
    ("POST", "/console/login"),
    ("POST", "/console/questions/1/check"),
    ("POST", "/console/questions/1/take"),
    ("POST", "/console/questions/1/arrangement"),
    ("GET", "/console/questions/1/arrangement"),
    ("GET", f"/console/worklist?find={TEXT}"),
    ("GET", f"/console?view={TEXT}&find={TEXT}&page={TEXT}"),
    ("POST", "/console/sheet"),
    ("GET", f"/console/sheet?stored={TEXT}"),
    ("POST", "/console/sheet/store"),
]


class Served:
    """A folder, its open store, an application, and a token of each role."""

    def __init__(self, path):
        self.folder = console_folder(path, identifiers=IDENTIFIERS)
        self.store = self.folder.open()
        self.tokens = {
            role: self.store.tokens.make(role, role).result() for role in ("modeler", "staff")
        }
        self.staff = {"Authorization": f"Bearer {self.tokens['staff']}"}
        self.modeler = {"Authorization": f"Bearer {self.tokens['modeler']}"}
        self.client = TestClient(
            application.create_app(self.folder, self.store, rate=1e6), raise_server_exceptions=False
        )

    def ask(self, row):
        headers = {**self.modeler, "Idempotency-Key": f"key-of-row-{row}"}
        return self.client.post("/v1/queries", json={"row": row}, headers=headers)

    def everything(self, staff=True):
        """Every request with every body, by nobody, a modeler, and staff."""
        said = []
        people = [
            {},
            self.modeler,
            {"Authorization": f"Bearer {TEXT}"},
            *([self.staff] if staff else []),
        ]
        for method, path in PATHS:
            for body in BODIES if method in ("POST", "PUT") else BODIES[:1]:
                for headers in people:
                    more = {**headers, "Idempotency-Key": f"{TEXT}-key"}
                    answered = self.client.request(method, path, json=body, headers=more)
                    # A name of a cookie or of an address that was sent comes back where it must.
                    said.append((answered.status_code, answered.text, dict(answered.headers)))
        for content in (BYTES, f"{{{TEXT}".encode(), f'{{"row": {NUMBER}x'.encode(), b'{"row": NaN}'):
            for headers in people:
                answered = self.client.post("/v1/queries", content=content, headers=headers)
                said.append((answered.status_code, answered.text))
        return said


def logged(said):
    """Lines as the server writes them; the client of the test logs what it sends."""
    ours = [each for each in said["records"] if not each.name.startswith("httpx")]
    return [PlainFormatter().format(each) for each in ours]


@pytest.fixture
def served(tmp_path):
    made = Served(tmp_path / "folder")
    with made.client:
        made.ask(0)
        yield made
    made.store.close()


def test_no_answer_of_the_modelers_side_and_no_refusal_holds_the_mark(served):
    with listening() as said:
        answers = served.everything()
    assert {status for status, *_ in answers} >= {400, 401, 403, 404, 405, 422}
    assert found_in(answers) == []
    assert found_in(logged(said)) == []


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError(f"Could not decode to UTF-8 column 'identifier' with text '{TEXT}'"),
        sqlite3.DatabaseError(f"malformed database schema ({TEXT})"),
        KeyError(f"{TEXT} {NUMBER}"),
        UnicodeDecodeError("utf-8", BYTES, 8, 9, TEXT),
    ],
)
def test_an_error_that_nobody_foresaw_is_answered_and_logged_without_its_text(
    served, monkeypatch, error
):
    browser = StaffBrowser(served, raise_server_exceptions=False)
    browser.log_in()

    def broken(*_, **__):
        raise error

    for name in ("_one", "_all"):
        monkeypatch.setattr(Reading, name, broken)
    for name in ("count", "page"):
        monkeypatch.setattr(Agenda, name, broken)
    monkeypatch.setattr(Store, "query", broken)
    with listening() as said:
        answers = served.everything()
        pages = [browser.open(f"/console{path}").html for path in ("", "/questions/1", "/measured")]
    assert {status for status, *_ in answers} & {500, 503}
    assert found_in(answers, pages) == []
    assert found_in(logged(said)) == []


def failing(record):
    raise LookupError(f"{TEXT}: nothing for {NUMBER}")


@pytest.mark.parametrize(
    "program", [failing, lambda record: TEXT, lambda record: [NUMBER], lambda record: {TEXT: NUMBER}]
)
def test_what_a_program_raises_or_returns_is_in_no_reply_to_the_server(program, capfd):
    assert found_in(answer(program, [NUMBER, 1.0])) == []
    assert capfd.readouterr().out == ""


def test_what_a_program_raises_is_on_no_page_and_in_no_log(tmp_path):
    made = Served(tmp_path / "folder")

    told = answer(failing, [NUMBER])["error"]

    def program(record):
        raise MeasuringError(told) if record[0] else RuntimeError(TEXT)

    with made.client, listening() as said:
        measuring = Measuring.__new__(Measuring)
        measuring._store, measuring._program, measuring._stopping = made.store, program, False
        for row, first in ((0, 0.0), (1, NUMBER)):
            made.ask(row)
            table = {made.store.record(row): type("Row", (), {"tolist": lambda _, x=first: [x]})()}
            assert measuring._one(table)
        assert [each.state for each in made.store.queries()] == ["failed", "failed"]
        assert found_in([each.reason for each in made.store.queries()]) == []
    made.store.close()
    assert found_in(logged(said), said["printed"]) == []


def no_utf8(path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute(statement, (BYTES,))
    connection.close()


@pytest.mark.parametrize("verb", ["status", "export", "clock", "retry", "token", "worklist", "import"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE fact SET value = CAST(? AS TEXT)",
        "UPDATE fact SET name = CAST(? AS TEXT) WHERE name = 'n'",
        "UPDATE record SET identifier = CAST(? AS TEXT)",
        "UPDATE event SET kind = CAST(? AS TEXT), time = kind",
    ],
)
def test_no_command_repeats_what_a_damaged_database_holds(tmp_path, verb, statement):
    served = Served(tmp_path / "folder")
    with served.client:
        served.ask(0)
    served.store.close()
    no_utf8(served.folder.database, statement)
    (tmp_path / "sheet.csv").write_text(f"identifier,value\n{TEXT}-0,{NUMBER}\n")
    output = ["--output", str(tmp_path / "out.csv")]
    more = {"export": output, "worklist": output, "import": [str(tmp_path / "sheet.csv")]}
    arguments = ["curator", verb, *(["list"] if verb == "token" else []), str(served.folder.path)]
    arguments += more.get(verb, [])

    def run():
        try:
            return main(arguments)
        except SystemExit as end:
            return end.code

    error, said = tried(run)
    assert error is None
    assert "Traceback" not in said[2]
    assert found_in(*said) == []


def test_an_error_that_no_command_foresaw_is_told_by_its_place_alone(tmp_path, monkeypatch, capsys):
    def broken(path, **_):
        raise KeyError(TEXT)

    # By the module that an import finds: other tests load modules again.
    tables = importlib.import_module("botorch_private.curator.features.tables")
    monkeypatch.setattr(tables, "read_names", broken)
    assert main(["ranges", "template", str(tmp_path / "x.csv")]) == 1
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert "in broken" in told
    assert found_in(told.replace("raise KeyError(TEXT)", "")) == []
