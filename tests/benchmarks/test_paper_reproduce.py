import contextlib
import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from helpers.patience import wait_until

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "paper"))

import frontier
import frontier_page
import frontier_summary
import page
import reproduce
import study
import whole_record
import whole_record_page
from arms import ARMS, Settings
from cells import NO_SETTINGS, Cell, baseline, cells, figure_settings, most_runs, settings_of
from command import main
from parallel import Job, complete
from printed import gaps, tables
from problems import PROBLEMS
from simulate import Curves, simulate
from store import _WITHOUT, RunsInTheWayError, RunStore, fingerprint
from summary import Mean, final, gap, results_of, write_curves

import botorch_private
from botorch_private.cli import main as cli
from botorch_private.curator.publish import publish
from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.privacy.shuffled import shuffled_epsilon
from botorch_private.theory import expected_random_regret

PAPER = Path(__file__).parents[2] / "benchmarks" / "paper"
PNG = b"\x89PNG\r\n\x1a\n"


# --- which cells ---


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_entry_of_the_paper_is_a_cell_of_every_releasing_arm(name):
    found = set(cells(name))
    arms = ["as printed", "as released", "private", "private, scaled"]
    if name != "synthetic_gp":  # where both units are one
        arms.append("private, paper's unit")
    for arm in arms:
        for entry in (*tables(name), *gaps(name)):
            settings = Settings(entry.log_epsilon, entry.projection_dim)
            assert Cell(name, arm, settings) in found
    assert Cell(name, "non-private", NO_SETTINGS) in found
    assert len(settings_of(name)) in (18, 19, 20)
    assert len(figure_settings(name)) == 3


def test_gaps_are_to_the_search_without_privacy_by_the_same_rule():
    assert baseline("as printed") == "non-private, as printed"
    assert baseline("as released") == "non-private, as released"
    assert baseline("private") == "non-private"
    assert baseline("private, scaled") == baseline("private, paper's unit") == "non-private, scaled"
    for name, arm in ARMS.items():
        assert ARMS[baseline(name)].rule == arm.rule


def test_slow_arms_get_fewer_runs():
    assert most_runs("as printed, length-scale learned", 500) == 50
    assert most_runs("as printed, length-scale learned", 2) == 2
    assert most_runs("as printed", 500) == 500


# --- keeping runs ---


@pytest.fixture
def opened():
    """Open stores that are closed when the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda path, code="code": stack.enter_context(contextlib.closing(RunStore(path, code)))


def test_runs_are_there_when_the_file_is_opened_again(tmp_path, opened):
    path = tmp_path / "runs.jsonl"
    store = opened(path)
    store.add([(("a", (1.5, 2), 0), [1, 2]), (("a", (1.5, 2), 1), [3])])
    store.add([(("a", (1.5, 2), 0), [9, 9])])  # known: the first stays
    store.close()
    again = opened(path)
    assert len(again) == 2
    assert again["a", (1.5, 2), 0] == [1, 2]
    assert ("a", (1.5, 2), 1) in again
    assert ("a", (1.5, 2), 2) not in again


@pytest.mark.parametrize("torn", [b'{"run":"[3]","resu', b'{"run":"[3]"\n', b"\x00\x00\x00\n"])
def test_a_line_that_a_kill_left_unfinished_is_dropped(tmp_path, torn, opened):
    path = tmp_path / "runs.jsonl"
    store = opened(path)
    store.add([((1,), "one")])
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again = opened(path)
    again.add([((2,), "two")])
    again.close()
    assert path.read_bytes().startswith(whole)
    final_store = opened(path)
    assert len(final_store) == 2
    assert final_store[(2,)] == "two"


def test_runs_of_other_code_are_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    RunStore(path, "old").close()
    before = path.read_bytes()
    with pytest.raises(RunsInTheWayError, match="holds runs of other code"):
        RunStore(path, "new")
    assert path.read_bytes() == before


def test_two_processes_cannot_write_the_same_runs(tmp_path, opened):
    path = tmp_path / "runs.jsonl"
    first = opened(path)
    with pytest.raises(RunsInTheWayError, match="another process is writing to"):
        RunStore(path, "code")
    first.add([((1,), "one")])
    first.close()
    assert len(opened(path)) == 1


def test_fingerprint_is_of_code_and_data(tmp_path):
    first = fingerprint()
    assert first == fingerprint()
    copy = tmp_path / "paper"
    subprocess.run(["cp", "-r", PAPER, copy], check=True)
    assert fingerprint(copy) == first
    (copy / "page.py").write_text("# another text changes no run\n")
    assert fingerprint(copy) == first
    assert fingerprint(Path(os.path.relpath(copy))) == first
    (copy / "arms.py").write_text("# another arm does\n")
    assert fingerprint(copy) != first


def test_a_change_of_the_service_leaves_finished_runs_valid_and_one_of_a_mechanism_does_not(
    tmp_path, monkeypatch
):
    package = tmp_path / "botorch_private"
    shutil.copytree(Path(botorch_private.__file__).parent, package)
    monkeypatch.setattr(botorch_private, "__file__", str(package / "__init__.py"))
    first = fingerprint()
    for name in _WITHOUT:
        path = package / name
        assert path.exists(), name
        (path if path.is_file() else path / "__init__.py").write_text("# changes no run\n")
    assert fingerprint() == first
    (package / "curator" / "mechanisms" / "noise.py").write_text("# changes all of them\n")
    assert fingerprint() != first


def square(number):
    return number**2


@pytest.mark.slow
def test_jobs_are_run_once_each(tmp_path, capsys, opened):
    store = opened(tmp_path / "runs.jsonl")
    jobs = [Job(("square", i % 30), square, (i % 30,)) for i in range(40)]
    complete(store, jobs[:9], workers=1, label="some")
    assert len(store) == 9
    complete(store, jobs, workers=2, label="all")
    assert [store["square", i] for i in range(30)] == [i**2 for i in range(30)]
    assert "21/21" in capsys.readouterr().err
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 31


def broken(number):
    if number == 20:
        raise ValueError("no such number")
    return number


def test_a_failing_job_is_raised_and_the_others_are_kept(tmp_path, opened):
    store = opened(tmp_path / "runs.jsonl")
    with pytest.raises(ValueError, match="no such number"):
        complete(store, [Job((i,), broken, (i,)) for i in range(40)], workers=1, label="x")
    assert sorted(store[(i,)] for i in range(20)) == list(range(20))  # up to the one that failed
    assert (20,) not in store


# --- numbers ---


def test_mean_and_standard_error():
    assert Mean.of(np.array([1.0, 2.0, 3.0, 6.0])) == (3.0, pytest.approx(math.sqrt(14 / 3 / 4)))
    assert Mean.of(np.array([2.0])).value == 2.0
    assert math.isnan(Mean.of(np.array([2.0])).error)


@pytest.fixture(scope="module")
def branin_results(tmp_path_factory):
    """All cells of Branin with 3 runs of 2 rounds."""
    problem = reproduce.problem_named("branin")
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    with contextlib.closing(RunStore(path, "code")) as store:
        for job in reproduce.jobs("branin", range(3), 2):
            if job.key not in store:
                store.add([(job.key, job.function(*job.arguments))])
        return problem, results_of(problem, store, range(3), 2)


def test_results_are_those_of_each_run(branin_results):
    problem, results = branin_results
    cell = Cell("branin", "private", Settings(2.3, 15))
    assert results[cell].simple_regret.shape == (3, 3)
    outcomes = problem.draw_outcomes(1)
    asked = simulate(problem, ARMS["private"], Settings(2.3, 15), 1, 2)
    expected = float(outcomes.max() - outcomes[asked].max())
    assert results[cell].simple_regret[1, -1] == pytest.approx(expected)
    assert final(results, cell).value == pytest.approx(results[cell].simple_regret[:, -1].mean())


def test_gap_pairs_the_runs_of_a_seed():
    cell, other = (Cell("branin", arm, NO_SETTINGS) for arm in ("non-private", "non-private, scaled"))
    runs = np.array([[1.0], [2.0], [4.0]])
    found = {
        cell: Curves(runs, runs, runs),
        other: Curves(np.array([[0.5], [1.0]]), runs[:2], runs[:2]),
    }
    assert gap(found, cell, other) == Mean.of(np.array([0.5, 1.0]))


def test_curves_have_a_line_for_each_cell_and_round(branin_results, tmp_path):
    problem, results = branin_results
    write_curves(problem, results, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3 * len(list(cells("branin")))
    last = next(
        line
        for line in lines
        if (line["arm"], line["log_epsilon"], line["projection_dim"], line["round"])
        == ("as printed", "2.7", "50", "2")
    )
    mean = Mean.of(results[Cell("branin", "as printed", Settings(2.7, 50))].simple_regret[:, 2])
    assert float(last["simple_regret"]) == pytest.approx(mean.value, rel=1e-5)
    assert float(last["simple_regret_error"]) == pytest.approx(mean.error, rel=1e-5)
    assert last["runs"] == "3"
    without = next(line for line in lines if line["arm"] == "non-private")
    assert (without["log_epsilon"], without["delta"], without["projection_dim"]) == ("", "", "")


def test_page_has_every_entry_of_the_paper_beside_ours(branin_results):
    text = "\n".join(page.write({"branin": branin_results}, {"branin": ["a bound"]}))
    problem, results = branin_results
    for entry in tables("branin"):
        ours = final(
            results, Cell("branin", "as printed", Settings(entry.log_epsilon, entry.projection_dim))
        )
        branch = "as they are" if entry.above_floor else "raised"
        start = f"| {entry.projection_dim} | {branch} | {entry.simple_regret:.3f} |"
        assert any(line.startswith(start) and str(ours) in line for line in text.splitlines())
    for sentence in (*problem.assumed, problem.tail_rule):
        assert sentence in text
    assert "Ours is inside" in text


def test_claims_are_judged_by_the_numbers(branin_results):
    """A private arm that is worse by more than the error is reported."""
    problem, results = branin_results
    bad = dict(results)
    for cell in results:
        if cell.arm == "private":
            bad[cell] = results[cell]._replace(simple_regret=results[cell].simple_regret + 5)
        if cell.arm == "private, scaled":
            bad[cell] = results[cell]._replace(simple_regret=0 * results[cell].simple_regret)
    verdicts = {claim: holds for claim, _, holds in page.claims(problem, bad)}
    for claim, holds in verdicts.items():
        if claim.startswith("private, ε"):
            assert not holds
        if claim.startswith("private, scaled"):
            assert holds
    assert len(verdicts) == 12


def test_a_search_that_is_bad_without_privacy_excuses_nothing(branin_results):
    problem, results = branin_results
    found = dict(results)
    for cell in results:
        level = {"private, scaled": 0.5, "non-private, scaled": 0.5, "non-private": 0.1}.get(cell.arm)
        if level is not None:
            found[cell] = results[cell]._replace(simple_regret=0 * results[cell].simple_regret + level)
    (verdict,) = [
        (measured, holds)
        for claim, measured, holds in page.claims(problem, found)
        if claim.startswith("private, scaled") and "without privacy" in claim
    ]
    assert verdict == ("0.400 ± 0.000 over non-private", False)


def test_no_verdict_is_given_on_one_run(branin_results):
    problem, results = branin_results
    one = {cell: Curves(*(part[:1] for part in runs)) for cell, runs in results.items()}
    assert not any(holds for claim, _, holds in page.claims(problem, one) if "at or below" in claim)


# --- the frontier ---


def test_frontier_runs_are_reproducible_and_start_alike():
    asked = frontier.run_once("branin", "base", 3.0, 0, 3)
    assert frontier.run_once("branin", "base", 3.0, 0, 3) == asked
    for setup, epsilon in (("known", 1.0), ("plain kernel", 8.0), ("base", math.inf)):
        other = frontier.run_once("branin", setup, epsilon, 0, 3)
        assert other[:5] == asked[:5]
        assert len(set(other)) == 8


@pytest.mark.parametrize(
    "name", ["hospital", "telemonitoring", "esol, bits", "hospital, few, same unit"]
)
def test_tables_of_the_frontier_are_whole(name):
    table = frontier.table_named(name)
    scaled = table.scaling.transform(table.raw)
    assert table.scaling.public
    assert float(scaled.norm(dim=1).max()) <= table.scaling.radius + 1e-9
    assert table.draw_outcomes(0).std(correction=0) == pytest.approx(1.0)
    assert table.hyperparameters is not None


def test_one_unit_is_as_long_with_few_features_as_with_all():
    whole, few = (
        frontier.table_named(name) for name in ("hospital, long stays", "hospital, few, same unit")
    )
    for j, feature in enumerate(few.scaling.names):
        unit = whole.scaling.unit[whole.scaling.names.index(feature)]
        assert float(few.scaling.unit[j]) == pytest.approx(float(unit), rel=1e-9)


def test_frontier_regrets_leave_the_initial_records_out_of_the_sum(tmp_path, opened):
    points = [frontier.Point("branin", "base", 3.0)]
    store = opened(tmp_path / "runs.jsonl")
    for job in frontier.jobs(points, range(2), 3):
        store.add([(job.key, job.function(*job.arguments))])
    found = frontier_summary.regrets_of(frontier.table_named("branin"), points, store, range(2), 3)
    outcomes = frontier.table_named("branin").draw_outcomes(0)
    asked = store[frontier.key(points[0], 1, 3)]
    lost = outcomes.max() - outcomes[asked]
    assert found[points[0]].simple[1] == pytest.approx(float(lost.min()))
    assert found[points[0]].cumulative[1] == pytest.approx(float(lost[5:].sum()))
    assert found[points[0]].chance == pytest.approx([expected_random_regret(outcomes, 5 + 3)] * 2)


# --- the frontier for a whole record ---


@pytest.mark.parametrize("arm", ["noise", "cells", "cells of a history"])
def test_runs_for_a_whole_record_are_reproducible_and_ask_the_pool_alone(arm):
    asked = whole_record.run_once("molecules", arm, 5.0, 1000, 2)
    assert whole_record.run_once("molecules", arm, 5.0, 1000, 2) == asked
    assert len(set(asked)) == 7
    table = whole_record.searched("molecules")
    old, pool = table.halves(1000)
    assert max(asked) < len(pool) == len(table.draw_outcomes(1000))
    assert sorted([*old.tolist(), *pool.tolist()]) == list(range(len(table.records)))


@pytest.mark.parametrize("arm", ["noise", "cells", "cells of a history"])
def test_every_mechanism_costs_what_the_axis_says(arm):
    table = whole_record.searched("molecules")
    noise = torch.Generator().manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns, domain, mechanism = whole_record.declared(table, arm, 3.0, 1000, noise)
        released = publish(table.records[:, columns], domain, mechanism, generator=noise).release
    assert released.guarantee.whole_record == pytest.approx(3.0, rel=2e-3)
    assert released.guarantee.whole_record <= 3.0


def test_points_stated_per_unit_are_placed_by_what_a_whole_record_costs():
    point = frontier.Point("branin", whole_record_page.PER_UNIT, 3.0)
    row = whole_record_page.row_of(point, 12, Mean(0.1, 0.01), 0.5)
    assert row.epsilon == pytest.approx(150, rel=1e-3)  # pure noise: 3 at each of 50 units
    assert row.stated == 3.0
    assert math.isnan(row.central)


def test_the_page_says_where_cells_do_not_help_and_both_promises():
    rows = [
        whole_record_page.row_of(frontier.Point(table, "cells", 3.0), 48, mean, 0.5)
        for table, mean in (("loans", Mean(0.2, 0.05)), ("voices", Mean(0.45, 0.05)))
    ]
    text = "\n".join(whole_record_page.write(rows))
    assert "- voices, cells (at random 0.50): ε = 3 (0.45 ± 0.05)." in text
    assert "- loans" not in text
    assert "48 runs of each point" in text
    law = ResponseLaw.at_most(3.0, 4)
    central = shuffled_epsilon(law, 36_000 - 3_000, 1e-5)
    assert "| loans | 0.50 | cells | 0.20 ± 0.05 |" in text
    shown = next(line for line in text.splitlines() if "| central |" in line)
    assert central <= float(shown.split("|")[4]) <= 1.1 * central


def test_changes_are_shown_with_their_paired_differences_to_the_base():
    simple = {"base": np.array([0.1, 0.3]), "fifth of beta": np.array([0.3, 0.4])}
    chance = np.array([0.5, 0.5])
    found = {
        frontier.Point("branin", name, 3.0): frontier_summary.Regrets(regrets, regrets, chance)
        for name, regrets in simple.items()
    }
    text = "\n".join(frontier_page.write(found))
    assert "| branin | 0.200 ± 0.100 | 0.500 |" in text
    assert "| 0.350 ± 0.050 (0.150 ± 0.050) |" in text


def test_only_points_all_of_whose_runs_are_kept_are_finished(tmp_path, opened):
    points = [frontier.Point("branin", "base", epsilon) for epsilon in (1.0, 3.0)]
    store = opened(tmp_path / "runs.jsonl")
    for point, seed in ((points[0], 0), (points[0], 1), (points[1], 1)):
        store.add([(frontier.key(point, seed, 3), [0])])
    assert study._finished(points, store, range(2), 3, frontier.key) == points[:1]


def test_points_that_are_not_finished_are_of_the_table_of_before(tmp_path):
    path = tmp_path / "whole_record.csv"
    wanted = [frontier.Point("molecules", arm, 3.0) for arm in ("noise", "cells")]
    old = [whole_record_page.row_of(point, 48, Mean(0.5, 0.05), 0.5) for point in wanted]
    whole_record_page.write_table(old, path)
    new = [whole_record_page.row_of(wanted[0], 48, Mean(0.2, 0.05), 0.5)]
    rows = whole_record_page.filled_up(new, wanted, whole_record_page.read_table(path))
    assert [(row.arm, row.regret.value, row.before) for row in rows] == [
        ("noise", 0.2, False),
        ("cells", 0.5, True),
    ]
    assert rows[1].central == old[1].central
    text = "\n".join(whole_record_page.write(rows))
    assert "| noise | 0.20 ± 0.05 |" in text
    assert "| cells | 0.50 ± 0.05 † |" in text
    assert "† Runs of an earlier version." in text
    whole_record_page.write_table(rows, path)
    assert [row.before for row in whole_record_page.read_table(path)] == [False, True]


# --- the command ---


@pytest.fixture
def in_the_tree(monkeypatch):
    """Let the command find the reproduction also where a wheel of the package is tested."""
    monkeypatch.setattr(cli, "__file__", str(PAPER.parents[1] / "botorch_private" / "cli" / "main.py"))


@pytest.mark.slow
def test_reproduce_writes_everything_and_goes_on_where_it_was(tmp_path, capsys, in_the_tree):
    output = tmp_path / "out"
    options = [
        "--problem",
        "branin",
        "--runs",
        "1",
        "--workers",
        "1",
        "--output",
        str(output),
        "--quick",
    ]
    assert cli.main(["reproduce", *options]) == 0
    files = {path.name for path in (output / "results").iterdir()}
    assert files == {"branin.csv", "simple_regret-branin.png", "cumulative_regret-branin.png"}
    assert (output / "results" / "simple_regret-branin.png").read_bytes().startswith(PNG)
    assert not (output / "RESULTS.md").exists()  # that is the page of the whole study
    text = (output / "RESULTS-branin.md").read_text()
    assert "written to" in capsys.readouterr().out
    runs = (output / "runs.jsonl").read_bytes()

    # A kill in the middle of a line: what is missing is run again, and all comes out the same.
    (output / "runs.jsonl").write_bytes(runs[: len(runs) * 2 // 3])
    assert main(options) == 0
    again = (output / "runs.jsonl").read_text().splitlines()
    assert sorted(again) == sorted(runs.decode().splitlines())
    assert (output / "RESULTS-branin.md").read_text() == text

    assert main(options) == 0  # nothing is left to run
    assert (output / "runs.jsonl").read_text().splitlines() == again


def begun(output, lines, **how):
    """Start a reproduction in a process of its own, and return it with more than so many lines kept."""
    command = [sys.executable, str(PAPER), "--problem", "branin", "--runs", "40", "--workers", "1"]
    process = subprocess.Popen([*command, "--output", str(output)], **how)
    path = output / "runs.jsonl"
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") > lines, seconds=60)
    return process


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_done(tmp_path):
    """Ctrl-C in the terminal: a signal to the whole group."""
    output = tmp_path / "out"
    process = begun(output, 9, stderr=subprocess.PIPE, start_new_session=True, text=True)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "start again with the same options to go on" in error
    assert "Traceback" not in error
    kept = (output / "runs.jsonl").read_text().splitlines()
    assert len(kept) > 9
    assert all(json.loads(line) for line in kept)
    assert not list(output.glob("RESULTS*"))


@pytest.mark.slow
def test_workers_end_when_the_parent_is_killed(tmp_path):
    process = begun(tmp_path / "out", 2, stderr=subprocess.DEVNULL)
    children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert children
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(psutil.pid_exists, children)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "argument --runs: must be a whole number >= 1, got '0'"),
        (["--problem", "iris"], "argument --problem: invalid choice: 'iris'"),
        (["--output", "no/such/folder"], "argument --output: there is no folder no/such"),
        (["--output", __file__], "is a file, but a folder is written to"),
        (["--epsilon", "1"], "unrecognized arguments: --epsilon 1"),
        (["--part", "frontier", "--problem", "loan"], "argument --part: not allowed with --problem"),
        (["--finished"], "argument --finished: only with --part frontier"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(arguments, message, capsys, monkeypatch, in_the_tree):
    monkeypatch.setattr("study.run_study", lambda *_, **__: pytest.fail("work began"))
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_stale_runs_are_said_in_one_line(tmp_path, capsys):
    (tmp_path / "runs.jsonl").write_text('{"code":"old"}\n')
    with pytest.raises(SystemExit) as stopped:
        main(["--problem", "branin", "--output", str(tmp_path)])
    assert stopped.value.code == 1
    assert "holds runs of other code or libraries: delete it" in capsys.readouterr().err


def test_without_a_source_tree_the_command_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        cli, "__file__", str(tmp_path / "site-packages" / "botorch_private" / "cli" / "main.py")
    )
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce"])
    assert stopped.value.code == 1
    assert "get the source tree" in capsys.readouterr().err
