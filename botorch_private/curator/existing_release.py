"""What was published earlier: a release and its order, held against the records that it is of."""

from __future__ import annotations

from typing import Any

import torch
from scipy.stats import binom
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.publish import Domain, Published
from botorch_private.exchange.release import Release
from botorch_private.privacy.response_law import ResponseLaw

_BY_CHANCE = 1e-12  # chance that the right order is refused
_SURE = 12.0  # standard errors by which the right order must be expected to show, to be missed


def published_earlier(release: Release, table: Tensor, scaling: Domain, permutation: Any) -> Published:
    """Put a release together with its order again. Nothing is drawn, and nothing spent.

    Refused is what the release itself contradicts: another number of records or features, another
    scaling, an order that is none. Where the noise leaves enough to see, distances between released rows
    are held against those between their records, so that another table or another order is noticed
    too; not for projections to fewer columns than features, which do not keep distances, and not under
    noise in which the order drowns.

    Args:
        release: What was released.
        table: ``n x d`` raw records, checked by the scaling.
        scaling: That of the release.
        permutation: Released row -> record, ``n`` integers.

    Raises:
        TypeError: If the release is none as a curator made it.
        ValueError: If records, scaling or order are not those of the release.
    """
    check_declared(release, scaling)
    n, d = table.shape
    promise = release.guarantee
    order = validate.vector(permutation=permutation, length=len(release.candidates)).to(torch.int64)
    if not torch.equal(order.sort().values, torch.arange(len(order), device="cpu")):
        raise ValueError(
            f"permutation must hold each of 0..{len(order) - 1} once: it is that of the curator, which "
            f"says the record of each released row"
        )
    if n != len(release.candidates) or promise.features not in (None, d):
        raise ValueError(
            f"records must be the {len(release.candidates)} x {promise.features or d} that were "
            f"released, in their order, got {n} x {d}"
        )
    if isinstance(scaling, Cells):
        return _labels_of(release, scaling, table, order)
    stated = (promise.unit, promise.names, promise.radius, promise.steps, promise.log_columns)
    unit = tuple(scaling.unit.tolist()) if scaling.public else None
    own = (unit, scaling.names, scaling.radius, scaling.steps, scaling.log_columns)
    if promise.features is not None and stated != own:
        raise ValueError("scaling must be that of the release: its unit, names or radius are others")
    keeps_distances = release.noise_dim == d and (release.noise_variance > 0 or not release.isotropic)  # type: ignore[operator]
    if keeps_distances and _contradicts(release.candidates, scaling.scale_tensor(table)[order]):
        raise ValueError(
            "records must be those of the release, in the order of the permutation: distances between "
            "released rows do not follow from theirs"
        )
    return Published(release, order, None, None, scaling)


def check_declared(release: Any, scaling: Any) -> None:
    """Require a release as it was made, and what its records were declared by: a scaling, or cells.

    Raises:
        TypeError: If one of them is something else.
    """
    if type(release) is not Release:
        raise TypeError(f"release must be a Release as it was made, got {type(release).__name__}")
    wanted, what = (PublicScaling, "a PublicScaling") if release.cells is None else (Cells, "the Cells")
    if not isinstance(scaling, wanted):
        of = "" if release.cells is None else " of a release of labels"
        raise TypeError(f"scaling must be {what}{of}, got {type(scaling).__name__}")


def _labels_of(release: Release, cells: Cells, table: Tensor, order: Tensor) -> Published:
    """The same of labels: as many must be true as the law says."""
    promise = release.guarantee
    if cells.space != release.cells or promise.names not in (None, cells.names):
        raise ValueError("scaling must be the Cells of the release: its grid or its names are others")
    assert release.labels is not None
    true = int((release.labels == cells.of_records(table)[order]).sum())
    law = promise.law
    if isinstance(law, ResponseLaw) and binom.cdf(true, len(order), law.p) < _BY_CHANCE:
        raise ValueError(
            "records must be those of the release, in the order of the permutation: far fewer labels "
            "are their cells than were told truly"
        )
    return Published(release, order, None, None, cells)


def _contradicts(rows: Tensor, records: Tensor) -> bool:
    """Whether squared distances of neighbours lack the correlation that those of the records would give.

    Squared distances of rows are those of the records and independent noise, so that their covariance
    is the variance of the latter. By chance it is that of independent numbers.
    """
    noisy, true = (part.diff(dim=0).square().sum(dim=1) for part in (rows, records))
    noisy, true = noisy - noisy.mean(), true - true.mean()
    error = float(noisy.norm() * true.norm())
    if error == 0:
        return False
    expected, found = float(true.square().sum()) / error, float((noisy * true).sum()) / error
    return expected * len(true) ** 0.5 > _SURE and found < expected / 2
