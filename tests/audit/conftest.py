"""Neighbouring tables, from which every audit of a mechanism starts."""

import pytest
import torch


def _tables(d, n=12, distance=1.0, seed=0):
    records = torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    step = torch.randn(d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + 1))
    neighbour = records.clone()
    neighbour[n // 2] += distance * step / step.norm()
    return records, neighbour


@pytest.fixture
def tables():
    """Return ``tables(d, n, distance, seed)``: scaled records, and the same with one moved that far."""
    return _tables
