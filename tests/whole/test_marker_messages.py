"""No message is written with an expression that nobody has looked at: it may be a piece of a table.

A message is put together from what is reviewed here, with the reason why it holds no text of a table.
What the names stand for is tried by the marker searches; this is for the next message.
"""

import re

from helpers.messages import said_in, said_in_rooms

# Counts, kinds, positions, constants, and helpers that say no more.
HARMLESS = re.compile(
    r"(len|round_up|in_words|_type|_which|_more|_kind|_shape|_place|_why|_for|_called|_dtype|shown|place_of|int)"
    r"\(.*|type\(\w+\)\.__name__|[A-Z_\.]+|\w+(\.shape(\[-?\d\])?|\.dtype)|.* (if|[-+]) .*"
)
REVIEWED = {
    "declared: cells, epsilon, and how labels are told": [
        "100 * law.p",
        "fixed * 2 ** numbers",
        "instead",
        "law.cells",
        "part.name",
        "self.count",
        "self.epsilon",
        "_NAMES[kind]",
        "_NAMES[noise]",
        "LARGEST_L2_DIM",
        "self.noise",
        "type(self.cells).__name__",
    ],
    "declared: names, categories, ranges, and the file of ranges that says them": [
        "', '.join(called)",
        "', '.join(known)",
        "', '.join(map(repr, wanted))",
        "_hint(lines, str(error))",
        "called",
        "choices",
        "column",
        "columns",
        "each.name",
        "entry['lower']",
        "entry['upper']",
        "feature",
        "feature.kind",
        "feature.name",
        "feature.remedy",
        "form.identifier",
        "form.value",
        "feature.wanted",
        "float(self._lower[column])",
        "float(self._upper[column])",
        "float(shape[column])",
        "float(unit[column])",
        "given[0]",
        "key",
        "dialect.marks",
        "list(guarantee.log_columns)",
        "list(guarantee.names)",
        "list(self.log_columns)",
        "list(self.names)",
        "missing",
        "middle_of(each)",
        "missing[first]",
        "name",
        "names",
        "own",
        "plain",
        "radius",
        "self._name(column)",
        "twice[0]",
        "self.name",
        "self.radius",
        "stated",
        "unit.dim",
        "unit.grid",
    ],
    "a setting, an option or a promise": [
        "agreed",
        "argument",
        "budget",
        "delta",
        "epsilon",
        "features",
        "guarantee.mechanism",
        "'; '.join(guarantee.reasons)",
        "high",
        "host",
        "kind",
        "largest",
        "law.dim",
        "limit",
        "low",
        "old.guarantee.mechanism",
        "plausible[0]",
        "plausible[1]",
        "port",
        "rate",
        "role",
        "self.budget.delta",
        "self.budget.epsilon",
        "self.delta",
        "self.features",
        "self.guarantee(n, d).reasons[0]",
        "self.max_queries",
        "seconds",
        "token.role",
        "module_name",
        "function_name",
        "value",
        "self.k",
        "_shown(value)",
    ],
    "a path that was given, or a file of the folder": [
        "beside",
        "folder",
        "folder.database",
        "parent",
        "path",
        "path.name",
        "path.parent",
        "ranges",
        "self.database",
        "self.path",
        "source",
        "table",
        "error.strerror",
        "folder.release",
        "target",
    ],
    "a position, a count or a time": [
        "count",
        "curator.answered",
        "d",
        "dim",
        "area.min_row",
        "first",
        "hidden[0]",
        "error.smtp_code",
        "least",
        "ledger.records",
        "length",
        "minimum",
        "minimum_rows",
        "most",
        "n",
        "now[11:19]",
        "now[:10]",
        "np.sqrt(d / dim)",
        "number",
        "old",
        "other",
        "place",
        "position",
        "promise.features or d",
        "query.id",
        "row",
        "self._features",
        "status",
        "stop",
    ],
    "words of our own, chosen from a few": [
        "', '.join(KINDS)",
        "', '.join(ROLES)",
        "', '.join(SECURITY)",
        "', '.join(_KEYS)",
        "', '.join(_KINDS)",
        "', '.join(sorted(known))",
        "_MARKS[decimal]",
        "_MARKS[other]",
        "advice",
        "alike",
        "error.code",
        "found",
        "known",
        "more",
        "near",
        "of",
        "problem",
        "remedy",
        "shown",
        "text",
        "title",
        "wanted",
        "way_out",
        "what",
        "where",
        "why",
        "self.wanted",
    ],
    "a host in the file of who is told, which the curator wrote": ["channel.name"],
    "an error of our own, or of an attribute, an address or an import, without records": [
        "error",
        "error.reason or 'that they cannot be read'",
    ],
}


def test_every_expression_in_a_message_of_the_curators_rooms_was_looked_at():
    said = said_in_rooms("_base", "exchange", "curator")
    known = {each for group in REVIEWED.values() for each in group}
    new = {
        each: files for each, files in said.items() if not (HARMLESS.fullmatch(each) or each in known)
    }
    assert new == {}


def test_nothing_is_reviewed_that_no_message_says_any_more():
    said = set(said_in_rooms("_base", "exchange", "curator"))
    assert {each for group in REVIEWED.values() for each in group} - said == set()


def test_a_new_expression_is_found_wherever_a_message_is_made():
    for source in (
        "raise ValueError(f'got {cell}')",
        "warnings.warn(f'got {cell}')",
        "_log.error('got %s', cell)",
        "problem = ValueError(f'got {cell}')",
        "error.add_note(f'got {cell}')",
    ):
        assert said_in(source) == {"cell"}
        assert not HARMLESS.fullmatch("cell")
