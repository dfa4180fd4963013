"""A release in parts is read as its files say, and known by the digest of the release in one piece."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from botorch_private import CellResponse, Cells, NoisyProjection, PublicScaling, release_parquet
from botorch_private.exchange import released_parts

N = 600
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["a", "b"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    table = np.random.default_rng(0).random((N, 2))
    pd.DataFrame(table, columns=["a", "b"]).to_parquet(folder / "t.parquet")
    cells = CellResponse(3.0, Cells({"a": [0.0, 0.5, 1.0], "b": [0.0, 1.0]}))
    options = {"bucket_bytes": 2**12, "progress": False}

    def release(name, mechanism, scaling=SCALING, **more):
        return release_parquet(
            folder / "t.parquet", folder / name, scaling, mechanism, **options, **more
        )

    return {
        "float64": release("f64", NoisyProjection(3.0)),
        "float32": release("f32", NoisyProjection(3.0), dtype="float32"),
        "labels": release("labels", cells, None),
    }


@pytest.mark.parametrize("kind", ["float64", "float32", "labels"])
@pytest.mark.parametrize("at_a_time", [7, 2**13])
def test_rows_and_identity_do_not_depend_on_how_many_are_read_at_a_time(
    made, monkeypatch, kind, at_a_time
):
    monkeypatch.setattr(released_parts, "_AT_A_TIME", at_a_time)
    parts = made[kind]
    for number, part in enumerate(parts.parts):
        slow = pd.read_parquet(parts.folder / part.name).to_numpy()
        assert torch.equal(parts.read(number), torch.tensor(slow))
    assert len(parts.parts) > 1
    assert parts.with_identity().identity == parts.whole().identity == parts.identity


@pytest.mark.parametrize("at_a_time", [7, 2**13])
def test_a_row_that_is_not_finite_is_refused_wherever_it_stands(made, monkeypatch, at_a_time, tmp_path):
    monkeypatch.setattr(released_parts, "_AT_A_TIME", at_a_time)
    parts = made["float64"]
    frame = pd.read_parquet(parts.folder / parts.parts[1].name)
    for row in (0, len(frame) // 2, len(frame) - 1):
        bad = frame.copy()
        bad.iloc[row, 1] = np.inf
        bad.to_parquet(tmp_path / "bad.parquet")
        digest = released_parts.hashlib.sha256((tmp_path / "bad.parquet").read_bytes()).hexdigest()
        wrong = dataclasses.replace(
            parts, folder=tmp_path, parts=(released_parts.Part("bad.parquet", len(frame), digest),)
        )
        with pytest.raises(ValueError, match="must hold finite rows"):
            wrong.read(0)
