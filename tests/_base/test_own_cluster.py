"""A cluster that is started here is for who started it, and for nobody else who can reach it."""

import os
import socket
import stat
from pathlib import Path

import pytest
from helpers.ray_cluster import ray_cluster

from botorch_private._base import own_cluster

pytestmark = pytest.mark.slow


def session_of(ray):
    return Path(ray._private.worker._global_node.get_session_dir_path())


def test_it_listens_to_this_machine_alone():
    ray = ray_cluster()
    host, port = ray.get_runtime_context().gcs_address.rsplit(":", 1)
    assert host == "127.0.0.1"
    socket.create_connection((host, int(port)), timeout=5).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        own = probe.getsockname()[0]
    if own.startswith("127."):
        pytest.skip("this machine is in no network")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((own, int(port)), timeout=5)


def test_its_files_are_closed_to_other_users():
    session = session_of(ray_cluster())
    closed = session.parents[1]
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert closed.name.startswith("ray-")


def test_its_token_is_in_no_file_and_not_in_this_program():
    ray = ray_cluster()
    mode, token = ray.get(
        ray.remote(lambda: (os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"])).remote()
    )
    assert (mode, len(token)) == ("token", 64)
    assert own_cluster._TOKEN not in os.environ
    usual = Path.home() / ".ray" / "auth_token"
    assert not usual.exists() or usual.read_text().strip() != token
    for file in session_of(ray).parents[1].rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes()


def test_a_token_that_the_user_has_set_is_taken(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
    with own_cluster._new_token():
        assert os.environ["RAY_AUTH_TOKEN"] == "f" * 64
    assert os.environ["RAY_AUTH_TOKEN"] == "f" * 64


def test_a_cluster_that_does_not_start_leaves_nothing(monkeypatch, tmp_path):
    class Ray:
        def init(self, **_):
            raise RuntimeError("no")

    pytest.importorskip("ray")
    monkeypatch.setattr(own_cluster, "_short_folder", lambda: tmp_path)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)  # that of the cluster of other tests stays known
    with pytest.raises(RuntimeError, match="no"):
        own_cluster.start_own(Ray())
    assert list(tmp_path.iterdir()) == []
