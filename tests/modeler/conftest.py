"""Servers, and outcomes that are hard to fit, for the tests of the modeler's side."""

import pytest
from helpers.remote_server import Server, make_curator

HARD_OUTCOMES = {
    "one": ([4], [3.0]),
    "two equal": ([4, 9], [3.0, 3.0]),
    "zeros": ([4, 9, 11], [0.0, 0.0, 0.0]),
    "offset 1e12": ([4, 9, 11], [1e12, 1e12 + 1, 1e12 + 0.5]),
    "tiny": ([4, 9, 11], [1e-300, 2e-300, 0.0]),
    "huge": ([4, 9, 11], [-1e150, 1e150, 0.0]),
    "repeats": ([4, 4, 4, 9], [1.0, 1.0, 1.0, 2.0]),
    "contradictions": ([4, 4, 9, 9], [1.0, 2.0, 2.0, 1.0]),
    "one row": ([4, 4, 4], [1.0, 2.0, 5.0]),
}


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


@pytest.fixture(params=HARD_OUTCOMES.values(), ids=HARD_OUTCOMES)
def hard_outcomes(request):
    """Return measured rows of a release and their values."""
    return request.param
