"""Findings: what an audit looked at, what it found, and what it would have seen."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 1e-6


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What was looked at, as a sentence that an honest mechanism makes true.
        p_value: Chance that an honest mechanism looks as bad or worse; 0 or 1 where chance plays no
            part.
        found: What was measured, in words and numbers; empty where there is none to show.
        honest: What the same measure gives for the honest claim.
    """

    name: str
    p_value: float
    found: str = ""
    honest: str = ""

    @classmethod
    def exact(cls, name: str, holds: bool, found: str = "", honest: str = "") -> Check:
        """A check in which chance plays no part."""
        return cls(name, 1.0 if holds else 0.0, found, honest)


@dataclass(frozen=True)
class Findings:
    """The checks of one audit, judged together.

    A claim is refuted where a check fails. Checks that depend on chance share `level` in equal parts
    (Bonferroni), so that an honest claim is refuted with at most that probability.

    Attributes:
        checks: All that was looked at.
        sees: What the audit would have seen, in sentences; it found no such fault if it is silent.
        unseen: What it could not look at here, in sentences.
        level: Chance, at most, that an honest claim is refuted.
    """

    checks: tuple[Check, ...]
    sees: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    level: float = LEVEL

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that an honest claim does not fail."""
        return tuple(check for check in self.checks if check.p_value * len(self.checks) <= self.level)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not true, in sentences; empty if nothing was found."""
        return tuple(_sentence(check) for check in self.failed)

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return bool(self.failed)

    def __str__(self) -> str:
        verdict = "REFUTES" if self.refuted else "does not refute"
        lines = [f"The audit {verdict} the claim, by {len(self.checks)} checks."]
        lines += [f"- {problem}" for problem in self.problems]
        lines += [f"It would have seen: {each}." for each in self.sees]
        lines += [f"It could not see: {each}." for each in self.unseen]
        return "\n".join(lines)


def _sentence(check: Check) -> str:
    text = f"it is not so that {check.name}"
    if check.found:
        text += f": {check.found}"
    if check.honest:
        text += f"; honest is {check.honest}"
    return f"{text} (p = {check.p_value:.2g})" if check.p_value else text
