"""latent_class_attack: what a modeler learns of each record from the other rows of the release alone."""

from __future__ import annotations

import torch

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.reconstruction import Reconstruction
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.exchange.release import Release
from botorch_private.modeler.record_kinds import CLASSES, by_kinds


@quiet_arithmetic
@on_cpu_by_default
def latent_class_attack(
    release: Release, scaling: PublicScaling, *, classes: int = CLASSES, seed: int = 0
) -> Reconstruction:
    """Rebuild all records from the release alone: no record, and no sample of the population, is known.

    The rows show of which kinds the records are, and a row says of which kind its record may be
    (`modeler.record_kinds`).

    O(n d K) an iteration; a second or two for 8,000 rows of 22 features.

    Args:
        release: As the curator released it, neither rotated nor projected, with noise on each row. l2
            Laplace noise is taken for Gaussian noise of its variance.
        scaling: The declared ranges, which are public.
        classes: Kinds of record that are looked for, ``K``.
        seed: Of the attacker's random start.

    Returns:
        The estimates. Their judged error is the posterior deviation, by the kinds that were found.

    Raises:
        ValueError: If rows are labels of cells, rotated, projected, without noise, or of other ranges.

    Example:
        >>> found = audit.latent_class_attack(release, scaling, classes=3)
        >>> found.records.shape
        torch.Size([60, 2])
    """
    release.refuse_labels("response_audit tests them; what one says is bounded by guarantee.at")
    validate.count(classes=classes)
    scaling.check_belongs(release.guarantee, "release")
    if release.isotropic or isinstance(release.noise_variance, tuple):
        raise ValueError("release must have columns that are features, neither rotated nor projected")
    s2 = float(release.noise_variance)
    if s2 == 0:
        raise ValueError("release must have noise on its rows: without it there is nothing to guess")
    at_ends = {column for step in scaling.steps for column in step.columns}
    both = scaling.transform(torch.stack([scaling.lower, scaling.upper])).T.tolist()
    ends = {i: (both[i][0], both[i][1]) for i, name in enumerate(scaling.names or ()) if name in at_ends}
    estimate, left = by_kinds(release.candidates.numpy(), s2, ends, classes=classes, seed=seed)
    error = torch.from_numpy(left) * scaling.unit
    return Reconstruction(scaling.inverse(torch.from_numpy(estimate)), error)
