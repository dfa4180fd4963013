"""PrivacyGuarantee: what a release promises, as an object that says so in words."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

from botorch_private._base import validate
from botorch_private._base.foreign import or_refuse
from botorch_private.privacy.adjacency import BEFORE_QUESTIONS, adjacency, of_whole_records
from botorch_private.privacy.composition import Shift, composed_epsilon
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.privacy.shuffled import shuffled_epsilon
from botorch_private.privacy.steps import Step
from botorch_private.privacy.words import BUDGET, sentences

OUTCOMES_NOT_COVERED = (
    "outcomes are answered as they are: what an outcome itself says about its record is not covered"
)
OUTCOMES_NOISED = "outcomes are answered with noise of their own, whose guarantee adds to this one"
OUTCOMES_ALSO_BARE = (
    "outcomes are answered with noise beside one release, and as they are beside another: what an "
    "outcome itself says about its record is not covered"
)
OWN_OUTCOME = (
    "the outcome of a record is a matter of that record alone, and is answered with the same noise "
    "however often it is asked for: answers about different records do not add up"
)
NAMED_OUTCOMES = (
    "a question about a record is answered with several numbers, each with noise of its own: what they "
    "cost adds up, also where one follows from another"
)
OUTCOME_MISSING = "whether an outcome can be measured at all, and how long that takes, is not covered"
SHARED_OUTCOMES = (
    "outcomes may depend on other records as well, so that all answers add up, as many as may be given"
)
ONE_RECORD = (
    "one record is protected at a time: a person who appears in several records is protected less"
)
CHOSEN_BLIND = (
    "ranges, features, categories, epsilon and delta were chosen from what they mean, without a look at "
    "the table; nothing here can check that"
)
MEMBERSHIP = "that a person is in the table is not hidden, nor is the number of records"
TRUE_ENTROPY = "the operating system's random numbers are taken to be uniform and independent"
JOINED_LATER = (
    "records joined in groups, of people who were not in the table before; which rows joined together "
    "is public, as is when"
)
JOINED_AGAIN = (
    "records joined in groups, some of them perhaps of people who were in the table before: such a "
    "person appears in several records; which rows joined together is public, as is when"
)
SHUFFLED = (
    "the order of the rows is known to the curator alone, and each of the other labels was drawn as the "
    "mechanism says"
)
_LATER = ("steps", "log_columns", "outcome_name")  # fields that are written where they hold something
RELEASES_ADD_UP = "every further release of the same records with fresh noise adds to what is spent"


@dataclass(frozen=True)
class PrivacyGuarantee:
    """What the modeler can learn about one record, computed from public parameters alone.

    Args:
        mechanism: Name of the mechanism.
        epsilon: Epsilon for neighbours at one unit of distance, > 0; infinite where nothing is promised.
        delta: Delta in [0, 1), `delta_fp` included.
        holds: Whether the promise is a theorem for this release.
        reasons: Why it does not hold; empty where it does.
        delta_fp: Part of `delta` that is due to the sampler's floating-point arithmetic.
        assumptions: What the promise rests on and what it leaves out, in sentences.
        law: Law of the noise on a record; None where no such noise is added.
        records: Number of records, ``n``; public.
        features: Features of a record, ``d``.
        projection_dim: Width of a released row, ``r``.
        unit: What one unit of distance is, per feature, in raw units; None in scaled space.
        names: Names of the features; None: "feature 0" and so on.
        radius: Radius of the ball that scaled records lie in; None if not known.
        seeded: Whether the noise came from a reproducible generator (which voids the guarantee).
        parts: For a composition, the guarantees that were added up.
        outcome_range: For noise on outcomes, the declared range that they were clipped to, in raw
            units; None where features are released. One unit of `law` is the width of the range.
        steps: How far a change of a yes/no or a category moves a record, where such were declared. A
            category has a column, with a unit, for each of its values, and a change moves two of them.
        log_columns: Positions of features on a log scale, from 0. Distance is counted in factors there:
            `unit` is in natural logarithms, and one unit is the factor ``exp(unit)``.
        outcome_name: For noise on one of several outcomes, its name, which is public.

    Example:
        >>> guarantee = NoisyProjection(epsilon=1.0).guarantee(n=1000, d=2)
        >>> guarantee.at(2.0) < 2.001
        True
    """

    mechanism: str
    epsilon: float
    delta: float
    holds: bool
    reasons: tuple[str, ...] = ()
    delta_fp: float = 0.0
    assumptions: tuple[str, ...] = ()
    law: NoiseLaw | ResponseLaw | None = None
    records: int | None = None
    features: int | None = None
    projection_dim: int | None = None
    unit: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None
    radius: float | None = None
    seeded: bool = False
    parts: tuple[PrivacyGuarantee, ...] = ()
    outcome_range: tuple[float, float] | None = None
    steps: tuple[Step, ...] = ()
    log_columns: tuple[int, ...] = ()
    outcome_name: str | None = None

    OF_A_RELEASE: ClassVar[tuple[str, ...]] = (
        OUTCOMES_NOT_COVERED,
        ONE_RECORD,
        MEMBERSHIP,
        CHOSEN_BLIND,
        RELEASES_ADD_UP,
        TRUE_ENTROPY,
    )
    """The `assumptions` of any release of features with noise for each record."""

    def __post_init__(self) -> None:
        if not _is_number(self.epsilon) or not self.epsilon > 0:
            found = validate.shown(self.epsilon)
            raise ValueError(f"epsilon must be a number > 0 or infinite, got {found}")
        validate.probability_or_zero(delta=self.delta, delta_fp=self.delta_fp)
        validate.flag(holds=self.holds)
        if self.holds and self.reasons:
            raise ValueError("holds must be False where there are reasons why not")
        if self.outcome_range is not None:
            low, high = self.outcome_range
            validate.finite(outcome_range_low=low, outcome_range_high=high)
            if not low < high:
                raise ValueError(f"outcome_range must be two rising numbers, got {low:g} and {high:g}")

    @classmethod
    def budget(cls, epsilon: float, delta: float = 0.0) -> PrivacyGuarantee:
        """Largest total that may be spent on a record, for `Curator` and `Ledger`.

        Args:
            epsilon: At one unit of distance, > 0.
            delta: In [0, 1). 0 admits pure releases alone; their samplers' floating-point error is
                allowed for.
        """
        validate.positive(epsilon=epsilon)
        validate.probability_or_zero(delta=delta)
        return cls(mechanism=BUDGET, epsilon=float(epsilon), delta=float(delta), holds=True)

    @property
    def adjacency(self) -> str:
        """Which two tables cannot be told apart, in words."""
        return adjacency(self)

    @property
    def covers_features(self) -> bool:
        """Whether it is about released features."""
        return any(part.outcome_range is None for part in self.parts or (self,))

    @property
    def covers_outcomes(self) -> bool:
        """Whether it is about answered outcomes: not where some are answered without noise as well."""
        answers = any(part.outcome_range is not None for part in self.parts or (self,))
        return answers and OUTCOMES_ALSO_BARE not in self.assumptions

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Names of the outcomes that it is about, where records have several."""
        names = (part.outcome_name for part in self.parts or (self,))
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def of_outcome(self, name: str) -> PrivacyGuarantee:
        """The same, about one of several outcomes alone, and without its name.

        Raises:
            ValueError: If it is about no outcome of that name.
        """
        parts = self.parts or (self,)
        own = tuple(replace(p, outcome_name=None) for p in parts if p.outcome_name == name)
        if not own:
            raise ValueError(f"name must be one of {', '.join(self.outcome_names) or 'no names'}")
        if len(own) == 1:
            return own[0]
        delta = max(own[0].delta, sum(part.delta_fp for part in own))
        epsilon = total_epsilon(own, 1.0, delta)
        return replace(own[0], epsilon=epsilon, delta=delta, law=None, parts=own, outcome_range=None)

    def naming(self, name: str) -> PrivacyGuarantee:
        """The same about answers of outcomes, where those are one of several, with this name."""
        if self.parts:
            return replace(self, parts=tuple(part.naming(name) for part in self.parts))
        assumptions = tuple(dict.fromkeys((*self.assumptions[:1], NAMED_OUTCOMES, *self.assumptions)))
        return replace(self, outcome_name=name, assumptions=assumptions)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of the laws of its noise, those of all parts together."""
        laws = (part.law for part in self.parts or (self,))
        return frozenset(law.kind for law in laws if law is not None)

    @property
    def known_at_first(self) -> bool:
        """Whether programs that read version 1 of files alone know it: laws, unit, and one outcome."""
        parts = self.parts or (self,)
        known = self.kinds <= {"laplace", "gaussian"} and not any(part.log_columns for part in parts)
        return known and not self.outcome_names

    @property
    def shared_outcomes(self) -> bool:
        """Whether it is about answers whose outcomes may depend on other records as well."""
        return self.outcome_range is not None and SHARED_OUTCOMES in self.assumptions

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the mechanism: what its class is to be called with to plan the same noise.

        ``epsilon``, ``delta``, ``projection_dim``, and the kind of ``noise`` where there is any. All of
        them are public, and told from the other fields, so that guarantees of old files have them too.
        ``projection_dim`` is the width of a released row, also where nothing was projected: a release
        says in `isotropic` whether it was.
        """
        settings = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "projection_dim": self.projection_dim,
        }
        if self.law is None:
            return settings
        # A pure mechanism's delta is the sampler's floating-point error, and none of its settings.
        delta = 0.0 if self.law.pure else self.delta
        return {**settings, "delta": delta, "noise": self.law.kind}

    def at(self, distance: float, records: int = 1) -> float:
        """Epsilon for neighbours at `distance` units, at the same delta.

        For l2 Laplace noise it is linear in the distance, up to the rounding to the grid; for
        Gaussian noise it grows faster. Infinite where nothing is promised beyond one unit. Where
        outcomes are covered, the outcome may be any other at the same time, also at distance 0.

        A person who has several records moves them all at once, and pays for all of them (group
        privacy): with l2 Laplace noise ``records`` times the epsilon, with Gaussian noise that of a
        distance ``sqrt(records)`` times as large, which costs more than in proportion. For a projection
        into fewer dimensions see `group_privacy`. What is known by its claim alone is chained record by
        record (Dwork & Roth 2014, Theorem 2.2 and its version with delta), so that it is infinite unless
        the claim is pure, or there is delta left. Outcomes that may depend on all records are paid for
        once, however many of them move.

        Args:
            distance: Distance of the features in units of scaled space, >= 0.
            records: How many records of one person move by up to that distance each, >= 1. For more
                than one, delta is ``records * delta_fp`` where that is larger.
        """
        validate.non_negative(distance=distance)
        validate.count(records=records)
        delta = max(self.delta, records * self.delta_fp) if records > 1 else self.delta
        return total_epsilon(self.parts or (self,), distance, delta, records)

    def pure_at(self, distance: float, records: int = 1) -> float:
        """Epsilon for neighbours at `distance` units at no delta but `delta_fp`, beside that of `at`.

        It is the largest privacy loss there is, grows in proportion to the distance, and holds at the
        same time. For l2 Laplace noise it is that of `at`; l2 noise has both; for Gaussian noise, and
        for what is known by its claim at a delta alone, it is infinite.

        Args:
            distance: Distance of the features in units of scaled space, >= 0.
            records: How many records of one person move by up to that distance each, >= 1.
        """
        validate.non_negative(distance=distance)
        validate.count(records=records)
        return sum(part._pure_at(distance, records) for part in self.parts or (self,))

    def _pure_at(self, distance: float, records: int) -> float:
        far = distance if self.outcome_range is None else 1.0
        moved = 1 if self.shared_outcomes else records
        if self.law is not None:
            return self.law.pure_epsilon(far, moved)
        return math.inf if self.delta > 0 else total_epsilon((self,), distance, 0.0, records)

    @property
    def whole_record(self) -> float:
        """Epsilon for replacing a whole record by any other, at the same delta.

        For noise on scaled records it is that of the diameter of the ball, for labels of cells that of
        any change. Infinite where it is not known.
        """
        if of_whole_records(self) or not self.covers_features:
            return self.at(1.0)
        return math.inf if self.radius is None else self.at(2 * self.radius)

    def shuffled(self, delta: float) -> PrivacyGuarantee:
        """The central guarantee: what all labels together say, before the first question.

        Rows are in a random order, so that a label is hidden among the lies told of all other records
        (`privacy.shuffled`). It is a promise about any change of a whole record, like that of the
        labels, with a far smaller epsilon. It ends with the first question: the promise of the labels
        themselves is what holds whatever is asked and answered. Rows that joined later are shuffled
        among themselves alone, and how many joined is not known here: then nothing is gained. Releases
        add up; answers are not counted, since there are none yet.

        Args:
            delta: In (0, 1), far below ``1 / n``.

        Returns:
            A guarantee at this delta, known by its claim alone.

        Raises:
            ValueError: If something else than labels of cells is released, or the number of records is
                not known.
        """
        validate.probability(delta=delta)
        releases = [part for part in self.parts or (self,) if part.outcome_range is None]
        if not releases or any(
            not isinstance(p.law, ResponseLaw) or p.records is None for p in releases
        ):
            raise ValueError("shuffled needs releases of labels of cells (CellResponse) alone")
        share = delta / len(releases) * (1 - 1e-12)
        epsilon = 0.0
        for part in releases:
            assert isinstance(part.law, ResponseLaw)
            assert part.records is not None
            joined = {JOINED_LATER, JOINED_AGAIN} & {*self.assumptions, *part.assumptions}
            local = part.law.epsilon(1.0)
            epsilon += local if joined else shuffled_epsilon(part.law, part.records, share)
        kept = (OUTCOMES_NOT_COVERED, OUTCOMES_NOISED, TRUE_ENTROPY)
        return replace(
            self,
            mechanism=f"{self.mechanism}, shuffled",
            epsilon=max(epsilon, math.ulp(0.0)),
            delta=delta,
            delta_fp=0.0,
            law=None,
            parts=(),
            assumptions=(
                BEFORE_QUESTIONS,
                SHUFFLED,
                *(each for each in self.assumptions if each not in kept),
                TRUE_ENTROPY,
            ),
        )

    def location_radius(self, probability: float = 0.95) -> float:
        """Units within which the released row alone locates a record.

        The radius that holds the noise with this probability, in released space: the released row
        lies that close to its record (for a projection into fewer dimensions, to the record's
        projection). It is no bound on an attacker: who knows more than the row, such as the range of
        the records, locates better. 0 where there is no noise, since an attacker can then find
        records exactly. For a composition it is the smallest radius among its parts, and averaging
        several releases narrows it further.

        Args:
            probability: In (0, 1).
        """
        validate.probability(probability=probability)
        if not self.covers_features:
            return math.inf  # it tells nothing of where the record is
        if self.parts:
            return min(part.location_radius(probability) for part in self.parts)
        if isinstance(self.law, ResponseLaw):
            return math.inf  # a label is a part of what a record can be, or a lie
        return 0.0 if self.law is None else self.law.radius(probability)

    def voided(self, *reasons: str) -> PrivacyGuarantee:
        """Return the same guarantee, but not holding, for these further reasons."""
        return replace(self, holds=False, reasons=(*self.reasons, *reasons))

    def to_json(self) -> str:
        """Serialize to a JSON object; `from_json` restores it."""
        return json.dumps(_to_fields(asdict(self)), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PrivacyGuarantee:
        """Restore a guarantee from `to_json`; another text is a ValueError."""
        values = or_refuse(
            lambda: json.loads(text),
            lambda: ValueError("text must be the JSON of a PrivacyGuarantee, but it is no JSON"),
        )
        known = {field.name for field in fields(cls)}
        if isinstance(values, dict) and not known.issuperset(values):
            raise ValueError("text must be the JSON of a PrivacyGuarantee, but it has unknown fields")
        return or_refuse(
            lambda: _from_fields(values),
            lambda: ValueError(
                "text must be the JSON of a PrivacyGuarantee, but a field is missing or unusable"
            ),
        )

    def __str__(self) -> str:
        return "\n".join(sentences(self))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def total_epsilon(
    parts: Sequence[PrivacyGuarantee], distance: float, delta: float, records: int = 1
) -> float:
    """Epsilon of several guarantees of the same records together.

    Args:
        parts: Guarantees that are no compositions.
        distance: Of each record's features, in units, >= 0. Its outcome may be any other.
        delta: Of all parts together.
        records: How many records move so far at once.
    """
    claimed, spent, shifts = 0.0, 0.0, []
    for part in parts:
        moved = 1 if part.shared_outcomes else records
        far = distance if part.outcome_range is None else 1.0
        if part.law is not None:
            shifts.append(Shift(part.law, far, moved))
        else:
            spent += _chained_delta(part, moved)
            near = far <= 1 or of_whole_records(part)  # (a claim about any change of a record)
            claimed += 0.0 if far == 0 else moved * part.epsilon if near else math.inf
    if spent > delta and records > 1 and distance > 0:
        return math.inf
    return claimed + (composed_epsilon(shifts, delta - spent) if shifts else 0.0)


def _chained_delta(claim: PrivacyGuarantee, records: int) -> float:
    """Delta of so many moves, one after the other, of which only the claim for one is known.

    ``delta (1 + e^epsilon + ... + e^((records - 1) epsilon))``, rounded up.
    """
    if records == 1 or claim.delta == 0:
        return claim.delta
    try:
        growth = math.expm1(records * claim.epsilon) / math.expm1(claim.epsilon)
    except OverflowError:
        return math.inf
    if math.isnan(growth):  # nothing is claimed: epsilon is infinite
        return math.inf
    return claim.delta * growth * (1 + 1e-12)


def _to_fields(values: dict[str, Any]) -> dict[str, Any]:
    # Without these the text is the one of before there were any, and so is the digest of a release.
    kept = {name: value for name, value in values.items() if value or name not in _LATER}
    return {**kept, "parts": [_to_fields(part) for part in values["parts"]]}


def _from_fields(values: dict[str, Any]) -> PrivacyGuarantee:
    restored: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    if restored.get("law") is not None:
        of_labels = "truth" in restored["law"]
        restored["law"] = (ResponseLaw if of_labels else NoiseLaw)(**restored["law"])
    restored["steps"] = tuple(
        Step(**{**step, "columns": tuple(step["columns"])}) for step in restored.get("steps", ())
    )
    restored["parts"] = tuple(_from_fields(part) for part in restored.get("parts", ()))
    return PrivacyGuarantee(**restored)
