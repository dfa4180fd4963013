"""What a document of --json must be: declared fields, of their types, with numbers that are finite."""

import json
import math

from botorch_private.cli.documents.fields import DOCUMENTS, fields_of

KINDS = {"boolean": bool, "integer": int, "number": (int, float), "string": str, "object": dict}


def parsed(text, command):
    """Return what a command printed, which is one document with the declared fields and no others."""
    found = json.loads(text, parse_constant=lambda name: 1 / 0)
    kind = DOCUMENTS[command]
    assert found.pop("format") == f"botorch-private {kind.FORMAT}"
    assert found.pop("format_version") == kind.VERSION
    declared = {path: words for path, words, _ in fields_of(kind)}
    seen = set()
    for path, value in walked(found):
        assert path in declared, path
        seen.add(path)
        assert fits(value, declared[path]), (path, value)
    optional = {path for path in declared if any(holds_nothing(found, p) for p in prefixes(path))}
    assert set(declared) - seen <= optional
    return found


def walked(value, path=""):
    for name, each in value.items():
        here = f"{path}{name}"
        yield here, each
        for inside in each if isinstance(each, list) else [each]:
            if isinstance(inside, dict):
                yield from walked(inside, f"{here}[]." if isinstance(each, list) else f"{here}.")


def fits(value, words):
    return any(fits_one(value, each) for each in words.split(" or "))


def fits_one(value, kind):
    if kind == "null":
        return value is None
    if kind.startswith("array of "):
        inside = kind.removeprefix("array of ").removesuffix("s")
        return isinstance(value, list) and all(fits_one(each, inside) for each in value)
    if kind.startswith("object of "):
        inside = kind.removeprefix("object of ").removesuffix("s")
        return isinstance(value, dict) and all(fits_one(each, inside) for each in value.values())
    if type(value) is bool or kind == "boolean":
        return type(value) is bool and kind == "boolean"
    return isinstance(value, KINDS[kind]) and (not isinstance(value, float) or math.isfinite(value))


def prefixes(path):
    parts = path.split(".")[:-1]
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def holds_nothing(found, path):
    """Whether nothing stands at a path: null, or an empty array."""
    values = [found]
    for part in path.split("."):
        name = part.removesuffix("[]")
        values = [each[name] for each in values if each is not None]
        if part.endswith("[]"):
            values = [inside for each in values for inside in each or []]
    return any(value is None for value in values) or not values
