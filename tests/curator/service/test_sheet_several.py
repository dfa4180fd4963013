"""Sheets and worklists of records with several outcomes: a column for each, all of them or none."""

import csv
import io
from contextlib import closing

import pytest
from helpers.named_folder import named_curator, named_folder
from helpers.planted import NUMBER, TEXT, found_in
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.cli.main import main
from botorch_private.curator.service.agenda import ALL
from botorch_private.curator.service.outcomes import OutcomeFacts
from botorch_private.curator.service.sheet import SheetForm, read_sheet
from botorch_private.curator.service.sheet_columns import headings
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.trail_check import check_database
from botorch_private.curator.service.worklist import worklist_csv

TWO = (OutcomeFacts("cost", "EUR"), OutcomeFacts("safety"))
names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
values = st.floats(allow_nan=False, allow_infinity=False)


def asked(folder, rows):
    """An open store in which rows are asked for; token 1 is a modeler's, token 2 is staff's."""
    store = folder.open()
    for role in ("modeler", "staff"):
        store.tokens.make(role, f"a {role}").result()
    for row in rows:
        store.ask(f"key-{row:08d}", row, 1).result()
    return store


@pytest.fixture
def store(tmp_path):
    with closing(asked(named_folder(tmp_path / "named"), range(5))) as opened:
        yield opened


@pytest.fixture
def who(store):
    return [store.identifier(query.row) for query in store.queries()]


def outcomes(store):
    return [query.outcome for query in store.queries()]


def read(text, **options):
    return read_sheet(text, SheetForm(**options), outcomes=TWO)


@pytest.mark.parametrize(
    "first",
    [
        "identifier,cost,safety",
        "Identifier,COST (eur), Safety ",
        "identifier,cost(EUR),safety",
        '"identifier","cost (EUR)","safety",question,asked,due,taken by,note,date,instrument,reason',
    ],
)
def test_each_outcome_has_a_column_with_its_name_and_perhaps_its_unit(first):
    (row,) = read(f"{first}\na,1.5,0.25\n").rows
    assert (row.identifier, row.value) == ("a", {"cost": 1.5, "safety": 0.25})


def test_columns_come_in_any_order_with_decimal_commas_dates_and_reasons():
    text = "safety;date;identifier;cost;reason\n0,25;2020-01-02;a;1,5;typing\n;;b;;\n"
    sheet = read(text, decimal=",")
    (row,) = sheet.rows
    assert row.value == {"cost": 1.5, "safety": 0.25}
    assert (row.circumstances.day, row.reason) == ("2020-01-02", "typing")
    assert (sheet.refused, sheet.empty) == ([], 1)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("cost,safety", "must name its columns in row 1, 'identifier' and 'cost "),
        ("identifier,cost", "row 1 does not name safety"),
        ("identifier", r"row 1 does not name cost \(EUR\), safety"),
        ("identifier,value", r"row 1 does not name cost \(EUR\), safety"),
        ("identifier,cost (USD),safety", r"row 1 does not name cost \(EUR\)"),
        (f"identifier,cost,safety,{TEXT}", "names another in column 4"),
        ("identifier,unit,cost,safety", "names another in column 2"),
        ("identifier,cost,safety,cost (EUR)", r"one column 'cost \(EUR\)', but it has several"),
        ("identifier,cost,safety,Identifier", "one column 'identifier', but it has several"),
    ],
)
def test_other_columns_than_those_are_refused_before_any_row(first, words):
    with pytest.raises(ValueError, match=words) as refusal:
        read(f"{first}\na,1,2,3\n")
    assert TEXT not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"value": "cost"}, "value must be left out where records have several outcomes"),
        ({"unit": "EUR"}, "unit must be left out"),
        ({"low": 0.0, "high": 1.0}, "plausible must be left out"),
    ],
)
def test_what_is_said_of_one_outcome_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        read("identifier,cost,safety\n", **options)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("a,1,", "it has no value of safety: all outcomes of a record are stored together"),
        ("a,,1", "it has no value of cost"),
        ("a,1,x", "safety: Type the number alone"),
        ('a,"1,5",2', "cost: The value has a comma"),
        (",1,2", "it has no identifier"),
    ],
)
def test_a_row_without_a_number_for_each_is_refused_by_its_number(row, why):
    (refusal,) = read(f"identifier,cost,safety\nb,1,2\n{row}\n").refused
    assert refusal.row == 3
    assert refusal.why.startswith(why)


@given(
    st.lists(st.tuples(names, st.sampled_from(["", "EUR", "mg/l"])), min_size=1, max_size=6)
    | st.permutations(["date", "outcome date", "cost", "cost (EUR)", "unit", "=1+1", "identifier"]).map(
        lambda found: [(name, "EUR") for name in found]
    ),
    st.data(),
)
def test_a_sheet_with_the_columns_of_a_worklist_is_read_whatever_outcomes_are_called(pairs, data):
    from botorch_private._base.frames import alike

    facts = [OutcomeFacts(*pair) for pair in {alike(pair[0]): pair for pair in pairs}.values()]
    for last in (0, -1):
        numbers = [data.draw(values) for _ in facts]
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["identifier", *(each[last] for each in headings(facts))])
        writer.writerow(["a", *map(repr, numbers)])
        (row,) = read_sheet(text.getvalue(), SheetForm(), outcomes=facts).rows
        assert list(row.value.values()) == numbers
        assert list(row.value) == [each.name for each in facts]


@given(
    st.lists(
        st.sampled_from([TEXT, str(NUMBER), '"', ",", ";", "\n", "\r", "identifier", "cost", "safety"])
    )
)
def test_no_message_holds_what_stands_in_a_sheet(pieces):
    text = "".join(pieces)
    for whole in (text, f"identifier,cost,safety,date\n{text}", f"identifier,cost,safety,{text}\n"):
        try:
            said = [each.why for each in read(whole).refused]
        except ValueError as error:
            said = [str(error)]
        assert found_in(said) == []


def test_a_sheet_is_stored_may_be_sent_again_and_is_corrected_with_a_reason(store, who):
    text = "identifier,cost,safety,instrument\n" + "".join(
        f"{a},{i},0.5,scale\n" for i, a in enumerate(who)
    )
    assert take_in(store, text, SheetForm(), token=2, dry=True).stored == 5
    assert outcomes(store) == [None] * 5
    assert take_in(store, text, SheetForm(), token=2, dry=False)[:5] == (5, 0, 0, 0, [])
    assert outcomes(store) == [{"cost": float(i), "safety": 0.5} for i in range(5)]
    assert take_in(store, text, SheetForm(), token=2, dry=False)[:5] == (0, 0, 5, 0, [])
    other = f"identifier,cost,safety,reason\n{who[0]},3,0.5,\n{who[1]},1,0.75,misread\n"
    (refusal,) = take_in(store, other, SheetForm(), token=2, dry=False).refused
    assert refusal.why.startswith("another value of cost is stored for this record")
    assert store.query(2).revision == 0
    assert (
        take_in(store, other.replace("3,0.5,", "0,0.5,"), SheetForm(), token=2, dry=False).corrected == 1
    )
    assert store.query(2).outcome == {"cost": 1.0, "safety": 0.75}
    corrected = store.events(2)[-1]
    assert corrected["detail"] == "misread"
    assert '"before":{"instrument":"scale","value":{"cost":1.0,"safety":0.5}}' in corrected["data"]
    assert check_database(store).problem == ""


def test_all_rows_are_stored_or_none_and_a_dry_run_says_the_same(store, who):
    store.measure(5, {"cost": 1.0, "safety": 1.0}, 2).result()
    text = (
        "identifier,cost,safety\n"
        f"{who[0]},1,0.5\n{who[1]},99,0.5\n{who[2]},,0.5\n{who[3]},,\n{who[4]},2,3\n{who[0]},1,0.5\nnobody,1,1\n"
    )
    for dry in (True, False):
        taken = take_in(store, text, SheetForm(), token=2, dry=dry)
        assert [(each.row, each.why.split(":")[0]) for each in taken.refused] == [
            (3, "its value of cost is outside the plausible range"),
            (4, "it has no value of cost"),
            (6, "another value of cost, safety is stored for this record"),
            (7, "it is about the same record as row 2"),
            (8, "no record has this identifier"),
        ]
        assert (taken.implausible, taken.empty) == (1, 1)
        assert outcomes(store)[:4] == [None] * 4
    text = f"identifier,cost,safety\n{who[1]},99,0.5\n"
    assert take_in(store, text, SheetForm(accepted=True), token=2, dry=False).stored == 1


def test_each_outcome_has_a_plausible_range_of_its_own(tmp_path):
    folder = named_folder(tmp_path / "f", plausible={"cost": (0.0, 12.0), "safety": (0.0, 1.0)})
    with closing(asked(folder, range(4))) as store:
        rows = ["1,0.5", "13,0.5", "1,2", "-1,2"]
        who = [store.identifier(query.row) for query in store.queries()]
        text = "".join(f"{name},{row}\n" for name, row in zip(who, rows, strict=True))
        taken = take_in(store, f"identifier,cost,safety\n{text}", SheetForm(), token=2, dry=True)
    words = [each.why.split(" is outside")[0] for each in taken.refused]
    assert words == ["its value of cost", "its value of safety", "its value of cost, safety"]


def test_a_noised_answer_that_was_read_is_not_corrected_by_a_sheet(tmp_path):
    folder = named_folder(tmp_path / "noised", named_curator(noised=True))
    with closing(asked(folder, range(1))) as store:
        name = store.identifier(store.query(1).row)
        store.measure(1, {"cost": 1.0, "safety": 1.0}, 2).result()
        store.tell(1, 0).result()
        text = f"identifier,cost,safety,reason\n{name},1,0.5,misread\n"
        (refusal,) = take_in(store, text, SheetForm(), token=2, dry=False).refused
        assert "would tell more than was promised" in refusal.why


def test_a_worklist_has_a_column_for_each_and_is_taken_once_it_is_filled_in(store, who):
    text = worklist_csv(store, store.agenda.page(ALL, 0))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0])[5:] == ["note", "cost (EUR)", "safety", "date", "instrument", "comment"]
    for i, row in enumerate(rows[:4]):
        row.update({"cost (EUR)": f"{i}", "safety": f"0.{i}", "date": "2020-01-02"})
    filled = io.StringIO()
    writer = csv.DictWriter(filled, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    taken = take_in(store, filled.getvalue(), SheetForm(), token=2, dry=False)
    assert taken[:5] == (4, 0, 0, 1, [])
    assert outcomes(store)[3] == {"cost": 3.0, "safety": 0.3}


def test_the_command_line_takes_such_a_sheet_and_repeats_nothing_of_it(store, who, tmp_path, capsys):
    folder, sheet = str(tmp_path / "named"), tmp_path / "values.csv"

    def run(*options):
        try:
            status = main(["curator", "import", folder, str(sheet), *options])
        except SystemExit as stopped:
            status = stopped.code
        return status, *capsys.readouterr()

    sheet.write_text(f"identifier,cost,safety\n{who[0]},{NUMBER},1\n{TEXT},{TEXT},\n")
    status, out, err = run()
    assert (status, err.count("row ")) == (1, 2)
    assert found_in(out, err) == []
    sheet.write_text(f"identifier;cost;safety\n{who[0]};1,5;1\n")
    assert run("--decimal", ",")[:2] == (
        0,
        "Stored values: 1\nStored before, and the same: 0\nRows without a value: 0\n",
    )
    for option, value in (("--value", "cost"), ("--unit", "EUR"), ("--plausible", "0 1")):
        status, out, err = run(option, *value.split())
        assert (status, out) == (1, "")
        assert f"{option} must be left out where records have several outcomes" in err
    assert main(["curator", "worklist", folder, "--output", str(tmp_path / "work.csv")]) == 0
    assert "cost (EUR),safety" in (tmp_path / "work.csv").read_text(encoding="utf-8-sig")


def test_values_that_nobody_asks_for_are_kept_with_all_their_names_and_answer_later(store, who):
    row = next(row for row in range(40) if store.identifier(row) not in who)
    text = f"identifier,cost,safety\n{store.identifier(row)},1.5,0.25\n"
    assert take_in(store, text, SheetForm(), token=2, dry=False).unasked == 1
    assert take_in(store, text, SheetForm(unasked="keep"), token=2, dry=False).kept == 1
    assert store.known()[row]["value"] == {"cost": 1.5, "safety": 0.25}
    answered = store.ask("another-key", row, 1).result().query
    assert answered.answer == {"cost": 1.5, "safety": 0.25}
    assert check_database(store).problem == ""
