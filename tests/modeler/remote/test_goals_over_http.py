"""Every goal over HTTP, by `run` and by `optimize`, which remembers it."""

import pytest
from helpers.remote_server import OUTCOMES, Here, Server, make_curator, make_modeler

from botorch_private import Above, Maximize, Minimize, RemoteCurator, Target, TopK, run
from botorch_private.cli import main as cli
from botorch_private.modeler.state import ModelerState

GOALS = [Maximize(), Minimize(), Above(0.8), TopK(3), Target(0.3)]
OPTIONS = {
    "--minimize": Minimize(),
    "--above 0.8": Above(0.8),
    "--best 3": TopK(3),
    "--target 0.3": Target(0.3),
    "--maximize": Maximize(),
}


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("noised", [False, True])
def test_each_goal_asks_over_http_what_it_asks_here(serve, labels, noised):
    server = serve(labels=labels, noised=noised)
    with RemoteCurator(server.url, server.token) as curator:
        for goal in GOALS:
            there = make_modeler(curator.release, goal=goal)
            run(curator, there, 6)
            answers = dict(there.history)
            here = make_modeler(curator.release, goal=goal)
            for row in answers:
                assert here.ask() == row
                here.tell(row, answers[row])
            if not noised:
                local = make_modeler(server.curator.release, goal=goal)
                assert run(Here(server.curator), local, 6) == there.history
            several = make_modeler(curator.release, goal=goal)
            run(curator, several, 6, pending=3)
            assert len(several.history) == 6
            again = make_modeler(curator.release, goal=goal, history=several.history)
            assert again.recommend() == several.recommend()


@pytest.fixture
def optimize(tmp_path, capsys):
    """Run the command in this process, and return its status and what it printed."""

    def call(server, *more):
        token = tmp_path / "token.txt"
        token.write_text(server.token + "\n")
        token.chmod(0o600)
        fixed = ("--token-file", token, "--state", tmp_path / "run.json", "--n-initial", 3, "--seed", 5)
        try:
            status = cli.main(["optimize", server.url, *map(str, (*fixed, *more))])
        except SystemExit as stopped:
            status = stopped.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.mark.slow
def test_optimize_goes_on_with_its_goal_and_refuses_another(serve, optimize, tmp_path):
    server = serve()
    for typed, goal in OPTIONS.items():
        options = typed.split()
        status, out, err = optimize(server, "--rounds", 5, *options)
        assert status == 0, err
        assert ModelerState.load(tmp_path / "run.json").goal == goal
        history = run(Here(server.curator), make_modeler(server.curator.release, goal=goal), 7)
        assert goal.progress(history.values[:5].tolist()) in out
        for more in ((), options):  # the same goal may be given again, and need not be
            assert optimize(server, "--rounds", 7, *more)[0] == 0
        assert ModelerState.load(tmp_path / "run.json").history == list(history)
        other = "--above 9" if typed != "--above 9" else "--minimize"
        status, _, err = optimize(server, "--rounds", 8, *other.split())
        assert status == 1
        assert (
            f"--above 9 must be left out: the search in {tmp_path / 'run.json'} is for {typed};" in err
        )
        assert ModelerState.load(tmp_path / "run.json").history == list(history)
        (tmp_path / "run.json").unlink()


@pytest.mark.slow
def test_optimize_ends_with_what_the_goal_asks_for(serve, optimize, tmp_path):
    server = serve()
    values = [float(value) for value in OUTCOMES[server.curator.permutation]]

    def searched(*options):
        (tmp_path / "run.json").unlink(missing_ok=True)
        status, out, err = optimize(server, "--rounds", 8, *options)
        assert status == 0, err
        rows = [row for row, _ in ModelerState.load(tmp_path / "run.json").history]
        return out, sorted(rows, key=values.__getitem__)

    out, rows = searched("--minimize")
    assert out.endswith(f"Best of 8, the smallest: row {rows[0]}, {values[rows[0]]:.6g}.\n")
    out, rows = searched("--best", "3")
    assert "The 3 best of 8, by the posterior mean:\n" in out
    assert f"  row {rows[-1]}: {values[rows[-1]]:.6g}\n" in out
    out, rows = searched("--above", "0.8")
    above = [row for row in rows if values[row] > 0.8]
    assert f"{len(above)} of 8 measured rows are above 0.8:\n" in out
    assert all(f"  row {row}: {values[row]:.6g}\n" in out for row in above)
    assert "If the model is right, " in out
    out, rows = searched("--target", "0.3")
    near = min(rows, key=lambda row: abs(values[row] - 0.3))
    assert out.endswith(f"Best of 8, the nearest to 0.3: row {near}, {values[near]:.6g}.\n")
    out, _ = searched("--above", "1e6")
    assert "None of 8 measured rows is above 1e+06." in out


@pytest.mark.slow
def test_the_goal_of_the_curator_is_told_and_taken_unless_another_is_given(optimize, tmp_path):
    server = Server(tmp_path / "folder", make_curator(), goal=Minimize()).start()
    try:
        with RemoteCurator(server.url, server.token) as curator:
            assert curator.goal == Minimize()
        assert optimize(server, "--rounds", 4)[0] == 0
        assert ModelerState.load(tmp_path / "run.json").goal == Minimize()
        assert optimize(server, "--rounds", 4, "--maximize")[0] == 1
        (tmp_path / "run.json").unlink()
        assert optimize(server, "--rounds", 4, "--maximize")[0] == 0
        assert ModelerState.load(tmp_path / "run.json").goal == Maximize()
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--above", "nan"], 1, "optimize: --above must be a finite number, got nan"),
        (["--target", "inf"], 1, "optimize: --target must be a finite number, got inf"),
        (["--best", "0"], 2, "argument --best: must be a whole number >= 1, got '0'"),
        (["--best", "1.5"], 2, "argument --best: must be a whole number >= 1, got '1.5'"),
        (["--minimize", "--best", "2"], 2, "argument --best: not allowed with argument --minimize"),
        (["--above", "1", "--target", "2"], 2, "argument --target: not allowed with argument --above"),
    ],
)
def test_goals_that_are_none_are_refused_before_anybody_is_called(
    options, status, message, capsys, tmp_path
):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["optimize", "http://127.0.0.1:1", "--rounds", "3", *options])
    assert stopped.value.code == status
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_more_best_rows_than_there_are_is_refused_and_nothing_is_kept(serve, optimize, tmp_path):
    status, _, err = optimize(serve(), "--rounds", 4, "--best", 41)
    assert status == 1
    assert "optimize: --best must be at most the 40 records of the release, got 41" in err
    assert not (tmp_path / "run.json").exists()
