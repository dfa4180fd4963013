"""A table in three files, and folders that are made of it in parts."""

import numpy as np
import pandas as pd
import pytest

from botorch_private.cli.main import main
from botorch_private.curator.service.parts import initialize_parts as making

N, FILES = 90, 3
RANGES = "[features.age]\nlower = 18\nupper = 100\n\n[features.dose]\nlower = 0\nupper = 1\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, the current one, with a table sorted by age and its ranges."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(making, "BUCKET", 2**10)
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.sort(generator.uniform(20, 90, N)),
            "dose": generator.uniform(0, 1, N),
            "patient": [f"P-{i:03d}" for i in range(N)],
            "who": [f"person {i % 40}" for i in range(N)],
            "cost": np.arange(N) * 10.0,
            "seen": [float(i) if i % 3 == 0 else None for i in range(N)],
        }
    )
    (tmp_path / "stays").mkdir()
    for i in range(FILES):
        some = frame[i * N // FILES : (i + 1) * N // FILES]
        some.to_parquet(tmp_path / "stays" / f"{i}.parquet", index=False)
    (tmp_path / "ranges.toml").write_text(RANGES)
    return tmp_path


@pytest.fixture
def table(place):
    """All records, in the order of the files."""
    return pd.concat([pd.read_parquet(each) for each in sorted((place / "stays").glob("*.parquet"))])


@pytest.fixture
def init(place):
    """Run ``curator init --output-parquet``; `more` are further options."""

    def run(folder="folder", *more, table="stays"):
        options = ["--ranges", "ranges.toml", "--epsilon", "3", "--yes", "--output-parquet"]
        return main(["curator", "init", str(table), str(folder), *options, *more])

    return run
