"""What is promised?"""

from __future__ import annotations

import math

from botorch_private.report.document import Block, Paragraph, Points, Section, Table
from botorch_private.report.facts import Facts, ReleaseFacts
from botorch_private.report.shown import down, factor, given, small, up, whole


def promise(facts: Facts) -> Section:
    """The guarantee in words, for each release."""
    total = facts.total
    blocks: list[Block] = [
        Table(
            "The releases of this report",
            ("Release", "Records", "Columns", "Mechanism", "Guarantee", "Epsilon at one unit", "Delta"),
            tuple(_row(release) for release in facts.releases),
        ),
    ]
    if len(facts.releases) > 1:
        blocks.append(
            Paragraph(
                f"Together they promise epsilon {up(total.epsilon)} at one unit and delta "
                f"{small(total.delta)}, if they are releases of the same records. What follows is about "
                f"all of them together, unless it names one."
            )
        )
    for release in facts.releases:
        blocks += _why_not(release)
    if math.isinf(total.epsilon):
        blocks.append(Paragraph("Nothing is promised: epsilon is infinite."))
    else:
        if not total.holds:
            blocks.append(
                Paragraph("What follows is what the settings would promise, not what is kept.", "bad")
            )
        blocks += [
            Paragraph(f"Between which tables: {total.adjacency}."),
            Paragraph(
                "What is promised: if a record is moved by one unit, the chance of anything that can "
                f"be computed from the release changes by a factor of at most {factor(total.epsilon)} "
                f"(epsilon is {up(total.epsilon)}), up to an extra chance of {small(total.delta)} "
                "(delta)."
            ),
        ]
        if total.holds:
            blocks.append(
                Paragraph(
                    "Nobody who works with the release can undo this, by whatever computation, and "
                    "whatever else they know."
                )
            )
        if total.delta_fp > 0:
            blocks.append(
                Paragraph(
                    f"Of delta, {small(total.delta_fp)} is what rounded computer arithmetic may add."
                )
            )
    blocks += [block for release in facts.releases for block in _outcomes(release)]
    blocks.append(
        Points(tuple(f"{release.name} has the digest {release.identity}" for release in facts.releases))
    )
    return Section("promise", "What is promised", tuple(blocks))


def _row(release: ReleaseFacts) -> tuple[str, ...]:
    guarantee = release.guarantee
    return (
        release.name,
        whole(release.rows),
        whole(release.width),
        guarantee.mechanism,
        "HOLDS" if guarantee.holds else "DOES NOT HOLD",
        up(guarantee.epsilon),
        small(guarantee.delta),
    )


def _why_not(release: ReleaseFacts) -> list[Block]:
    guarantee = release.guarantee
    blocks: list[Block] = []
    if not guarantee.holds:
        blocks.append(Paragraph(f"Why the guarantee of {release.name} does not hold:", "bad"))
        blocks.append(Points(tuple(f"{reason}." for reason in guarantee.reasons)))
    if guarantee.seeded:
        blocks.append(
            Paragraph(
                f"The noise of {release.name} came from a seeded generator. Seeds are for tests: a file "
                f"made with one must not leave the house."
            )
        )
    return blocks


def _outcomes(release: ReleaseFacts) -> list[Block]:
    guarantee = release.outcome_guarantee
    if guarantee is None:
        return [
            Paragraph(
                f"{release.name}: outcomes are not covered. The number that the curator answers for a "
                f"record is answered as it is, and says what it says about that record."
            )
        ]
    one = guarantee.parts[0] if guarantee.parts else guarantee
    blocks: list[Block] = [
        Paragraph(
            f"{release.name}: outcomes are covered as well, by noise of their own: epsilon "
            f"{up(guarantee.epsilon)} and delta {small(guarantee.delta)} for any change of an outcome "
            f"within its declared range."
        )
    ]
    if not guarantee.holds:
        blocks.append(Points(tuple(f"{reason}." for reason in guarantee.reasons)))
    if one.outcome_range is not None and one.law is not None:
        low, high = one.outcome_range
        blocks.append(
            Paragraph(
                f"Outcomes are clipped to {given(low)} ... {given(high)}; the noise on an answer has a "
                f"standard deviation of {down(math.sqrt(one.law.variance) * (high - low))} in the "
                f"outcome's own unit."
            )
        )
    return blocks
