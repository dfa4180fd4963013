"""Rebuild the mechanism behind a guarantee, or say why that cannot be done."""

from __future__ import annotations

import math
from dataclasses import replace

from botorch_private.curator.mechanisms import NoisyProjection, SpectralProjection
from botorch_private.exchange.release import Release

_SAME = 1e-9  # relative: calibration is root finding, and libraries differ in last digits


def mechanism_of(release: Release) -> tuple[NoisyProjection | SpectralProjection | None, str]:
    """Rebuild the mechanism from what the guarantee of a release states.

    Returns:
        The mechanism and an empty text; or None and why not.
    """
    guarantee = release.guarantee
    law, features, width = guarantee.law, guarantee.features, guarantee.projection_dim
    if math.isinf(guarantee.epsilon):
        return None, "the records are released as they are, and there is nothing to test"
    if features is None or width is None or guarantee.records is None:
        return None, "the guarantee does not say by which settings the release was made"
    if law is None:
        try:
            printed = SpectralProjection(guarantee.epsilon, guarantee.delta, width)
        except ValueError:
            return None, f"{guarantee.mechanism} cannot be rebuilt from its guarantee"
        if printed.guarantee(guarantee.records, features).mechanism == guarantee.mechanism:
            return printed, ""
        return None, f"{guarantee.mechanism} cannot be rebuilt from its guarantee"
    try:
        noisy = NoisyProjection(
            guarantee.epsilon,
            0.0 if law.kind == "laplace" else guarantee.delta,
            width if release.isotropic else None,
            noise=law.kind,
        )
        rebuilt = noisy.law(features)
    except ValueError:
        return None, f"{guarantee.mechanism} cannot be rebuilt from its guarantee"
    same_scale = math.isclose(rebuilt.scale, law.scale, rel_tol=_SAME)
    if not same_scale or replace(rebuilt, scale=law.scale) != law:
        return None, (
            "the noise that the release states is not the noise that its epsilon and delta call for in "
            "this version of the software"
        )
    return noisy, ""
