"""One thread, and small public inputs that many tests share."""

import pytest
import torch

from botorch_private import PublicScaling

torch.set_num_threads(1)  # the number of threads changes results in their last digits


@pytest.fixture
def generator():
    """Return a seeded generator: for tests only, since a seed voids every guarantee."""
    return torch.Generator().manual_seed(20200712)


@pytest.fixture
def scaling():
    """Return declared ranges of three features."""
    return PublicScaling([0.0, -5.0, 100.0], [1.0, 5.0, 300.0])


@pytest.fixture
def records(scaling):
    """Return 24 x 3 raw records inside their declared ranges, float64."""
    uniform = torch.rand(24, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    return scaling.lower + (scaling.upper - scaling.lower) * uniform
