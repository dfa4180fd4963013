"""In short: what leaks, how sure that is, and what happens on the second release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from botorch_private.privacy.adjacency import kinds_of_outcomes
from botorch_private.privacy.cautions import cautions
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.report.audit_facts import AuditFacts, worst
from botorch_private.report.chapters.whole_record import before_questions, in_words
from botorch_private.report.document import Block, Paragraph, Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import down, factor, percent, small, up


def summary(facts: PublicFacts, audits: Sequence[AuditFacts]) -> Iterator[Block]:
    """Answer three questions in a few sentences each."""
    yield verdict(facts)
    for caution in dict.fromkeys(
        (*cautions(facts.total), *cautions(facts.with_outcomes or facts.total))
    ):
        yield Paragraph(caution, "bad")
    answers = (
        ("What leaks?", _leaks(facts)),
        ("How sure is that?", _sure(facts, audits)),
        ("What does a second release do?", _second(facts)),
    )
    yield Table("Three questions", ("Question", "Answer"), answers, prose=True)


def verdict(facts: PublicFacts) -> Paragraph:
    """Say whether the promise holds, and why not."""
    if facts.total.holds:
        return Paragraph("The privacy guarantee HOLDS.", "good")
    reasons = "; ".join(facts.total.reasons)
    return Paragraph(f"The privacy guarantee DOES NOT HOLD: {reasons}.", "bad")


def _leaks(facts: PublicFacts) -> str:
    if not facts.total.holds:
        return (
            "No limit is guaranteed. The figures of this report are what the settings would promise, "
            "not what is kept."
        )
    outcomes = facts.with_outcomes
    text = (
        f"{in_words(facts)} {before_questions(facts)}".strip() if facts.whole else _near_records(facts)
    )
    if outcomes is None:
        return f"{text} What an answered outcome says about its record comes on top, without a limit."
    if not outcomes.holds:
        why = "; ".join(outcomes.reasons)
        return f"{text} The promise about answered outcomes DOES NOT HOLD: {why}."
    return (
        f"{text} With all answered outcomes, {_outcomes_changed(outcomes)} as well, the factor is "
        f"{factor(outcomes.epsilon)}, up to an extra chance of {small(outcomes.delta)}."
    )


def _near_records(facts: PublicFacts) -> str:
    cost = facts.unit_cost
    what = "the release" if len(facts.releases) == 1 else "all releases together"
    return (
        f"Moving one record by one unit changes the chance of anything that can be concluded from "
        f"{what} by a factor of at most {factor(cost.epsilon)}, up to an extra chance of "
        f"{small(facts.total.delta)}. A spy who holds two such records equally likely tells them apart "
        f"in at most {percent(cost.guess)} of cases; a coin does in half of them. {_far_records(facts)}"
    )


def _far_records(facts: PublicFacts) -> str:
    cost, _ = facts.whole_record
    if math.isinf(cost.epsilon):
        return "Nothing is promised about replacing a whole record."
    return (
        f"Replacing a whole record by any other costs epsilon {up(cost.epsilon)}: two such records may "
        f"be told apart in {percent(cost.guess)} of cases."
    )


def _outcomes_changed(guarantee: PrivacyGuarantee) -> str:
    _, shared = kinds_of_outcomes(guarantee)
    return "any outcomes of any records changed" if shared else "its outcome changed to any other"


def _sure(facts: PublicFacts, audits: Sequence[AuditFacts]) -> str:
    text = "There is no guarantee to be sure of."
    if facts.total.holds:
        text = "The guarantee is a theorem, computed before any record was looked at."
    found = worst(audits)
    labels = [audit.labels for audit in audits if audit.labels is not None]
    if labels and not any(audit.refuted for audit in audits):
        return f"{text} A test of labels on this machine found nothing that an honest draw does not do."
    if found is None:
        if any(audit.refuted for audit in audits):
            return f"{text} But a test REFUTES the promise."
        return f"{text} No test of the software was possible."
    refuted = any(audit.refuted for audit in audits)
    end = ". Such a test gives a lower bound: it can refute a promise, and never proves one."
    return (
        f"{text} A test attack on this machine found that epsilon {facts.where} is at least "
        f"{down(found.lower_bound)}, where {up(found.claimed)} is promised"
        f"{'. The tests REFUTE the promise.' if refuted else end}"
    )


def _second(facts: PublicFacts) -> str:
    if isinstance(facts.second, str):
        return f"It adds up, by an amount that was not computed: {facts.second}."
    if not facts.total.holds:
        return "It adds to what is known of every record; there is no limit to begin with."
    return (
        f"It adds up. One more release of the same records with the same settings takes epsilon "
        f"{facts.where} from {up(facts.unit_cost.epsilon)} to {up(facts.second.epsilon)}, and the spy "
        f"to at most {percent(facts.second.guess)}. Handing out the same file again costs nothing."
    )
