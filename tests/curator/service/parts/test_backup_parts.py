"""A folder whose release is in parts is backed up and put back, whole or not at all."""

import io
import json
import tarfile
from contextlib import closing

import pytest

from botorch_private.curator.service.backup import back_up, restore
from botorch_private.curator.service.folder import Folder

OPTIONS = ("--id", "patient", "--known", "seen")


def entries(folder):
    with closing(folder.open()) as store:
        return [store.behind.entry(row) for row in range(store.facts.n)]


def test_a_folder_in_parts_comes_back_as_it_was(in_parts, tmp_path):
    service = in_parts(*OPTIONS)
    service.ask(4)
    back_up(service.folder, tmp_path / "backup")
    service.ask(5)
    _, folder = restore(tmp_path / "backup", tmp_path / "again")
    assert entries(folder) == entries(service.folder)
    with closing(folder.open_to_read()) as reading:
        assert [query.row for query in reading.queries()] == [4]
    inside = list(folder.path.rglob("*"))
    assert all(each.stat().st_mode & 0o077 == 0 for each in [folder.path, *inside])
    names = {each.relative_to(folder.path).as_posix() for each in inside if each.is_file()}
    assert names >= set(service.store.facts.parts.files)


@pytest.mark.parametrize("name", ["map/map-000000.npy", "release/part-000001.parquet"])
def test_a_spoiled_folder_is_not_backed_up(in_parts, tmp_path, name):
    service = in_parts(*OPTIONS)
    with (tmp_path / "folder" / name).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    with pytest.raises(ValueError, match="is not the file that this folder was made with"):
        back_up(service.folder, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def rewritten(source, target, change):
    """A backup with other entries, as its manifest has them."""
    with tarfile.open(source) as tar:
        found = {each.name: tar.extractfile(each).read() for each in tar.getmembers()}
    manifest = json.loads(found.pop("manifest.json"))
    change(manifest, found)
    del manifest["sha256"]
    from botorch_private.curator.service.backup import FORMAT

    values = {name: value for name, value in manifest.items() if not name.startswith("format")}
    with tarfile.open(target, "w") as tar:
        for name, content in {"manifest.json": FORMAT.dumps(values), **found}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def _renamed(name):
    def change(manifest, found):
        manifest["files"][name] = manifest["files"].pop("map/map-000000.npy")
        found[name] = found.pop("map/map-000000.npy")

    return change


def _without(manifest, found):
    del manifest["files"]["map/map-000000.npy"], found["map/map-000000.npy"]


@pytest.mark.parametrize(
    "change",
    [
        _without,
        *map(
            _renamed,
            (
                "map/../../../escaped.npy",
                "/tmp/escaped.npy",
                "map/map-000777.npy",
                "release/..",
                "records/file-000000/a/b.npy",
                "map/.npy",
            ),
        ),
    ],
)
def test_a_backup_with_other_files_than_its_database_says_is_refused(in_parts, tmp_path, change):
    service = in_parts(*OPTIONS)
    back_up(service.folder, tmp_path / "backup")
    rewritten(tmp_path / "backup", tmp_path / "changed", change)
    before = {each.name for each in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"is not one|holds another release"):
        restore(tmp_path / "changed", tmp_path / "again")
    assert {each.name for each in tmp_path.iterdir()} == before


def test_a_program_measures_the_features_of_the_record(init, place, table, serve):
    (place / "laboratory.py").write_text("def measure(record):\n    return record[0] + record[1]\n")
    assert init("folder", "--objective", "laboratory:measure") == 0
    with closing(Folder(place / "folder").open()) as store:
        for row in (0, 50, 89):
            record = store.behind.entry(row)[1]
            expected = [table.age.iloc[record], table.dose.iloc[record]]
            assert store.behind[record].tolist() == expected
