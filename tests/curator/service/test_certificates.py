"""Certificates that are read again: the new pair, or the old one where the new one is bad."""

import os
import signal
import socket
import ssl
import subprocess

import httpx2
import pytest
import trustme
from helpers.patience import wait_until
from helpers.remote_server import SERVE
from helpers.staff_browser import console_folder

from botorch_private.curator.service.certificates import Certificates


class Pair:
    """A certificate and its key, in two files that can be replaced."""

    def __init__(self, place):
        self.certificate, self.key = place / "cert.pem", place / "key.pem"
        self.authority = trustme.CA()

    def renew(self, authority=None):
        made = (authority or self.authority).issue_cert("localhost")
        made.private_key_pem.write_to_path(self.key)
        os.chmod(self.key, 0o600)
        self.certificate.write_bytes(b"".join(each.bytes() for each in made.cert_chain_pems))
        return ssl.PEM_cert_to_DER_cert(made.cert_chain_pems[0].bytes().decode())


@pytest.fixture
def pair(tmp_path):
    found = Pair(tmp_path)
    found.renew()
    return found


DAMAGE = {
    "cut": lambda pair: pair.certificate.write_bytes(pair.certificate.read_bytes()[:200]),
    "gone": lambda pair: pair.key.unlink(),
    "another key": lambda pair: trustme.CA().issue_cert("x").private_key_pem.write_to_path(pair.key),
    "no key": lambda pair: pair.key.write_text("MARKER"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_pair_is_refused_and_the_old_one_kept(pair, damage, caplog):
    certificates = Certificates(pair.certificate, pair.key)
    before = certificates._context
    DAMAGE[damage](pair)
    assert not certificates.reload()
    assert certificates._context is before
    assert "the certificate was not changed" in caplog.text
    assert "MARKER" not in caplog.text
    pair.renew()
    assert certificates.reload()
    assert certificates._context is not before


def shown_by(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain) as secure,  # without a name of a host, as some clients are
    ):
        return secure.getpeercert(binary_form=True)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
def test_a_server_goes_on_with_the_pair_that_was_read_last(tmp_path, pair):
    first = pair.renew()
    console_folder(tmp_path / "folder")
    log, access = tmp_path / "server.log", tmp_path / "access.log"
    options = ["--tls-cert", pair.certificate, "--tls-key", pair.key, "--access-log", access]
    options += ["--metrics", "0", "--root-path", "/lab"]
    command = [*SERVE, tmp_path / "folder", "--port", "0", *options]
    context = ssl.create_default_context()
    pair.authority.configure_trust(context)
    with log.open("w") as stream:
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=stream, text=True
        )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("https://127.0.0.1:"), log.read_text()
        assert address.endswith("/lab")
        port = int(address.removesuffix("/lab").rpartition(":")[2])
        client = httpx2.Client(base_url=f"https://localhost:{port}/lab", verify=context, trust_env=False)
        with client:
            assert client.get("/v1/health").status_code == 200
            assert shown_by(port) == first
            second = pair.renew()
            access.rename(tmp_path / "access.1")
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: shown_by(port) == second)
            assert client.get("/v1/health").status_code == 200  # an open connection goes on
            DAMAGE["another key"](pair)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: "was not changed" in log.read_text())
            assert shown_by(port) == second
        with httpx2.Client(verify=context, trust_env=False) as other:
            assert other.get(f"https://localhost:{port}/v1/health").status_code == 200
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()
    assert "/v1/health 200" in (tmp_path / "access.1").read_text()
    assert "/v1/health 200" in access.read_text()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
def test_without_anything_to_read_again_a_terminal_that_is_closed_ends_the_server(tmp_path):
    console_folder(tmp_path / "folder")
    command = [*SERVE, str(tmp_path / "folder"), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=_as_in_a_terminal
    ) as process:
        try:
            assert process.stdout.readline().startswith("http")
            process.send_signal(signal.SIGHUP)
            assert process.wait(timeout=20) == -signal.SIGHUP
        finally:
            process.kill()  # else leaving the block would wait for a server that goes on


def _as_in_a_terminal():
    """Tests may run under nohup, which has all that they start ignore SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
