"""Whether declared ranges are those that a release was made by."""

from __future__ import annotations

import math

from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.privacy.guarantee import PrivacyGuarantee

_SAME = 1e-12  # relative: declared ranges give the same unit on every machine, but for a last digit


def check_scaling(guarantee: PrivacyGuarantee, scaling: PublicScaling, name: str) -> None:
    """Refuse a scaling that a release was not made by.

    Raises:
        ValueError: If units, radius or names of the features differ.
    """
    if guarantee.unit is None or not scaling.public:
        raise ValueError(
            f"ranges must be the declared ones of {name}, but its scaling was not declared: it has no "
            f"raw units"
        )
    names = scaling.names or ()
    if guarantee.names is not None and names and tuple(names) != guarantee.names:
        raise ValueError(
            f"ranges must be those of {name}, with the features {list(guarantee.names)}, got "
            f"{list(names)}"
        )
    units = scaling.unit.tolist()
    if len(units) != len(guarantee.unit):
        raise ValueError(
            f"ranges must be those of {name}, with {len(guarantee.unit)} features, got {len(units)}"
        )
    if guarantee.radius is not None and not math.isclose(
        scaling.radius, guarantee.radius, rel_tol=_SAME
    ):
        raise ValueError(
            f"ranges must be those of {name}, with radius {guarantee.radius:g}, got {scaling.radius:g}"
        )
    for i, (own, stated) in enumerate(zip(units, guarantee.unit, strict=True)):
        if not math.isclose(own, stated, rel_tol=_SAME):
            feature = names[i] if names else f"feature {i}"
            raise ValueError(
                f"ranges must be those of {name}, whose unit is {stated:.6g} of {feature}, got ranges "
                f"that make it {own:.6g}"
            )
