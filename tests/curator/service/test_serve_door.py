"""The door of `curator serve` and its siblings: options, damaged folders, proxies, log, tokens."""

import io
import logging
import re
import shutil
import socket
import sqlite3
import threading
import time
from contextlib import closing

import httpx2
import pytest
import trustme
from helpers.remote_server import Server, make_curator
from helpers.staff_browser import console_folder

from botorch_private.cli.main import main
from botorch_private.curator.service import reading
from botorch_private.curator.service.log import LINES, log_to
from botorch_private.curator.service.server import serve

COMMANDS = [
    ("serve", "--port", "0"),
    ("status",),
    ("export",),
    ("token", "new", "--role", "staff"),
    ("token", "list"),
    ("token", "revoke", "1"),
    ("retry",),
    ("clock",),
    ("clock", "--accept"),
]


@pytest.fixture
def folder(tmp_path):
    folder = console_folder(tmp_path / "clinic")
    with closing(folder.open()) as store:
        store.tokens.make("modeler", "m").result()
        for row in range(5):
            store.ask(f"key-of-{row:04d}", row, 1).result()
            store.measure(row + 1, row + 41.7319, 1).result()
    return folder


def ended(capsys, *arguments):
    """Status and error stream of a command."""
    with pytest.raises(SystemExit) as stopped:
        main(["curator", *map(str, arguments)])
    return stopped.value.code, capsys.readouterr()


# --- options ---


@pytest.mark.parametrize(
    "port", ["99999", "65536", "-1", "80.0", "8_0", "", " ", "http", "1e3", "\u0668\u0660", "9" * 5000]
)
def test_a_port_that_is_none_is_refused_with_the_range(folder, capsys, port):
    code, said = ended(capsys, "serve", folder.path, f"--port={port}")
    assert code == 2
    assert "argument --port: must be a whole number in 0..65535" in said.err
    assert said.out == ""


@pytest.mark.parametrize("port", [65536, -1])
def test_python_refuses_such_a_port_too(folder, port):
    with pytest.raises(ValueError, match="port must be in 0..65535"):
        serve(folder.path, port=port)


@pytest.mark.parametrize("proxy", ["*", "example.org", "10.0.0.0/33", "", "10.0.0.1/8"])
def test_a_proxy_is_trusted_by_its_address_alone(folder, proxy):
    with pytest.raises(ValueError, match="trusted_proxies must be addresses such as 127.0.0.1"):
        serve(folder.path, trusted_proxies=[proxy])


@pytest.mark.parametrize("fault", ["other key", "garbage", "encrypted", "swapped"])
def test_a_certificate_that_is_none_is_refused_before_an_address_is_printed(
    folder, tmp_path, capsys, fault
):
    authority = trustme.CA()
    one, two = authority.issue_cert("127.0.0.1"), authority.issue_cert("127.0.0.1")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    one.cert_chain_pems[0].write_to_path(str(certificate))
    (two if fault == "other key" else one).private_key_pem.write_to_path(str(key))
    if fault == "garbage":
        key.write_text("MARKER")
    if fault == "encrypted":
        key.write_text(ENCRYPTED)
    if fault == "swapped":
        certificate, key = key, certificate
    code, said = ended(
        capsys, "serve", folder.path, "--port", "0", "--tls-cert", certificate, "--tls-key", key
    )
    assert (code, said.out) == (1, "")
    assert said.err.count("\n") == 1
    assert re.search("--tls-key must (not be encrypted|be)|--tls-cert and --tls-key must", said.err)
    assert "MARKER" not in said.err


# (made by openssl for this test; its password is nowhere)
ENCRYPTED = """-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgXNagd+LPoPwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEELY4M/5CQ8EAMGz/7gZ56psEgZDd
7K+ip+vLH2zqHhEzFcg/iSZJPNKkhzSftDSJkM+e5F8foxWyUFIKYS7X3DX5wxnU
3WRyLUH08LJg926el5SxC8Xk00CAq5cIkSTLAGCtdGe7Pw1esnhxyIwQtN7nTDRW
G1ApvV5xwuvl12GF+SzSiVkTpO1NKE62OSlmtop76/2WlAq7m5QGWLLbg8NR8WI=
-----END ENCRYPTED PRIVATE KEY-----
"""


# --- damaged folders ---


def empty(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(b"41.7319, a value of a record\n" * 999)


def cut_in_half(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def of_another_program(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE patient (name TEXT)")
        other.execute("INSERT INTO patient VALUES ('41.7319')")
        other.commit()


def with_a_fact_table(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE fact (name TEXT, value TEXT)")
        other.execute("INSERT INTO fact VALUES ('41.7319', 'no JSON')")
        other.commit()


def _set(name, value):
    def change(path):
        with closing(sqlite3.connect(path)) as found:
            found.execute("UPDATE fact SET value = ? WHERE name = ?", (value, name))
            found.commit()

    return change


def without_facts(path):
    with closing(sqlite3.connect(path)) as found:
        found.execute("DELETE FROM fact WHERE name = 'n'")
        found.commit()


def without_a_table(path):
    with closing(sqlite3.connect(path)) as found:
        for table in ("idempotency", "draft", "query"):
            found.execute(f"DROP TABLE {table}")
        found.commit()


DAMAGES = {
    "empty": empty,
    "garbage": garbage,
    "cut": cut_in_half,
    "of another program": of_another_program,
    "with a fact table": with_a_fact_table,
    "of a future version": _set("schema_version", "7"),
    "of a strange version": _set("schema_version", '"41.7319"'),
    "with a strange fact": _set("plausible", "41.7319"),
    "without facts": without_facts,
    "without a table": without_a_table,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_that_is_not_there_is_said_so(tmp_path, capsys, command):
    words = [each for each in command[1:] if each in ("new", "list", "revoke")]
    code, said = ended(
        capsys, command[0], *words, tmp_path / "no", *(each for each in command[1:] if each not in words)
    )
    assert (code, said.out) == (1, "")
    assert "there is no folder" in said.err or "there is no file" in said.err


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_damaged_database_ends_in_one_clear_line(folder, capsys, damage, command):
    DAMAGES[damage](folder.database)
    words = [each for each in command[1:] if each in ("new", "list", "revoke")]
    code, said = ended(
        capsys, command[0], *words, folder.path, *(each for each in command[1:] if each not in words)
    )
    assert code == 1
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert re.search("cannot be used|is damaged or cannot be read|DIR must be one", line)
    assert "41.7319" not in line


def test_a_page_that_is_damaged_in_the_middle_is_found_before_it_is_served(folder, capsys):
    with folder.database.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 3)
    code, said = ended(capsys, "serve", folder.path, "--port", "0")
    assert (code, said.out) == (1, "")
    assert said.err.count("\n") == 1


def test_a_folder_without_a_release_or_with_another_one_is_not_served(folder, tmp_path, capsys):
    whole = folder.release.read_bytes()
    other = console_folder(tmp_path / "other").release.read_bytes()
    for content in (whole[:-1], whole + b"x", whole[:400], b"", other):
        folder.release.write_bytes(content)
        code, said = ended(capsys, "serve", folder.path, "--port", "0")
        assert (code, said.out) == (1, "")
        assert "is not the release that this folder was made with" in said.err


# --- folders that cannot be written ---


def no_writing(monkeypatch):
    """Let SQLite find what it finds on a read-only medium (root may write anywhere)."""
    plainly = reading.open_plainly

    def refused(path, mode, **more):
        if mode != "ro":
            raise sqlite3.OperationalError("unable to open database file")
        return plainly(path, mode, **more)

    monkeypatch.setattr(reading, "open_plainly", refused)


def test_status_and_export_read_a_folder_that_cannot_be_written(folder, capsys, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    no_writing(monkeypatch)
    assert main(["curator", "status", str(folder.path)]) == 0
    assert "Queries: 5 measured" in capsys.readouterr().out
    assert main(["curator", "export", str(folder.path)]) == 0
    assert capsys.readouterr().out.count("measured") == 5
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before


def test_what_is_in_a_log_that_cannot_be_read_there_is_not_left_out(
    folder, tmp_path, capsys, monkeypatch
):
    copy = tmp_path / "copy"
    with closing(folder.open()) as store:
        store.ask("key-00000009", 9, 1).result()
        shutil.copytree(folder.path, copy)
    no_writing(monkeypatch)
    code, said = ended(capsys, "status", copy)
    assert code == 1
    assert "copy the whole folder to a place of your own" in said.err


# --- running servers ---


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "served", make_curator(known=False)).start()
    yield server
    server.kill()


def get(server, path, token=None, **more):
    headers = {"Authorization": f"Bearer {token or server.token}", **more.pop("headers", {})}
    return httpx2.get(server.url + path, headers=headers, trust_env=False, timeout=30, **more)


def ask(server, row):
    headers = {"Authorization": f"Bearer {server.token}", "Idempotency-Key": f"key-{row:08d}"}
    return httpx2.post(f"{server.url}/v1/queries", json={"row": row}, headers=headers, trust_env=False)


@pytest.mark.slow
def test_a_flood_of_invalid_requests_is_a_few_lines_with_their_time(server):
    port = int(server.url.rpartition(":")[2])
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"MARKER \xff\xff\r\n\r\n")
            connection.recv(1000)
    server.stop()
    lines = server.log.read_text().splitlines()
    assert len(lines) <= 2 * LINES + 2
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ warning: ", line) for line in lines)
    left_out = sum(int(n) for n in re.findall(r": (\d+) more lines of this kind", "\n".join(lines)))
    assert left_out + sum("more lines" not in line for line in lines) == 300
    assert "MARKER" not in "".join(lines)


@pytest.mark.slow
def test_a_token_that_is_revoked_ends_its_open_request_without_a_value(server, capsys):
    number = ask(server, 3).json()["id"]
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(get(server, f"/v1/queries/{number}", params={"wait": 25}))
    )
    waiting.start()
    time.sleep(0.5)
    begin = time.monotonic()
    assert main(["curator", "token", "revoke", str(server.folder.path), "1"]) == 0
    waiting.join(timeout=10)
    assert time.monotonic() - begin < 5
    assert answers[0].status_code == 401
    assert "value" not in answers[0].json()


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True])
def test_where_a_request_says_it_came_from_is_believed_from_a_named_proxy_alone(tmp_path, trusted):
    server = Server(tmp_path / "clinic", make_curator(known=False))
    server.arguments = ("--trusted-proxy", "127.0.0.1") if trusted else ()
    server.start()
    try:
        statuses = [
            get(
                server,
                "/v1/release",
                token="wrong",
                headers={"X-Forwarded-For": f"192.0.2.{i}", "Forwarded": f"for=192.0.2.{i}"},
            ).status_code
            for i in range(30)
        ]
        assert statuses == [401] * 30 if trusted else [401] * 20 + [429] * 10
    finally:
        server.kill()


# --- the log ---


def logged(act):
    stream = io.StringIO()
    handler = log_to(stream)
    try:
        act(logging.getLogger("some.library"))
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    return stream.getvalue()


def test_an_error_is_logged_without_its_text():
    def act(log):
        try:
            raise RuntimeError("MARKER")
        except RuntimeError:
            log.exception("it failed\nfuture: <Task exception=RuntimeError('MARKER')>")

    line = logged(act)
    assert line.count("\n") == 1
    assert "error: it failed (RuntimeError in act, line" in line
    assert "MARKER" not in line


def test_a_log_line_is_one_line_without_control_characters():
    assert logged(lambda log: log.error("a\x1b[2Jb\rc")).endswith(" error: a?[2Jb?c\n")


def test_other_lines_are_not_left_out_beside_a_flood():
    def act(log):
        for i in range(1000):
            log.warning("flood %d", i)
        log.error("one other")

    lines = logged(act).splitlines()
    assert len(lines) == LINES + 2
    assert "one other" in lines[LINES]
    assert f"{1000 - LINES} more lines of this kind" in lines[-1]
