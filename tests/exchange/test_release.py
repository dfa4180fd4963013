import dataclasses
import hashlib
import json
import os
import pickle
import pickletools
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import save as save_tensors

from botorch_private import Curator, NoisyProjection, NoPrivacy, PublicScaling, Release
from botorch_private.exchange.release import FORMAT

D = 3
SEED = 7_654_321_987
REFUSALS = {
    "damaged": "^path must be a whole release file, .* is truncated or damaged$",
    "empty": "^path must be a whole release file, .* is empty$",
    "table": "^path must be a whole release file, .* looks like a table$",
    "archive": "^path must be a whole release file, .* looks like a zip archive, as workbooks are$",
    "altered": "^path must be a whole release file, .* was changed after saving$",
    "foreign": "^path must be a whole release file, .* is not one$",
    "version": "^path must be a whole release file, .* is of another version: upgrade",
}
ANY_REFUSAL = "|".join(REFUSALS.values())


def make_release(n=6, generator=None, mechanism=None):
    records = torch.rand(n, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    scaling = PublicScaling([0.0] * D, [1.0] * D, names=["age", "weight", "pulse"])
    return Curator(
        records, scaling, mechanism or NoisyProjection(3.0), torch.zeros(n), generator=generator
    ).release


def same(first, second):
    """Whether two releases are equal bit by bit, signs of zero included."""
    rows = [release.candidates.contiguous().view(torch.int64) for release in (first, second)]
    others = [release._settings() for release in (first, second)]
    return torch.equal(*rows) and others[0] == others[1]


def header_of(content):
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length])


def rewritten(content, change):
    """Content with its metadata changed, as a well-formed safetensors file."""
    header = header_of(content)
    metadata = header["__metadata__"]
    change(metadata)
    body = content[8 + struct.unpack("<Q", content[:8])[0] :]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


@pytest.fixture
def saved(tmp_path):
    release = make_release()
    path = tmp_path / "table.safetensors"
    release.save(path)
    return release, path


@pytest.fixture
def small(tmp_path):
    """Return the path of a release with a short header, to try all its bytes."""
    path = tmp_path / "small"
    Release(torch.rand(4, 2).double(), NoPrivacy().guarantee(4, 2), 0.0, 2, False).save(path)
    return path


def test_a_release_holds_rows_and_public_settings_and_nothing_else():
    assert [field.name for field in dataclasses.fields(Release)] == [
        "candidates",
        "guarantee",
        "noise_variance",
        "noise_dim",
        "isotropic",
        "outcome_guarantee",
        "cells",
        "outcome_names",
    ]
    assert vars(make_release()).keys() == {field.name for field in dataclasses.fields(Release)}


def test_the_guarantee_in_a_release_holds_public_settings_and_nothing_else():
    assert {field.name for field in dataclasses.fields(make_release().guarantee)} == {
        "mechanism",
        "epsilon",
        "delta",
        "delta_fp",
        "log_columns",
        "holds",
        "reasons",
        "assumptions",
        "law",
        "records",
        "features",
        "projection_dim",
        "unit",
        "names",
        "radius",
        "seeded",
        "parts",
        "outcome_range",
        "steps",
        "outcome_name",
    }


def test_a_release_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_release().noise_variance = 0.0


def test_a_saved_release_comes_back_bit_by_bit(saved):
    release, path = saved
    loaded = Release.load(path)
    assert same(release, loaded)
    assert release.identity == loaded.identity
    loaded.save(str(path))  # a path may be text
    assert same(release, Release.load(str(path)))


def test_signs_of_zero_and_subnormal_numbers_survive_saving(tmp_path):
    rows = torch.tensor([[-0.0, 5e-324], [1 / 3, -1e308]], dtype=torch.float64)
    release = Release(rows, NoPrivacy().guarantee(2, 2), 0.0, 2, False)  # epsilon is infinite
    release.save(tmp_path / "r")
    assert same(release, Release.load(tmp_path / "r"))


def test_a_view_is_saved_as_its_own_rows_only(tmp_path):
    whole = torch.arange(24.0, dtype=torch.float64).reshape(6, 4) + 0.5
    release = Release(whole.T[1:3, ::2], NoPrivacy().guarantee(2, 3), 0.0, 3, False)
    release.save(tmp_path / "r")
    assert same(release, Release.load(tmp_path / "r"))
    assert struct.pack("<d", 23.5) not in (tmp_path / "r").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": torch.ones(6, D, dtype=torch.float64)},
        {"noise_variance": 0.5},
        {"noise_dim": 2},
        {"isotropic": True},
        {"guarantee": NoisyProjection(3.1).guarantee(6, D)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_identity_depends_on_every_field(change):
    release = make_release()
    assert len(release.identity) == 64
    assert dataclasses.replace(release, **change).identity != release.identity


def test_a_file_truncated_anywhere_is_refused(small):
    content = small.read_bytes()
    for length in range(len(content)):
        small.write_bytes(content[:length])
        with pytest.raises(ValueError, match=REFUSALS["damaged" if length else "empty"]):
            Release.load(small)


def test_a_file_with_something_appended_is_refused(saved):
    _, path = saved
    content = path.read_bytes()
    for extra in (b"\0", b" ", content):
        path.write_bytes(content + extra)
        with pytest.raises(ValueError, match=REFUSALS["damaged"]):
            Release.load(path)


@pytest.mark.parametrize("mask", [0x01, 0x05, 0x20, 0xFF], ids=hex)
def test_a_file_with_any_byte_changed_is_refused(small, mask):
    content = small.read_bytes()
    for position in range(len(content)):
        altered = bytearray(content)
        altered[position] ^= mask
        small.write_bytes(altered)
        with pytest.raises(ValueError, match=ANY_REFUSAL):
            Release.load(small)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (lambda m: m.update(format_version="3"), "version"),
        (lambda m: m.update(format_version="0"), "version"),
        (lambda m: m.update(format_version="²"), "version"),
        (lambda m: m.update(format_version=""), "version"),
        (lambda m: m.pop("format_version"), "version"),
        (lambda m: m.update(format="other release"), "foreign"),
        (lambda m: m.pop("format"), "foreign"),
        (lambda m: m.update(sha256="0" * 64), "altered"),
        (lambda m: m.pop("sha256"), "altered"),
        (lambda m: m.pop("settings"), "altered"),
        (lambda m: m.update(settings=m["settings"].replace("noise_dim", "noise_Dim")), "altered"),
        (
            lambda m: m.update(settings=m["settings"].replace('holds\\": true', 'holds\\": false')),
            "altered",
        ),
    ],
)
def test_changed_metadata_is_refused_for_what_it_is(saved, change, refusal):
    _, path = saved
    content = path.read_bytes()
    changed = rewritten(content, change)
    assert header_of(changed) != header_of(content)
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=REFUSALS[refusal]):
        Release.load(path)


@pytest.mark.parametrize(("noise", "version"), [("laplace", 1), ("gaussian", 1), ("l2", 2)])
def test_a_program_that_does_not_know_the_noise_says_that_the_file_is_newer(tmp_path, noise, version):
    """Version 0.1.0 knew two kinds, and read files of version 1 alone."""
    path = tmp_path / "release.safetensors"
    release = make_release(mechanism=NoisyProjection(1.0, 1e-6, noise=noise))
    release.save(path)
    metadata = header_of(path.read_bytes())["__metadata__"]
    assert metadata["format_version"] == str(version)
    first = dataclasses.replace(FORMAT, version=1)
    if version == 1:
        assert first.require(metadata, path) == 1
    else:
        with pytest.raises(ValueError, match=REFUSALS["version"]):
            first.require(metadata, path)
    assert Release.load(path).identity == release.identity


def test_a_newer_version_is_refused_before_its_rows_are_read(tmp_path):
    path = tmp_path / "newer"
    metadata = {"format": FORMAT.name, "format_version": str(FORMAT.version + 1), "settings": "?"}
    path.write_bytes(save_tensors({"something_else": torch.ones(1)}, metadata=metadata))
    with pytest.raises(ValueError, match=REFUSALS["version"]):
        Release.load(path)


def test_another_safetensors_file_is_refused(tmp_path):
    path = tmp_path / "weights"
    for metadata in (None, {"format": "pt"}):
        path.write_bytes(save_tensors({"candidates": torch.ones(2, 2)}, metadata=metadata))
        with pytest.raises(ValueError, match=REFUSALS["foreign"]):
            Release.load(path)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"", "empty"),
        (b"\0" * 8, "damaged"),
        (b"index,value\n1,2\n", "table"),
        (pickle.dumps([1, 2]), "damaged"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, content, refusal):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=REFUSALS[refusal]):
        Release.load(path)


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere"
    with pytest.raises(FileNotFoundError, match=f"there is no file {path}$"):
        Release.load(path)
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        Release.load(tmp_path)


def test_a_pickle_is_never_executed(tmp_path):
    ran = tmp_path / "ran"

    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(ran),)

    path = tmp_path / "release"
    path.write_bytes(pickle.dumps(Attack()))
    with pytest.raises(ValueError, match=REFUSALS["damaged"]):
        Release.load(path)
    torch.save({"candidates": Attack()}, path)
    with pytest.raises(ValueError, match=REFUSALS["archive"]):
        Release.load(path)
    assert not ran.exists()


def test_the_file_is_no_pickle_and_no_zip_archive(saved):
    _, path = saved
    content = path.read_bytes()
    assert not content.startswith(b"PK")
    with pytest.raises(ValueError, match=r"pickle|opcode"):
        list(pickletools.genops(content))


def test_a_loaded_release_does_not_change_with_its_file(saved):
    release, path = saved
    loaded = Release.load(path)
    with path.open("r+b") as file:
        file.seek(-8 * release.candidates.numel(), os.SEEK_END)
        file.write(bytes(8 * release.candidates.numel()))
    assert same(release, loaded)


def test_a_saved_file_replaces_an_older_one(saved):
    _, path = saved
    other = make_release(n=9)
    other.save(path)
    assert same(other, Release.load(path))
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "interrupt"]
)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch, step, error):
    _, path = saved
    before = path.read_bytes()

    def fail(*_args):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        make_release(n=9).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_failed_first_save_leaves_no_file(tmp_path):
    release = make_release()
    with pytest.raises(FileNotFoundError):
        release.save(tmp_path / "missing folder" / "release")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match=r"folder"):
        release.save(folder)
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(folder) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_gets_no_file(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        make_release().save(tmp_path / "release")
    assert os.listdir(tmp_path) == []


def test_the_file_holds_the_rows_and_these_public_settings_only(saved):
    release, path = saved
    content = path.read_bytes()
    header = header_of(content)
    assert header.keys() == {"__metadata__", "candidates"}
    assert header["candidates"] == {
        "dtype": "F64",
        "shape": [6, D],
        "data_offsets": [0, 8 * 6 * D],
    }
    metadata = header["__metadata__"]
    assert metadata.keys() == {"format", "format_version", "settings", "sha256"}
    assert metadata["format"] == "botorch-private release"
    assert metadata["format_version"] == "1"
    settings = json.loads(metadata["settings"])
    guarantee = json.loads(settings.pop("guarantee"))
    assert guarantee == json.loads(release.guarantee.to_json())
    assert settings.pop("outcome_guarantee") is None
    assert settings == {"isotropic": False, "noise_dim": D, "noise_variance": release.noise_variance}
    rows = content[-8 * 6 * D :]
    assert rows == release.candidates.numpy().tobytes()


def test_the_digest_in_the_file_is_that_of_settings_and_rows(saved):
    release, path = saved
    metadata = header_of(path.read_bytes())["__metadata__"]
    hashed = hashlib.sha256(
        f"1 torch.float64 (6, {D})\n".encode()
        + metadata["settings"].encode()
        + release.candidates.numpy().tobytes()
    )
    assert metadata["sha256"] == release.identity == hashed.hexdigest()


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")
def test_the_settings_in_the_file_do_not_depend_on_the_records(tmp_path):
    scaling = PublicScaling([0.0] * D, [1.0] * D)
    settings = set()
    for scale in (0.1, 1.0, 50.0):  # the last table is clipped
        records = scale * torch.rand(6, D, dtype=torch.float64)
        Curator(records, scaling, NoisyProjection(3.0), torch.zeros(6)).release.save(tmp_path / "r")
        settings.add(header_of((tmp_path / "r").read_bytes())["__metadata__"]["settings"])
    assert len(settings) == 1


def test_no_record_no_outcome_no_permutation_and_no_seed_is_in_the_file(tmp_path):
    n = 40
    source = torch.Generator().manual_seed(2)
    records = torch.rand(n, D, generator=source, dtype=torch.float64)
    outcomes = torch.rand(n, generator=source, dtype=torch.float64)
    scaling = PublicScaling([0.0] * D, [1.0] * D)
    curator = Curator(
        records, scaling, NoisyProjection(3.0), outcomes, generator=torch.Generator().manual_seed(SEED)
    )
    curator.query(0)
    curator.release.save(tmp_path / "r")
    content = (tmp_path / "r").read_bytes()
    secrets = [
        *records.flatten().tolist(),
        *scaling.transform(records).flatten().tolist(),
        *outcomes.tolist(),
    ]
    for value in secrets:
        assert struct.pack("<d", value) not in content
        assert struct.pack("<f", value) not in content
        assert repr(value).encode() not in content
    order = curator.permutation
    for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8):
        assert order.to(dtype).numpy().tobytes() not in content
    assert json.dumps(order.tolist()).encode() not in content
    assert struct.pack("<Q", SEED) not in content
    assert str(SEED).encode() not in content


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2], [3, 4]],
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
    ],
    ids=["list", "array", "float32"],
)
def test_rows_of_any_kind_become_a_float64_tensor_and_numpy_settings_can_be_saved(rows, tmp_path):
    release = Release(
        rows, NoPrivacy().guarantee(2, 2), np.float32(0.5), np.int64(2), isotropic=np.bool_(False)
    )
    assert release.candidates.dtype == torch.float64
    assert release.candidates.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    release.save(tmp_path / "release")
    assert Release.load(tmp_path / "release").identity == release.identity


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 2.0]], "^candidates must have at least 2 rows, got 1"),
        ([1.0, 2.0], r"^candidates must have 2 dimensions .* got shape \(2,\)"),
        ([[1.0, 2.0], [1.0, float("nan")]], "^candidates must be finite, got NaN in row 1, column 1"),
        ([[1j], [2j]], "^candidates must be real numbers"),
    ],
)
def test_unusable_rows_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        Release(torch.tensor(rows), NoPrivacy().guarantee(2, 2), 0.0, 2, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise_variance": -1.0}, "^noise_variance must be a finite number >= 0, got -1.0"),
        ({"noise_variance": float("nan")}, "^noise_variance must be a finite number >= 0, got nan"),
        ({"noise_dim": 0}, "^noise_dim must be an integer >= 1, got 0"),
    ],
)
def test_unusable_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(make_release(), **change)


def test_repr_shows_sizes_and_the_promise_but_no_row():
    release = make_release()
    assert repr(release) == "Release(n=6, projection_dim=3, epsilon=3, delta=8.9e-16, holds=True)"
