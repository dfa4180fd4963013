"""botorch-private optimize: a search that may be stopped at any moment."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from helpers.documents import parsed
from helpers.patience import wait_until
from helpers.remote_server import Here, make_modeler
from helpers.searches import Optimizer

from botorch_private import Modeler, RemoteCurator, run
from botorch_private.cli import main as cli
from botorch_private.modeler.regret_bound import sentence
from botorch_private.modeler.state import ModelerState

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def optimizer(tmp_path_factory):
    made = Optimizer(tmp_path_factory.mktemp("optimizer"))
    yield made
    made.close()


@pytest.fixture
def arguments(tmp_path):
    """Arguments for a server: token in a file, state in the test's folder."""

    def make(server, *more):
        token = tmp_path / "token.txt"
        token.write_text(server.token + "\n")
        fixed = ("--token-file", token, "--state", tmp_path / "run.json", "--n-initial", 3)
        return list(map(str, (server.url, *fixed, *more)))

    return make


def undisturbed(server, rounds):
    return list(run(Here(server.curator), make_modeler(server.curator.release), rounds))


@pytest.mark.slow
@pytest.mark.parametrize(("pending", "labels"), [(1, False), (3, False), (1, True), (3, True)])
def test_a_search_that_is_killed_again_and_again_makes_the_same_picks(
    serve, optimizer, arguments, tmp_path, pending, labels
):
    server = serve(labels=labels)
    here = undisturbed(server, 10) if pending == 1 else None
    if here is None:  # with several open questions, the other run is one over HTTP that nobody kills
        optimizer.start(*arguments(server, "--rounds", 10, "--pending", 3, "--seed", 5))
        assert optimizer.wait() == 0
        here = ModelerState.load(tmp_path / "run.json").history
        (tmp_path / "run.json").unlink()
    drawn = random.Random(pending)
    kills = 0
    for _ in range(12):
        optimizer.start(*arguments(server, "--rounds", 10, "--pending", pending, "--seed", 5))
        time.sleep(drawn.uniform(0.02, 0.4))
        os.kill(optimizer.child, signal.SIGKILL)
        kills += optimizer.wait() == -signal.SIGKILL
    assert kills >= 1
    optimizer.start(*arguments(server, "--rounds", 10, "--pending", pending, "--seed", 5))
    assert optimizer.wait() == 0
    assert ModelerState.load(tmp_path / "run.json").history == [tuple(each) for each in here]
    assert len(server.questions()) == 10


@pytest.mark.slow
def test_a_search_shows_its_progress_and_ends_with_the_best_row(serve, optimizer, arguments, tmp_path):
    server = serve()
    here = undisturbed(server, 6)
    picture = tmp_path / "best.png"
    optimizer.start(*arguments(server, "--rounds", 6, "--seed", 5, "--plot", picture))
    assert optimizer.wait() == 0
    text = optimizer.output.read_text()
    assert str(server.curator.guarantee) in text
    for turn, (index, value) in enumerate(here, start=1):
        assert f"{turn}/6: row {index} is {value:.6g}" in text
    best = max(here, key=lambda each: each[1])
    assert text.endswith(f"Best of 6: row {best[0]}, {best[1]:.6g}.\n")
    assert picture.read_bytes().startswith(PNG)
    # the same command again has nothing to do, and a longer one goes on
    optimizer.start(*arguments(server, "--rounds", 6))
    assert optimizer.wait() == 0
    assert "Going on from" in optimizer.output.read_text()
    optimizer.start(*arguments(server, "--rounds", 7))
    assert optimizer.wait() == 0
    assert ModelerState.load(tmp_path / "run.json").history == undisturbed(server, 7)
    for file in (tmp_path / "run.json", optimizer.output):
        assert server.token not in file.read_text()


@pytest.mark.slow
def test_a_search_stops_by_its_bound_says_the_sentence_and_goes_on_from_a_file_the_same(
    serve, optimizer, arguments, tmp_path
):
    server = serve()
    modeler = make_modeler(server.curator.release)
    here = run(Here(server.curator), modeler, 40, stop_below=1.0)
    assert 20 < len(here) < 40
    fixed = ("--seed", 5, "--stop-below", 1.0)
    texts = []
    for rounds in (19, 40, 40):
        optimizer.start(*arguments(server, *fixed, "--rounds", rounds, "--plot", tmp_path / "best.svg"))
        assert optimizer.wait() == 0
        texts.append(optimizer.output.read_text())
    assert ["bound" in text for text in texts] == [False, True, True]
    best = max(value for _, value in list(here)[:20])
    bound = modeler.regret_bound(rounds=20)
    assert f"20/40: row {here.indices[19]} is" in texts[1]
    assert f"best {best:.6g}, bound {bound:.3g}\n" in texts[1]
    text = texts[2]
    assert "Stopped before 40 measurements, since the bound is small enough." in text
    assert text.endswith(f"{sentence(modeler.regret_bound(), 0.05)}\n")
    assert ModelerState.load(tmp_path / "run.json").history == [tuple(each) for each in here]
    assert len(server.questions()) == len(here)
    assert "<svg" in (tmp_path / "best.svg").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
def test_people_measure_correct_and_withdraw_while_a_search_waits_and_is_stopped(
    serve, optimizer, arguments, tmp_path, labels
):
    server = serve(known=False, labels=labels)
    more = ("--rounds", 3, "--pending", 2, "--seed", 5)
    optimizer.start(*arguments(server, *more))
    wait_until(lambda: len(server.questions()) == 2)
    os.kill(optimizer.child, signal.SIGINT)
    assert optimizer.wait() == 130
    assert "the same command goes on with it" in optimizer.output.read_text()
    assert "Traceback" not in optimizer.output.read_text()
    first, second = ModelerState.load(tmp_path / "run.json").pending
    server.measure(2, 2.0)  # while nobody waits
    optimizer.start(*arguments(server, *more))
    wait_until(lambda: len(server.questions()) == 3)
    assert ModelerState.load(tmp_path / "run.json").history == [(second, 2.0)]
    server.kill()  # both sides may fail at once
    os.kill(optimizer.child, signal.SIGKILL)
    assert optimizer.wait() == -signal.SIGKILL
    server.start()
    server.correct(2, -2.0)
    server.withdraw(1)
    optimizer.start(*arguments(server, *more))
    wait_until(lambda: len(server.questions()) == 4)
    server.measure(3, 3.0)
    server.measure(4, 4.0)
    assert optimizer.wait() == 0
    text = optimizer.output.read_text()
    assert f"row {second} was corrected from 2 to -2" in text
    assert f"row {first} was withdrawn" in text
    assert "Best of 3: row" in text
    state = ModelerState.load(tmp_path / "run.json")
    assert state.history[0] == (second, -2.0)
    assert state.skipped == [first]
    assert sorted(value for _, value in state.history) == [-2.0, 3.0, 4.0]


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
def test_with_noised_answers_the_row_to_act_on_is_the_posteriors(serve, optimizer, arguments, labels):
    server = serve(noised=True, labels=labels)
    optimizer.start(*arguments(server, "--rounds", 4))
    assert optimizer.wait() == 0
    assert "by the posterior mean, the row to act on is" in optimizer.output.read_text()


@pytest.mark.slow
def test_with_json_programs_read_what_people_read(serve, arguments, tmp_path, capsys):
    server = serve(noised=True)
    assert cli.main(["optimize", *arguments(server, "--rounds", "4", "--json")]) == 0
    told = capsys.readouterr()
    found = parsed(told.out, "optimize")
    history = ModelerState.load(tmp_path / "run.json").history
    assert [(each["row"], each["value"]) for each in found["measured"]] == history
    assert found["best"]["value"] == max(value for _, value in history)
    assert found["noised"]
    assert f"the row to act on is {found['recommended'][0]}" in told.err
    assert (found["goal"], found["wanted"], found["unmeasured_above"]) == ("maximize", None, [])
    assert found["sentence"] is None or found["sentence"] in told.err
    assert found["expected_gain"]["next_measurement"] <= found["expected_gain"]["rest"]
    assert found["guarantee"]["words"] in told.err
    assert server.token not in told.out


def test_a_search_that_is_stopped_says_so_to_programs(serve, arguments, tmp_path, capsys, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    server = serve(known=False)
    monkeypatch.setattr("botorch_private.cli.optimize.search.keep_open", stopped)
    with pytest.raises(SystemExit) as ended:
        cli.main(["optimize", *arguments(server, "--rounds", "4", "--json")])
    assert ended.value.code == 130
    found = parsed(capsys.readouterr().out, "any of them, where it fails")
    assert found["exit_status"] == 130
    assert found["message"].startswith("Stopped. ")


def test_labels_are_not_denoised_and_nothing_is_asked(serve, arguments, tmp_path, capsys):
    server = serve(labels=True)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["optimize", *arguments(server, "--rounds", "3", "--denoise")])
    assert stopped.value.code == 1
    assert "--denoise must be left out for a release of labels" in capsys.readouterr().err
    assert not (tmp_path / "run.json").exists()
    assert not server.questions()


@pytest.mark.slow
def test_a_state_that_is_damaged_of_another_release_or_other_settings_is_refused(
    serve, arguments, tmp_path, capsys
):
    server, other = serve(), serve()
    state = tmp_path / "run.json"
    assert cli.main(["optimize", *arguments(server, "--rounds", "2", "--seed", "5")]) == 0
    whole = state.read_text()
    cases = [
        (server, whole[:-20], (), "is truncated or damaged; name another file"),
        (server, whole.replace('seed": 5', 'seed": 6'), (), "was changed after saving"),
        (server, "[]", (), "is not one"),
        (server, whole.replace('_version": 3', '_version": 4'), (), "is of another version"),
        (server, whole, ("--seed", "6"), "--seed must be 5 as in"),
        (server, whole, ("--beta-scale", "0.5"), "--beta-scale must be left out as in"),
        (server, whole, ("--exploration", "theory"), "--exploration must be shared as in"),
        (other, whole, (), "rows of one are not rows of the other"),
        (server, whole, ("--rounds", "41"), "--rounds must be at most the 40 rows"),
        (server, whole, ("--plot", "best.txt"), "--plot must end in"),
        (server, whole, ("--release", "no/such/file"), "there is no no/such"),
    ]
    for curator, content, more, message in cases:
        state.write_text(content)
        with pytest.raises(SystemExit) as stopped:
            cli.main(["optimize", *arguments(curator, "--rounds", "3", *more)])
        assert stopped.value.code == 1
        error = capsys.readouterr().err
        assert message in error
        assert server.token not in error
        assert other.token not in error
        assert state.read_text() == content
    assert len(server.questions()) == 2


def test_a_spent_budget_is_said_before_anything_is_asked(serve, arguments, capsys):
    server = serve(max_queries=3)
    with pytest.raises(SystemExit):
        cli.main(["optimize", *arguments(server, "--rounds", "4")])
    assert "--rounds must be at most 3, got 4: it counts values so far" in capsys.readouterr().err
    assert server.questions() == []
    assert cli.main(["optimize", *arguments(server, "--rounds", "3")]) == 0


def test_paid_answers_are_fetched_though_another_modeler_spent_the_budget(
    serve, arguments, tmp_path, capsys
):
    server = serve(known=False, max_queries=2)
    path = tmp_path / "run.json"
    with RemoteCurator(server.url, server.token) as other:
        modeler = make_modeler(other.release)
        first, unsent = modeler.ask(2)
        modeler.save(path)
        other.submit(first)
        other.submit(next(row for row in range(40) if row not in (first, unsent)))
    server.measure(1, 1.0)
    with pytest.raises(SystemExit):
        cli.main(["optimize", *arguments(server, "--rounds", "3", "--pending", "2")])
    assert "all max_queries=2 measurements are spent" in capsys.readouterr().err
    state = ModelerState.load(path)
    assert (state.history, state.pending, state.skipped) == ([(first, 1.0)], [], [])
    with pytest.raises(SystemExit):
        cli.main(["optimize", *arguments(server, "--rounds", "3")])
    assert "--rounds must be at most 1, got 3: it counts" in capsys.readouterr().err
    assert cli.main(["optimize", *arguments(server, "--rounds", "1")]) == 0
    assert f"Best of 1: row {first}, 1." in capsys.readouterr().out


def test_two_commands_do_not_share_a_state(serve, optimizer, arguments, capsys):
    server = serve(known=False)
    optimizer.start(*arguments(server, "--rounds", 2))
    wait_until(lambda: len(server.questions()) == 1)
    with pytest.raises(SystemExit):
        cli.main(["optimize", *arguments(server, "--rounds", "2")])
    assert "--state must be used by one command at a time" in capsys.readouterr().err
    os.kill(optimizer.child, signal.SIGINT)
    assert optimizer.wait() == 130


def test_a_token_comes_from_a_file_or_the_environment(serve, tmp_path, monkeypatch, capsys):
    server = serve()
    state = ["--state", str(tmp_path / "run.json")]
    with pytest.raises(SystemExit):
        cli.main(["optimize", server.url, "--rounds", "1", *state])
    assert "--token-file or BOTORCH_PRIVATE_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", server.token)
    assert cli.main(["optimize", server.url, "--rounds", "1", *state]) == 0
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", server.staff_token)
    with pytest.raises(SystemExit):
        cli.main(["optimize", server.url, "--rounds", "2", *state])
    assert "token must be one for a modeler, got one for staff" in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(SystemExit):
        cli.main(["optimize", server.url, "--rounds", "2", *state, "--token-file", str(empty)])
    assert f"--token-file: {empty} is empty" in capsys.readouterr().err


@pytest.fixture
def known(tmp_path):
    """Write a file of known values, and return the option that names it."""

    def write(*lines):
        (tmp_path / "values.csv").write_text("row,value\n" + "".join(f"{line}\n" for line in lines))
        return ["--known", str(tmp_path / "values.csv")]

    return write


def test_a_search_begins_with_known_values_and_asks_for_none_of_them(
    serve, arguments, known, tmp_path, capsys
):
    server = serve()
    outcomes = Here(server.curator).outcomes
    values = [(row, float(outcomes[row])) for row in (4, 9, 17, 30)]
    option = known(*(f"{row},{value!r}" for row, value in values))
    more = arguments(server, "--rounds", "7", "--seed", "5", *option)
    assert cli.main(["optimize", *more]) == 0
    state = ModelerState.load(tmp_path / "run.json")
    assert state.history[:4] == values
    assert len(state.history) == 7
    assert len(server.questions()) == 3
    here = make_modeler(server.curator.release, history=values)
    assert list(run(Here(server.curator), here, 3)) == state.history
    # the same command goes on, and one with another value of a row is refused
    assert cli.main(["optimize", *more]) == 0
    assert ModelerState.load(tmp_path / "run.json") == state
    with pytest.raises(SystemExit):
        cli.main(["optimize", *arguments(server, "--rounds", "8", *known("4,77.5"))])
    error = capsys.readouterr().err
    assert "--known must agree with the search, but" in error
    assert "another value for row 4" in error
    assert "77.5" not in error
    assert ModelerState.load(tmp_path / "run.json") == state
    # a row that nobody asked for may be told later as well
    row = next(row for row in range(40) if row not in dict(state.history))
    assert cli.main(["optimize", *arguments(server, "--rounds", "8", *known(f"{row},0.5"))]) == 0
    assert ModelerState.load(tmp_path / "run.json").history[7:] == [(row, 0.5)]
    assert cli.main(["optimize", *arguments(server, "--rounds", "9", *known(f"{row},0.5"))]) == 0
    assert ModelerState.load(tmp_path / "run.json").history[7] == (row, 0.5)
    assert len(server.questions()) == 4


def test_a_budget_is_said_in_the_rounds_that_were_typed(serve, arguments, known, capsys):
    server = serve(max_queries=3, known=False)
    option = known("4,0.5", "9,0.25")
    with pytest.raises(SystemExit):
        cli.main(["optimize", *arguments(server, "--rounds", "6", *option)])
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(
        "--rounds must be at most 5, got 6: it counts values so far, those of --known included (2), "
        "open questions (0), and what the curator's budget has left (3)"
    )
    assert server.questions() == []


def test_a_search_begins_with_what_the_curator_told_of_what_it_knew(
    serve, arguments, tmp_path, monkeypatch, capsys
):
    """Values that nobody asked for, from the sheet to the search: told ones count, kept ones do not."""
    server = serve(known=False, max_queries=6)
    monkeypatch.chdir(tmp_path)
    names, there = [f"record {i + 1}" for i in range(40)], server.curator.permutation.tolist()
    for place, unasked in ((4, "tell"), (9, "tell"), (17, "keep")):
        Path("v.csv").write_text(f"identifier,value\n{names[there[place]]},{place / 10}\n")
        sheet = ["import", str(server.folder.path), "v.csv", "--unasked", unasked]
        assert cli.main(["curator", *sheet]) == 0
    with RemoteCurator(server.url, server.token) as curator:
        assert curator.all_answers() == [(4, 0.4), (9, 0.9)]
        assert curator.queries_left == 4
        assert curator.query(17) == (17, 1.7)  # kept: it waits for nobody
        assert curator.queries_left == 3
    more = arguments(server, "--seed", "5", "--answered")
    with pytest.raises(SystemExit):
        cli.main(["optimize", *more, "--rounds", "3"])
    assert "--rounds must be more than the 3 values of --answered" in capsys.readouterr().err
    threading.Thread(target=measure_all, args=(server, 2)).start()
    assert cli.main(["optimize", *more, "--rounds", "5"]) == 0
    state = ModelerState.load(tmp_path / "run.json")
    assert state.history[:3] == [(4, 0.4), (9, 0.9), (17, 1.7)]
    twin = make_modeler(server.curator.release, history=state.history[:3])
    assert state.history[3][0] == twin.ask(1)[0]
    assert len(server.questions()) == 5
    assert cli.main(["optimize", *more, "--rounds", "5"]) == 0  # goes on, and begins with nothing anew
    assert ModelerState.load(tmp_path / "run.json") == state


def measure_all(server, count):
    """What staff would do."""
    while count:
        for each in server.questions():
            if each["state"] == "pending":
                server.measure(each["id"], 0.5)
                count -= 1
        time.sleep(0.05)


def test_known_values_that_are_none_are_refused_before_anything_is_asked(
    serve, arguments, known, tmp_path, capsys
):
    server = serve()
    cases = [
        (["4,0.5", "secret,1"], "--known must have a row and its value in each line, but line 3 of"),
        (["4,secret"], "line 2 of"),
        (["40,1"], "outside of the release, which has rows 0..39"),
        (["4,1e160"], "value must"),
        (["4,1", "4,2"], "two for row 4, in lines 2 and 3"),
        (["1,1", "2,2", "3,3"], "--rounds must be more than the 3 values of --known"),
        (None, "--known must be a file of known values"),
    ]
    for lines, message in cases:
        option = ["--known", str(tmp_path / "none.csv")] if lines is None else known(*lines)
        with pytest.raises(SystemExit) as stopped:
            cli.main(["optimize", *arguments(server, "--rounds", "3", *option)])
        assert stopped.value.code == 1
        error = capsys.readouterr().err
        assert message in error
        assert "secret" not in error
        assert not (tmp_path / "run.json").exists()
    assert server.questions() == []


def test_a_declined_row_is_given_up_and_stays_so_in_a_file(serve, tmp_path, monkeypatch, capsys):
    server = serve(known=False)
    path = tmp_path / "run.json"
    with RemoteCurator(server.url, server.token) as curator:
        modeler = make_modeler(curator.release)
        declined, measured = modeler.ask(2)
        for row in (declined, measured):
            curator.submit(row)
        server.withdraw(1)
        server.measure(2, 2.0)
        assert list(run(curator, modeler, 1)) == [(measured, 2.0)]
        modeler.save(path)
    with RemoteCurator(server.url, server.token) as curator:
        again = Modeler.load(path, curator.release)
        assert again.skipped == [declined]
        assert again.ask() == modeler.ask() != declined
        curator.submit(again.ask())
        server.measure(3, 3.0)
        assert run(curator, again, 1).values.tolist() == [2.0, 3.0]
        again.save(path)
    # what Python saved, the command line goes on with
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", server.token)
    assert cli.main(["optimize", server.url, "--rounds", "2", "--state", str(path)]) == 0
    text = capsys.readouterr().out
    assert "2 measured, 0 asked, 1 given up." in text
    assert "Given up: 1, which the curator did not measure." in text
    assert len(server.questions()) == 3


def test_help_suffices(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["optimize", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for option in ("--rounds", "--pending", "--token-file", "--state", "--plot", "--ca-file", "--seed"):
        assert option in text
    assert "BOTORCH_PRIVATE_TOKEN" in text
    assert "Ctrl-C" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rounds", "0"], "--rounds: must be a whole"),
        (["--seed", "-1"], "--seed: must be a whole"),
        (["--stop-below", "0"], "--stop-below: must be a finite number > 0"),
        (["--stop-below", "nan"], "--stop-below: must be a finite number > 0"),
    ],
)
def test_numbers_that_are_none_are_refused(more, message, capsys):
    with pytest.raises(SystemExit):
        cli.main(["optimize", "http://127.0.0.1:9", "--rounds", "1", *more])
    assert message in capsys.readouterr().err


def test_a_search_that_hardly_explores_cannot_stop_by_its_bound(arguments, tmp_path, capsys):
    class Nobody:
        url, token = "http://127.0.0.1:9", "token"

    with pytest.raises(SystemExit):
        cli.main(
            ["optimize", *arguments(Nobody, "--rounds", 30, "--stop-below", 1, "--beta-scale", 0.1)]
        )
    assert "--beta-scale must be at least 0.2" in capsys.readouterr().err
    assert not (tmp_path / "run.json").exists()
