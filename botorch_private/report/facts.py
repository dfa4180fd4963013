"""What a release says about itself: public facts, computed without the table.

Nothing here, and nothing that it imports, knows records or scalings, so that a modeler can compute
the same. What needs the table is in `table_facts`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from botorch_private.exchange.release import Release
from botorch_private.modeler.denoised_release import DenoisedRelease
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.spending import total
from botorch_private.report.attacker import Attacker, attacker
from botorch_private.report.cost import Cost, cost_at, mixed
from botorch_private.report.unit_facts import Change, Feature, Ranges, changes_of, features_of

_DISTANCES = (0.5, 1.0, 2.0, 5.0, 10.0)
_NEAREST, _FARTHEST = 0.1, 100.0  # of the plot, in units; the farthest where no radius is known
_POINTS = 48
_LINEAR_IMAGE = "SpectralProjection"


@dataclass(frozen=True)
class ReleaseFacts:
    """One release.

    Attributes:
        name: Of its file.
        identity: SHA-256 of rows and settings.
        rows: Number of records, ``n``.
        width: Numbers in a released row, ``r``.
        guarantee: What is promised.
        outcome_guarantee: What is promised about answers; None where they are answered as they are.
        attacker: What noise leaves to a perfect attacker; None where there is no noise.
        known_enough: How many known records give all others away, where a linear image is released.
    """

    name: str
    identity: str
    rows: int
    width: int
    guarantee: PrivacyGuarantee
    outcome_guarantee: PrivacyGuarantee | None
    attacker: Attacker | None
    known_enough: int | None


@dataclass(frozen=True)
class Facts:
    """All that is public.

    Attributes:
        releases: Each release.
        total: What all of them promise together.
        with_outcomes: That, and all answers; None where no answers are covered. Each release counts
            noise of its own on the answers, also where a curator that released again kept it.
        features: Each column: a number, or one of those that hold a yes/no or a category.
        changes: Each yes/no and category.
        costs: What is promised at some distances, from near to far; the last one is the diameter of
            the ball where that is known.
        diameter: ``2 R``, the distance of the two records farthest apart, in units.
        curve: Distances and epsilons of a plot; empty where nothing is promised at some distance.
        second: What is promised at one unit after one more release with the settings of the last one;
            None where that cannot be computed.
        second_delta: Delta then.
        second_epsilon_unknown: Why not.
    """

    releases: tuple[ReleaseFacts, ...]
    total: PrivacyGuarantee
    with_outcomes: PrivacyGuarantee | None
    features: tuple[Feature, ...]
    changes: tuple[Change, ...]
    costs: tuple[Cost, ...]
    diameter: float | None
    curve: tuple[tuple[float, float], ...]
    second: Cost | None
    second_delta: float
    second_epsilon_unknown: str

    @property
    def unit_cost(self) -> Cost:
        """What is promised at one unit."""
        return next(cost for cost in self.costs if cost.distance == 1.0)


@dataclass(frozen=True)
class Spent:
    """What a ledger says, in all.

    Attributes:
        entries: How many.
        total: The most that was spent on a record; None where nothing was.
        budget: The most that may be; None where there is no limit.
        one_more: The total after one more release with the settings of the last one of the report.
        unknown: Releases of the report that no entry is like.
    """

    entries: int
    total: PrivacyGuarantee | None
    budget: PrivacyGuarantee | None
    one_more: PrivacyGuarantee | None
    unknown: tuple[str, ...]


def public_facts(
    releases: Sequence[Release], names: Sequence[str], ranges: Ranges | None = None
) -> Facts:
    """Compute what is public of some releases of the same records.

    Args:
        releases: As the curator released them.
        names: What to call each of them, such as its file.
        ranges: The declared ranges, which are public.

    Raises:
        TypeError: If a release is none, or denoised.
        ValueError: If a release is given twice, or the releases differ in their unit.
        ImportError: If adding them up needs dp-accounting and it is not installed.
    """
    for release in releases:
        if not isinstance(release, Release) or isinstance(release, DenoisedRelease):
            raise TypeError(f"release must be a Release as it came, got {type(release).__name__}")
    _refuse_repeated(releases, names)
    guarantees = [release.guarantee for release in releases]
    together = total(guarantees)
    outcomes = [r.outcome_guarantee for r in releases if r.outcome_guarantee is not None]
    diameter = None if together.radius is None else 2 * together.radius
    distances = [d for d in _DISTANCES if diameter is None or d < diameter or d == 1.0]
    costs = tuple(cost_at(together, d) for d in [*distances, *([diameter] if diameter else [])])
    after, unknown = _after_one_more(guarantees)
    return Facts(
        releases=tuple(_release_facts(r, name) for r, name in zip(releases, names, strict=True)),
        total=together,
        with_outcomes=total([*guarantees, *outcomes]) if outcomes else None,
        features=features_of(together, ranges),
        changes=changes_of(together, ranges),
        costs=costs,
        diameter=diameter,
        curve=_curve(together, costs, diameter),
        second=None if after is None else cost_at(after, 1.0),
        second_delta=together.delta if after is None else after.delta,
        second_epsilon_unknown=unknown,
    )


def _after_one_more(guarantees: list[PrivacyGuarantee]) -> tuple[PrivacyGuarantee | None, str]:
    try:
        return total([*guarantees, guarantees[-1]]), ""
    except ImportError as error:
        return None, str(error)


def _release_facts(release: Release, name: str) -> ReleaseFacts:
    n, width = release.candidates.shape
    guarantee = release.guarantee
    features = guarantee.features
    known_enough = None
    if guarantee.mechanism.startswith(_LINEAR_IMAGE) and features is not None and n > features + 1:
        known_enough = features + 1
    return ReleaseFacts(
        name=name,
        identity=release.identity,
        rows=n,
        width=width,
        guarantee=guarantee,
        outcome_guarantee=release.outcome_guarantee,
        attacker=None if guarantee.law is None else attacker(release),
        known_enough=known_enough,
    )


def _curve(
    guarantee: PrivacyGuarantee, costs: tuple[Cost, ...], diameter: float | None
) -> tuple[tuple[float, float], ...]:
    if any(math.isinf(cost.epsilon) for cost in costs):
        return ()
    points = costs
    if not mixed(guarantee):
        distances = np.geomspace(_NEAREST, diameter or _FARTHEST, _POINTS).tolist()
        points = [cost_at(guarantee, distance) for distance in distances]
    return tuple((point.distance, point.epsilon) for point in points)


def _refuse_repeated(releases: Sequence[Release], names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for release, name in zip(releases, names, strict=True):
        if release.identity in seen:
            raise ValueError(
                f"releases must be different ones, but {seen[release.identity]} and {name} are the "
                "same: a copy costs nothing more"
            )
        seen[release.identity] = name
