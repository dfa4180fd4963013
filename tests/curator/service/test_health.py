"""Health tries what it vouches for."""

import asyncio

import pytest

from botorch_private.curator.service import health
from botorch_private.curator.service.health import Health
from botorch_private.curator.service.release_file import ReleaseFile


@pytest.fixture
def tried(serve):
    """A service, and what its health says when it looks anew."""
    service = serve()
    release = ReleaseFile(service.folder.release, service.store.facts.identity)

    def problem():
        return asyncio.run(Health(service.folder.path, service.store, release).problem())

    service.problem = problem
    return service


def test_a_folder_that_is_whole_is_well(tried):
    assert tried.problem() == ""


def test_a_release_that_is_gone_or_changed_is_told(tried):
    content = tried.folder.release.read_bytes()
    tried.folder.release.unlink()
    assert tried.problem() == "the release file is gone or was changed"
    tried.folder.release.write_bytes(content[:-1])
    assert tried.problem() == "the release file is gone or was changed"


def test_a_disk_that_is_almost_full_is_told(tried, monkeypatch):
    monkeypatch.setattr(health, "LEAST_SPACE", 2**63)
    assert tried.problem() == "the curator's disk is almost full"


def test_a_database_that_stores_nothing_is_told(tried):
    tried.store._writer.close()
    assert tried.problem() == "nothing can be stored"
