"""A modeler whose rows several processes hold asks for the rows that one in one process asks for."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
from helpers.ray_cluster import CPUS, ray_cluster

from botorch_private import (
    Above,
    CellResponse,
    Cells,
    Constrained,
    Maximize,
    Minimize,
    Modeler,
    NoisyProjection,
    PublicScaling,
    Scalarized,
    Target,
    TopK,
    release_parquet,
)
from botorch_private.exchange.release import settings_text
from botorch_private.modeler.sharded import opening
from botorch_private.modeler.sharded.sharded_rows import ShardedRows

N = 500
SCALING = PublicScaling([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], names=["a", "b", "c"])


def source(folder):
    (folder / "t").mkdir()
    records = torch.rand(N, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for i, some in enumerate(records.split(100)):
        pd.DataFrame(some.numpy(), columns=["a", "b", "c"]).to_parquet(folder / "t" / f"{i}.parquet")
    return folder / "t"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharded")
    mechanism = NoisyProjection(5.0)
    seeded = torch.Generator().manual_seed(1)
    return release_parquet(
        source(folder),
        folder / "out",
        SCALING,
        mechanism,
        bucket_bytes=2**12,
        progress=False,
        generator=seeded,
    )


@pytest.fixture
def here(monkeypatch):
    """Shards in this process: Ray is slow to start, and what it does is tested by itself."""

    def made(release, *, shards, address, dtype):
        return ShardedRows(release, engine="process", shards=3, dtype=dtype)

    monkeypatch.setattr(opening, "ShardedRows", made)


def outcome(row):
    return float(torch.sin(3 * row[0]) - row[1].square() / 10 + torch.cos(row[2]))


def searched(modeler, rows, rounds=9):
    """With pending rows, a batch, a row that is given up, and a correction on the way."""
    asked = []
    for t in range(rounds):
        for row in modeler.ask(3 if t in (4, 6) else 1):
            if t == 6 and row == modeler.pending[-1]:
                continue  # stays pending
            asked.append(row)
            if t == 5:
                modeler.skip(row)
            else:
                modeler.tell(row, outcome(rows[row]))
    modeler.tell(asked[1], 0.25, correct=True)
    return [*asked, modeler.ask()]


GOALS = [Maximize(), Minimize(), Above(0.5), Above(99.0), TopK(2), Target(0.0), Target(-50.0)]


@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"refit_every": 4, "exploration": "theory"}], ids=["default", "other"]
)
def test_picks_bounds_and_recommendations_are_those_of_one_process(parts, here, goal, options):
    whole = parts.whole()
    one = Modeler(whole, goal=goal, n_initial=3, generator=torch.Generator().manual_seed(2), **options)
    many = Modeler(
        parts,
        goal=goal,
        n_initial=3,
        generator=torch.Generator().manual_seed(2),
        engine="ray",
        **options,
    )
    assert searched(many, whole.candidates) == searched(one, whole.candidates)
    assert many.recommend() == one.recommend()
    assert many.regret_bound() == pytest.approx(one.regret_bound(), rel=1e-5)


SEVERAL = [
    Scalarized({"gain": 1.0, "cost": -0.5}),
    Constrained(maximize="gain", at_most={"cost": 0.5}),
    Constrained(minimize="cost", at_least={"gain": 0.9}),
    Constrained(minimize="cost", at_least={"gain": 99.0}),  # no row may keep it
]


@pytest.mark.parametrize("goal", SEVERAL, ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"refit_every": 4, "exploration": "theory"}], ids=["default", "other"]
)
def test_picks_for_several_outcomes_are_those_of_one_process(parts, here, goal, options):
    if options:  # a release that says so itself
        settings = settings_text({**parts.public, "outcome_names": ("gain", "cost", "time")})
        parts = replace(parts, settings=settings).with_identity()

    def both(row):
        length = float(row.square().sum().sqrt()) / 5
        return {"gain": outcome(row), "cost": length, "time": 1.0}

    whole = parts.whole()
    same = {"goal": goal, "n_initial": 3, **options}
    one = Modeler(whole, generator=torch.Generator().manual_seed(2), **same)
    many = Modeler(parts, generator=torch.Generator().manual_seed(2), engine="ray", **same)

    def searched(modeler):
        asked = []
        for t in range(8):
            for row in modeler.ask(3 if t in (4, 6) else 1):
                asked.append(row)
                if t == 6 and row == modeler.pending[-1]:
                    continue  # stays pending
                modeler.tell(row, both(whole.candidates[row]))
        return [*asked, modeler.ask()]

    assert searched(many) == searched(one)
    assert many.recommend() == one.recommend()
    assert many.release.identity == one.release.identity


def test_a_search_is_saved_and_goes_on_in_either_way(parts, here, tmp_path):
    whole = parts.whole()
    assert parts.identity == whole.identity
    modeler = Modeler(parts, n_initial=3, generator=torch.Generator().manual_seed(2), engine="ray")
    searched(modeler, whole.candidates)
    modeler.save(tmp_path / "search.json")
    one = Modeler.load(tmp_path / "search.json", whole)
    many = Modeler.load(tmp_path / "search.json", parts, engine="ray")
    assert one.ask(2) == many.ask(2) == modeler.ask(2)


def test_a_release_in_parts_is_searched_in_one_process_too(parts):
    modeler = Modeler(parts, generator=torch.Generator().manual_seed(0))
    one = Modeler(parts.whole(), generator=torch.Generator().manual_seed(0))
    assert modeler.ask(3) == one.ask(3)


def test_labels_are_searched_here_whatever_the_engine_is(tmp_path):
    cells = Cells({"a": [0.0, 0.5, 1.0], "b": [0.0, 0.5, 1.0], "c": [0.0, 1.0]})
    labels = release_parquet(
        source(tmp_path), tmp_path / "out", None, CellResponse(3.0, cells), progress=False
    )
    modeler = Modeler(labels, engine="ray")
    assert torch.equal(modeler.release.candidates, labels.whole().candidates)
    assert labels.identity == labels.whole().identity


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"denoise": True}, "denoise must be False"),
        ({"device": "cuda"}, "device must be None"),
        ({"engine": "dask"}, "engine must be"),
        ({"engine": "process", "workers": 2}, "address and workers must be None"),
    ],
)
def test_what_shards_cannot_do_is_refused_before_any_starts(parts, options, message):
    with pytest.raises(ValueError, match=message):
        Modeler(parts, **{"engine": "ray", **options})


def test_a_release_in_one_piece_is_refused_with_ray(parts):
    with pytest.raises(ValueError, match="release must be in parts"):
        Modeler(parts.whole(), engine="ray")


@pytest.mark.slow
def test_on_ray_an_actor_that_dies_is_made_again_and_picks_stay(parts):
    ray = ray_cluster()
    many_shards = CPUS + 1  # more than the cluster has CPUs for: they must not wait for one another
    whole = parts.whole()
    one = Modeler(whole, n_initial=3, generator=torch.Generator().manual_seed(2))
    many = Modeler(
        parts,
        n_initial=3,
        generator=torch.Generator().manual_seed(2),
        engine="ray",
        workers=many_shards,
    )
    for t in range(6):
        row = one.ask()
        assert many.ask() == row
        one.tell(row, outcome(whole.candidates[row]))
        many.tell(row, outcome(whole.candidates[row]))
        if t == 4:
            ray.kill(many.release.candidates._holders._actors[1])
    many.release.candidates.stop()
