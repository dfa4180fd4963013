"""Nothing is spent for a call that could have been refused before: every refusal, with a ledger.

Whoever adds a refusal to a door that releases adds a line here. The rule is stated in `publish`.
"""

import os
import warnings
from dataclasses import dataclass, replace

import pandas as pd
import pytest
import torch
from helpers.draws import seeded, uniform

from botorch_private import (
    BudgetError,
    Curator,
    Ledger,
    NoisyProjection,
    NoPrivacy,
    NotDifferentiallyPrivate,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    SpectralProjection,
)
from botorch_private._base import memory
from botorch_private.curator.mechanisms import Drawn
from botorch_private.curator.publish import publish
from botorch_private.curator.service.initialize import initialize
from botorch_private.curator.service.make_folder import make_folder

N, D = 30, 3
RECORDS = uniform(N, D)
OUTCOMES = RECORDS.sum(dim=1)
SCALING = PublicScaling([0.0] * D, [1.0] * D, names=["age", "weight", "pulse"])
MECHANISM = NoisyProjection(1.0)
ANSWERS = OutcomeMechanism(1.0, 0.0, (0.0, 3.0))
TOO_WIDE = NoisyProjection(1.0, projection_dim=10**9)
GAUSSIAN = NoisyProjection(1.0, 1e-5, noise="gaussian")


@dataclass(frozen=True)
class Own:
    """A mechanism of somebody's own, with one thing wrong."""

    isotropic = False
    variance: object = 0.5
    dim: object = D
    epsilon: object = 1.0
    of_any: object = None

    def guarantee(self, n, d):
        return PrivacyGuarantee("own", self.epsilon, 0.0, True, records=n, features=d, projection_dim=d)

    def noise_variance(self, d):
        return self.variance

    def noise_dim(self, d):
        return self.dim

    def draw(self, scaled, *, generator=None):
        return Drawn(scaled.clone())

    def apply(self, scaled, *, generator=None):
        return self.draw(scaled).rows


class Wide(Own):
    """One that says how much memory it takes."""

    def draw_memory(self, n, d):
        return 10**18


def with_hole(table):
    holed = table.clone()
    holed[4, 1] = float("nan")
    return holed


def never(*_):
    raise AssertionError("an objective is not called before it is asked")


async def later(record):
    return 1.0


FRAME = pd.DataFrame(RECORDS.numpy(), columns=["age", "weight", "pulse"])
CALLS = {
    "swapped arguments": lambda c: c(scaling=MECHANISM, mechanism=SCALING),
    "a class for a mechanism": lambda c: c(mechanism=NoisyProjection),
    "a hole": lambda c: c(records=with_hole(RECORDS)),
    "a column too few": lambda c: c(records=RECORDS[:, :2]),
    "other names": lambda c: c(records=FRAME.rename(columns={"age": "Age"})),
    "another order": lambda c: c(records=FRAME[["weight", "age", "pulse"]]),
    "one record": lambda c: c(records=RECORDS[:1], objective=OUTCOMES[:1]),
    "no record": lambda c: c(records=RECORDS[:0], objective=OUTCOMES[:0]),
    "texts": lambda c: c(records=[["a"] * D] * N),
    "a generator that is none": lambda c: c(generator=3),
    "more memory than there is": lambda c: c(mechanism=TOO_WIDE),
    "more memory than numbers can say": lambda c: c(
        mechanism=NoisyProjection(1.0, projection_dim=10**400)
    ),
    "more memory, as a subspace": lambda c: c(mechanism=replace(TOO_WIDE, noise="laplace")),
    "a paper's projection that wide": lambda c: c(mechanism=SpectralProjection(1.0, 1e-5, 10**9)),
    "an own mechanism that wide": lambda c: c(mechanism=Wide()),
    "no noise that narrow": lambda c: c(mechanism=NoisyProjection(1e-9)),
    "a subspace without delta": lambda c: c(mechanism=NoisyProjection(1.0, projection_dim=2)),
    "an own guarantee that is none": lambda c: c(mechanism=Own(epsilon=-1.0)),
    "an own guarantee that no file holds": lambda c: c(mechanism=Own(epsilon=torch.tensor(1.0))),
    "an own variance that is none": lambda c: c(mechanism=Own(variance=float("nan"))),
    "an own dimension that is none": lambda c: c(mechanism=Own(dim=0)),
    "no guarantee under a budget": lambda c: c(mechanism=NoPrivacy()),
    "too much epsilon": lambda c: c(mechanism=NoisyProjection(9.0)),
}
CURATOR_CALLS = {
    "an outcome too few": lambda c: c(objective=OUTCOMES[1:]),
    "a missing outcome": lambda c: c(objective=with_hole(RECORDS)[:, 1]),
    "outcomes with other labels": lambda c: c(
        records=FRAME, objective=pd.Series(OUTCOMES.numpy(), index=range(1, N + 1))
    ),
    "no objective": lambda c: c(objective=None),
    "an objective without argument": lambda c: c(objective=lambda: 1.0),
    "an objective of two arguments": lambda c: c(objective=lambda record, place: 1.0),
    "an objective of a named argument": lambda c: c(objective=lambda *, record: 1.0),
    "an objective that answers later": lambda c: c(objective=later),
    "no queries": lambda c: c(max_queries=0),
    "half a query": lambda c: c(max_queries=1.5),
    "shared outcomes without noise": lambda c: c(shared_outcomes=True, max_queries=3),
    "shared outcomes without limit": lambda c: c(shared_outcomes=True, outcome_mechanism=ANSWERS),
    "the wrong mechanism of outcomes": lambda c: c(outcome_mechanism=MECHANISM),
    "too much for release and answers": lambda c: c(
        mechanism=NoisyProjection(2.0), outcome_mechanism=ANSWERS, shared_outcomes=True, max_queries=4
    ),
    "two budgets": lambda c: c(privacy_budget=PrivacyGuarantee.budget(9.0)),
}
REFUSED = (ValueError, TypeError, MemoryError, BudgetError, AttributeError)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(PrivacyGuarantee.budget(3.0), tmp_path / "ledger.json")


@pytest.fixture
def drawn(monkeypatch):
    """Note how often anything is drawn."""
    calls = []
    for mechanism in (NoisyProjection, SpectralProjection, NoPrivacy, Own):
        real = mechanism.draw

        def draw(self, *args, _real=real, **kwargs):
            calls.append(type(self).__name__)
            return _real(self, *args, **kwargs)

        monkeypatch.setattr(mechanism, "draw", draw)
    return calls


def curator_of(ledger):
    def call(**changed):
        settings = {
            "records": RECORDS,
            "scaling": SCALING,
            "mechanism": MECHANISM,
            "objective": OUTCOMES,
        }
        return Curator(**{**settings, "ledger": ledger, **changed})

    return call


def without_objective(make):
    def of(ledger):
        def call(**changed):
            changed.pop("objective", None)
            settings = {"records": RECORDS, "scaling": SCALING, "mechanism": MECHANISM}
            return make(**{**settings, "ledger": ledger, **changed})

        return call

    return of


DOORS = {
    "Curator": curator_of,
    "PrivateProjectionTransform": without_objective(PrivateProjectionTransform),
    "publish": without_objective(publish),
}


def assert_refused_for_nothing(call, ledger, drawn):
    content = ledger.path.read_bytes()
    with pytest.raises(REFUSED) as refusal:
        call()
    assert str(refusal.value)  # an error without a word helps nobody
    assert not getattr(refusal.value, "__notes__", [])
    assert drawn == []
    assert ledger.entries == ()
    assert ledger.path.read_bytes() == content


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("wrong", CALLS.values(), ids=CALLS)
def test_what_is_refused_at_a_door_that_releases_costs_nothing(door, wrong, ledger, drawn):
    assert_refused_for_nothing(lambda: wrong(door(ledger)), ledger, drawn)
    door(ledger)()  # and the right one is accepted then
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("wrong", CURATOR_CALLS.values(), ids=CURATOR_CALLS)
def test_what_a_curator_refuses_costs_nothing(wrong, ledger, drawn):
    assert_refused_for_nothing(lambda: wrong(curator_of(ledger)), ledger, drawn)
    curator_of(ledger)(objective=never)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_path_for_a_ledger_is_refused_before_anything_is_drawn(door, ledger, drawn):
    with pytest.raises(TypeError, match="ledger must be a Ledger, got str"):
        door("ledger.json")()
    assert drawn == []


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_gaussian_release_under_a_pure_budget_says_what_budget_it_needs(door, ledger, drawn):
    message = r"no delta, and Gaussian noise needs 1e-05: .*PrivacyGuarantee.budget\(3, delta=1e-05\)"
    with pytest.raises(BudgetError, match=message):
        door(ledger)(mechanism=GAUSSIAN)
    assert drawn == []
    assert ledger.entries == ()
    agreed = Ledger(PrivacyGuarantee.budget(3.0, delta=1e-5))
    door(agreed)(mechanism=GAUSSIAN)
    assert len(agreed.entries) == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_ledger_that_cannot_be_written_lets_nothing_out(ledger, drawn):
    ledger.path.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            curator_of(ledger)()
    finally:
        ledger.path.parent.chmod(0o700)
    assert drawn == []
    assert ledger.entries == ()


def test_a_ledger_on_a_full_disk_lets_nothing_out(ledger, drawn, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("botorch_private.curator.ledger.write_whole", full)
        with pytest.raises(OSError, match="No space"):
            curator_of(ledger)()
    assert drawn == []
    assert ledger.entries == ()


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_memory_is_asked_for_all_that_a_release_takes(door, ledger, drawn, monkeypatch):
    """Rows of 30 x 3 numbers would fit; with what their noise takes while it is drawn they do not."""
    monkeypatch.setattr(memory, "free_memory", lambda device: 2**20)
    wide = NoisyProjection(1.0, projection_dim=2**16)
    with pytest.raises(
        MemoryError, match=r"releasing 30 records of 3 features .* needs .* 1 MiB are free"
    ):
        door(ledger)(mechanism=wide)
    assert drawn == []
    assert ledger.entries == ()


# --- records that join ---

ADDED = {
    "a hole": lambda c: c.add(with_hole(uniform(8, D, seed=1)), OUTCOMES[:8]),
    "a column too few": lambda c: c.add(RECORDS[:4, :2] + 1e-3, OUTCOMES[:4]),
    "no record": lambda c: c.add(RECORDS[:0], OUTCOMES[:0]),
    "no outcomes": lambda c: c.add(uniform(4, D, seed=1)),
    "an outcome too few": lambda c: c.add(uniform(4, D, seed=1), OUTCOMES[:3]),
    "outcomes with other labels": lambda c: c.add(
        pd.DataFrame(uniform(4, D, seed=1).numpy(), columns=list(SCALING.names)),
        pd.Series([1.0] * 4, index=[3, 2, 1, 0]),
    ),
}


@pytest.mark.parametrize("wrong", ADDED.values(), ids=ADDED)
def test_records_that_are_refused_when_they_join_cost_nothing(wrong, ledger, drawn):
    curator = curator_of(ledger)()
    before, content = curator.release, ledger.path.read_bytes()
    with pytest.raises(REFUSED):
        wrong(curator)
    assert curator.release is before
    assert ledger.path.read_bytes() == content


def test_records_for_which_memory_is_short_cost_nothing(ledger, monkeypatch):
    curator = curator_of(ledger)(outcome_mechanism=ANSWERS)
    before, content = curator.release, ledger.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(memory, "free_memory", lambda device: 100)
        with pytest.raises(MemoryError, match="releasing 4 records of 3 features"):
            curator.add(uniform(4, D, seed=1), OUTCOMES[:4])
    assert curator.release is before
    assert ledger.path.read_bytes() == content
    curator.add(uniform(4, D, seed=1), OUTCOMES[:4])


def test_a_projection_to_which_nothing_can_be_added_costs_nothing():
    ledger = Ledger(PrivacyGuarantee.budget(9.0, 1e-5))
    curator = curator_of(ledger)(mechanism=NoisyProjection(1.0, 1e-5, 2, "gaussian"))
    with pytest.raises(ValueError, match="rows cannot be added"):
        curator.add(uniform(4, D, seed=1), OUTCOMES[:4])
    assert len(ledger.entries) == 1


# --- once more ---


def test_a_second_release_that_is_refused_costs_nothing(ledger, monkeypatch):
    curator = curator_of(ledger)(mechanism=NoisyProjection(2.0))
    before = curator.release
    with pytest.raises(BudgetError):
        curator.rerelease()
    monkeypatch.setattr(memory, "free_memory", lambda device: 0)
    monkeypatch.setattr("botorch_private.curator.mechanisms.base._LITTLE", 0)
    with pytest.raises(MemoryError):
        curator.rerelease()
    assert curator.release is before
    assert len(ledger.entries) == 1


def test_a_curator_that_was_handed_over_releases_nothing_more(ledger):
    curator = curator_of(ledger)()
    curator.hand_over()
    for call in (curator.rerelease, lambda: curator.add(uniform(4, D, seed=1), OUTCOMES[:4])):
        with pytest.raises(RuntimeError, match="handed over"):
            call()
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("index", [-1, N, 1.0, True, "0", None])
def test_a_question_that_is_refused_is_not_counted(index, ledger):
    curator = curator_of(ledger)(outcome_mechanism=ANSWERS, max_queries=2)
    with pytest.raises(ValueError, match="index must be"):
        curator.query(index)
    assert curator.answered == 0
    assert len(ledger.entries) == 2


# --- what fails all the same, in the middle ---


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_what_fails_after_it_was_entered_says_that_it_is_charged(door, ledger, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(NoisyProjection, "draw_rows", full)
    with pytest.raises(MemoryError, match="memory ran out while rows were drawn; .* stays charged"):
        door(ledger)()
    assert len(ledger.entries) == 1


def test_an_interrupted_draw_says_so_in_a_note(ledger, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(NoisyProjection, "draw_rows", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        curator_of(ledger)()
    assert "stays charged" in stopped.value.__notes__[0]
    assert len(ledger.entries) == 1


def test_a_mechanism_that_gives_other_rows_than_it_was_given_is_refused(ledger):
    class Short(Own):
        def draw(self, scaled, *, generator=None):
            return Drawn(scaled[1:])

    with pytest.raises(ValueError, match="must return 30 rows, one for each record, got 29") as refusal:
        curator_of(ledger)(mechanism=Short())
    assert "stays charged" in refusal.value.__notes__[0]


# --- a folder for a server ---


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranges.toml").write_text(
        "[features.age]\nlower = 0\nupper = 1\n[features.weight]\nlower = 0\nupper = 1\n"
    )
    FRAME.assign(cost=OUTCOMES.numpy(), mrn=[f"p{i}" for i in range(N)]).to_csv(
        tmp_path / "table.csv", index=False
    )
    (tmp_path / "lab.py").write_text("def none():\n    return 1.0\n\ndef one(x):\n    return 1.0\n")
    return tmp_path


def init(place, ledger, **changed):
    settings = {"ranges": place / "ranges.toml", "mechanism": MECHANISM, "agree": lambda *_: True}
    table, folder = changed.pop("table", place / "table.csv"), changed.pop("folder", place / "folder")
    return initialize(table, folder, **{**settings, "ledger": ledger.path, **changed})


def one_record(place):
    FRAME[:1].to_csv(place / "one.csv", index=False)
    return place / "one.csv"


INITS = {
    "no table": lambda p: {"table": p / "none.csv"},
    "one record": lambda p: {"table": one_record(p)},
    "something at its place": lambda p: {"folder": p / "table.csv"},
    "no folder around it": lambda p: {"folder": p / "none" / "folder"},
    "a name that is too long": lambda p: {"folder": p / ("x" * 250)},
    "an objective that is none": lambda p: {"objective": "lab:nothing"},
    "an objective without argument": lambda p: {"objective": "lab:none"},
    "a column that is none": lambda p: {"objective": "column:nothing"},
    "identifiers that are none": lambda p: {"identifiers": "nothing"},
    "a released column of outcomes": lambda p: {"objective": "column:age"},
    "no measurements": lambda p: {"budget": 0},
    "more measurements than records": lambda p: {"budget": N + 1},
    "shared outcomes without noise": lambda p: {"shared_outcomes": True, "budget": 3},
    "a time limit that is none": lambda p: {"time_limit": 0.0},
    "a plausible range that falls": lambda p: {"plausible": (2.0, 1.0)},
    "a name of the outcome that is no text": lambda p: {"outcome_name": "cost \udce9"},
    "a unit that is no text": lambda p: {"outcome_unit": "\udce9"},
    "too much epsilon": lambda p: {"mechanism": NoisyProjection(9.0)},
    "a Gaussian under a pure budget": lambda p: {"mechanism": GAUSSIAN},
    "more memory than there is": lambda p: {"mechanism": TOO_WIDE},
}


@pytest.mark.parametrize("wrong", INITS.values(), ids=INITS)
def test_what_init_refuses_costs_nothing_and_leaves_nothing(wrong, place, ledger, drawn):
    with pytest.raises((OSError, *REFUSED)):
        init(place, ledger, **wrong(place))
    assert drawn == []
    assert ledger.entries == ()
    left = {path.name for path in place.iterdir() if path.is_dir()} - {"__pycache__"}
    assert left == set()
    assert init(place, ledger, objective="lab:one") is not None
    assert len(ledger.entries) == 1


def test_init_asks_nobody_to_spend_what_it_cannot_make(place, ledger):
    def asked(*_):
        raise AssertionError("nobody is asked for what cannot be made")

    with pytest.raises(MemoryError):
        init(place, ledger, mechanism=TOO_WIDE, agree=asked)


def test_a_disk_that_is_full_is_seen_before(place, ledger, drawn, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="on a disk with room for .*, but 1000 bytes are free there"):
        init(place, ledger)
    assert drawn == []
    assert ledger.entries == ()


def test_a_folder_that_cannot_be_made_leaves_the_curator_as_it_was(place, ledger):
    curator = curator_of(ledger)(objective=never)
    for path in (place / "table.csv", place / "none" / "folder", place / ("x" * 250)):
        with pytest.raises(OSError, match="path must be"):
            make_folder(path, curator)
    assert make_folder(place / "folder", curator).path.is_dir()
    assert len(ledger.entries) == 1


# --- whatever the host told NumPy, or warnings ---


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_release_does_not_fail_in_the_middle_because_warnings_are_errors(door):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger = Ledger(PrivacyGuarantee.budget(9.0, 1e-5))
        door(ledger)(mechanism=NoisyProjection(1.0, 1e-5, 2), generator=None)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_warning_that_is_made_an_error_comes_before_anything_is_spent(door, drawn):
    ledger = Ledger()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotDifferentiallyPrivate):
            door(ledger)(mechanism=SpectralProjection(1.0, 1e-5, 2))
    assert drawn == []
    assert ledger.entries == ()
    with pytest.warns(NotDifferentiallyPrivate) as told:
        door(ledger)(mechanism=SpectralProjection(1.0, 1e-5, 2))
    assert len(told) == 1
    assert len(ledger.entries) == 1


def test_a_seeded_release_under_a_budget_is_refused_before_it_is_drawn(ledger, drawn):
    assert_refused_for_nothing(lambda: curator_of(ledger)(generator=seeded(0)), ledger, drawn)
