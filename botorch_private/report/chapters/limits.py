"""What does the guarantee rest on, and what does it leave out?"""

from __future__ import annotations

from botorch_private.report.document import Paragraph, Points, Section
from botorch_private.report.facts import Facts


def limits(facts: Facts) -> Section:
    """The assumptions, as the guarantees state them, and what no guarantee covers."""
    stated = dict.fromkeys(
        assumption
        for release in facts.releases
        for guarantee in (release.guarantee, release.outcome_guarantee)
        if guarantee is not None
        for assumption in guarantee.assumptions
    )
    always = (
        "the number of records, the names of the features and the settings of the release are public",
        "which rows the modeler asks about is public",
        "timing, memory, logs, and whoever can read the curator's machine are not covered",
    )
    return Section(
        "limits",
        "What it rests on, and what it leaves out",
        (
            Paragraph("The guarantee is to be read with these sentences:"),
            Points(tuple(f"{_capital(sentence)}." for sentence in (*stated, *always))),
        ),
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
