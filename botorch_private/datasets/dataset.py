"""What every shipped table looks like: records, outcomes, declared public ranges, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate


class Range(NamedTuple):
    """The declared public range of one feature, and why it is that range."""

    lower: float
    upper: float
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of `n` records with `d` features and one outcome to be maximised.

    ``PublicScaling(data.lower, data.upper, names=data.features)`` is the scaling that its declared
    ranges define. The ranges say what each feature can mean, not what this table happens to hold;
    a value outside its range is clipped by the scaling.

    Attributes:
        name: The name of the function that loads the table.
        title: One line that says what the table is.
        records: An `n x d` float64 tensor in raw units, of which each row is one record.
        outcomes: An `n` float64 tensor, to be maximised.
        outcome: What the outcome is, with its unit, in words.
        features: The `d` feature names.
        units: The `d` units, as words.
        lower: The `d` lower ends of the declared ranges, in raw units.
        upper: The `d` upper ends of the declared ranges, in raw units.
        range_reasons: The `d` reasons for the declared ranges.
        provenance: Source, licence, selection, columns and checksum.
    """

    name: str
    title: str
    records: Tensor
    outcomes: Tensor
    outcome: str
    features: tuple[str, ...]
    units: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    range_reasons: tuple[str, ...]
    provenance: dict[str, Any]

    def __post_init__(self) -> None:
        records = validate.matrix(records=self.records)
        n, d = records.shape
        outcomes = validate.vector(outcomes=self.outcomes, length=n)
        lower = validate.vector(lower=self.lower, length=d)
        upper = validate.vector(upper=self.upper, length=d)
        for name in ("features", "units", "range_reasons"):
            if len(getattr(self, name)) != d:
                raise ValueError(f"{name} must have {d} entries, got {len(getattr(self, name))}")
        empty = (lower >= upper).nonzero()
        if len(empty):
            raise ValueError(f"lower must be < upper, not so for {self.features[int(empty[0])]!r}")
        object.__setattr__(self, "records", records)
        object.__setattr__(self, "outcomes", outcomes)

    def __repr__(self) -> str:
        n, d = self.records.shape
        return (
            f"Dataset(name={self.name!r}, records={n} x {d}, outcomes={n}, "
            f"outcome={self.outcome!r}, features={self.features!r})"
        )


def assemble(
    provenance: dict[str, Any],
    *,
    records: np.ndarray,
    outcomes: np.ndarray,
    ranges: Mapping[str, Range],
) -> Dataset:
    """Join a table's numbers, its provenance, and the declared range of each of its columns."""
    columns = provenance["columns"]
    declared = [ranges[column["name"]] for column in columns]
    return Dataset(
        name=provenance["name"],
        title=provenance["title"],
        records=torch.tensor(records, dtype=torch.float64),
        outcomes=torch.tensor(outcomes, dtype=torch.float64),
        outcome=provenance["outcome"],
        features=tuple(column["name"] for column in columns),
        units=tuple(column["unit"] for column in columns),
        lower=tuple(float(entry.lower) for entry in declared),
        upper=tuple(float(entry.upper) for entry in declared),
        range_reasons=tuple(entry.reason for entry in declared),
        provenance=provenance,
    )
