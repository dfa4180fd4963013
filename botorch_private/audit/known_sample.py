"""known_sample_attack: what a modeler who knows some records learns of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.reconstruction import Reconstruction
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.exchange.release import Release


@on_cpu_by_default
def known_sample_attack(
    release: Release, indices: Sequence[int], records: Any, scaling: PublicScaling | None = None
) -> Reconstruction:
    """Rebuild all records from a few known ones by affine least squares.

    The attacker fits the affine map that takes released rows to known records, and applies it to every
    row (Liu, Giannella & Kargupta 2006). ``d + 1`` known records are enough against a release that is
    an affine image of the table, such as the paper's Algorithm 1; against noise the attack is left with
    the noise.

    Args:
        release: What was released.
        indices: Released rows whose records are known, different ones.
        records: ``m x d`` raw records of those rows.
        scaling: The declared ranges, which are public: the attacker then knows how values outside them
            were clipped. None: the attack assumes that none were.

    Returns:
        The estimates; their judged error is that of each known record, predicted from the other known
        ones, and infinite where they are too few to tell.

    Raises:
        ValueError: If an index is out of range or named twice, or the records do not fit, or
            if rows are labels of cells.

    Example:
        >>> known = [0, 1, 2]  # released rows of people whose records the attacker has
        >>> theirs = records[curator.permutation[known]]
        >>> found = audit.known_sample_attack(release, known, theirs, scaling)
        >>> found.records.shape
        torch.Size([60, 2])
    """
    release.refuse_labels(
        "no map leads from them to records, however many are known; what a label says of its record is "
        "bounded by guarantee.at, and response_audit tests it"
    )
    n = len(release.candidates)
    rows = [validate.index(n, **{f"indices[{i}]": index}) for i, index in enumerate(indices)]
    if len(set(rows)) < len(rows):
        raise ValueError("indices must be different rows, got one twice")
    known = validate.matrix(records=records) if scaling is None else scaling.transform(records)
    if len(known) != len(rows):
        raise ValueError(f"records must have a row for each of {len(rows)} indices, got {len(known)}")
    centre, origin = release.candidates[rows].mean(dim=0), known.mean(dim=0)
    Z = release.candidates[rows] - centre
    left, values, right = torch.linalg.svd(Z, full_matrices=False)
    kept = values > 1e-10 * values.max().clamp_min(torch.finfo(values.dtype).tiny)
    left, values, right = left[:, kept], values[kept], right[kept]
    fitted = left.mT @ (known - origin)
    estimate = origin + (release.candidates - centre) @ right.mT @ (fitted / values.unsqueeze(-1))
    # Leave one out: the residual over what the record's own weight leaves of it.
    own = left.square().sum(dim=1) + 1 / len(rows)
    residual = known - estimate[rows]
    spare = (1 - own).unsqueeze(-1)
    left_out = torch.where(spare > 1e-9, residual / spare, torch.full_like(residual, torch.inf))
    error = left_out.square().mean(dim=0).sqrt()
    if scaling is None:
        return Reconstruction(estimate, error)
    return Reconstruction(scaling.inverse(estimate), error * scaling.unit)
