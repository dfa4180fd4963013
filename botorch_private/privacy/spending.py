"""What several releases of the same records spend together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from botorch_private._base import validate
from botorch_private.privacy.guarantee import (
    OUTCOMES_ALSO_BARE,
    OUTCOMES_NOISED,
    OUTCOMES_NOT_COVERED,
    PrivacyGuarantee,
    total_epsilon,
)
from botorch_private.privacy.units import different_units


def compose(guarantees: Sequence[PrivacyGuarantee], *, delta: float | None = None) -> PrivacyGuarantee:
    """Add up what several releases of the same records, and answers about them, spend.

    Pure l2 Laplace releases add their epsilons; Gaussian releases add their ``1 / std^2``, averaged over
    random subspaces, which is exact but for rounding up; a mixture of both goes through dp-accounting's
    privacy loss distributions (extra ``accounting``), where l2 Laplace enters as a pure-epsilon event
    and all Gaussians through random subspaces together as an ``(epsilon, delta)`` event, since no
    tighter dominating pair is proved for them.
    Guarantees of outcomes enter at the whole width of their range, whatever the distance is. Where one
    release says that outcomes are answered with noise, and another one that they are answered as they
    are, the total covers features alone.

    Args:
        guarantees: The guarantees of the releases, and of outcomes. One without names is taken to be
            about the features of another one with the same unit. Where units or names differ, the total
            is about a change that moves a record by at most that distance in each release, measured in
            the units of that release.
        delta: Total delta in (0, 1); None: the sum of the deltas of the parts.

    Returns:
        A guarantee whose `epsilon` is the total at one unit of distance.

    Raises:
        ValueError: If there is nothing to add, or `delta` is below what the parts spend in any case.
        ImportError: If dp-accounting is needed and not installed.

    Example:
        >>> once = NoisyProjection(epsilon=1.0).guarantee(n=1000, d=2)
        >>> round(compose([once, once]).epsilon, 6)
        2.0
    """
    guarantees = tuple(guarantees)
    for position, each in enumerate(guarantees):
        if not isinstance(each, PrivacyGuarantee):
            raise TypeError(
                f"guarantees must be PrivacyGuarantees, got a {type(each).__name__} at position "
                f"{position}"
            )
    parts = tuple(part for g in guarantees for part in (g.parts or (g,)))
    if not parts:
        raise ValueError("guarantees must hold at least one PrivacyGuarantee, got none")
    features = [part for part in parts if part.outcome_range is None]
    units = different_units(features)
    total = sum(part.delta for part in parts) if delta is None else delta
    validate.probability_or_zero(delta=total)
    least = least_delta(parts)
    if total < least:
        raise ValueError(
            f"delta must be at least {least:.3g}, which the parts spend in any case, got {total!r}"
        )
    assumptions = dict.fromkeys(a for part in parts for a in part.assumptions)
    if features and len(features) < len(parts):  # outcomes are covered, beside features
        about = [assumptions.pop(each, 0) is None for each in (OUTCOMES_NOISED, OUTCOMES_NOT_COVERED)]
        if all(about):  # one curator told with noise what another one told without
            assumptions[OUTCOMES_ALSO_BARE] = None
    first = (units or parts)[0]
    if len(units) > 1:  # a step may be long in one release and none in another
        first = replace(
            first, unit=None, names=None, steps=(), log_columns=(), features=None, projection_dim=None
        )
    else:
        first = replace(
            first, steps=tuple(dict.fromkeys(step for part in features for step in part.steps))
        )
    # A composition may have been voided as a whole: what it says counts beside what its parts say.
    sources = [*guarantees, *parts]
    return replace(
        first,
        mechanism=_named(parts, features),
        epsilon=total_epsilon(parts, 1.0, total),
        delta=total,
        delta_fp=sum(part.delta_fp for part in parts),
        holds=all(each.holds for each in sources),
        reasons=tuple(dict.fromkeys(reason for each in sources for reason in each.reasons)),
        records=max((part.records for part in parts if part.records is not None), default=None),
        assumptions=tuple(assumptions),
        law=None,
        radius=max((part.radius for part in parts if part.radius is not None), default=None),
        seeded=any(each.seeded for each in sources),
        parts=parts,
        outcome_range=None,
        outcome_name=None,
    )


def least_delta(guarantees: Sequence[PrivacyGuarantee]) -> float:
    """Delta that releases spend together at any epsilon.

    The samplers' errors, and the whole delta of a release that is known by its claim alone.
    """
    return sum(part.delta_fp if part.law else part.delta for part in guarantees)


def total(guarantees: Sequence[PrivacyGuarantee], *, delta: float = 0.0) -> PrivacyGuarantee:
    """All together, at the delta of one of them: Gaussian releases do not add theirs up.

    Args:
        guarantees: At least one.
        delta: At this delta if it is larger.
    """
    shared = max(delta, total_delta(guarantees))
    if len(guarantees) == 1 and shared == guarantees[0].delta:
        return guarantees[0]
    return compose(guarantees, delta=shared)


def total_delta(guarantees: Sequence[PrivacyGuarantee]) -> float:
    """Delta of `total`: the largest of one, or what all spend in any case."""
    parts = [part for g in guarantees for part in (g.parts or (g,))]
    return max(max(g.delta for g in guarantees), least_delta(parts))


def _named(parts: Sequence[PrivacyGuarantee], features: Sequence[PrivacyGuarantee]) -> str:
    answers = len(parts) - len(features)
    kinds = []
    if features:
        kinds.append(f"{len(features)} release{'s' if len(features) > 1 else ''}")
    if answers:
        kinds.append("an answer about each outcome" if answers == 1 else f"{answers} answers")
    return f"composition of {' and '.join(kinds)}"
