"""A table in three files, and folders that are made of it in parts."""

import shutil

import numpy as np
import pandas as pd
import pytest

from botorch_private.cli.main import main
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.parts.make import initialize_parts as making

N, FILES = 90, 3
RANGES = "[features.age]\nlower = 18\nupper = 100\n\n[features.dose]\nlower = 0\nupper = 1\n"


def write_table(folder):
    """A table sorted by age, and its ranges."""
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
    (folder / "stays").mkdir()
    for i in range(FILES):
        some = frame[i * N // FILES : (i + 1) * N // FILES]
        some.to_parquet(folder / "stays" / f"{i}.parquet", index=False)
    (folder / "ranges.toml").write_text(RANGES)


def command(folder, *more, table="stays"):
    options = ["--ranges", "ranges.toml", "--epsilon", "3", "--yes", "--output-parquet"]
    return ["curator", "init", str(table), str(folder), *options, *more]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, the current one, with a table and its ranges."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(making, "BUCKET", 2**10)
    write_table(tmp_path)
    return tmp_path


@pytest.fixture
def table(place):
    """All records, in the order of the files."""
    return pd.concat([pd.read_parquet(each) for each in sorted((place / "stays").glob("*.parquet"))])


@pytest.fixture
def init(place):
    """Run ``curator init --output-parquet``; `more` are further options."""
    return lambda folder="folder", *more, **options: main(command(folder, *more, **options))


@pytest.fixture(scope="module")
def made_folders(tmp_path_factory):
    """Folders that were made, by their options: each is made once, and copied."""
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "BUCKET", 2**10)

        def folder(*more):
            if more not in made:
                place = tmp_path_factory.mktemp("made")
                write_table(place)
                patch.chdir(place)
                assert main(command("folder", *more)) == 0
                made[more] = place
            return made[more]

        yield folder


@pytest.fixture
def in_parts(made_folders, tmp_path, monkeypatch, serve):
    """Copy a folder that was made with further options, and open a service on it."""

    def made(*more):
        for each in ("folder", "stays"):
            shutil.copytree(made_folders(*more) / each, tmp_path / each)
        monkeypatch.chdir(tmp_path)
        return serve(folder=Folder(tmp_path / "folder"))

    return made
