"""A file that is given in place of another one is called by its name, and nothing of it is repeated."""

import ast
import json
import sqlite3
import tarfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

import botorch_private
from botorch_private import Ledger, Modeler, Release
from botorch_private._base.file_kind import FORMATS, other_kind
from botorch_private._base.versioned import FileFormat
from botorch_private.curator.service.backup import restore
from botorch_private.curator.service.trail_file import check_file

MARKER = "41.7319"
SEARCH = FileFormat("botorch-private run", 3, "a search")
MADE = Path(__file__).parents[1] / "whole" / "made_before"


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE '{MARKER}' (x)")
    connection.close()


def archive(path):
    (path.parent / MARKER).write_text(MARKER)
    with tarfile.open(path, "w") as tar:
        tar.add(path.parent / MARKER, MARKER)


FILES = {
    "is empty": lambda path: path.write_bytes(b" \n"),
    "is an SQLite database": database,
    "looks like a tar archive": archive,
    "looks like a zip archive": lambda path: path.write_bytes(b"PK\x03\x04" + MARKER.encode()),
    "looks like a .parquet file": lambda path: path.write_bytes(b"PAR1" + MARKER.encode()),
    "looks like an array of NumPy": lambda path: path.write_bytes(b"\x93NUMPY" + MARKER.encode()),
    "looks like a picture": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + MARKER.encode()),
    "looks like a certificate or a key": lambda path: path.write_text(f"-----BEGIN {MARKER}-----"),
    "looks like a token": lambda path: path.write_text(f"bop_{MARKER}\n"),
    "looks like a table": lambda path: path.write_text(f"row,value\n3,{MARKER}\n"),
    "is a text": lambda path: path.write_text(f"[features]\nage = {MARKER}\n".removeprefix("[")),
    "is a ledger": lambda path: path.write_bytes((MADE / "ledger.json").read_bytes()),
    "is a search": lambda path: path.write_bytes((MADE / "run.json").read_bytes()),
    "is a release": lambda path: path.write_bytes((MADE / "laplace.safetensors").read_bytes()),
}
READERS = {
    "is a search": lambda path: Modeler.load(path, Release.load(MADE / "laplace.safetensors")),
    "is a ledger": lambda path: Ledger(path=path),
    "is a release": Release.load,
    "looks like a tar archive": lambda path: restore(path, path.with_name("again")),
    "is a file of events": check_file,
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("wanted", READERS)
def test_each_reader_says_what_another_kind_of_file_is(tmp_path, kind, wanted):
    if kind == wanted:
        pytest.skip("that is what is wanted")
    path = tmp_path / "found"
    FILES[kind](path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"^path must be ") as refused:
        READERS[wanted](path)
    assert f"{path} {kind}" in str(refused.value)
    assert MARKER not in str(refused.value)
    assert "damaged" not in str(refused.value)
    assert path.read_bytes() == before


def test_what_is_of_the_wanted_kind_and_cut_is_damaged():
    whole = (MADE / "run.json").read_bytes()
    for content in (whole[:-20], whole[:30], b"{", b'{"'):
        with pytest.raises(ValueError, match="is truncated or damaged"):
            SEARCH.loads(content, Path("run.json"))


def test_a_cut_release_and_one_of_another_library_are_told_apart(tmp_path):
    path = tmp_path / "release.safetensors"
    path.write_bytes((MADE / "laplace.safetensors").read_bytes()[:-8])
    with pytest.raises(ValueError, match="is truncated or damaged"):
        Release.load(path)
    path.write_bytes(save({"weights": torch.ones(2)}))
    with pytest.raises(ValueError, match="is not one"):
        Release.load(path)


def test_a_name_that_is_none_of_ours_is_not_repeated():
    for name in (MARKER, "botorch-private anna muster", ["x"], 3):
        content = json.dumps({"format": name}).encode()
        assert other_kind(content, "botorch-private run") == ""
        with pytest.raises(ValueError, match="is not one"):
            SEARCH.loads(content, Path("run.json"))


def test_every_format_of_the_package_has_words():
    """By the sources, since a modeler's side imports none of the curator's."""
    declared = set()
    for path in Path(botorch_private.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "FileFormat":
                declared.add(getattr(node.args[0], "value", "botorch-private release"))
    assert declared == set(FORMATS)
