"""In short: what leaks, how sure that is, and what happens on the second release."""

from __future__ import annotations

from botorch_private.report.audit_facts import AuditFacts
from botorch_private.report.document import Paragraph, Section, Table
from botorch_private.report.facts import Facts
from botorch_private.report.shown import down, factor, percent, small, up


def summary(facts: Facts, audits: tuple[AuditFacts, ...]) -> Section:
    """Answer three questions in a few sentences each."""
    return Section(
        "in-short",
        "In short",
        (
            verdict(facts),
            Table(
                "Three questions",
                ("Question", "Answer"),
                (
                    ("What leaks?", _leaks(facts)),
                    ("How sure is that?", _sure(facts, audits)),
                    ("What does a second release do?", _second(facts)),
                ),
                prose=True,
            ),
        ),
    )


def verdict(facts: Facts) -> Paragraph:
    """Say whether the promise holds, and why not."""
    if facts.total.holds:
        return Paragraph("The privacy guarantee HOLDS.", "good")
    reasons = "; ".join(facts.total.reasons)
    return Paragraph(f"The privacy guarantee DOES NOT HOLD: {reasons}.", "bad")


def _leaks(facts: Facts) -> str:
    cost = facts.unit_cost
    if not facts.total.holds:
        return (
            "No limit is guaranteed. The figures of this report are what the settings would promise, "
            "not what is kept."
        )
    what = "the release" if len(facts.releases) == 1 else "all releases together"
    text = (
        f"Moving one record by one unit changes the chance of anything that can be concluded from "
        f"{what} by a factor of at most {factor(cost.epsilon)}, up to an extra chance of "
        f"{small(facts.total.delta)}. A spy who holds two such records equally likely tells them apart "
        f"in at most {percent(cost.guess)} of cases; a coin does in half of them."
    )
    outcomes = facts.with_outcomes
    if outcomes is not None and not outcomes.holds:
        return (
            f"{text} The promise about answered outcomes DOES NOT HOLD: {'; '.join(outcomes.reasons)}."
        )
    if outcomes is None:
        return f"{text} What an answered outcome says about its record comes on top, without a limit."
    return (
        f"{text} With all answered outcomes, any outcome changed as well, the factor is "
        f"{factor(outcomes.epsilon)}, up to an extra chance of {small(outcomes.delta)}."
    )


def _sure(facts: Facts, audits: tuple[AuditFacts, ...]) -> str:
    found = [audit.result for audit in audits if audit.result is not None]
    if facts.total.holds:
        proof = "The guarantee is a theorem, computed before any record was looked at"
    else:
        proof = "There is no guarantee to be sure of"
    if not found:
        return f"{proof}. No test of the software was possible."
    worst = max(found, key=lambda result: result.lower_bound - result.claimed)
    text = (
        f"{proof}. A test attack on this machine found that epsilon at one unit is at least "
        f"{down(worst.lower_bound)}, where {up(worst.claimed)} is promised"
    )
    if worst.refuted:
        return f"{text}: it REFUTES the promise."
    return f"{text}. Such a test gives a lower bound: it can refute a promise, and never proves one."


def _second(facts: Facts) -> str:
    if facts.second is None:
        return f"It adds up, by an amount that was not computed: {facts.second_epsilon_unknown}."
    if not facts.total.holds:
        return "It adds to what is known of every record; there is no limit to begin with."
    return (
        f"It adds up. One more release of the same records with the same settings takes epsilon at one "
        f"unit from {up(facts.unit_cost.epsilon)} to {up(facts.second.epsilon)}, and the spy to at most "
        f"{percent(facts.second.guess)}. Handing out the same file again costs nothing."
    )
