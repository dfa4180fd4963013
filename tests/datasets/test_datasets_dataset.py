from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from botorch_private.datasets import Dataset
from botorch_private.datasets.dataset import Range, assemble


def make(**changes) -> Dataset:
    fields = {
        "name": "toy",
        "title": "a toy",
        "records": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).double(),
        "outcomes": torch.tensor([7.0, 8.0, 9.0]).double(),
        "outcome": "points",
        "features": ("a", "b"),
        "units": ("m", "s"),
        "lower": (0.0, 0.0),
        "upper": (10.0, 10.0),
        "range_reasons": ("by definition", "by definition"),
        "provenance": {},
    }
    return Dataset(**(fields | changes))


def test_dataset_is_frozen():
    with pytest.raises(FrozenInstanceError):
        make().name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_shorter_floats_are_widened():
    data = make(records=torch.ones(3, 2), outcomes=torch.ones(3))
    assert data.records.dtype == data.outcomes.dtype == torch.float64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records": torch.tensor([[1.0, float("nan")]] * 3)}, "records must be finite"),
        ({"outcomes": torch.ones(2)}, "outcomes must have 3 entries, got 2"),
        ({"lower": (0.0,)}, "lower must have 2 entries, got 1"),
        ({"upper": (1.0, float("inf"))}, "upper must be finite"),
        ({"features": ("a",)}, "features must have 2 entries, got 1"),
        ({"units": ("m", "s", "kg")}, "units must have 2 entries, got 3"),
        ({"range_reasons": ()}, "range_reasons must have 2 entries, got 0"),
        ({"lower": (0.0, 10.0)}, "lower must be < upper, not so for 'b'"),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_replace_keeps_the_checks():
    with pytest.raises(ValueError, match="lower must be < upper"):
        replace(make(), upper=(0.0, 10.0))


def test_assemble_takes_ranges_by_name_and_order_from_the_columns():
    data = assemble(
        {
            "name": "toy",
            "title": "a toy",
            "outcome": "points",
            "columns": [{"name": "b", "unit": "s"}, {"name": "a", "unit": "m"}],
        },
        records=np.ones((3, 2), dtype=np.float32),
        outcomes=np.arange(3.0),
        ranges={"a": Range(0, 1, "why a"), "b": Range(2, 3, "why b")},
    )
    assert data.features == ("b", "a")
    assert data.units == ("s", "m")
    assert data.lower == (2.0, 0.0)
    assert data.upper == (3.0, 1.0)
    assert data.range_reasons == ("why b", "why a")
