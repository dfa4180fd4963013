"""What stands in the messages of a room: expressions that are put into texts of errors and logs."""

import ast
from pathlib import Path

import botorch_private

ROOT = Path(botorch_private.__file__).parent
_SAYING = ("warn", "add_note", "debug", "info", "warning", "error", "critical", "log", "refusal")


def _says(node):
    """Whether a node raises, warns, logs, or makes an error."""
    if isinstance(node, ast.Raise):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _SAYING or name.endswith(("Error", "Warning", "Exception"))


def said_in(source):
    """Expressions in the messages of a source text; of logged lines the arguments as well."""
    found = set()
    for node in filter(_says, ast.walk(ast.parse(source))):
        found |= {
            ast.unparse(each.value) for each in ast.walk(node) if isinstance(each, ast.FormattedValue)
        }
        logs = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if logs and getattr(node.func.value, "id", "") == "_log":
            found |= {ast.unparse(each) for each in node.args[1:]}
    return found


def said_in_rooms(*rooms):
    """Expression -> the files where it stands in a message."""
    found = {}
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            for expression in said_in(path.read_text(encoding="utf-8")):
                found.setdefault(expression, []).append(path.relative_to(ROOT).as_posix())
    return found
