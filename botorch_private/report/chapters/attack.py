"""What can a perfect attacker find out?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from botorch_private.report.attacker import Attacker
from botorch_private.report.document import Block, Paragraph, Section, Table
from botorch_private.report.facts import Facts, ReleaseFacts
from botorch_private.report.shown import down, percent_down, uncertainty, up, whole

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts, TableFeature

_NAMES_UNITS = "in each feature's own unit"


def attack(facts: Facts, table: tuple[TableFacts, ...]) -> Section:
    """Noise against the spread of the data, and the errors that it leaves."""
    blocks: list[Block] = []
    for i, release in enumerate(facts.releases):
        blocks += _one(release, table[i] if table else None, len(facts.releases) > 1)
    if facts.changes:
        blocks.append(
            Paragraph(
                "A yes/no, and each column of a category, is at one end of its range or at the other, "
                "which everybody knows. Whoever takes the nearer end is off by nothing wherever that "
                "end is right, which is mostly so where the error with the row alone is well below half "
                "of the range."
            )
        )
    if len(facts.releases) > 1:
        blocks.append(
            Paragraph(
                "These errors are those of each release by itself. Whoever matches the rows of several "
                "releases averages their noise, and errs less."
            )
        )
    return Section("attack", "What a perfect attacker finds out", tuple(blocks))


def _one(release: ReleaseFacts, table: TableFacts | None, several: bool) -> list[Block]:
    of = f" ({release.name})" if several else ""
    if release.attacker is None:
        return [*_without_noise(release), *_spreads(table, of)]
    found = release.attacker
    blocks: list[Block] = [_against_spread(found, release)]
    if release.guarantee.seeded:
        text = (
            "whoever knows the seed subtracts the noise, and errs by zero; what follows is about others"
        )
        blocks.append(Paragraph(f"{release.name}: {text}.", "bad"))
    if found.mixing == "projected":
        blocks.append(
            Paragraph(
                "Rows were projected into fewer columns than there are features, by a projection that "
                "is not in the release. So errors cannot be told feature by feature. In released units: "
                f"who has the row alone errs by {down(found.noise_std)} units in each of "
                f"{whole(found.noise_dim)} columns, {down(found.noise_length)} units in all; who also "
                f"knows averages and correlations of the population errs by about "
                f"{down(found.population_length)} units in all. A row with fewer columns than features "
                f"does not determine its record, even without noise."
            )
        )
        return [*blocks, *_spreads(table, of)]
    raw = release.guarantee.unit is not None
    blocks.append(_errors(release, found, table, of, raw))
    if found.mixing == "rotated":
        blocks.append(
            Paragraph(
                "Rows were rotated. The rotation is not in the release, but it is taken to be known "
                "here: a few known records give it away. Errors of who knows the population cannot be "
                "split among features; in all features together they are about "
                f"{down(found.population_length)} units, where the noise alone is "
                f"{down(found.noise_length)}."
            )
        )
    blocks.append(Paragraph(_explained(found, table)))
    if table is not None:
        blocks.append(
            Paragraph(
                f"Of {whole(table.records)} records, {whole(table.clipped)} have a value outside its "
                f"declared range; the release has the end of the range instead."
            )
        )
    return blocks


def _against_spread(found: Attacker, release: ReleaseFacts) -> Paragraph:
    wider = found.noise_length > found.spread_length
    comparison = "wider than the data are spread" if wider else "narrower than the data are spread"
    return Paragraph(
        f"{release.name}: the noise on a row is {down(found.noise_length)} units long (root mean "
        f"square). Rows lie {up(found.spread_length)} units from their mean before the noise, as far as "
        f"the release shows: the noise is {percent_down(found.noise_length / found.spread_length)} of "
        f"that, {comparison}."
    )


def _errors(
    release: ReleaseFacts, found: Attacker, table: TableFacts | None, of: str, raw: bool
) -> Table:
    header = ["Feature"]
    if found.mixing == "none":
        header.append("Spread, by the release")
    if table is not None:
        header.append("True spread")
    header.append("Error, row alone")
    if found.mixing == "none":
        header.append("Error, with averages and correlations")
    if table is not None and table.draws:
        header.append("Error, with all records")
    own = {feature.name: feature for feature in table.features} if table is not None else {}
    rows = []
    for feature in found.features:
        cells = [feature.name]
        if feature.spread is not None:
            cells.append(up(feature.spread))
        if table is not None:
            cells.append(up(own[feature.name].spread))
        cells.append(down(feature.row_only))
        if feature.population is not None:
            cells.append(down(feature.population))
        if table is not None and table.draws:
            cells.append(_with_error(own[feature.name]))
        rows.append(tuple(cells))
    where = _NAMES_UNITS if raw else "in units of scaled space"
    return Table(
        f"How far a perfect attacker is off, root mean square, {where}{of}", tuple(header), tuple(rows)
    )


def _with_error(feature: TableFeature) -> str:
    assert feature.error is not None
    assert feature.standard_error is not None
    return f"{down(feature.error)} ± {uncertainty(feature.standard_error)}"


def _explained(found: Attacker, table: TableFacts | None) -> str:
    text = (
        "With the row alone: an attacker who knows nothing of the population can do no better than to "
        "believe the row, and is off by the noise. "
    )
    if found.mixing == "none":
        text += (
            "With averages and correlations: the best linear guess of who also knows them, estimated "
            "from the release. It is the best of all guesses where the population is Gaussian; "
            "otherwise who knows more about it errs less. A guess that ignores the row errs by the "
            "spread, so that a spread below the error means that the row says little. "
        )
    if table is not None and table.draws:
        text += (
            f"With all records: the best of all guesses of who knows every record of the table, but not "
            f"which row belongs to whom; averaged over {whole(table.draws)} records with fresh noise, "
            "with its standard error."
        )
    return text.strip()


def _without_noise(release: ReleaseFacts) -> list[Block]:
    if release.known_enough is None and math.isfinite(release.guarantee.epsilon):
        text = "this mechanism adds no noise to a record; what it leaves to an attacker was not computed"
        return [Paragraph(f"{release.name}: {text}.", "note")]
    if release.known_enough is None:
        text = (
            f"{release.name}: no noise is added to a record. The error of a perfect attacker is zero, "
            "in every feature."
        )
    elif release.guarantee.features is not None and release.width < release.guarantee.features:
        text = (
            f"{release.name}: no noise is added to a record. Whoever knows "
            f"{whole(release.known_enough)} records finds the map by which the rows were made, and from "
            f"then on knows as many exact combinations of each record's features as a row has columns, "
            f"with an error of zero."
        )
    else:
        text = (
            f"{release.name}: no noise is added to a record. Whoever knows "
            f"{whole(release.known_enough)} records computes all others by least squares: the error of "
            "a perfect attacker is zero, in every feature."
        )
    return [Paragraph(text, "bad")]


def _spreads(table: TableFacts | None, of: str) -> list[Block]:
    if table is None:
        return []
    rows = tuple((feature.name, up(feature.spread)) for feature in table.features)
    return [Table(f"True spread of the records, {_NAMES_UNITS}{of}", ("Feature", "True spread"), rows)]
