"""Rows in several shards are searched as rows in one process are: the same picks."""

from functools import partial

import pytest
import torch

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    NoisyProjection,
    PublicScaling,
    ReleasedParts,
    fit_model,
    make_model,
    release_parquet,
)
from botorch_private.modeler.sharded.sharded_rows import ShardedRows

N, MEMORY = 700, 2**30
SCALING = PublicScaling([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], names=["a", "b", "c"])


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    import pandas as pd

    folder = tmp_path_factory.mktemp("sharded")
    (folder / "t").mkdir()
    records = torch.rand(N, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    records[::7] = records[0]  # records that are equal
    for i, some in enumerate(records.split(100)):
        pd.DataFrame(some.numpy(), columns=["a", "b", "c"]).to_parquet(folder / "t" / f"{i}.parquet")
    return release_parquet(
        folder / "t",
        folder / "out",
        SCALING,
        NoisyProjection(5.0),
        bucket_bytes=2**12,
        progress=False,
        generator=torch.Generator().manual_seed(1),
    )


def ucb(beta):
    """What workers can import: nothing of the tests is there."""
    return partial(DiscreteUCB, candidates=None, t=1, beta=beta)


def outcome(row):
    return float(torch.sin(3 * row[0]) - row[1].square() / 10 + torch.cos(row[2]))


def searched(parts, rounds, sharded, max_memory=MEMORY):
    """Ask and answer, with a fit each round; pending rows and batches on the way."""
    release = parts.whole()
    generator = torch.Generator().manual_seed(3)
    told = [5, 99, 300]
    for t in range(rounds):
        values = [outcome(release.candidates[row]) for row in told]
        model = make_model(release, told, values)
        fit_model(model)
        model.eval()
        q, pending = (3, [20, 21]) if t == rounds - 1 else (1, [])
        acquisition = ucb(4.0)
        exclude = [*told, *pending]
        if sharded is not None:
            told += sharded.select(
                model,
                acquisition,
                q,
                pending=pending,
                exclude=exclude,
                generator=generator,
                max_memory=max_memory,
            )
        else:
            posterior = DiscretePosterior(model, release.candidates)
            posterior = posterior.hallucinate(pending) if pending else posterior
            told += acquisition(posterior).select(q, exclude, generator=generator).tolist()
    return told


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_picks_are_those_of_one_process(parts, shards):
    sharded = ShardedRows(parts, engine="process", shards=shards)
    assert searched(parts, 6, sharded) == searched(parts, 6, None)


@pytest.mark.parametrize("max_memory", [1, MEMORY])
def test_memory_changes_no_pick(parts, max_memory):
    sharded = ShardedRows(parts, engine="process", shards=2)
    assert searched(parts, 3, sharded, max_memory) == searched(parts, 3, None)


def test_rows_and_spread_are_those_of_the_release(parts):
    sharded = ShardedRows(parts, engine="process", shards=3)
    release = parts.whole()
    assert sharded.shape == tuple(release.candidates.shape)
    wanted = [0, N - 1, 17, 17, 350]
    assert torch.equal(sharded[wanted], release.candidates[wanted])
    assert sharded[[]].shape == (0, 3)
    assert sharded.spread == pytest.approx(release.spread, rel=1e-12)


def test_moments_are_those_of_one_process(parts):
    release = parts.whole()
    model = make_model(release, [1, 2, 3], [0.0, 1.0, 3.0]).eval()
    sharded = ShardedRows(parts, engine="process", shards=3)
    found = sharded.ranking(model, (), MEMORY)
    ranking = DiscretePosterior(model, release.candidates).ranking()
    assert torch.allclose(found.mean, ranking.mean, atol=1e-12)
    assert torch.allclose(found.variance, ranking.variance, atol=1e-12)
    assert found[2:] == pytest.approx(ranking[2:], rel=1e-12)


def test_ties_over_several_shards_are_broken_as_in_one(parts):
    """A constant score: every open row ties, and the draw is one of all."""
    release = parts.whole()
    model = make_model(release, [1], [0.0]).eval()
    sharded = ShardedRows(parts, engine="process", shards=4)

    class Constant(DiscreteUCB):
        def _bound(self, ranking):
            return torch.zeros_like(ranking.mean)

    def constant(posterior):
        return Constant(posterior, None, t=1, beta=1.0)

    closed = set(range(0, N, 3))
    seen = set()
    for seed in range(30):
        one = constant(DiscretePosterior(model, release.candidates)).select(
            1, closed, generator=torch.Generator().manual_seed(seed)
        )
        many = sharded.select(
            model, constant, exclude=closed, generator=torch.Generator().manual_seed(seed)
        )
        assert one.tolist() == many
        seen.add(many[0])
    assert not seen & closed
    assert len(seen) > 20


def test_shards_whose_rows_are_all_closed_are_left_out(parts):
    model = make_model(parts.whole(), [0], [0.0]).eval()
    sharded = ShardedRows(parts, engine="process", shards=4)
    closed = set(range(sharded._starts[1], N))
    assert sharded.select(model, ucb(1.0), exclude=closed)[0] < sharded._starts[1]


def test_labels_are_refused(parts):
    labels = ReleasedParts(parts.folder, parts.parts, 1, "int16", parts.settings)
    object.__setattr__(labels, "public", {**parts.public, "cells": object()})
    with pytest.raises(ValueError, match="noisy rows, got labels"):
        ShardedRows(labels, engine="process")
