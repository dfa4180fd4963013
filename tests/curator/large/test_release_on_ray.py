"""On Ray the release is that of one process, and a worker that dies leaves no trace in it."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from helpers.ray_cluster import ray_cluster

from botorch_private import Ledger, NoisyProjection, PublicScaling, RowMap, release_parquet
from botorch_private.curator.large import steps

SCALING = PublicScaling([0.0, 0.0], [10.0, 1.0], names=["age", "dose"])
N, FILES = 1600, 16
pytestmark = pytest.mark.slow


@pytest.fixture
def source(tmp_path):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": np.sort(generator.uniform(0, 10, N)), "dose": generator.uniform(0, 1, N)}
    )
    (tmp_path / "stays").mkdir()
    for i in range(FILES):
        frame[i * N // FILES : (i + 1) * N // FILES].to_parquet(tmp_path / "stays" / f"{i:02d}.parquet")
    return tmp_path / "stays"


def released(source, name, **options):
    return release_parquet(
        source,
        source.parent / name,
        SCALING,
        NoisyProjection(3.0, projection_dim=2),
        bucket_bytes=2**13,
        progress=False,
        **options,
    )


def test_with_a_seed_it_is_bit_for_bit_that_of_one_process(source):
    ray_cluster()
    one = released(source, "one", generator=torch.Generator().manual_seed(0))
    many = released(source, "many", generator=torch.Generator().manual_seed(0), engine="ray")
    assert many.identity == one.identity


def test_a_worker_that_dies_in_the_middle_leaves_one_noise_for_each_row(source, monkeypatch):
    ray_cluster()
    original = steps.scatter

    def dying(number, file, work):
        """Dies once with a piece half written, once with it written and not reported."""
        first = Path(work.folder) / f"tried-{number}"
        if number == 3 and not first.exists():
            first.touch()
            half = Path(work.folder) / f".piece-{number:06d}.half"
            half.mkdir()
            (half / "rows.npy").write_bytes(b"half")
            os._exit(9)
        done = original(number, file, work)
        if number == 5 and not first.exists():
            first.touch()
            os._exit(9)
        return done

    monkeypatch.setattr(steps, "scatter", dying)
    ledger = Ledger()
    parts = released(source, "out", engine="ray", ledger=ledger)
    order = RowMap.load(source.parent / "out.map").permutation
    assert torch.equal(order.sort().values, torch.arange(N))
    assert parts.n == N
    assert len(ledger.entries) == 1


def test_workers_share_no_noise(source):
    """Two files with the same records: forked or retried workers must not repeat themselves."""
    ray_cluster()
    for i in range(1, FILES):
        (source / f"{i:02d}.parquet").write_bytes((source / "00.parquet").read_bytes())
    parts = released(source, "out", engine="ray")
    rows = parts.whole().candidates
    assert len(torch.unique(rows, dim=0)) == N


def test_no_record_comes_into_logs_and_no_noised_row_either(source):
    """Ray carries names of files, counts and digests: its folder holds no number of the table."""
    ray = ray_cluster()
    parts = released(source, "out", engine="ray")
    secret = [pd.read_parquet(file).to_numpy() for file in source.iterdir()]
    secret.append(parts.whole().candidates.numpy())
    wanted = {number.tobytes() for some in secret for number in some[1:-1].ravel()}
    wanted |= {repr(float(number)).encode() for some in secret for number in some[1:-1].ravel()}
    session = Path(ray._private.worker._global_node.get_session_dir_path())
    looked_at = 0
    for file in filter(Path.is_file, session.rglob("*")):
        content = file.read_bytes()
        looked_at += len(content)
        found = {content[i : i + 8] for i in range(len(content) - 7)} & wanted
        assert not found, file
        assert not {word for word in content.split() if word in wanted}, file
    assert looked_at > 1000
