"""Publish a table: scale, draw the noise once, shuffle the rows. The curator's side only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private.guarantee import PrivacyGuarantee
from botorch_private.mechanisms.base import SEEDED, Mechanism
from botorch_private.mechanisms.entropy import entropy_from, permutation
from botorch_private.release import Release
from botorch_private.scaling import PublicScaling

SCALING_FROM_DATA = "the scaling was learned from the records, so that one record moves every row"


@dataclass(frozen=True, eq=False)
class Published:
    """A release together with what only the curator may know.

    Args:
        release: What crosses to the modeler.
        permutation: ``n`` integers: released row -> record.
        row_map: Map from scaled rows to released rows, where the mechanism is one.
    """

    release: Release
    permutation: Tensor
    row_map: Callable[[Tensor], Tensor] | None

    @property
    def rows_of_records(self) -> Tensor:
        """``n`` integers: record -> released row."""
        inverse = torch.empty_like(self.permutation)
        inverse[self.permutation] = torch.arange(len(self.permutation))
        return inverse

    def __repr__(self) -> str:
        return f"Published({self.release!r})"


def planned_guarantee(
    n: int, scaling: PublicScaling, mechanism: Mechanism, *, seeded: bool = False
) -> PrivacyGuarantee:
    """What releasing ``n`` records would promise; from public parameters alone.

    The mechanism's own guarantee, with one unit of distance in raw units, and voided where the
    scaling was learned from data or the noise is reproducible.
    """
    guarantee = replace(
        mechanism.guarantee(n, scaling.features),
        unit=tuple(scaling.unit.tolist()),
        names=scaling.names,
        radius=scaling.radius,
        seeded=seeded,
    )
    if not scaling.public:
        # The unit itself was computed from the table, so it must not travel with the guarantee.
        guarantee = replace(guarantee, unit=None).voided(SCALING_FROM_DATA)
    return guarantee.voided(SEEDED) if seeded else guarantee


def publish(
    records: Any,
    scaling: PublicScaling,
    mechanism: Mechanism,
    *,
    generator: torch.Generator | None = None,
) -> Published:
    """Draw a release of a table. Each call draws fresh noise, which adds to what is spent.

    Args:
        records: ``n x d`` raw records, ``n >= 2``.
        scaling: Declared ranges of the features.
        mechanism: How rows are released.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        ValueError: If a record has a missing value or the wrong width, or the settings contradict
            each other; nothing is drawn then.
    """
    check_parts(scaling, mechanism)
    entropy = entropy_from(generator)
    table = scaling.check(records)
    n, d = table.shape
    if n < 2:
        raise ValueError(f"records must have at least 2 rows, got {n}")
    guarantee = planned_guarantee(n, scaling, mechanism, seeded=entropy.seeded)
    # Shuffled before anything else: matrix products round a row in ways that depend on its place.
    order = torch.from_numpy(np.ascontiguousarray(permutation(entropy, n)))
    drawn = mechanism.draw(scaling.scale_rows(table, order), generator=generator)
    release = Release(
        candidates=drawn.rows,
        guarantee=guarantee,
        noise_variance=mechanism.noise_variance(d),
        noise_dim=mechanism.noise_dim(d),
        isotropic=mechanism.isotropic,
    )
    return Published(release, order, drawn.row_map)


def check_parts(scaling: PublicScaling, mechanism: Mechanism) -> None:
    """Refuse a scaling or a mechanism that is none, such as swapped arguments."""
    if not isinstance(scaling, PublicScaling):
        raise TypeError(f"scaling must be a PublicScaling, got {_type(scaling)}")
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise TypeError(
            f"mechanism must be a mechanism such as NoisyProjection(epsilon=1.0), got {_type(mechanism)}"
        )


def _type(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
