"""One mark in many spellings, and a search for any of them in all that was said."""

import datetime
import traceback
from decimal import Decimal

from helpers.contents import Contents
from helpers.marked import listening

from botorch_private import Curator, Modeler, PrivateProjectionTransform, PublicScaling, Release
from botorch_private.curator.publish import Published

TEXT = "MRK-7f3a"
NUMBER = 8417263.5
DATE = datetime.date(2941, 7, 13)
MOMENT = datetime.datetime(2941, 7, 13, 4, 55)
_HOLD_RECORDS = (Curator, Modeler, PrivateProjectionTransform, PublicScaling, Published, Release)
BYTES = TEXT.encode() + b"\xfc\xff"
DECIMAL = Decimal("8417263.5")
WHOLE = 8417263 * 2**34  # beyond what float64 holds
_SPELLINGS = (
    *(each.encode() for each in ("7f3a", "8417263", "8,417,263", "8.417", "8_417", str(WHOLE)[:7])),
    *(each.encode() for each in ("2941-07", "2941, 7", "13.07.2941", TEXT.encode().hex())),
    b"\\xfc",
    b"0xfc",
)


def found_in(*said):
    """Spellings of the mark that can be reached from what was said, or are shown by it."""
    contents = Contents(*said)
    lowered = contents.bytes.lower()
    spelled = [each for each in _SPELLINGS if each in lowered]
    return spelled + [each for each in (NUMBER, float(WHOLE)) if contents.finds(each, 1e-4)]


def tried(step):
    """What became of a step: its error or None, and all that was said meanwhile.

    Of an error everything that it holds is looked through, its causes, contexts and notes too; of what
    comes back, what is shown of it.
    """
    error = result = None
    with listening() as said:
        try:
            result = step()
        except Exception as raised:
            error = raised
    shown = [said["log"], said["warnings"], said["printed"]]
    if error is None:
        return None, [*shown, repr(result) if isinstance(result, _HOLD_RECORDS) else ""]
    shown += [error, getattr(error, "__notes__", []), list(traceback.format_exception_only(error))]
    return error, shown
