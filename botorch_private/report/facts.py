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
from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.cautions import guess
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.privacy.spending import total
from botorch_private.privacy.steps import Step
from botorch_private.privacy.units import in_own_units
from botorch_private.privacy.words import before_questions
from botorch_private.report.attacker import Attacker, attacker, feature_names

_DISTANCES = (0.5, 1.0, 2.0, 5.0, 10.0)
_SEVERAL = (1, 2, 5, 10)  # records of one person
_NEAREST, _FARTHEST = 0.1, 100.0  # of the plot, in units; the farthest where no radius is known
_POINTS = 48
_LINEAR_IMAGE = "SpectralProjection"


@dataclass(frozen=True)
class Cost:
    """What is promised about two records at a distance."""

    distance: float  # in units; infinite where it is any
    epsilon: float  # infinite where nothing is promised
    delta: float  # the same at all distances
    guess: float  # chance, at most, that a spy tells the two apart who holds both equally likely

    @classmethod
    def at(cls, guarantee: PrivacyGuarantee, distance: float, records: int = 1) -> Cost:
        """What a guarantee promises about two records at a distance, in units, or about several."""
        epsilon = guarantee.at(distance, records)
        delta = max(guarantee.delta, records * guarantee.delta_fp)
        return cls(distance, epsilon, delta, guess(epsilon, delta))

    @classmethod
    def of_a_whole_record(cls, guarantee: PrivacyGuarantee) -> Cost:
        """What a guarantee promises about any two records; without a limit where that is not known."""
        epsilon = guarantee.whole_record
        return cls(math.inf, epsilon, guarantee.delta, guess(epsilon, guarantee.delta))


@dataclass(frozen=True)
class Feature:
    """A column, in raw units. Without ranges, all but `name` and `unit` are None."""

    name: str
    unit: float | None  # one unit of distance; None where the release has no raw units
    ends: tuple[float, float] | None = None  # of the declared range
    width: float | None = None  # of the range, in units
    whole: Cost | None = None  # from end to end; None also where that takes too long
    log: bool = False  # whether it is on a log scale; the unit is in natural logarithms then


@dataclass(frozen=True)
class Change:
    """A change of a yes/no or a category, from any value to any other."""

    step: Step
    share: float  # one unit, as a share of the change
    cost: Cost | None  # None where that takes too long


@dataclass(frozen=True)
class ReleaseFacts:
    """One release."""

    name: str  # of its file
    identity: str
    rows: int
    width: int  # numbers in a released row, ``r``
    guarantee: PrivacyGuarantee
    outcome_guarantee: PrivacyGuarantee | None  # None where outcomes are answered as they are
    attacker: Attacker | None  # what noise leaves to him; None where there is no noise
    known_enough: int | None  # known records that give all others away, of a linear image
    whole_record: Cost  # of replacing a whole record by any other
    labels: ResponseLaw | None = None  # of the labels; None where rows are noisy records


@dataclass(frozen=True)
class PublicFacts:
    """All that is public.

    Attributes:
        releases: Each release.
        total: What all of them promise together.
        with_outcomes: That, and all answers; None where answers are not covered. Each release counts
            noise of its own on the answers, also where a curator that released again kept it.
        features: Each column: a number, or one of those that hold a yes/no or a category.
        changes: Each yes/no and category.
        costs: What is promised at some distances, from near to far; the last one is the diameter of
            the ball where that is known.
        whole_record: What all of them promise together about a whole record, any change of it; and
            with all answers, if these are covered.
        several: What is promised at one unit to a person with so many records.
        diameter: ``2 R``, the distance of the two records farthest apart, in units.
        curve: Distances and epsilons of a plot; empty where nothing is promised at some distance.
        second: What is promised at one unit after one more release with the settings of the last one,
            or why that cannot be computed.
        central: What all labels promise before the first question; None where that is no better, or
            rows are noisy records.
        central_cost: The same, with what a spy makes of it.
        pure: Where a pure bound stands beside the epsilon at a delta, as for l2 noise: its epsilon at
            the distance of each of the costs. Else empty.
    """

    releases: tuple[ReleaseFacts, ...]
    total: PrivacyGuarantee
    with_outcomes: PrivacyGuarantee | None
    features: tuple[Feature, ...]
    changes: tuple[Change, ...]
    costs: tuple[Cost, ...]
    whole_record: tuple[Cost, Cost | None]
    several: tuple[tuple[int, Cost], ...]
    diameter: float | None
    curve: tuple[tuple[float, float], ...]
    second: Cost | str
    central: PrivacyGuarantee | None = None
    central_cost: Cost | None = None
    pure: tuple[float, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it is about whole records, any change of them: there are no units then."""
        return of_whole_records(self.total)

    @property
    def where(self) -> str:
        """Of what change epsilon is, in words."""
        return "of a whole record" if self.whole else "at one unit"

    @property
    def unit_cost(self) -> Cost:
        """What is promised at one unit."""
        return next(cost for cost in self.costs if cost.distance == 1.0)


def public_facts(
    named: Sequence[tuple[Release, str]],
    ranges: Sequence[tuple[float, float]] | None = None,
    steps: Sequence[Step] = (),
) -> PublicFacts:
    """Compute what is public of some releases of the same records, as the curator released them.

    Args:
        named: Releases, and what to call each of them, such as its file.
        ranges: The declared ends of each column, in raw units; public.
        steps: The declared changes of a yes/no or a category; releases of before guarantees held them
            lack them.

    Raises:
        TypeError: If a release is something else, or denoised.
        ValueError: If a release is given twice, or the releases differ in their unit or features.
        ImportError: If adding them up needs dp-accounting and it is not installed.
    """
    seen: dict[str, str] = {}
    for release, name in named:
        if not isinstance(release, Release) or isinstance(release, DenoisedRelease):
            raise TypeError(f"release must be a Release as it came, got {type(release).__name__}")
        if release.identity in seen:
            raise ValueError(
                f"releases must be different ones, but {seen[release.identity]} and {name} are the "
                f"same: a copy costs nothing more"
            )
        seen[release.identity] = name
    releases = [release for release, _ in named]
    if len({release.cells is None for release in releases}) > 1:
        raise ValueError(
            "releases must all be labels of cells, or all noisy records: report on each kind alone, "
            "with the ledger of all of them for the total"
        )
    guarantees = [release.guarantee for release in releases]
    outcomes = [r.outcome_guarantee for r in releases if r.outcome_guarantee is not None]
    together = total(guarantees)
    if in_own_units(together):
        raise ValueError(
            "releases must share one unit of distance, got different features or scalings: report on "
            "each of them alone, with the ledger of all of them for the total"
        )
    diameter = None if together.radius is None else 2 * together.radius
    whole = of_whole_records(together)
    distances = (
        [1.0] if whole else [d for d in _DISTANCES if diameter is None or d < diameter or d == 1.0]
    )
    costs = [Cost.at(together, d) for d in [*distances, *([diameter] if diameter else [])]]
    # Different kinds of noise take seconds to add up at each distance.
    without = any(part.law is None for part in together.parts)
    slow = len(together.kinds) + without > 1 or (len(together.parts) > 1 and "l2" in together.kinds)
    curve: list[Cost] = []
    if not whole and not any(math.isinf(cost.epsilon) for cost in costs):
        spaced = np.geomspace(_NEAREST, diameter or _FARTHEST, _POINTS).tolist()
        curve = costs if slow else [Cost.at(together, distance) for distance in spaced]
    try:
        second = Cost.at(total([*guarantees, guarantees[-1]]), 1.0)
    except ImportError as error:
        second = str(error)
    answered = total([*guarantees, *outcomes]) if outcomes else None
    if answered is not None and not answered.covers_outcomes:
        answered = None
    central = before_questions(together) if whole else None
    return PublicFacts(
        releases=tuple(_release_facts(*each) for each in named),
        total=together,
        with_outcomes=answered,
        features=_features(together, ranges, slow),
        changes=tuple(
            Change(step, 1 / step.width, None if slow else Cost.at(together, step.width))
            for step in together.steps or steps
        ),
        costs=tuple(costs),
        whole_record=(
            Cost.of_a_whole_record(together),
            None if answered is None else Cost.of_a_whole_record(answered),
        ),
        several=tuple((m, Cost.at(together, 1.0, m)) for m in (_SEVERAL[:2] if slow else _SEVERAL)),
        diameter=diameter,
        curve=tuple((point.distance, point.epsilon) for point in curve),
        second=second,
        central=central,
        central_cost=None if central is None else Cost.of_a_whole_record(central),
        pure=_pure(together, costs),
    )


def _pure(guarantee: PrivacyGuarantee, costs: Sequence[Cost]) -> tuple[float, ...]:
    if "l2" not in guarantee.kinds or math.isinf(guarantee.pure_at(1.0)):
        return ()
    return tuple(guarantee.pure_at(cost.distance) for cost in costs)


def _features(
    guarantee: PrivacyGuarantee, ranges: Sequence[tuple[float, float]] | None, slow: bool
) -> tuple[Feature, ...]:
    names = feature_names(guarantee)
    if guarantee.unit is None:
        return tuple(Feature(name, None) for name in names)
    if ranges is None:
        return tuple(
            Feature(*each, log=i in guarantee.log_columns)
            for i, each in enumerate(zip(names, guarantee.unit, strict=True))
        )
    found = []
    for i, (name, unit, ends) in enumerate(zip(names, guarantee.unit, ranges, strict=True)):
        log = i in guarantee.log_columns
        width = (math.log(ends[1] / ends[0]) if log else ends[1] - ends[0]) / unit
        cost = None if slow else Cost.at(guarantee, width)
        found.append(Feature(name, unit, ends, width, cost, log))
    return tuple(found)


def _release_facts(release: Release, name: str) -> ReleaseFacts:
    guarantee = release.guarantee
    rows, width = release.candidates.shape
    enough = (guarantee.features or rows) + 1
    linear = guarantee.mechanism.startswith(_LINEAR_IMAGE) and rows > enough
    return ReleaseFacts(
        name=name,
        identity=release.identity,
        rows=rows,
        width=1 if release.cells is not None else width,  # beside a label stands its number
        guarantee=guarantee,
        outcome_guarantee=release.outcome_guarantee,
        attacker=attacker(release) if isinstance(guarantee.law, NoiseLaw) else None,
        known_enough=enough if linear else None,
        whole_record=Cost.of_a_whole_record(guarantee),
        labels=guarantee.law if isinstance(guarantee.law, ResponseLaw) else None,
    )
