"""What is promised, and what does that rest on and leave out?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.words import NOT_KEPT, clipped, noise, promised
from botorch_private.report.chapters.whole_record import in_words
from botorch_private.report.document import Block, Paragraph, Points, Table
from botorch_private.report.facts import PublicFacts, ReleaseFacts
from botorch_private.report.shown import small, up, whole

_HEADER = ("Release", "Records", "Columns", "Mechanism", "Guarantee")


def promise(facts: PublicFacts) -> Iterator[Block]:
    """The guarantee in the words that it is printed in, for each release."""
    total = facts.total
    yield Table(
        "The releases of this report",
        (*_HEADER, f"Epsilon {facts.where}", "Delta"),
        tuple(map(_row, facts.releases)),
    )
    if len(facts.releases) > 1:
        yield Paragraph(
            f"Together they promise epsilon {up(total.epsilon)} {facts.where} and delta "
            f"{small(total.delta)}, if they are releases of the same records. What follows is about all "
            f"of them together, unless it names one."
        )
    for release in facts.releases:
        if not release.guarantee.holds:
            yield Paragraph(f"Why the guarantee of {release.name} does not hold:", "bad")
            yield _reasons(release.guarantee)
        if release.guarantee.seeded:
            yield Paragraph(
                f"The noise of {release.name} came from a seeded generator. Seeds are for tests: a file "
                f"made with one must not leave the house."
            )
    if not total.holds and math.isfinite(total.epsilon):
        yield Paragraph(NOT_KEPT, "bad")
    yield from map(Paragraph, promised(total))
    if facts.whole and total.holds:
        yield Paragraph(in_words(facts))
    if total.holds:
        yield Paragraph(
            "Nobody who works with the release can undo this, by whatever computation, and whatever "
            "else they know."
        )
    for release in facts.releases:
        yield from _outcomes(release)
    yield Points(tuple(f"{each.name} has the digest {each.identity}" for each in facts.releases))


def limits(facts: PublicFacts) -> Iterator[Block]:
    """The assumptions, as the guarantees state them, and what no guarantee covers."""
    both = [g for each in facts.releases for g in (each.guarantee, each.outcome_guarantee) if g]
    sentences = (
        *dict.fromkeys(assumption for guarantee in both for assumption in guarantee.assumptions),
        "the number of records, the names of the features and the settings of the release are public",
        "which rows the modeler asks about is public",
        "timing, memory, logs, and whoever can read the curator's machine are not covered",
    )
    yield Paragraph("The guarantee is to be read with these sentences:")
    yield Points(tuple(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences))


def _row(release: ReleaseFacts) -> tuple[str, ...]:
    guarantee = release.guarantee
    holds = "HOLDS" if guarantee.holds else "DOES NOT HOLD"
    sizes = whole(release.rows), whole(release.width)
    spent = up(guarantee.epsilon), small(guarantee.delta)
    return release.name, *sizes, guarantee.mechanism, holds, *spent


def _reasons(guarantee: PrivacyGuarantee) -> Points:
    return Points(tuple(f"{reason}." for reason in guarantee.reasons))


def _outcomes(release: ReleaseFacts) -> Iterator[Block]:
    guarantee = release.outcome_guarantee
    if guarantee is None:
        yield Paragraph(
            f"{release.name}: outcomes are not covered. The number that the curator answers for a "
            f"record is answered as it is, and says what it says about that record."
        )
        return
    yield Paragraph(f"{release.name}: outcomes are covered as well, by noise of their own.")
    if not guarantee.holds:
        yield _reasons(guarantee)
    parts = guarantee.parts if guarantee.outcome_names else guarantee.parts[:1]
    each = {part.outcome_name: part for part in parts or (guarantee,)}
    laws = [part for part in each.values() if part.law is not None]
    yield Paragraph(" ".join((*promised(guarantee), *clipped(guarantee), *map(noise, laws))))
