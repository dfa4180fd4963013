"""botorch-private curator import: store the measurements of a sheet, all or none."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import refuse_option
from botorch_private.cli.curator.folder import add_folder_command, opened
from botorch_private.cli.streams import tell, warn
from botorch_private.cli.table import add_dialect, declared

if TYPE_CHECKING:
    from botorch_private.curator.service.take_in import TakenIn

_MOST_BYTES = 2**26
_MOST_SHOWN = 50
_DESCRIPTION = (
    "Store the measurements of a sheet: a .csv or .xlsx whose row 1 names its columns, 'identifier' "
    "and 'value', and if you like 'date' (2027-03-31), 'instrument', 'comment' and 'unit'. Where "
    "records have several outcomes, each has a column of its name instead of 'value' and 'unit', such "
    "as 'cost' or 'cost (EUR)'. 'worklist --output' writes one to fill in. All rows are stored or none: "
    "each that cannot be is told by its number. A row without a value is left out, and a value that is "
    "stored already is left as it is, so that a sheet may be sent again. A value that differs from the "
    "one that is stored is refused, unless a column 'reason' says why it is corrected. The server may "
    "run meanwhile."
)


def add(verbs: Any) -> None:
    """Add the command."""
    parser = add_folder_command(
        verbs, "import", _import, "store the measurements of a sheet, all or none", _DESCRIPTION
    )
    option = parser.add_argument
    option("values", type=Path, metavar="FILE", help="the sheet, a .csv or .xlsx")
    option(
        "--id",
        default="identifier",
        metavar="COLUMN",
        help="column with the records' identifiers (default: identifier)",
    )
    option("--value", default="value", metavar="COLUMN", help="column with the values (default: value)")
    option(
        "--unit",
        default="",
        metavar="NAME",
        help="unit of the values; another than the folder's is refused",
    )
    option(
        "--plausible",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="plausible range of the values (default: that of the folder)",
    )
    option(
        "--accept-implausible",
        action="store_true",
        help="values outside the plausible range were looked at, and are right",
    )
    option(
        "--unasked",
        choices=("refuse", "keep", "tell"),
        default="refuse",
        help="values of records that nobody asks for: 'refuse' them (the default); 'keep' them until "
        "somebody asks, who is answered at once, and tell nobody; or 'tell' them now to every modeler: "
        "each counts as a question, and that you had these values is told as well, "
        "which no guarantee covers",
    )
    option("--dry-run", action="store_true", help="store nothing; say what would be stored or refused")
    add_dialect(parser, "sheet", "whichever of ',', ';', tab and '|' parts the names of row 1")


def _import(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.sheet import SheetForm
    from botorch_private.curator.service.sheet_file import read_file
    from botorch_private.curator.service.take_in import take_in

    low, high = options.plausible or (None, None)
    if low is not None and not low < high:
        refuse_option(options, "--plausible", "must be a smallest and a larger value")
    written = declared(options)
    form = SheetForm(
        options.id,
        options.value,
        written.get("decimal", "."),
        options.unit,
        low,
        high,
        options.accept_implausible,
        options.unasked,
        written.get("separator", ""),
    )
    encoding, tab = written.get("encoding", "utf-8"), written.get("sheet")
    with opened(options) as store:
        with options.values.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text, form = read_file(content, form, encoding=encoding, tab=tab, most=_MOST_BYTES)
        taken = take_in(store, text, form, token=None, dry=options.dry_run)
    return _say(taken, dry=options.dry_run)


def _say(taken: TakenIn, *, dry: bool) -> int:
    for row, why in taken.refused[:_MOST_SHOWN]:
        warn(f"row {row}: {why}")
    if len(taken.refused) > _MOST_SHOWN:
        warn(f"and {len(taken.refused) - _MOST_SHOWN} more rows")
    if taken.implausible:
        warn("If values outside the plausible range are right, say --accept-implausible.")
    if taken.unasked:
        warn("To keep values until somebody asks for their records, say --unasked keep.")
    if taken.refused:
        words = "would be" if dry else "was"
        tell(f"Nothing {words} stored, since rows are refused: {len(taken.refused)}")
        return 1
    tell(f"{'Values that would be stored' if dry else 'Stored values'}: {taken.stored}")
    if taken.corrected:
        tell(f"{'Corrections that would be stored' if dry else 'Corrections'}: {taken.corrected}")
    if taken.kept:
        tell(f"{'Values that would be kept' if dry else 'Kept'} until somebody asks: {taken.kept}")
    if taken.told:
        tell(f"{'Values that would be told' if dry else 'Told'} to every modeler unasked: {taken.told}")
    tell(f"Stored before, and the same: {taken.same}")
    tell(f"Rows without a value: {taken.empty}")
    return 0
