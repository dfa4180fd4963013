"""The text of a file of ranges: one entry for each column, declared or still to be declared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_HEAD = """\
# Features to be released, for: botorch-private curator init TABLE FOLDER --ranges THIS_FILE
#
# This file is public. Declare each feature from what it means: a definition, a guideline, what is
# possible at all. Never look the numbers or the categories up in the table: the smallest value of a
# column is the value of somebody's record, and the guarantee would not hold. A value outside its range
# is moved to the nearest end of it; a category that is not declared is refused.
#
# - Delete what is not to be released, such as names and outcomes: it stays out, and nobody learns it.
# - Remove the marks (#) of one kind for each feature that stays, and fill it in.
# - A yes/no and a category are large steps: one step is as wide as the whole range of a number, and any
#   two categories are equally far apart. A long lengthscale makes a feature narrower and protects it
#   better: in a number's own unit (half of its range is the default), in steps for the others (0.5 is
#   the default). Give one to all features or to none.
# - A yes/no is yes/no, true/false or 1/0 in the table. Other spellings are declared below its kind:
#   yes = "Y" and no = "N".
# - A number above 0 whose factors matter, such as an income or a dose, may have scale = "log": from 10
#   to 20 is then as far as from 100 to 200, and its lengthscale is a factor.
# - A missing value is refused, unless its feature says what it counts as: missing = 50, missing = false,
#   missing = "other". Declare that from what it means that it is missing; no mean of the table.
# - For a promise about a whole record (--whole-record) a number also has edges between its cells, such
#   as edges = [40, 65]. 'botorch-private cells suggest EPSILON --ranges THIS_FILE' proposes some.
# - 'botorch-private ranges check THIS_FILE' says what one unit of distance is, and how many units wide
#   each feature is.

# radius = 25.0
"""

_UNDECLARED = """\
# lower =
# upper =
# kind = "boolean"
# kind = "category"
# categories = ["", ""]
"""


@dataclass(frozen=True)
class Declared:
    """What somebody declared about a column; see `botorch_private.curator.features.kinds`."""

    kind: str
    lower: float | None = None
    upper: float | None = None
    categories: tuple[str, ...] = ()


def template(columns: Sequence[str], declared: Mapping[str, Declared | None] | None = None) -> str:
    """Write a file of ranges, from the names of columns and from nothing else of a table.

    Args:
        columns: Names of all columns.
        declared: What was declared already; None for a column that is left out. A column that is not
            in it is to be declared by hand, and until then the file is refused with its name.
    """
    declared = declared or {}
    entries = [_entry(name, declared) for name in columns if declared.get(name, True) is not None]
    return "\n".join([_HEAD, *entries])


def _entry(name: str, declared: Mapping[str, Declared | None]) -> str:
    head = f"[features.{key(name)}]\n"
    entry = declared.get(name)
    if entry is None:
        return head + _UNDECLARED
    if entry.kind == "number":
        return f"{head}lower = {entry.lower!r}\nupper = {entry.upper!r}\n"
    if entry.kind == "boolean":
        return f'{head}kind = "boolean"\n'
    categories = ", ".join(map(quoted, entry.categories))
    return f'{head}kind = "category"\ncategories = [{categories}]\n'


def key(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def quoted(text: str) -> str:
    """A basic string of TOML: that of JSON, but for one more control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
