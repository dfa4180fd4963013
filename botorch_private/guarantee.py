"""PrivacyGuarantee: what a release promises, as an object that says so in words."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from botorch_private import _validate
from botorch_private.composition import composed_epsilon
from botorch_private.noise_law import NoiseLaw
from botorch_private.rounding import round_down, round_up

ADJACENCY = (
    "two tables are neighbours when they differ in the features of one record, by at most D units "
    "of distance; the number of records, the outcomes and all other records are the same"
)
OUTCOMES_NOT_COVERED = (
    "outcomes are answered as they are: what an outcome itself says about its record is not covered"
)
ONE_RECORD = (
    "one record is protected at a time: a person who appears in several records is protected less"
)
TRUE_ENTROPY = "the operating system's random numbers are taken to be uniform and independent"
RELEASES_ADD_UP = "every further release of the same records with fresh noise adds to what is spent"
_UNITS_SHOWN = 4
_LARGEST_SPELLED_OUT = 50


@dataclass(frozen=True)
class PrivacyGuarantee:
    """What the modeler can learn about one record, computed from public parameters alone.

    Args:
        mechanism: Name of the mechanism.
        epsilon: Epsilon for neighbours at one unit of distance, > 0; infinite where there is none.
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
    law: NoiseLaw | None = None
    records: int | None = None
    features: int | None = None
    projection_dim: int | None = None
    unit: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None
    radius: float | None = None
    seeded: bool = False
    parts: tuple[PrivacyGuarantee, ...] = ()

    @property
    def adjacency(self) -> str:
        """Which two tables cannot be told apart, in words."""
        return ADJACENCY

    def at(self, distance: float) -> float:
        """Epsilon for neighbours at `distance` units, at the same delta.

        For l2 Laplace noise it is linear in the distance, up to the rounding to the grid; for
        Gaussian noise it grows faster. Infinite where nothing is promised beyond one unit.

        Args:
            distance: Distance in units of scaled space, >= 0.
        """
        _validate.non_negative(distance=distance)
        if distance == 0:
            return 0.0
        if self.parts:
            return _composed_epsilon(self.parts, distance, self.delta)
        if self.law is not None:
            return self.law.epsilon(distance, self.delta)
        return self.epsilon if distance <= 1 else math.inf

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
        _validate.probability(probability=probability)
        if self.parts:
            return min(part.location_radius(probability) for part in self.parts)
        return 0.0 if self.law is None else self.law.radius(probability)

    def voided(self, *reasons: str) -> PrivacyGuarantee:
        """Return the same guarantee, but not holding, for these further reasons."""
        return replace(self, holds=False, reasons=(*self.reasons, *reasons))

    def to_json(self) -> str:
        """Serialize to a JSON object; `from_json` restores it."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PrivacyGuarantee:
        """Restore a guarantee from `to_json`; a text that is none is a ValueError."""
        try:
            return _from_fields(json.loads(text))
        except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"text must be the JSON of a PrivacyGuarantee, but {error}") from error

    def __str__(self) -> str:
        return "\n".join(_sentences(self))


def compose(guarantees: Sequence[PrivacyGuarantee], *, delta: float | None = None) -> PrivacyGuarantee:
    """Add up what several releases of the same records spend.

    Pure l2 Laplace releases add their epsilons; Gaussian releases add their ``1 / std^2``, which is
    exact; anything else goes through dp-accounting's privacy loss distributions (extra
    ``accounting``), where l2 Laplace enters as a pure-epsilon event and a randomly projected
    Gaussian as an ``(epsilon, delta)`` event, since no tighter dominating pair is proved for them.

    Args:
        guarantees: The guarantees of the releases, with the same unit.
        delta: Total delta in (0, 1); None: the sum of the deltas of the parts.

    Returns:
        A guarantee whose `epsilon` is the total at one unit of distance.

    Raises:
        ValueError: If there is nothing to add, the units differ, or `delta` is below what the parts
            spend in any case.
        ImportError: If dp-accounting is needed and not installed.
    """
    parts = tuple(part for g in guarantees for part in (g.parts or (g,)))
    if not parts:
        raise ValueError("guarantees must hold at least one PrivacyGuarantee, got none")
    if any(part.unit != parts[0].unit for part in parts):
        raise ValueError("guarantees must share one unit of distance, got different scalings")
    total = sum(part.delta for part in parts) if delta is None else delta
    _validate.probability_or_zero(delta=total)
    least = least_delta(parts)
    if total < least:
        raise ValueError(
            f"delta must be at least {least:.3g}, which the parts spend in any case, got {total!r}"
        )
    reasons = tuple(dict.fromkeys(reason for part in parts for reason in part.reasons))
    holds = all(part.holds for part in parts)
    return replace(
        parts[0],
        mechanism=f"composition of {len(parts)} releases",
        epsilon=_composed_epsilon(parts, 1.0, total),
        delta=total,
        delta_fp=sum(part.delta_fp for part in parts),
        holds=holds,
        reasons=reasons,
        assumptions=tuple(dict.fromkeys(a for part in parts for a in part.assumptions)),
        law=None,
        radius=max((part.radius for part in parts if part.radius is not None), default=None),
        seeded=any(part.seeded for part in parts),
        parts=parts,
    )


def least_delta(guarantees: Sequence[PrivacyGuarantee]) -> float:
    """Delta that releases spend together at any epsilon.

    The samplers' errors, and the whole delta of a release that is known by its claim alone.
    """
    return sum(part.delta_fp if part.law else part.delta for part in guarantees)


def _composed_epsilon(parts: Sequence[PrivacyGuarantee], distance: float, delta: float) -> float:
    laws = [part.law for part in parts if part.law is not None]
    lawless = [part for part in parts if part.law is None]
    rest = delta - sum(part.delta for part in lawless)
    epsilon = sum(part.at(distance) for part in lawless)
    return epsilon + (composed_epsilon(laws, distance, rest) if laws else 0.0)


def _from_fields(values: dict[str, Any]) -> PrivacyGuarantee:
    known = {field.name for field in fields(PrivacyGuarantee)}
    if unknown := sorted(set(values) - known):
        raise KeyError(f"it has unknown fields {unknown}")
    restored: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    if restored.get("law") is not None:
        restored["law"] = NoiseLaw(**restored["law"])
    restored["parts"] = tuple(_from_fields(part) for part in restored.get("parts", ()))
    return PrivacyGuarantee(**restored)


def _sentences(guarantee: PrivacyGuarantee) -> list[str]:
    """Put a guarantee into a few lines for a reader without mathematics."""
    holds = "HOLDS" if guarantee.holds else "DOES NOT HOLD"
    lines = [f"Privacy guarantee of {guarantee.mechanism}: {holds}"]
    lines += [f"  Why not: {reason}." for reason in guarantee.reasons]
    if not guarantee.holds:
        lines.append("  What follows is what the settings would promise, not what is kept.")
    if math.isinf(guarantee.epsilon):
        return [*lines, "  Nothing is promised: epsilon is infinite."]
    lines.append(f"  Adjacency: {guarantee.adjacency}.")
    lines.append(
        f"  Promise at 1 unit: epsilon = {round_up(guarantee.epsilon)}, "
        f"delta = {round_up(guarantee.delta, 2)}. "
        f"Moving one record by 1 unit changes the chance of anything computed from this release by "
        f"a factor of at most {_factor(guarantee.epsilon)}, up to delta"
        + (
            f" (of which {round_up(guarantee.delta_fp, 2)} is floating-point error)."
            if guarantee.law
            else "."
        )
    )
    lines.append(f"  One unit is: {_unit(guarantee)}.")
    distances = [0.5, 2.0, 5.0]
    if guarantee.radius is not None:
        distances.append(2 * guarantee.radius)
    costs = "; ".join(f"{d:g} units: {round_up(guarantee.at(d))}" for d in distances)
    if guarantee.radius is not None:
        costs += " (one record replaced by any other)"
    lines.append(f"  Epsilon at other distances: {costs}.")
    if guarantee.law is not None:
        law = guarantee.law
        linear = "grows in proportion" if law.kind == "laplace" else "grows faster than in proportion"
        record = "its record" if law.dim == law.features else "its record's projection"
        name = "l2 Laplace" if law.kind == "laplace" else "Gaussian"
        lines.append(
            f"  Noise: {name}, standard deviation {round_down(math.sqrt(law.variance))} units in each "
            f"of {law.dim} coordinates; epsilon {linear} to distance. In 95 % of cases a released row "
            f"lies within {round_down(guarantee.location_radius(0.95))} units of {record}; who knows "
            f"more than the row locates it better."
        )
    lines += [f"  Note: {assumption}." for assumption in guarantee.assumptions]
    return lines


def _factor(epsilon: float) -> str:
    exponent = f"e^{round_up(epsilon)}"
    return f"{exponent} = {round_up(math.exp(epsilon))}" if epsilon < _LARGEST_SPELLED_OUT else exponent


def _unit(guarantee: PrivacyGuarantee) -> str:
    if guarantee.unit is None:
        return "distance 1 in scaled space (no scaling was given, so it has no raw units)"
    names = guarantee.names or tuple(f"feature {i}" for i in range(len(guarantee.unit)))
    shown = [f"{round_down(size)} of {name}" for name, size in zip(names, guarantee.unit, strict=True)]
    if len(shown) > _UNITS_SHOWN:
        shown[_UNITS_SHOWN:] = [f"so much of {len(shown) - _UNITS_SHOWN} more features (see .unit)"]
    return ", or ".join(shown)
