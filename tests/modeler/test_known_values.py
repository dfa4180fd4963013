"""A file of values that were measured before: read as it stands, or refused by its line."""

import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import go_on, release_of

from botorch_private import History, Modeler

ROWS = torch.randn(20, 2, generator=seeded(0), dtype=torch.float64)
RELEASE = release_of(ROWS)
OUTCOMES = torch.sin(3 * ROWS).sum(dim=1)


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "values.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        "row,value\n4,0.5\n7,-1.5e3\n",
        "\ufeffindex,value\r\n4,0.5\r\n7,-1500\r\n",
        'note,value,row\n"a, b",0.5,4\n\n,,\nnot\x00a number,-1500,7\n',
        "Row , Value\n 4 , 0.5 \n7,-1500\n4,.5\n",
        "round,index,value,best\n2,7,-1500,0.5\n1,4,0.5,0.5\n",
    ],
)
def test_rows_and_values_are_read_in_their_order(written, text):
    assert list(History.from_csv(written(text))) == [(4, 0.5), (7, -1500.0)]


def test_a_history_comes_back_from_the_file_of_its_frame(tmp_path):
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, 7)
    modeler.history.to_frame().to_csv(tmp_path / "values.csv")
    known = History.from_csv(tmp_path / "values.csv", rows=20)
    assert known == modeler.history
    again = Modeler(RELEASE, generator=seeded(3), history=known)
    assert again.ask(3) == modeler.ask(3)


def test_known_values_count_as_rounds_and_are_never_asked(written):
    path = written("row,value\n" + "".join(f"{row},{OUTCOMES[row]}\n" for row in range(8)))
    modeler = Modeler(RELEASE, n_initial=5, history=History.from_csv(path), generator=seeded(3))
    assert modeler.posterior().mean.shape == (20,)
    assert set(go_on(modeler, OUTCOMES, 12)) == set(range(8, 20))


SECRET = "Muster"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns row (or index) and value in its first line"),
        (f"{SECRET},3\n4,5\n", "must have the columns"),
        ("row;value\n4;5\n", "must have the columns"),
        ("row,index,value\n4,4,5\n", "must have the columns"),
        ("row,value,value\n4,5,5\n", "must have the columns"),
        (f"row,value\n4,0.5\n{SECRET},1\n", "line 3 of"),
        (f"row,value\n\n4,0.5\n5,{SECRET}\n", "line 4 of"),
        ("row,value\n4.0,0.5\n", "line 2 of"),
        ("row,value\n-1,0.5\n", "line 2 of"),
        ("row,value\n\u0664,0.5\n", "line 2 of"),
        ("row,value\n1,nan\n", "has no finite value"),
        ("row,value\n1,\n", "has no finite value"),
        ("row,value\n1\n", "has no finite value"),
        ("row,value\n1,1e999\n", "has no finite value"),
        ("row,value\n1,1_0\n", "has no finite value"),
        ("row,value\n1,\uff11\n", "has no finite value"),
        ('row,value\n1,"0,5"\n', "has no finite value: a number with a decimal point"),
        ("row,value\n1,2,5\n1,3,0\n", "two for row 1, in lines 2 and 3"),
        ("row,value\n1,2\n4,4\n1,3\n", "two for row 1, in lines 2 and 4"),
        ("round,row,value\n2,1,2\n,4,4\n", "line 3 of"),
        ("row,value\n20,1\n", "outside of the release, which has rows 0..19"),
        ("row,value\n" + "9" * 30 + ",1\n", "has no row"),
        (f'row,value\n1,"{SECRET}', "cannot be read"),
        (b"row,value\n1,\xff\xfe\n", "must be comma-separated text in UTF-8"),
    ],
)
def test_a_file_that_is_none_is_refused_by_its_line_and_nothing_of_its_text(written, text, message):
    path = written(text)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is looked at below)
        History.from_csv(path, rows=20)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert refused.value.__context__ is None


def test_a_row_outside_of_the_release_is_refused_by_the_modeler_too(written):
    with pytest.raises(ValueError, match=r"index must be a row index in 0..19, got 20"):
        Modeler(RELEASE, history=History.from_csv(written("row,value\n20,1\n")))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        History.from_csv("nowhere.csv")
