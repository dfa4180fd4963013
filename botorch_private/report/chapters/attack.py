"""What can a perfect attacker find out?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from botorch_private.report.attacker import Attacker
from botorch_private.report.chapters.whole_record import left_to_attackers
from botorch_private.report.document import Block, Paragraph, Table
from botorch_private.report.facts import PublicFacts, ReleaseFacts
from botorch_private.report.shown import down, percent_down, uncertainty, up, whole

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts

_OWN_UNIT = "in each feature's own unit"


def attack(facts: PublicFacts, table: Sequence[TableFacts]) -> Iterator[Block]:
    """Noise against the spread of the data, and the errors that it leaves."""
    several = len(facts.releases) > 1
    for i, release in enumerate(facts.releases):
        yield from _one(release, table[i] if table else None, several)
    if facts.changes:
        yield Paragraph(
            "A yes/no, and each column of a category, is at one end of its range or at the other, which "
            "everybody knows. Whoever takes the nearer end is off by nothing wherever that end is "
            "right, which is mostly so where the error with the row alone is well below half of the "
            "range."
        )
    if several and facts.whole:
        yield Paragraph(
            "Whoever finds out which rows of several releases belong together has several labels of one "
            "record: the factors multiply, as the total says."
        )
    elif several:
        yield Paragraph(
            "These errors are those of each release by itself. Whoever matches the rows of several "
            "releases averages their noise, and errs less."
        )


def _one(release: ReleaseFacts, table: TableFacts | None, several: bool) -> Iterator[Block]:
    if release.labels is not None:
        yield from left_to_attackers(release, release.labels)
        return
    of = f" ({release.name})" if several else ""
    found, name = release.attacker, release.name
    if found is None:
        yield _without_noise(release)
    else:
        wider = "wider" if found.noise_length > found.spread_length else "narrower"
        yield Paragraph(
            f"{name}: the noise on a row is {down(found.noise_length)} units long (root mean square). "
            f"Rows lie {up(found.spread_length)} units from their mean before the noise, as far as the "
            f"release shows: the noise is {percent_down(found.noise_length / found.spread_length)} of "
            f"that, {wider} than the data are spread."
        )
        if release.guarantee.seeded:
            yield Paragraph(
                f"{name}: whoever knows the seed subtracts the noise, and errs by zero; what follows is "
                f"about others.",
                "bad",
            )
    if found is None or found.mixing == "projected":
        if found is not None:
            yield _projected(found)
        if table is not None:
            rows = tuple((feature.name, up(feature.spread)) for feature in table.features)
            caption = f"True spread of the records, {_OWN_UNIT}{of}"
            yield Table(caption, ("Feature", "True spread"), rows)
        return
    where = "in units of scaled space" if release.guarantee.unit is None else _OWN_UNIT
    yield _errors(f"How far a perfect attacker is off, root mean square, {where}{of}", found, table)
    if found.mixing == "rotated":
        yield Paragraph(
            f"Rows were rotated. The rotation is not in the release, but it is taken to be known here: "
            f"a few known records give it away. Errors of who knows the population cannot be split "
            f"among features; in all features together they are about {down(found.population_length)} "
            f"units, where the noise alone is {down(found.noise_length)}."
        )
    yield Paragraph(" ".join(_explained(found, table)))
    if table is not None:
        yield Paragraph(
            f"Of {whole(table.records)} records, {whole(table.clipped)} have a value outside its "
            f"declared range; the release has the end of the range instead."
        )


def _projected(found: Attacker) -> Paragraph:
    return Paragraph(
        f"Rows were projected into fewer columns than there are features, by a projection that is not "
        f"in the release. So errors cannot be told feature by feature. In released units: who has the "
        f"row alone errs by {down(found.noise_std)} units in each of {whole(found.noise_dim)} columns, "
        f"{down(found.noise_length)} units in all; who also knows averages and correlations of the "
        f"population errs by about {down(found.population_length)} units in all. A row with fewer "
        f"columns than features does not determine its record, even without noise."
    )


def _errors(caption: str, found: Attacker, table: TableFacts | None) -> Table:
    own = () if table is None else table.features
    columns = {
        "Feature": [each.name for each in found.features],
        "Spread, by the release": [
            up(each.spread) for each in found.features if each.spread is not None
        ],
        "True spread": [up(each.spread) for each in own],
        "Error, row alone": [down(each.row_only) for each in found.features],
        "Error, with averages and correlations": [
            down(each.population) for each in found.features if each.population is not None
        ],
        "Error, with kinds of record": [
            down(each.kinds) for each in found.features if each.kinds is not None
        ],
        "Error, with all records": [
            f"{down(each.error)} ± {uncertainty(each.standard_error)}"
            for each in own
            if each.error is not None and each.standard_error is not None
        ],
    }
    return Table.of_columns(caption, columns)


def _explained(found: Attacker, table: TableFacts | None) -> Iterator[str]:
    yield (
        "With the row alone: an attacker who knows nothing of the population can do no better than to "
        "believe the row, and is off by the noise."
    )
    if found.mixing == "none":
        yield (
            "With averages and correlations: the best linear guess of who also knows them, estimated "
            "from the release. It is the best of all guesses where the population is Gaussian; "
            "otherwise who knows more about it errs less. A guess that ignores the row errs by the "
            "spread, so that a spread below the error means that the row says little."
        )
        yield (
            "With kinds of record: the guess of who finds groups of similar records in the rows of the "
            "release, and knows that a yes/no is yes or no. He judges by himself how far he is off."
        )
    if table is not None and table.draws:
        yield (
            f"With all records: the best of all guesses of who knows every record of the table, but not "
            f"which row belongs to whom; averaged over {whole(table.draws)} records with fresh noise, "
            f"with its standard error."
        )


def _without_noise(release: ReleaseFacts) -> Paragraph:
    known, features = release.known_enough, release.guarantee.features
    if known is None and math.isfinite(release.guarantee.epsilon):
        text = "this mechanism adds no noise to a record; what it leaves to an attacker was not computed"
        return Paragraph(f"{release.name}: {text}.", "note")
    nothing = "the error of a perfect attacker is zero, in every feature."
    if known is None:
        text = f"The{nothing.removeprefix('the')}"
    elif features is not None and release.width < features:
        text = (
            f"Whoever knows {whole(known)} records finds the map by which the rows were made, and from "
            f"then on knows as many exact combinations of each record's features as a row has columns, "
            f"with an error of zero."
        )
    else:
        text = f"Whoever knows {whole(known)} records computes all others by least squares: {nothing}"
    return Paragraph(f"{release.name}: no noise is added to a record. {text}", "bad")
