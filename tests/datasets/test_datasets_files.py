import hashlib
import json
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.datasets._files import read

FOLDER = Path(str(files("botorch_private.datasets")))
NAMES = ["hospital", "property_prices"]
NOT_CONFIRMED = "licence as stated by the source, not independently confirmed"


@pytest.fixture
def copied(tmp_path):
    for name in NAMES:
        for ending in ("npz", "json"):
            shutil.copy(FOLDER / f"{name}.{ending}", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_checksum_and_size_of_the_file_are_those_in_its_provenance(name):
    content = (FOLDER / f"{name}.npz").read_bytes()
    _, provenance = read(name)
    assert provenance["file"] == f"{name}.npz"
    assert provenance["sha256"] == hashlib.sha256(content).hexdigest()
    assert provenance["bytes"] == len(content)


@pytest.mark.parametrize("name", NAMES)
def test_provenance_states_source_licence_attribution_and_every_column(name):
    arrays, provenance = read(name)
    for key in ("title", "outcome", "upstream", "citation", "attribution", "selection"):
        assert provenance[key]
    assert provenance["source_repo"].startswith("github.com/")
    assert len(provenance["source_commit"]) == 40
    assert NOT_CONFIRMED in provenance["licence"]
    assert arrays.keys() == provenance["arrays"].keys()
    assert arrays["records"].shape == (provenance["rows"], len(provenance["columns"]))
    for column in provenance["columns"]:
        assert all(column[key] for key in ("name", "unit", "meaning"))


def test_provenance_cites_the_support_study_and_the_redevelopment_authority():
    assert "Knaus" in read("hospital")[1]["citation"]
    assert "1995" in read("hospital")[1]["citation"]
    assert "Urban Redevelopment Authority" in read("property_prices")[1]["attribution"]


@pytest.mark.parametrize("name", NAMES)
def test_file_loads_with_pickle_forbidden_and_holds_plain_floats(name):
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as archive:
        kinds = {archive[key].dtype.kind for key in archive.files}
    assert kinds == {"f"}


def test_pickled_objects_are_never_unpacked(copied):
    path = copied / "hospital.npz"
    np.savez(path, records=np.array([{"not": "numbers"}], dtype=object))
    _state_checksum_of(path)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read("hospital", copied)


@pytest.mark.parametrize("name", NAMES)
def test_truncated_file_is_refused_by_name_with_a_way_out(name, copied):
    path = copied / f"{name}.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match=rf"{name}\.npz is damaged.*reinstall botorch-private"):
        read(name, copied)


@given(data=st.data(), flip=st.integers(1, 255))
def test_a_change_of_any_one_byte_is_refused(data, flip, tmp_path_factory):
    content = bytearray((FOLDER / "property_prices.npz").read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= flip
    folder = tmp_path_factory.mktemp("altered")
    shutil.copy(FOLDER / "property_prices.json", folder)
    (folder / "property_prices.npz").write_bytes(content)
    with pytest.raises(RuntimeError, match="is damaged"):
        read("property_prices", folder)


def test_another_table_under_the_name_is_refused(copied):
    shutil.copy(copied / "property_prices.npz", copied / "hospital.npz")
    with pytest.raises(RuntimeError, match="is damaged"):
        read("hospital", copied)


def test_the_two_tables_together_stay_small():
    assert sum((FOLDER / f"{name}.npz").stat().st_size for name in NAMES) < 300_000


def test_every_shipped_npz_has_its_provenance_and_no_other_data_file_is_shipped():
    shipped = {path.name for path in FOLDER.iterdir() if path.suffix not in ("", ".py", ".pyc")}
    assert shipped == {f"{name}.{ending}" for name in NAMES for ending in ("npz", "json")}


def _state_checksum_of(path: Path) -> None:
    provenance = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    provenance["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_suffix(".json").write_text(json.dumps(provenance), encoding="utf-8")
