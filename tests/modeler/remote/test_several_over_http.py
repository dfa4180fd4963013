"""Several outcomes over HTTP: `run`, pending rows, and `optimize` with a resume."""

import json

import pytest
from helpers.named_folder import GOAL, NAMES, OUTCOMES, RECORDS, named_curator, named_folder
from helpers.remote_server import Server, make_modeler

from botorch_private import Constrained, Observation, RemoteCurator, Scalarized, run
from botorch_private.cli import main as cli
from botorch_private.cli.goal import option_of
from botorch_private.modeler.remote.shown import read_shown
from botorch_private.modeler.state import ModelerState

TYPED = {
    "--minimize --of cost --at-least safety=0.95": GOAL,
    "--weight cost=-1 --weight safety=20": Scalarized({"cost": -1.0, "safety": 20.0}),
    "--maximize --of safety --at-most cost=5": Constrained(maximize="safety", at_most={"cost": 5.0}),
    "--maximize --of safety": Scalarized({"safety": 1.0}),
}


class NamedHere:
    """Answers in this process what the curator would, had it not been handed over to its server."""

    queries_left = None

    def __init__(self, curator):
        self.order = curator.permutation.tolist()

    def query(self, index):
        record = self.order[index]
        return Observation(index, {name: float(OUTCOMES[name][record]) for name in NAMES})


@pytest.fixture
def named_server(tmp_path):
    """Serve a folder whose outcomes are known, and return its server."""
    started = []

    def make(**options):
        curator = named_curator(known=True, **options)
        server = Server(tmp_path / f"named{len(started)}", curator, make=named_folder).start()
        started.append(server)
        return server

    yield make
    for server in started:
        server.kill()


@pytest.fixture
def optimize(tmp_path, capsys):
    """Run the command in this process, and return its status and what it printed."""

    def call(url, token, *more):
        path = tmp_path / "token.txt"
        path.write_text(token + "\n")
        path.chmod(0o600)
        fixed = ("--token-file", path, "--state", tmp_path / "run.json", "--n-initial", 3, "--seed", 5)
        try:
            status = cli.main(["optimize", url, *map(str, (*fixed, *more))])
        except SystemExit as stopped:
            status = stopped.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.mark.slow
def test_a_constrained_search_asks_over_http_what_it_asks_here(named_server):
    server = named_server()
    with RemoteCurator(server.url, server.token) as curator:
        assert curator.outcome_names == NAMES
        assert curator.outcome_units == {"cost": "EUR", "safety": ""}
        assert curator.goal == GOAL
        assert curator.query(0) == NamedHere(server.curator).query(0)
        local = make_modeler(server.curator.release, goal=GOAL)
        here = run(NamedHere(server.curator), local, 8)
        there = make_modeler(curator.release, goal=curator.goal)
        assert list(run(curator, there, 8)) == list(here)
        assert there.recommend() == local.recommend()
        several = make_modeler(curator.release, goal=GOAL)
        run(curator, several, 8, pending=3)
        again = make_modeler(curator.release, goal=GOAL, history=several.history)
        assert again.recommend() == several.recommend()


@pytest.mark.slow
def test_optimize_searches_within_limits_and_goes_on_after_a_stop(named_server, optimize, tmp_path):
    server, state = named_server(), tmp_path / "run.json"
    for number, (typed, goal) in enumerate(TYPED.items()):
        status, _, err = optimize(server.url, server.token, "--rounds", 5, *typed.split())
        assert status == 0, err
        assert ModelerState.load(state).goal == goal
        assert option_of(goal.to_dict()) == typed
        if number == 0:
            status, _, err = optimize(server.url, server.token, "--rounds", 7, "--pending", 2)
            assert status == 0, err
            history = run(NamedHere(server.curator), make_modeler(server.curator.release, goal=goal), 5)
            assert ModelerState.load(state).history[:5] == list(history)
            status, _, err = optimize(server.url, server.token, "--rounds", 8, "--minimize")
            assert status == 1
            assert f"the search in {state} is for {typed};" in err
        state.unlink()


@pytest.mark.slow
def test_the_document_of_a_search_has_the_numbers_by_their_names(named_server, optimize, tmp_path):
    server = named_server(noised=True)
    status, out, err = optimize(server.url, server.token, "--rounds", 4, "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["goal"] == "constrained"
    assert found["weights"] == {"cost": -1.0}
    assert found["at_least"] == {"safety": 0.95}
    assert found["outcome_names"] == list(NAMES)
    assert all(set(each["value"]) == set(NAMES) for each in found["measured"])
    assert found["noised"] is True
    assert found["bound"] is found["expected_gain"] is None
    assert "4/4: row" in err
    (tmp_path / "run.json").unlink()
    for options, words in [
        (["--minimize"], "--minimize must be about one of several outcomes"),
        (["--minimize", "--of", "speed"], "must be about outcomes that the curator answers with"),
        (["--stop-below", "1"], "--stop-below must be left out where records have several outcomes"),
    ]:
        status, _, err = optimize(server.url, server.token, "--rounds", 4, *options)
        assert status == 1
        assert words in err
        assert not (tmp_path / "run.json").exists()


@pytest.mark.slow
def test_people_measure_while_a_search_waits_and_correct_it(tmp_path):
    server = Server(tmp_path / "people", named_curator(), make=named_folder).start()
    try:
        with RemoteCurator(server.url, server.token) as curator:
            modeler = make_modeler(curator.release, goal=curator.goal)
            rows = modeler.ask(2)
            for row in rows:
                curator.submit(row)
            server.measure(2, {"cost": 1.0, "safety": 0.97})
            assert curator.poll() == [(rows[1], {"cost": 1.0, "safety": 0.97})]
            server.correct(2, {"cost": 2.0, "safety": 0.97})
            assert curator.poll() == [(rows[1], {"cost": 2.0, "safety": 0.97})]
            assert curator.pending == [rows[0]]
        with RemoteCurator(server.url, server.token) as later:
            later.remember([(rows[1], {"cost": 1.0, "safety": 0.97})])
            assert later.poll() == [(rows[1], {"cost": 2.0, "safety": 0.97})]
            with pytest.raises(ValueError, match="must be a dict with one number for each"):
                later.remember([(rows[0], 1.0)])
    finally:
        server.kill()


@pytest.mark.slow
def test_names_that_a_curator_of_one_outcome_does_not_have_are_refused(serve, optimize, tmp_path):
    server = serve()
    options = ("--rounds", 4, "--minimize", "--of", "cost")
    status, _, err = optimize(server.url, server.token, *options)
    assert status == 1
    assert "--minimize --of cost must be left out, since the curator answers with one number" in err
    assert not (tmp_path / "run.json").exists()


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        None,
        {"cost": 1.0},
        {"cost": 1.0, "safety": "x"},
        {"cost": 1.0, "safety": True},
        {"cost": 1.0, "safety": float("nan")},
        {"cost": 1.0, "safety": 1.0, "more": 1.0},
    ],
)
def test_an_answer_without_the_declared_names_is_none(value):
    shown = {"id": 1, "row": 0, "state": "measured", "value": value}
    assert read_shown(shown, NAMES) is None
    assert read_shown({**shown, "value": {"cost": 1, "safety": 2}}, NAMES).value == {
        "cost": 1.0,
        "safety": 2.0,
    }
    assert read_shown({**shown, "value": {"cost": 1, "safety": 2}}) is None


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--of cost", 1, "--of needs --maximize or --minimize"),
        ("--at-least cost=1", 1, "--of must say which outcome"),
        ("--minimize --of cost --weight cost=1", 1, "--weight must be given without --of"),
        ("--above 1 --of cost", 1, "--above must be left out with --of"),
        ("--weight cost=1 --weight cost=2", 1, "--weight must be given once for an outcome"),
        ("--weight cost=0", 1, "--weight must not be 0"),
        ("--weight cost", 2, "argument --weight: must be NAME=NUMBER"),
        ("--at-most cost=nan", 2, "argument --at-most: must be NAME=NUMBER"),
        (
            "--minimize --of cost --at-least s=2 --at-most s=1",
            1,
            "--at-least must not be above at_most",
        ),
    ],
)
def test_goals_of_several_outcomes_that_are_none_are_refused_before_anybody_is_called(
    options, status, message, capsys
):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["optimize", "http://127.0.0.1:1", "--rounds", "3", *options.split()])
    assert stopped.value.code == status
    assert message in capsys.readouterr().err


def test_records_of_the_helper_are_those_of_its_outcomes():
    assert len(RECORDS) == len(OUTCOMES["cost"]) == len(OUTCOMES["safety"])
