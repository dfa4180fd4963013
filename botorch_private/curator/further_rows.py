"""further_rows: what appends to a release that was made in an earlier process, by its law alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from botorch_private.curator.cells.cell_response import labels_of
from botorch_private.curator.existing_release import published_earlier
from botorch_private.curator.mechanisms.base import check_scaled
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.mechanisms.noise import noised
from botorch_private.curator.publish import Domain, Published, require_own_outcomes
from botorch_private.exchange.release import Release
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.response_law import ResponseLaw


def published_to_grow(release: Release, table: Tensor, scaling: Domain, permutation: Any) -> Published:
    """Put a release together with its order again (`published_earlier`), to be appended to.

    A row is a record, or its cell, with noise of its own, so that the law which the guarantee states is
    all that further rows need. A projection is another matter: it was drawn once, and is kept nowhere.

    Raises:
        TypeError: As in `published_earlier`.
        ValueError: As there, or if rows are not drawn from records one by one by their law alone.
    """
    require_own_outcomes(release)
    published = published_earlier(release, table, scaling, permutation)
    promise, entropy = release.guarantee, entropy_from(None)
    law, mechanism = promise.law, promise.mechanism
    if isinstance(law, ResponseLaw) and mechanism == "CellResponse":
        return replace(published, more=lambda cells: labels_of(cells, law, entropy))
    plain = not release.isotropic and mechanism == "NoisyProjection"
    if not (plain and isinstance(law, NoiseLaw) and law.dim == promise.features):
        raise ValueError(
            f"rows cannot be added to this release of {mechanism}: they are projected or turned by a "
            f"matrix that was drawn once and kept nowhere. Records can join a release without a "
            f"projection, or of cells"
        )
    return replace(
        published,
        more=lambda scaled: torch.from_numpy(
            noised(check_scaled(scaled, minimum_rows=1).numpy(), law, entropy)
        ),
    )
