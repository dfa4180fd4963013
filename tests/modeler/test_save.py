"""Modeler.save and Modeler.load: a search goes on as if nobody had stopped it, or is refused."""

import json
import os
import random
import signal
import stat
import time
from itertools import pairwise

import pytest
import torch
from helpers.draws import seeded
from helpers.forks import needs_fork
from helpers.rounds import go_on, release_of

from botorch_private import (
    Above,
    CellResponse,
    Cells,
    Curator,
    Minimize,
    Modeler,
    SearchPrior,
    Target,
    TopK,
)
from botorch_private._base import whole_file
from botorch_private.exchange import release
from botorch_private.modeler import latest_fit
from botorch_private.modeler.state import FORMAT, ModelerState

N = 30
ROWS = torch.randn(N, 2, generator=seeded(0), dtype=torch.float64)
RELEASE = release_of(ROWS)
OUTCOMES = torch.sin(3 * ROWS).sum(dim=1)
LABELS = Curator(
    torch.rand(N, 2, generator=seeded(1), dtype=torch.float64),
    None,
    CellResponse(4.0, Cells([[0.0, 0.3, 0.6, 1.0]] * 2)),
    OUTCOMES,
    generator=seeded(2),
).release
PRIOR = SearchPrior((0.7, 2.0), 1.2, outcome_noise=0.3, names=("x", "y"))
RELEASES = {
    "noisy rows": (RELEASE, {}),
    "own length-scales": (RELEASE, {"ard": True, "prior": PRIOR}),
    "denoised rows": (RELEASE, {"denoise": True, "outcome_noise": 0.2}),
    "labels": (LABELS, {}),
    "minimize": (RELEASE, {"goal": Minimize()}),
    "target": (RELEASE, {"goal": Target(0.5), "refit_every": 3}),
    "above": (LABELS, {"goal": Above(0.5)}),
    "top k": (RELEASE, {"goal": TopK(3), "refit_every": 3}),
}


def settings_of(drawn, fixed):
    """Settings that are drawn, beside those that belong to a kind of release."""
    some = {
        "n_initial": drawn.choice([1, 4]),
        "refit_every": drawn.choice([1, 3, 5]),
        "exploration": drawn.choice([None, "theory"]),
        "beta_scale": drawn.choice([None, 0.25]),
        "beta": drawn.choice([None, None, 2.0]),
        "failure_probability": drawn.choice([0.025, 0.1]),
    }
    return {**some, **fixed}


def operate(modelers, drawn):
    """One thing that a search does, done to each of some modelers that are in the same state."""
    first = modelers[0]
    kind = drawn.choice(["ask", "ask", "batch", "batch", "skip", "correct", "unasked", "take back"])
    told, batch = list(first.history), 2 if kind == "batch" else 1
    asked = [each.ask(batch) for each in modelers]
    assert all(left == right for left, right in pairwise(asked))
    if kind == "correct" and told:
        row, value = drawn.choice(told)[0], drawn.uniform(-2, 2)
    elif kind == "unasked":
        known = {*dict(told), *first.pending, *first.skipped}
        row = drawn.choice([row for row in range(N) if row not in known])
        value = float(OUTCOMES[row])
    else:
        row = drawn.choice(asked[0])
        value = float(OUTCOMES[row])
    for each in modelers:
        if kind == "skip":
            each.skip(row)
        elif kind == "take back":
            each.take_back(row)
        else:
            each.tell(row, value, correct=True)


def assert_same(left, right):
    assert list(left.history) == list(right.history)
    assert (left.pending, left.skipped) == (right.pending, right.skipped)
    if len(left.history):
        states = [each.model().state_dict() for each in (left, right)]
        assert states[0].keys() == states[1].keys()
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.parametrize("seed", range(8))
def test_a_loaded_search_equals_the_uninterrupted_one_bit_for_bit(kind, seed, tmp_path):
    drawn = random.Random(f"{kind} {seed}")
    release, fixed = RELEASES[kind]
    generator = seeded(seed)
    torch.rand(seed % 3, generator=generator)  # a generator that was used before
    modeler = Modeler(release, generator=generator, **settings_of(drawn, fixed))
    for _ in range(drawn.randrange(9)):
        operate([modeler], drawn)
    if drawn.random() < 0.5:
        modeler.ask(drawn.choice([1, 3]))
    modeler.save(tmp_path / "search.json")
    loaded = Modeler.load(tmp_path / "search.json", release)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "search.json").read_bytes()
    assert_same(modeler, loaded)
    for _ in range(5):
        operate([modeler, loaded], drawn)
    assert_same(modeler, loaded)
    assert modeler.recommend() == loaded.recommend()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("goal", [None, Minimize()])
def test_hyperparameters_that_are_kept_between_refits_are_not_fitted_again(
    goal, dtype, tmp_path, monkeypatch
):
    modeler = Modeler(RELEASE, goal=goal, refit_every=5, dtype=dtype, generator=seeded(3))
    go_on(modeler, OUTCOMES, 8)
    modeler.save(tmp_path / "search.json")
    fits = []
    monkeypatch.setattr(latest_fit, "fit_model", fits.append)
    loaded = Modeler.load(tmp_path / "search.json", RELEASE)
    assert loaded.dtype is dtype
    assert_same(modeler, loaded)
    assert loaded.ask() == modeler.ask()
    assert fits == []


def test_hyperparameters_of_another_model_are_fitted_again(tmp_path):
    modeler = Modeler(RELEASE, refit_every=5, generator=seeded(3))
    go_on(modeler, OUTCOMES, 8)
    for change in (
        lambda values: values.popitem(),
        lambda values: values.update({"covar_module.raw_other": [0.0]}),
        lambda values: values.update({name: [[[9.0]]] for name in values}),
    ):
        modeler.save(tmp_path / "search.json")
        values = FORMAT.loads((tmp_path / "search.json").read_bytes(), tmp_path)
        change(values["fitted"]["values"])
        (tmp_path / "search.json").write_bytes(FORMAT.dumps(values))
        assert_same(modeler, Modeler.load(tmp_path / "search.json", RELEASE))


def test_every_setting_is_in_the_file(tmp_path):
    settings = {
        "failure_probability": 0.3,
        "n_initial": 7,
        "refit_every": 2,
        "noise_aware": False,
        "beta": 0.5,
        "beta_scale": 0.1,
        "exploration": "theory",
        "outcome_noise": 0.25,
        "dtype": torch.float32,
    }
    for more in ({"denoise": True}, {"ard": True, "prior": PRIOR}):
        modeler = Modeler(RELEASE, **settings, **more)
        modeler.save(tmp_path / "search.json")
        loaded = Modeler.load(tmp_path / "search.json", RELEASE)
        for name in {**settings, **more}:
            assert getattr(loaded, name) == getattr(modeler, name) == {**settings, **more}[name]


def test_a_file_is_for_its_owner_and_holds_no_row_of_the_release(tmp_path):
    path = tmp_path / "search.json"
    Modeler(RELEASE, history=[(3, 1.5)]).save(path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    values = json.loads(path.read_text())
    assert values["history"] == [[3, 1.5]]
    assert values["goal"] == {"version": 1, "kind": "maximize"}
    assert str(float(ROWS[3, 0])) not in path.read_text()


def test_a_release_is_hashed_once_however_often_a_search_is_saved(tmp_path, monkeypatch):
    hashed, digest = [], release.release_digest
    monkeypatch.setattr(release, "release_digest", lambda *each: hashed.append(1) or digest(*each))
    modeler = Modeler(RELEASE)
    for row in range(4):
        modeler.tell(row, OUTCOMES[row])
        modeler.save(tmp_path / "search.json")
    assert len(hashed) == 2  # all of it, and its rows alone
    state = ModelerState.load(tmp_path / "search.json")
    assert (state.release, state.rows) == (RELEASE.identity, (N, RELEASE.rows_digest()))


def test_another_release_is_refused_and_the_same_one_read_again_is_not(tmp_path):
    path = tmp_path / "search.json"
    Modeler(RELEASE).save(path)
    other = release_of(ROWS + 1e-9)
    with pytest.raises(
        ValueError, match=rf"^path must be a search of the release {other.identity[:12]}"
    ):
        Modeler.load(path, other)
    with pytest.raises(TypeError, match=r"^release must be a Release, got str"):
        Modeler.load(path, "release.safetensors")
    assert Modeler.load(path, release_of(ROWS.clone())).history.indices == []


def damaged(values, **changes):
    return FORMAT.dumps({**values, **changes})


def test_a_file_that_is_damaged_newer_or_something_else_is_refused(tmp_path):
    path = tmp_path / "search.json"
    Modeler(RELEASE, history=[(3, 1.5)]).save(path)
    whole = path.read_bytes()
    values = FORMAT.loads(whole, path)
    cases = [
        (whole[:-20], "is truncated or damaged"),
        (b"", "is empty"),
        (whole.replace(b"1.5", b"NaN"), "was changed after saving"),
        (whole.replace(b"1.5", b"2.5"), "was changed after saving"),
        (b"[]", "is not one"),
        (whole.replace(b'_version": 3', b'_version": 4'), "is of another version: upgrade"),
        (damaged(values, goal={"kind": "of another version"}), "has another goal: upgrade"),
        (damaged(values, history=[[3.5, 1.5]]), "is truncated or damaged"),
        (damaged(values, history=[[3]]), "is truncated or damaged"),
        (damaged(values, pending=[True]), "is truncated or damaged"),
        (damaged(values, settings={}), "is truncated or damaged"),
        (damaged(values, settings={**values["settings"], "generator": 3}), "is truncated or damaged"),
        (damaged(values, fitted={"observations": 1}), "is truncated or damaged"),
        (damaged(values, fitted={"observations": 1, "values": {"a": ["b"]}}), "is truncated or damaged"),
        (damaged(values, history=[[99, 1.5]]), "index must be a row index in 0..29, got 99"),
    ]
    for content, message in cases:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Modeler.load(path, RELEASE)
        assert path.read_bytes() == content
    with pytest.raises(FileNotFoundError):
        Modeler.load(tmp_path / "none.json", RELEASE)
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        Modeler(RELEASE).save(tmp_path / "none" / "search.json")


@needs_fork
def test_a_program_that_is_killed_while_it_saves_leaves_a_whole_file(tmp_path):
    path, drawn, kills = tmp_path / "search.json", random.Random(0), 0
    modeler = Modeler(RELEASE, generator=seeded(3))
    whole = Modeler(RELEASE, generator=seeded(3))
    picks = go_on(whole, OUTCOMES, 20)
    modeler.save(path)
    for _ in range(25):
        child = os.fork()
        if child == 0:
            while True:  # values are told and saved as fast as it goes
                known = len(modeler.history) % 20
                modeler.tell(picks[known], float(OUTCOMES[picks[known]]))
                modeler.save(path)
        time.sleep(drawn.uniform(0.001, 0.02))
        os.kill(child, signal.SIGKILL)
        kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        loaded = Modeler.load(path, RELEASE)
        found = loaded.history.indices
        assert found == picks[: len(found)]
    assert kills == 25
    assert len(found) > 0
    assert go_on(loaded, OUTCOMES, min(3, 20 - len(found))) == picks[len(found) : len(found) + 3]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_is_killed_in_the_middle_leaves_the_earlier_file(step, tmp_path, monkeypatch):
    path = tmp_path / "search.json"
    modeler = Modeler(RELEASE, generator=seeded(3))
    go_on(modeler, OUTCOMES, 2)
    modeler.save(path)
    before = path.read_bytes()
    go_on(modeler, OUTCOMES, 1)

    class Killed(BaseException):
        pass

    def kill(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(whole_file.os, step, kill)
        with pytest.raises(Killed):
            modeler.save(path)
    assert path.read_bytes() == before
    loaded = Modeler.load(path, RELEASE)
    assert go_on(loaded, OUTCOMES, 1) == modeler.history.indices[2:]
    loaded.save(path)
    assert list(Modeler.load(path, RELEASE).history) == list(modeler.history)
