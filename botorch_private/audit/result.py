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
        honest: Lower bound that the same audit finds for noise of exactly the claimed law, sampled by
            NumPy; None where no law is claimed. The nearer to `claimed`, the more the audit sees.
        sees: Largest share of the claimed noise, of those tried, that the same audit refutes: 0.8 says
            that noise a fifth too narrow would have been found, and noise nearer to the claim not.
            None where it refutes none of them, or no law is claimed.
        problems: Why no bound could be certified, in sentences: the audit relies on rows whose noise is
            independent, and they were not. The claim, which says that they are, is then refuted.
    """

    lower_bound: float
    claimed: float
    delta: float
    distance: float
    confidence: float
    trials: int
    method: str
    honest: float | None = None
    sees: float | None = None
    problems: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return bool(self.problems) or self.lower_bound > self.claimed

    def __str__(self) -> str:
        verdict = "REFUTES" if self.refuted else "does not refute"
        where = (
            f"delta {self.delta:.3g}, distance {self.distance:.3g}; {self.trials} trials, {self.method}"
        )
        if self.problems:
            return f"The audit {verdict} the claim: {'; '.join(self.problems)} ({where})"
        text = (
            f"The audit {verdict} the claim: epsilon is at least {self.lower_bound:.3g} with "
            f"{self.confidence:.0%} confidence, claimed is {self.claimed:.3g} ({where})"
        )
        if self.honest is None:
            return text
        seen = "noise of a tenth of the claimed width would not have been refuted"
        if self.sees is not None:
            seen = f"noise of {self.sees:g} times the claimed width would have been refuted"
        return f"{text}. For honest noise the same audit finds {self.honest:.3g}; {seen}"
