"""Columns of a sheet: what row 1 names, of records with one outcome or with several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from botorch_private._base.frames import alike
from botorch_private.curator.service.outcomes import OutcomeFacts

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
SAID = ("date", "instrument", "comment", "reason")  # read where there are any
ARRANGED = ("question", "asked", "due", "taken by", "note")  # of a worklist, for people
_LEFT_ALONE = (*ARRANGED, "query")  # as versions before called a question
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute


class Columns(NamedTuple):
    """Where the columns of a sheet are, from 0.

    Attributes:
        delimiter: That parts the cells.
        width: How many names row 1 has.
        identifier: Of the record.
        values: Of each outcome.
        others: Name to place, of `SAID` and "unit".
    """

    delimiter: str
    width: int
    identifier: int
    values: list[int]
    others: dict[str, int]


def headings(outcomes: Sequence[OutcomeFacts], identifier: str = "identifier") -> list[tuple[str, ...]]:
    """What the column of each of several outcomes may be called: its name, or its name and unit.

    The last of them says the most. An outcome with the name of another column has "outcome" before it.

    Args:
        outcomes: The declared ones.
        identifier: Name of the column with the identifiers.
    """
    reserved = {alike(each) for each in (identifier, "identifier", "unit", *SAID, *ARRANGED)}
    taken = reserved | {alike(plain(each.name)) for each in outcomes}
    found = []
    for each in outcomes:
        name = each.name
        if alike(plain(name)) in reserved:
            while alike(plain(name)) in taken:
                name = f"outcome {name}"
            taken.add(alike(plain(name)))
        full = f"{name} ({each.unit})"
        if each.unit and alike(plain(full)) not in taken:
            taken.add(alike(plain(full)))
            found.append((name, full))
        else:
            found.append((name,))
    return found


def find_columns(
    first_row: Callable[[str], list[str] | None],
    identifier: str,
    value: str,
    outcomes: Sequence[OutcomeFacts],
    separator: str = "",
) -> Columns:
    """Find the columns by their names, in any order and in capitals or not.

    Of records with one outcome, columns with other names are left alone. Of records with several they
    are refused: one may be an outcome that is called otherwise.

    Args:
        first_row: From a delimiter to the cells of row 1; None where that cannot be read.
        identifier: Name of the column with the identifiers.
        value: Name of the column with the values, where there is one outcome.
        outcomes: Several outcomes; empty: there is one.
        separator: What stands between two cells; empty: one of `DELIMITERS`, by which row 1 has the
            names.

    Raises:
        ValueError: If one is missing, is there twice, or is none of these. Columns of the sheet are told
            by their numbers.
    """
    each_value = headings(outcomes, identifier) if outcomes else [(value,)]
    others = SAID if outcomes else (*SAID, "unit")
    for delimiter in [separator] if separator else DELIMITERS.values():
        names = [alike(plain(each.strip())) for each in first_row(delimiter) or ()]
        if alike(identifier) not in names:
            continue
        places = [_places(names, each) for each in each_value]
        if not outcomes and (not places[0] or alike(identifier) == alike(value)):
            continue
        said = {each: found for each in others if (found := _places(names, (each,)))}
        all_places = {identifier: _places(names, (identifier,)), **said}
        all_places |= {each[-1]: found for each, found in zip(each_value, places, strict=True)}
        if outcomes:
            _refuse_other_names(names, all_places)
        for name, found in all_places.items():
            if len(found) > 1:
                raise ValueError(f"the sheet must have one column {name!r}, but it has several")
        return Columns(
            delimiter,
            len(names),
            all_places[identifier][0],
            [found[0] for found in places],
            {name: found[0] for name, found in said.items()},
        )
    wanted = " and ".join(repr(each[-1]) for each in [(identifier,), *each_value])
    between = _between(first_row, identifier, separator)
    raise ValueError(f"the sheet must name its columns in row 1, {wanted}, with {between}")


def _between(first_row: Callable[[str], list[str] | None], identifier: str, separator: str) -> str:
    """What is to stand between the names of row 1; where another one is declared, a guess."""
    if not separator:
        return "a comma, a semicolon, a tab or a bar between them"
    wanted = alike(plain(identifier))
    for name, mark in DELIMITERS.items():
        if wanted in (alike(plain(each.strip())) for each in first_row(mark) or ()):
            return f"the separator between them that is declared, but there it is a {name}"
    return "the separator between them that is declared"


def _refuse_other_names(names: Sequence[str], places: dict[str, list[int]]) -> None:
    missing = [name for name, found in places.items() if not found]
    if missing:
        raise ValueError(
            f"the sheet must have a column for each outcome, but row 1 does not name "
            f"{', '.join(missing)}"
        )
    known = {place for found in places.values() for place in found}
    for place, name in enumerate(names):
        if name and place not in known and name not in map(alike, _LEFT_ALONE):
            wanted = ", ".join(name for name in places if name not in SAID)
            raise ValueError(
                f"the sheet must have the columns {wanted} and if you like {', '.join(SAID)}, but row 1 "
                f"names another in column {place + 1}: take it out, or name it as its outcome"
            )


def _places(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    keys = {alike(plain(each)) for each in wanted}
    return [place for place, name in enumerate(names) if name in keys]


def plain(cell: str) -> str:
    """A cell without the apostrophe that `harmless` puts before it."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA) else cell


def harmless(cell: str | None) -> str | None:
    """A cell that no spreadsheet computes: an apostrophe precedes what it would take for a formula."""
    return f"'{cell}" if cell and cell.startswith(FORMULA) else cell
