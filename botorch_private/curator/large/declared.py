"""What is declared of the records of a release in parts, and what of it is public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.mechanisms.base import Mechanism, RowByRow
from botorch_private.curator.publish import Domain, check_parts, noise_of, ranges_of
from botorch_private.privacy.guarantee import PrivacyGuarantee


def domain_of(scaling: Any, encoding: Encoding | None, mechanism: Mechanism) -> Domain:
    """What is declared of records; refuses what cannot be released in pieces."""
    declared = scaling
    if encoding is not None:
        declared = None if _of_cells(mechanism) else encoding.scaling
    domain = check_parts(declared, mechanism)
    if not isinstance(mechanism, RowByRow):
        raise ValueError(
            f"mechanism must release each record for itself, such as NoisyProjection or CellResponse, "
            f"got {type(mechanism).__name__}, which needs the whole table at once"
        )
    if encoding is not None and encoding.names != domain.names:
        raise ValueError("scaling must be the Encoding of the cells of mechanism, got other features")
    ranges = ranges_of(domain)
    if ranges is not None and not ranges.public:
        raise ValueError("scaling must be declared, got one that was learned from records")
    return domain


def _of_cells(mechanism: Any) -> bool:
    return getattr(mechanism, "cells", None) is not None


def columns_of(domain: Domain, encoding: Encoding | None) -> tuple[str, ...]:
    """Names of the columns to read."""
    if encoding is not None:
        return tuple(each.name for each in encoding.features)
    if domain.names is None:
        raise ValueError("scaling must have names: they are the columns that are read from the files")
    return domain.names


def public_settings(
    mechanism: Mechanism,
    guarantee: PrivacyGuarantee,
    outcome_guarantee: PrivacyGuarantee | None,
    outcome_names: Sequence[str],
    domain: Domain,
) -> dict[str, Any]:
    """What a release says beside its rows."""
    return {
        "guarantee": guarantee,
        "outcome_guarantee": outcome_guarantee,
        "outcome_names": tuple(outcome_names),
        "cells": domain.space if isinstance(domain, Cells) else None,
        **noise_of(mechanism, domain.features),
    }


def ends_of(domain: Domain) -> tuple[tuple[float, float], ...]:
    """Ends of the declared ranges; empty where there are none."""
    ranges = ranges_of(domain)
    if ranges is None:
        return ()
    return tuple(zip(ranges.lower.tolist(), ranges.upper.tolist(), strict=True))
