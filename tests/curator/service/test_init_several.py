"""`curator init` with several outcomes: each --outcome with what follows it."""

import json

import pytest

from botorch_private import Constrained
from botorch_private.cli.main import main
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.service.folder import Folder
from botorch_private.exchange.release import Release

COST = ("--outcome", "cost", "--unit", "EUR", "--plausible", "0", "5000")
SAFETY = ("--outcome", "safety", "--plausible", "0", "1")
GOAL = ("--minimize", "--of", "cost", "--at-least", "safety=0.9")


@pytest.fixture
def init(tmp_path, monkeypatch):
    """Run the command on a small table; returns its status."""
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{age},{10 * age},{age / 100}" for age in range(20, 32))
    (tmp_path / "table.csv").write_text(f"age,cost,safety\n{rows}\n")
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")

    def call(*more):
        command = ["curator", "init", "table.csv", "clinic", "--ranges", "ranges.toml"]
        try:
            return main([*command, "--epsilon", "3", "--yes", *more])
        except SystemExit as stopped:
            return stopped.code

    return call


def test_each_outcome_has_the_options_that_follow_it(init, tmp_path, capsys):
    assert init(*COST, *SAFETY, *GOAL) == 0
    store = Folder(tmp_path / "clinic").open()
    cost, safety = store.facts.outcomes
    assert (cost.name, cost.unit, cost.plausible, cost.range) == ("cost", "EUR", (0.0, 5000.0), None)
    assert (safety.name, safety.unit, safety.plausible) == ("safety", "", (0.0, 1.0))
    assert store.facts.goal == Constrained(minimize="cost", at_least={"safety": 0.9}).to_dict()
    store.close()
    assert Release.load(tmp_path / "clinic" / "release.safetensors").outcome_names == ("cost", "safety")
    capsys.readouterr()
    assert main(["curator", "status", "clinic"]) == 0
    assert "Outcomes: cost (EUR), safety\n" in capsys.readouterr().out
    assert main(["curator", "status", "clinic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"cost": "EUR", "safety": ""}


def test_columns_of_their_names_measure_and_their_noise_adds_up(init, tmp_path):
    noise = ("--outcome-epsilon", "2", "--outcome-range")
    options = (*COST, *noise, "0", "5000", *SAFETY, *noise, "0", "1", "--objective", "column", *GOAL)
    assert init(*options) == 0
    assert Ledger(None, tmp_path / "clinic" / "ledger.json").total.epsilon == pytest.approx(7.0)
    store = Folder(tmp_path / "clinic").open()
    assert store.facts.guarantee["epsilon"] == pytest.approx(7.0)
    row = next(row for row in range(12) if store.record(row) == 3)
    token = store.tokens.make("modeler", "m").result()
    query = store.ask("key-key-key", row, store.tokens.all()[0].id).result().query
    assert query.outcome == {"cost": 230.0, "safety": 0.23}
    assert set(query.answer) == {"cost", "safety"}
    assert query.answer != query.outcome
    assert token
    store.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*COST, *SAFETY), "init: goal must be Scalarized or Constrained"),
        (("--unit", "EUR", *COST, *SAFETY, *GOAL), "--unit must follow the --outcome"),
        ((*COST, "--unit", "USD", *SAFETY, *GOAL), "--unit must be given once for each --outcome"),
        ((*COST, *COST, *GOAL), "--outcome must differ by more than spaces"),
        (
            (*COST, "--outcome-epsilon", "1", "--outcome-range", "0", "1", *SAFETY, *GOAL),
            "--outcome-epsilon must be given for each --outcome, or for none",
        ),
        (
            (*COST, *SAFETY, "--minimize", "--of", "age"),
            "goal must be about outcomes among cost, safety",
        ),
        ((*COST, *SAFETY, *GOAL, "--objective", "column:cost"), "--objective must be column alone"),
        ((*COST, *SAFETY, *GOAL, "--known", "cost"), "--known must be None where records have several"),
        ((*COST, *GOAL), "goal must be about one outcome"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_spent(
    init, tmp_path, capsys, options, message
):
    assert init(*options) == 1
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ranges.toml", "table.csv"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_with_one_outcome_the_order_of_its_options_does_not_count(init, tmp_path, order):
    said = [("--outcome", "length of stay"), ("--unit", "days")]
    assert init(*said[order[0]], *said[order[1]]) == 0
    store = Folder(tmp_path / "clinic").open()
    assert (store.facts.outcome_name, store.facts.outcome_unit) == ("length of stay", "days")
    assert store.facts.outcomes == ()
    store.close()
