"""Where nobody watches a terminal, a search says now and then that it waits, and what comes in."""

import pytest
import torch

from botorch_private import Curator, Modeler, NoisyProjection, PublicScaling
from botorch_private.cli.optimize import progress as shown
from botorch_private.modeler.stopping import BoundSoFar

ROWS = torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def modeler():
    curator = Curator(ROWS, PublicScaling([0.0, 0.0], [1.0, 1.0]), NoisyProjection(3.0), ROWS[:, 0])
    return Modeler(curator.release, n_initial=5)


def test_a_line_at_the_start_and_then_rarer_and_rarer(clock, modeler, capsys):
    progress = shown.Progress(modeler, 5, "days", BoundSoFar(modeler))
    progress.waiting()
    assert capsys.readouterr().err == ""  # nothing was asked
    modeler.ask(2)
    for _ in range(60 * 60 * 24 * 3 // 25):  # three days in slices, as `keep_open` waits
        progress.waiting()
        clock[0] += 25.0
    first, *more = capsys.readouterr().err.splitlines()
    assert first == "Waiting for answers: 2 open. Stop by Ctrl-C; the same command goes on."
    assert more[0] == "Still waiting after 75 s: 2 open."
    assert more[1] == "Still waiting after 2 min: 2 open."
    assert more[-1] == "Still waiting after 2 days: 2 open."
    assert len(more) == 13  # after 1, 2, 4, ... minutes, and then a day later
    progress.close()


def test_an_answer_is_a_line_and_waiting_counts_from_it(clock, modeler, capsys):
    progress = shown.Progress(modeler, 5, "days", BoundSoFar(modeler))
    row, _ = modeler.ask(2)
    progress.waiting()
    clock[0] += 50.0
    modeler.tell(row, 3.5)
    progress.changed()
    clock[0] += 50.0
    progress.waiting()
    output, error = capsys.readouterr()
    assert output == f"1/5: row {row} is 3.5 days, best 3.5 days\n"
    assert error.count("\n") == 1
    clock[0] += 50.0
    progress.waiting()
    assert capsys.readouterr().err == "Still waiting after 100 s: 1 open.\n"
    progress.close()


def test_on_a_terminal_the_bar_says_it_and_no_line(clock, modeler, capsys, monkeypatch):
    monkeypatch.setattr(shown.sys.stderr, "isatty", lambda: True, raising=False)
    progress = shown.Progress(modeler, 5, "", BoundSoFar(modeler))
    modeler.ask(2)
    clock[0] += 500.0
    progress.waiting()
    progress.close()
    error = capsys.readouterr().err
    assert "no value yet, waiting 8 min" in error
    assert "Still" not in error
    assert "Waiting for answers" not in error
