"""Servers for the tests of the modeler's side."""

import pytest
from helpers.remote_server import Server, make_curator


@pytest.fixture
def serve(tmp_path):
    """Make servers; they are killed at the end."""
    servers = []

    def make(**options):
        servers.append(Server(tmp_path / f"folder{len(servers)}", make_curator(**options)))
        return servers[-1].start()

    yield make
    for server in servers:
        server.kill()


@pytest.fixture(autouse=True)
def _no_token_in_the_environment(monkeypatch):
    monkeypatch.delenv("BOTORCH_PRIVATE_TOKEN", raising=False)
