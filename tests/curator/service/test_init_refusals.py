"""`curator init` refuses what it cannot make, in one line, before it asks and before it spends."""

import pytest

from botorch_private import Ledger, PrivacyGuarantee
from botorch_private.cli.main import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, which is the current one, with a table and ranges."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("age\n" + "\n".join(map(str, range(20, 32))) + "\n")
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")
    return tmp_path


def init(*more):
    return main(
        ["curator", "init", "table.csv", "clinic", "--ranges", "ranges.toml", "--epsilon", "3", *more]
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--projection-dim", "1000000000"], "releasing 12 records of 1 features in this way needs"),
        (["--delta", "1e-5", "--projection-dim", "1000000000"], "choose a smaller projection_dim"),
        (["--unit", "\udce9"], "--unit: must be a text in UTF-8"),
        (["--epsilon", "1e9", "--delta", "1e-5"], r"epsilon must be at most 1e+08 for Gaussian noise"),
    ],
)
def test_init_refuses_what_it_cannot_make_in_one_line_and_before_it_asks(place, capsys, more, message):
    ledger = Ledger(PrivacyGuarantee.budget(epsilon=3.0), path="table.ledger.json")
    with pytest.raises(SystemExit) as stopped:
        init("--ledger", "table.ledger.json", *more)  # nobody is asked: there is no --yes
    assert stopped.value.code in (1, 2)  # 2: of an option, before the library is asked
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (place / "clinic").exists()
    assert ledger.entries == ()


def test_init_says_what_budget_a_gaussian_release_needs(place, capsys):
    Ledger(PrivacyGuarantee.budget(epsilon=3.0), path="table.ledger.json")
    with pytest.raises(SystemExit):
        init("--yes", "--epsilon", "1", "--delta", "0.3", "--ledger", "table.ledger.json")
    error = capsys.readouterr().err
    assert "no delta, and Gaussian noise needs 0.3" in error
    assert "PrivacyGuarantee.budget(3, delta=0.3)" in error


def test_init_refuses_a_table_of_one_record_before_it_asks(place, capsys):
    (place / "table.csv").write_text("age\n20\n")
    with pytest.raises(SystemExit):
        init()
    assert "at least 2" in capsys.readouterr().err
    assert not (place / "clinic").exists()
