"""AuditResult: what an audit certifies from below, beside what is claimed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AuditResult:
    """An epsilon that the mechanism cannot be better than, at a confidence.

    An audit refutes a claim or fails to: a lower bound below the claim is no proof of privacy.

    Attributes:
        lower_bound: Epsilon at `delta` is at least this, with `confidence`; infinite where no epsilon
            is enough.
        claimed: Epsilon that the mechanism's guarantee promises for the same two tables.
        delta: Of both.
        distance: Between the two values of the record, in units.
        confidence: Probability that the bound is right.
        trials: Releases of each table, or canaries of the one release.
        method: How it was found, in a few words.
    """

    lower_bound: float
    claimed: float
    delta: float
    distance: float
    confidence: float
    trials: int
    method: str

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower_bound > self.claimed

    def __str__(self) -> str:
        verdict = "REFUTES" if self.refuted else "does not refute"
        return (
            f"The audit {verdict} the claim: epsilon is at least {self.lower_bound:.3g} with "
            f"{self.confidence:.0%} confidence, claimed is {self.claimed:.3g} (delta {self.delta:.3g}, "
            f"distance {self.distance:.3g}; {self.trials} trials, {self.method})"
        )
