"""A server hands out a release in parts, piece by piece, and knows whose row is asked for."""

import hashlib
import json
import os

import pandas as pd
import pytest

from botorch_private import ReleasedParts, RowMap
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.parts import parts_files

IDENTIFIERS = ("--id", "patient")


@pytest.fixture
def place(tmp_path):
    """Where `in_parts` puts the folder and its table."""
    return tmp_path


@pytest.fixture
def table(made_folders):
    """All records, in the order of the files."""
    files = sorted((made_folders() / "stays").glob("*.parquet"))
    return pd.concat([pd.read_parquet(each) for each in files])


def manifest_of(service):
    return json.loads(service.get("/v1/release/manifest").content)


def test_a_question_is_about_the_record_behind_its_row(in_parts, place, table):
    service = in_parts(*IDENTIFIERS)
    places = RowMap.load(place / "folder" / "map")
    asked = [0, 89, 41]
    numbers = [service.ask(row).json()["id"] for row in asked]
    shown = service.client.get("/v1/staff/queries", headers=service.staff).json()["queries"]
    assert [each["identifier"] for each in shown] == [
        table.patient.iloc[places.place(row).record] for row in asked
    ]
    assert service.measure(numbers[1], 7.5).status_code == 200
    assert service.get(f"/v1/queries/{numbers[1]}").json()["value"] == 7.5
    assert service.ask(90).status_code == 422


def test_a_column_answers_for_the_record_behind_its_row(in_parts, place, table):
    service = in_parts("--objective", "column:cost", *IDENTIFIERS)
    places = RowMap.load(place / "folder" / "map")
    for row in range(0, 90, 11):
        number = service.ask(row).json()["id"]
        assert (
            service.get(f"/v1/queries/{number}").json()["value"]
            == (table.cost.iloc[places.place(row).record])
        )


def test_noise_of_an_answer_is_that_of_its_record_whenever_it_is_asked(in_parts, place, serve):
    noised = ["--outcome-epsilon", "2", "--outcome-range", "0", "1000"]
    service = in_parts("--objective", "column:cost", *noised)
    with_withdrawal = service.ask(3).json()
    first = service.get(f"/v1/queries/{with_withdrawal['id']}").json()["value"]
    again = serve(folder=Folder(place / "folder"))
    assert (
        again.get(f"/v1/queries/{again.ask(3, key='another-key').json()['id']}").json()["value"] == first
    )
    assert (
        again.store.behind.entry(3)[4] == again.store._one("SELECT noise FROM record WHERE row = 3")[0]
    )


def test_a_table_that_was_changed_or_removed_since_misleads_nobody(in_parts, place, table):
    service = in_parts(*IDENTIFIERS)
    for file in (place / "stays").iterdir():
        file.unlink()
    service.ask(5)
    record = RowMap.load(place / "folder" / "map").place(5).record
    assert service.store.identifier(5) == table.patient.iloc[record]


def test_all_parts_are_handed_out_as_the_manifest_says(in_parts, place):
    service = in_parts()
    facts = service.get("/v1/release?parts=yes").json()
    manifest = manifest_of(service)
    parts = ReleasedParts.load(place / "folder" / "release")
    assert facts["identity"] == manifest["identity"] == parts.identity
    size = 0
    for number, part in enumerate(manifest["parts"]):
        answer = service.get(f"/v1/release/parts/{number}")
        assert answer.status_code == 200
        assert hashlib.sha256(answer.content).hexdigest() == part["sha256"]
        assert answer.headers["etag"] == f'"{part["sha256"]}"'
        size += len(answer.content)
        unchanged = service.get(
            f"/v1/release/parts/{number}", **{"If-None-Match": f'"{part["sha256"]}"'}
        )
        assert unchanged.status_code == 304
    assert facts["parts"] == {"count": len(parts.parts), "bytes": size}


def test_a_piece_of_a_part_is_handed_out_and_none_beyond_it(in_parts):
    service = in_parts()
    whole = service.get("/v1/release/parts/0").content
    piece = service.get("/v1/release/parts/0", Range=f"bytes={len(whole) - 7}-")
    assert (piece.status_code, piece.content) == (206, whole[-7:])
    assert piece.headers["content-range"].startswith(f"bytes {len(whole) - 7}-")
    beyond = service.get("/v1/release/parts/0", Range=f"bytes={len(whole)}-")
    assert beyond.status_code == 416
    other = service.get("/v1/release/parts/0", Range="bytes=5-", **{"If-Range": '"another"'})
    assert (other.status_code, other.content) == (200, whole)


NUMBERS = [
    *("99", "-1", "1e3", "0x0", "2147483649", "9" * 40, "..", "../../curator.db", "part-000000.parquet"),
    *("..%2f..%2fcurator.db", "%2e%2e/%2e%2e/map/map-000000.npy", "0/../../map", "0%00", "\u0661"),
]


def test_no_number_leads_to_another_file(in_parts):
    service = in_parts()
    for number in NUMBERS:
        answer = service.get(f"/v1/release/parts/{number}")
        assert answer.status_code in (404, 409, 422), number
        assert b"SQLite" not in answer.content
        assert b"NUMPY" not in answer.content


@pytest.mark.parametrize("path", ["/v1/release/manifest", "/v1/release/parts/0"])
def test_nobody_reads_a_part_without_a_modelers_token(in_parts, path):
    service = in_parts()
    assert service.client.get(path).status_code == 401
    assert service.client.get(path, headers=service.staff).status_code == 403


def test_a_client_of_before_is_told_to_upgrade(in_parts):
    service = in_parts()
    for path in ("/v1/release", "/v1/release?outcomes=several", "/v1/release/file"):
        answer = service.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too_old")
        assert "upgrade botorch-private" in answer.json()["error"]["message"]


def test_a_release_in_one_piece_has_no_parts(serve):
    service = serve()
    assert service.get("/v1/release").json()["parts"] is None
    assert service.get("/v1/release/manifest").json()["error"]["code"] == "in_one_piece"
    assert service.get("/v1/release/parts/0").json()["error"]["code"] == "in_one_piece"


KINDS = ["release/part-000000.parquet", "release/manifest.json", "map/map-000000.npy"]


def altered(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", [*KINDS, "records/file-000001/identifiers.npy"])
@pytest.mark.parametrize("spoil", [altered, os.unlink, lambda path: os.truncate(path, 100)])
def test_a_folder_with_a_spoiled_file_is_not_served(in_parts, place, serve, name, spoil):
    in_parts(*IDENTIFIERS)
    spoil(place / "folder" / name)
    with pytest.raises(ValueError, match=r"is not the file that this folder was made with|not"):
        serve(folder=Folder(place / "folder"))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("spoil", [altered, os.unlink])
def test_a_file_that_is_spoiled_under_the_server_ends_all_answers(
    in_parts, place, monkeypatch, name, spoil
):
    monkeypatch.setattr(parts_files, "_GLANCE", 0.0)
    service = in_parts()
    assert service.client.get("/v1/health").status_code == 200
    spoil(place / "folder" / name)
    answer = service.ask(4)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "lost")
    assert service.client.get("/v1/health").status_code == 503
    assert service.store._one("SELECT count(*) FROM query")[0] == 0


def test_a_map_that_is_replaced_answers_for_no_other_record_even_before_anybody_looked(
    in_parts, place, monkeypatch
):
    monkeypatch.setattr(parts_files, "_GLANCE", 1e9)
    service = in_parts()
    one, other = sorted((place / "folder" / "map").glob("map-*.npy"))[:2]
    other.replace(one)
    assert service.ask(0).status_code == 503
    assert service.store._one("SELECT count(*) FROM record")[0] == 0


def test_what_rots_on_the_disk_is_found_in_time(in_parts, place, monkeypatch):
    service = in_parts()
    path = place / "folder" / "release" / "part-000000.parquet"
    before = path.stat()
    altered(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    monkeypatch.setattr(parts_files, "_LONGEST_TRUST", -1.0)
    files = service.client.app.state.health._release
    found = [files.is_whole() for _ in files._files]
    assert not found[-1]


def test_records_cannot_join_a_release_in_parts_yet(in_parts, place, capsys):
    from botorch_private.cli.main import main

    in_parts()
    add = ["curator", "add", "folder", "stays/0.parquet", "--ranges", "ranges.toml", "--yes"]
    with pytest.raises(SystemExit):
        main(add)
    assert "one in parts cannot grow yet" in " ".join(capsys.readouterr().err.split())


def test_outcomes_that_nobody_asked_for_are_refused_with_what_to_do(in_parts):
    service = in_parts(*IDENTIFIERS)
    number = service.ask(0).json()["id"]
    name = service.store.identifier(0)
    other = next(f"P-{i:03d}" for i in range(90) if f"P-{i:03d}" != name)

    def know(identifier):
        outcomes = {"outcomes": [{"identifier": identifier, "value": 3.5}]}
        return service.client.put("/v1/staff/known", json=outcomes, headers=service.staff)

    assert know(name).status_code == 200
    assert service.get(f"/v1/queries/{number}").json()["value"] == 3.5
    answer = know(other)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "no_record")
    assert "curator init --known" in answer.json()["error"]["message"]
