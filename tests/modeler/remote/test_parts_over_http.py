"""A release in parts over HTTP: each part checked, only what is needed, searched as one in one piece."""

import hashlib
import json
import os
from types import SimpleNamespace

import httpx2
import pandas as pd
import pytest
import torch
from helpers.ray_cluster import ray_cluster
from helpers.remote_server import Here, Server, make_modeler

from botorch_private import Modeler, NoisyProjection, ReleasedParts, RemoteCurator, RemoteError, RowMap
from botorch_private import run as run_rounds
from botorch_private.cli import main as cli
from botorch_private.curator.service.parts.make import initialize_parts as making
from botorch_private.modeler.remote import download_parts as downloading

N = 120
RECORDS = torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = torch.sin(6 * RECORDS).sum(dim=1)
COLUMNS = ["a", "b"]


def make_folder(path, _):
    table = path.parent / "table"
    table.mkdir()
    for i in range(3):
        some = slice(40 * i, 40 * i + 40)
        frame = pd.DataFrame(RECORDS[some].numpy(), columns=COLUMNS)
        frame.assign(y=OUTCOMES[some].numpy()).to_parquet(table / f"{i}.parquet")
    ranges = path.parent / "ranges.toml"
    ranges.write_text("".join(f"[features.{name}]\nlower = 0\nupper = 1\n" for name in COLUMNS))
    return making.initialize_parts(
        table,
        path,
        ranges=ranges,
        mechanism=NoisyProjection(100.0),
        agree=lambda *_: True,
        objective="column:y",
        progress=False,
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of a folder in parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "BUCKET", 2**10)
        path = tmp_path_factory.mktemp("served") / "folder"
        made = Server(path, SimpleNamespace(outcomes=None), make_folder).start()
    yield made
    made.kill()


class Curator:
    """What the folder's release and outcomes are, in this process."""

    def __init__(self, server):
        folder = server.folder.path
        self.release = ReleasedParts.load(folder / "release").whole()
        self.permutation = RowMap.load(folder / "map").permutation


class Here(Here):
    def __init__(self, curator):
        self.release, self.outcomes = curator.release, OUTCOMES[curator.permutation]


class Counting(httpx2.HTTPTransport):
    """Notes what is asked for, and breaks off the first pieces of parts."""

    def __init__(self, breaks=0):
        super().__init__()
        self.asked, self.breaks = [], breaks

    def handle_request(self, request):
        if "/release/" in request.url.path:
            self.asked.append((request.url.path, request.headers.get("range")))
        response = super().handle_request(request)
        if self.breaks and "/parts/" in request.url.path:
            self.breaks -= 1
            whole = response.read()
            broken = _BrokenOff(whole[: len(whole) // 2])
            return httpx2.Response(response.status_code, headers=response.headers, stream=broken)
        return response


class _BrokenOff(httpx2.SyncByteStream):
    def __init__(self, content):
        self._content = content

    def __iter__(self):
        yield self._content
        raise httpx2.ReadError("the line is down")


def downloaded(server, folder, transport=None):
    with httpx2.Client(transport=transport or Counting()) as session:
        return RemoteCurator(server.url, server.token, release_path=folder, session=session).release


def test_the_release_arrives_whole_and_is_searched_as_one_in_one_piece(server, tmp_path):
    ours = Curator(server)
    with RemoteCurator(server.url, server.token, release_path=tmp_path / "cache") as curator:
        assert curator.in_parts
        parts = curator.release
        assert parts.identity == curator.identity == ours.release.identity
        assert len(parts.parts) > 2
        assert torch.equal(parts.whole().candidates, ours.release.candidates)
        picks = run_rounds(curator, make_modeler(parts), 8)
    assert picks == run_rounds(Here(ours), make_modeler(ours.release), 8)


def test_a_second_look_asks_for_the_manifest_alone(server, tmp_path):
    downloaded(server, tmp_path / "cache")
    transport = Counting()
    downloaded(server, tmp_path / "cache", transport)
    assert [path for path, _ in transport.asked] == ["/v1/release/manifest"]


def test_only_a_part_that_is_missing_or_was_altered_comes_again(server, tmp_path):
    parts = downloaded(server, tmp_path / "cache")
    content = bytearray((parts.folder / parts.parts[1].name).read_bytes())
    content[50] ^= 1
    (parts.folder / parts.parts[1].name).write_bytes(bytes(content))
    (parts.folder / parts.parts[2].name).unlink()
    transport = Counting()
    again = downloaded(server, tmp_path / "cache", transport)
    assert {path for path, _ in transport.asked} == {
        "/v1/release/manifest",
        "/v1/release/parts/1",
        "/v1/release/parts/2",
    }
    assert again.with_identity().identity == again.identity


def test_a_download_that_breaks_off_goes_on_where_it_was(server, tmp_path):
    transport = Counting(breaks=2)
    parts = downloaded(server, tmp_path / "cache", transport)
    pieces = [span for _, span in transport.asked if span is not None]
    assert len(pieces) == 2
    assert all(span.startswith("bytes=") and span != "bytes=0-" for span in pieces)
    assert parts.with_identity().identity == parts.identity


def test_a_killed_download_is_no_release_and_goes_on_with_what_came(server, tmp_path, monkeypatch):
    class KilledError(BaseException):
        pass

    def kill(*_):
        raise KilledError

    whole = downloaded(server, tmp_path / "whole")
    first = whole.folder / whole.parts[0].name
    with monkeypatch.context() as patch:
        patch.setattr(downloading, "sha256_of_file", kill)
        with pytest.raises(KilledError):
            downloaded(server, tmp_path / "cache")
    with pytest.raises(FileNotFoundError):
        ReleasedParts.load(tmp_path / "cache")
    draft = tmp_path / "cache" / f".{first.name}.coming"
    os.truncate(draft, 300)
    transport = Counting()
    assert downloaded(server, tmp_path / "cache", transport).identity == whole.identity
    assert ("/v1/release/parts/0", "bytes=300-") in transport.asked


def test_a_beginning_that_is_another_ones_is_thrown_away(server, tmp_path, monkeypatch):
    whole = downloaded(server, tmp_path / "whole")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / ".manifest.coming").write_bytes((whole.folder / "manifest.json").read_bytes())
    (tmp_path / "cache" / f".{whole.parts[0].name}.coming").write_bytes(b"x" * 400)
    transport = Counting()
    assert downloaded(server, tmp_path / "cache", transport).identity == whole.identity
    asked = [span for path, span in transport.asked if path.endswith("/parts/0")]
    assert asked == ["bytes=400-", None]


@pytest.mark.parametrize("kind", ["table", "file", "another release"])
def test_a_place_that_holds_something_else_is_left_as_it_is(server, tmp_path, kind):
    place = tmp_path / "cache"
    if kind == "file":
        place.write_text("mine")
    else:
        place.mkdir()
        pd.DataFrame({"a": [1.0]}).to_parquet(place / "part-000000.parquet")
    if kind == "another release":
        whole = downloaded(server, tmp_path / "whole")
        ReleasedParts(
            place, whole.parts, whole.width, whole.dtype, whole.settings, identity="0" * 64
        ).save()
    before = {path: path.read_bytes() for path in [place, *place.glob("*")] if path.is_file()}
    with pytest.raises(ValueError, match="release_path must be a new folder"):
        downloaded(server, place)
    assert {path: path.read_bytes() for path in before} == before


def test_without_a_place_the_release_is_gone_with_the_curator(server):
    with RemoteCurator(server.url, server.token) as curator:
        folder = curator.release.folder
        assert folder.is_dir()
    assert not folder.exists()


class Lying(Counting):
    """Answers with another manifest or other parts than the server's."""

    def __init__(self, change_manifest=None, part=None):
        super().__init__()
        self._change, self._part = change_manifest, part

    def handle_request(self, request):
        response = super().handle_request(request)
        content = None
        if request.url.path.endswith("/manifest") and self._change is not None:
            values = json.loads(response.read())
            del values["sha256"]
            self._change(values)
            values["sha256"] = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
            content = json.dumps(values).encode()
        if "/parts/" in request.url.path and self._part is not None:
            response.close()
            content = self._part
        return response if content is None else httpx2.Response(200, content=content, request=request)


def _rename(name):
    def change(values):
        values["parts"][0]["name"] = name

    return change


def _first(**more):
    return lambda values: values["parts"][0].update(more)


@pytest.mark.parametrize(
    "change",
    [
        *map(
            _rename, ("../../escaped.parquet", "..", "/etc/x.parquet", "manifest.json", ".lock", "a\\b")
        ),
        *map(_rename, ("a\0.parquet", "part-000001.parquet", "x" * 300 + ".parquet", "C:x.parquet")),
        _first(rows=10**15),
        _first(rows=-1),
        _first(sha256="zz" * 32),
        lambda values: values.update(width=10**9),
        lambda values: values.update(identity="0" * 64),
        lambda values: values.update(parts=[]),
        lambda values: values["parts"].reverse(),
    ],
)
def test_a_server_that_lies_about_the_parts_writes_nothing_elsewhere(server, tmp_path, change):
    (tmp_path / "in").mkdir()
    with pytest.raises((RemoteError, ValueError)) as refused:
        downloaded(server, tmp_path / "in" / "cache", Lying(change))
    assert refused.type is RemoteError
    assert refused.value.code == "other_release"
    assert [each.name for each in tmp_path.iterdir()] == ["in"]
    assert not (tmp_path / "in" / "cache" / "manifest.json").exists()


def test_a_part_that_is_another_or_endless_is_refused(server, tmp_path, monkeypatch):
    with pytest.raises(RemoteError, match="must have the SHA-256"):
        downloaded(server, tmp_path / "one", Lying(part=b"something else"))
    monkeypatch.setattr(ReleasedParts, "largest_file", lambda *_: 1000)
    with pytest.raises(RemoteError, match="more than /v1/release/parts/0 can hold"):
        downloaded(server, tmp_path / "two", Lying(part=b"x" * 10**5))


def test_a_disk_without_room_is_refused_before_anything_comes(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloading.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    transport = Counting()
    with pytest.raises(OSError, match="room for"):
        downloaded(server, tmp_path / "cache", transport)
    assert [path for path, _ in transport.asked] == ["/v1/release/manifest"]


def optimize(server, *more):
    os.environ["BOTORCH_PRIVATE_TOKEN"] = server.token
    return cli.main(["optimize", server.url, "--seed", "5", "--n-initial", "3", *map(str, more)])


def test_optimize_searches_a_release_in_parts_and_keeps_it_beside_its_state(
    server, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", "")
    state = tmp_path / "run.json"
    assert optimize(server, "--rounds", "5", "--state", state) == 0
    said = capsys.readouterr().out
    assert f"kept in {tmp_path / 'run.release'}" in said
    ours = Curator(server)
    picks = run_rounds(Here(ours), make_modeler(ours.release), 5)
    known = ReleasedParts.load(tmp_path / "run.release")
    assert Modeler.load(state, known).history == picks
    assert optimize(server, "--rounds", "6", "--state", state) == 0


@pytest.mark.slow
def test_optimize_on_ray_asks_for_the_rows_of_one_process(server, tmp_path, monkeypatch):
    ray_cluster()
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", "")
    state = tmp_path / "run.json"
    assert optimize(server, "--rounds", "5", "--state", state, "--engine", "ray", "--workers", 2) == 0
    ours = Curator(server)
    picks = run_rounds(Here(ours), make_modeler(ours.release), 5)
    assert Modeler.load(state, ours.release).history == picks


@pytest.mark.parametrize(("more", "words"), [(["--workers", "2"], "--workers needs --engine ray")])
def test_options_that_do_not_belong_together_are_refused(server, tmp_path, capsys, more, words):
    with pytest.raises(SystemExit):
        optimize(server, "--rounds", "5", "--state", tmp_path / "run.json", *more)
    assert words in " ".join(capsys.readouterr().err.split())
