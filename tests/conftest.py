"""One thread, and small public inputs that many tests share.

PyTorch is imported where it is used: the process that hands out the tests to others needs none.
"""

import os
import sys

import pytest

# The number of threads changes results in their last digits. PyTorch reads these when it is imported.
os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def pytest_collection_modifyitems(items):
    """Put files with slow tests first, so that none is left to one process alone in the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def generator():
    """Return a seeded generator: for tests only, since a seed voids every guarantee."""
    import torch

    return torch.Generator().manual_seed(20200712)


@pytest.fixture
def scaling():
    """Return declared ranges of three features."""
    from botorch_private import PublicScaling

    return PublicScaling([0.0, -5.0, 100.0], [1.0, 5.0, 300.0])


@pytest.fixture
def records(scaling):
    """Return 24 x 3 raw records inside their declared ranges, float64."""
    import torch

    uniform = torch.rand(24, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    return scaling.lower + (scaling.upper - scaling.lower) * uniform


@pytest.fixture(autouse=True)
def _tables_were_not_released_before(monkeypatch):
    """Forget that other tests built transforms of the same few records, of which one warns."""
    transform = sys.modules.get("botorch_private.curator.transform")
    if transform is not None:
        monkeypatch.setattr(transform, "_RELEASED", _Forgetful())


class _Forgetful(set):
    def __contains__(self, table):
        return False
