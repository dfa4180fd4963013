"""A sheet in the console: sent, looked at, stored as a whole; and what is refused at the door."""

import csv
import io
import json
from contextlib import closing

import pytest
from helpers.marked import listening
from helpers.planted import NUMBER, TEXT, found_in
from helpers.staff_browser import StaffBrowser, console_folder, logged_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from botorch_private.curator.service.limits import LARGEST_SHEET


@pytest.fixture
def browser(service):
    """Somebody at the console, where four questions wait."""
    for row in range(4):
        service.ask(row)
    return logged_in(service)


def names_of(service):
    return [service.store.identifier(query.row) for query in service.store.queries()]


def sheet_of(*pairs):
    return "identifier,value\n" + "".join(f"{a},{b}\n" for a, b in pairs)


def sound(service):
    return sheet_of(*((name, i + 0.5) for i, name in enumerate(names_of(service))))


def outcomes(service):
    return [query.outcome for query in service.store.queries()]


def test_a_sheet_is_looked_at_and_stored_as_a_whole(service, browser):
    page = browser.upload(sound(service))
    assert page.url == "/console/sheet/check"
    assert "New values 4" in page.text
    assert outcomes(service) == [None] * 4
    page = browser.send("/console/sheet/store")
    assert "The sheet is stored: 4 new values." in page.text
    assert outcomes(service) == [0.5, 1.5, 2.5, 3.5]
    assert service.ask(0).json()["value"] == 0.5
    assert "waits to be stored" not in page.text
    history = browser.open("/console/measured/1").text
    assert "test: value stored, 0.5 days. from a sheet, row 2" in history
    # The same sheet again changes nothing.
    assert "Stored before, and the same 4" in browser.upload(sound(service)).text
    assert "/console/sheet/store" not in browser.page.forms


def test_rows_that_cannot_be_stored_are_told_by_their_numbers_and_nothing_is_stored(service, browser):
    names = names_of(service)
    service.measure(2, 7.0)
    page = browser.upload(sheet_of((names[0], 1), (names[0], 1), (names[1], 8), ("nobody", 1)))
    assert "This sheet cannot be stored" in page.text
    for words in ("3 It is about the same record as row 2", "4 Another value is stored", "5 No record"):
        assert words in page.text
    assert "/console/sheet/store" not in page.forms
    seen = {"csrf": page.forms["/console/logout"]["csrf"], "seen": "x"}
    assert browser.client.post("/console/sheet/store", data=seen).status_code == 409
    assert outcomes(service) == [None, 7.0, None, None]


def test_a_sheet_to_fill_in_is_fetched_and_sent_back(service, browser):
    answer = browser.client.get("/console/worklist.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [row["identifier"] for row in rows] == names_of(service)
    filled = "identifier,value,unit\n" + "".join(
        f"{row['identifier']},7,{row['unit']}\n" for row in rows
    )
    browser.upload(filled.encode("utf-8-sig"))
    browser.send("/console/sheet/store")
    assert outcomes(service) == [7.0] * 4
    assert StaffBrowser(service).client.get("/console/worklist.csv").url.path == "/console/login"


forms = st.dictionaries(
    st.sampled_from(
        [
            "due",
            "note",
            "hours",
            "seen",
            "looked",
            "value",
            "identifier",
            "decimal",
            "tab",
            "encoding",
            TEXT,
        ]
    ),
    st.one_of(st.text(max_size=30), st.sampled_from(["8", "2027-01-01", "yes", ",", "utf-16", TEXT])),
    max_size=9,  # beside the mark; more fields are none of the console's forms
)
OF_SHEETS = ("value", "identifier", "decimal", "tab", "encoding")
ACTIONS = [
    "/console/questions/1/take",
    "/console/questions/1/release",
    "/console/questions/1/arrangement",
    "/console/questions/99/arrangement",
    "/console/questions/99/take",
    "/console/sheet/store",
    "/console/sheet/keep",
    "/console/sheet/discard",
]


@given(st.sampled_from(ACTIONS), forms, st.one_of(st.binary(max_size=60), st.text(max_size=60)))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_made_up_form_or_sheet_is_an_error_of_the_server_or_logged(browser, action, fields, content):
    mark = browser.open("/console/sheet").forms["/console/sheet"]["csrf"]
    if isinstance(content, str):
        content = f"identifier,value,date\n{content}\n{TEXT},{content}".encode("utf-8", "surrogatepass")
    sent = {each: text for each, text in fields.items() if each in OF_SHEETS}
    form = {name: text.encode("utf-8", "replace").decode() for name, text in fields.items()}
    with listening() as said:
        kept = browser.upload(content, **sent)
        answer = browser.client.post(action, data={**form, "csrf": mark})
    assert kept.status in (200, 422)
    assert answer.status_code in (200, 404, 409, 422)
    ours = [each.getMessage() for each in said["records"] if not each.name.startswith("httpx")]
    assert found_in(ours) == []


def test_values_that_are_not_plausible_are_stored_only_after_a_look(service, browser):
    page = browser.upload(sheet_of((names_of(service)[0], 121), (names_of(service)[1], 2)))
    assert "Rows that are not plausible 1" in page.text
    page = browser.send("/console/sheet/store")
    assert page.status == 422
    assert "Nothing is stored: tick the box" in page.text
    assert outcomes(service) == [None] * 4
    assert "2 new values" in browser.send("/console/sheet/store", looked="yes").text
    assert outcomes(service)[:2] == [121.0, 2.0]


def test_decimal_commas_and_other_columns_are_declared(service, browser):
    name = names_of(service)[0]
    text = f"sample;result\r\n{name};2,5\r\n"
    page = browser.upload(text)
    assert page.status == 422
    assert "The sheet must name its columns in row 1" in page.text
    page = browser.upload(text, identifier="sample", value="result", decimal=",")
    assert "New values 1" in page.text
    browser.send("/console/sheet/store")
    assert outcomes(service)[0] == 2.5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Choose the file of a sheet first"),
        (b"\xff\xfe1", "save it as"),
        (b"A1,3\n", "must name its columns"),
    ],
)
def test_what_is_no_sheet_is_refused_with_what_to_do(service, browser, content, words):
    page = browser.upload(content)
    assert page.status == 422
    assert words in page.text
    assert service.store.sheets.find(2) is None


def test_a_sheet_survives_a_restart_and_the_end_of_its_session(serve, tmp_path):
    folder = console_folder(tmp_path / "folder")
    first = serve(folder=folder)
    first.ask(0)
    browser = logged_in(first)
    browser.upload(sheet_of((names_of(first)[0], 3)))
    token = first.staff["Authorization"].split()[1]
    second = serve(folder=folder)
    again = StaffBrowser(second)
    again.log_in(token)
    assert "A sheet waits to be stored" in again.open("/console/sheet").text
    # Another person sees it once the token of the first has ended.
    other = logged_in(second)
    assert "waits to be stored" not in other.open("/console/sheet").text
    second.store.tokens.revoke(2).result()
    assert "whose token has ended" in other.open("/console/sheet/check").text
    other.send("/console/sheet/store")
    assert outcomes(second) == [3.0]
    assert "waits to be stored" not in other.open("/console/sheet").text


def test_a_sheet_that_is_thrown_away_is_gone(service, browser):
    browser.upload(sound(service))
    page = browser.send("/console/sheet/discard")
    assert "waits to be stored" not in page.text
    assert browser.open("/console/sheet/check").url == "/console/sheet"
    assert outcomes(service) == [None] * 4


def test_only_the_sheet_that_was_looked_at_is_stored(service, browser):
    seen = browser.upload(sheet_of((names_of(service)[0], 3))).forms["/console/sheet/store"]
    browser.upload(sheet_of((names_of(service)[0], 4)))
    refused = browser.client.post("/console/sheet/store", data=seen)
    assert refused.status_code == 409
    assert "not the sheet that you looked at" in refused.text
    assert outcomes(service) == [None] * 4


@pytest.mark.parametrize("csrf", ["", "wrong", "\N{SNOWMAN}", None])
def test_a_sheet_without_the_sessions_own_mark_is_not_kept(service, browser, csrf):
    page = browser.upload(
        sound(service), **({} if csrf is None else {"csrf": csrf}), drop_csrf=csrf is None
    )
    assert page.status == 403
    assert service.store.sheets.find(2) is None


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://elsewhere.test"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_sheet_from_elsewhere_is_not_kept(service, browser, headers):
    assert browser.upload(sound(service), headers=headers).status == 403
    assert service.store.sheets.find(2) is None


def test_nobody_sends_a_sheet_without_being_logged_in(service):
    browser = StaffBrowser(service)
    answer = browser.client.post("/console/sheet", files={"sheet": b"x" * 1000})
    assert answer.url.path == "/console/login"


def test_a_sheet_has_a_largest_size_and_other_forms_keep_theirs(service, browser):
    row = f"{names_of(service)[0]},1\n"
    most = "identifier,value\n" + f"x{' ' * 10},\n" * 60_000 + row
    assert len(most) < LARGEST_SHEET
    assert browser.upload(most).url == "/console/sheet/check"
    answer = browser.client.post("/console/sheet", files={"sheet": b"x" * LARGEST_SHEET})
    assert answer.status_code == 413
    assert f"a sheet {LARGEST_SHEET}" in answer.text
    for path in ("/console/sheet/store", "/console/login", "/v1/queries", "/console/sheet/"):
        assert browser.client.post(path, content=b"x" * 17_000).status_code == 413


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"x", "multipart/form-data"),
        (b"x", "multipart/form-data; boundary=a"),
        (
            b'--a\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nx',
            "multipart/form-data; boundary=a",
        ),
        (b"--a\r\n\r\n\r\n--a--", "multipart/form-data; boundary=a"),
        (b"csrf=x", "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"", ""),
    ],
)
def test_a_body_that_is_no_such_form_is_a_page(service, browser, content, kind):
    answer = browser.client.post("/console/sheet", content=content, headers={"Content-Type": kind})
    assert answer.status_code in (400, 403)
    assert "<h1>" in answer.text


def test_many_files_and_fields_are_refused(service, browser):
    fields = {
        **browser.open("/console/sheet").forms["/console/sheet"],
        **{f"f{i}": "x" for i in range(20)},
    }
    files = [("sheet", b"a"), ("sheet", b"b")]
    assert browser.client.post("/console/sheet", data=fields, files={"sheet": b"x"}).status_code == 400
    assert browser.client.post("/console/sheet", files=files).status_code == 400


def test_nothing_of_a_sheet_is_said_again_or_logged(service, browser):
    sheets = [
        f"identifier,value\n{TEXT},{NUMBER}\n{TEXT}\n,{NUMBER}\n{TEXT},{TEXT}\n{TEXT},1,2,3\n",
        f"{TEXT},{NUMBER}\n{TEXT},{NUMBER}\n",
        f'identifier,value\n"{TEXT}" {NUMBER},{TEXT}\n',
        f"identifier,value,date,comment,unit\n{TEXT},{NUMBER},{TEXT},{TEXT},{TEXT}\n",
        f"identifier,value\n{names_of(service)[0]},{NUMBER}\n{names_of(service)[0]},{TEXT}\n",
    ]
    with listening() as said:
        pages = [browser.upload(each).html for each in sheets]
    assert found_in(pages) == []
    ours = [each.getMessage() for each in said["records"] if not each.name.startswith("httpx")]
    assert found_in(ours) == []


def test_the_disk_that_refuses_a_sheet_leaves_it_waiting(service, browser, monkeypatch):
    from botorch_private.curator.service.console import sheet
    from botorch_private.curator.service.question import StorageError

    page = browser.upload(sound(service))
    real = sheet.take_in

    def refusing(*arguments, dry, **options):
        if not dry:
            raise StorageError("nothing was stored")
        return real(*arguments, dry=dry, **options)

    monkeypatch.setattr(sheet, "take_in", refusing)
    page = browser.send("/console/sheet/store")
    assert page.status == 503
    assert "The sheet is kept here" in page.text
    monkeypatch.undo()
    assert "4 new values" in browser.send("/console/sheet/store").text


def test_a_sheet_of_a_version_before_is_no_part_of_the_folder(serve, tmp_path):
    """The text of a sheet is in the database alone, as JSON says how it is written."""
    folder = console_folder(tmp_path / "folder")
    service = serve(folder=folder)
    service.ask(0)
    logged_in(service).upload(sheet_of((names_of(service)[0], 3)), decimal=",")
    with closing(folder.open()) as store:
        (kept,) = store._all("SELECT form FROM sheet")
    assert json.loads(kept["form"])["decimal"] == ","
