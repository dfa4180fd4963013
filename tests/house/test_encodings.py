"""Files are UTF-8 whatever the console's encoding is: each text file is opened with an encoding.

(ruff's PLW1514 sees those whose type it knows; this sees the others, descriptors and pipes as well.)
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [each for part in ("botorch_private", "benchmarks") for each in (ROOT / part).rglob("*.py")]
MODES = {"open": 1, "fdopen": 1, "NamedTemporaryFile": 0, "TemporaryFile": 0}
METHODS = {"read_text": 0, "write_text": 1}  # where the encoding stands without its name


def without_encoding(tree):
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        method = isinstance(call.func, ast.Attribute)
        name = call.func.attr if method else getattr(call.func, "id", "")
        keywords = {each.arg: each.value for each in call.keywords}
        if "encoding" in keywords or None in keywords:
            continue
        as_text = {"text", "universal_newlines"} & set(keywords)
        if as_text or (name in METHODS and len(call.args) <= METHODS[name]):
            yield call.lineno
        elif name in MODES:
            owner = getattr(call.func.value, "id", "") if method else ""
            place = 0 if name == "open" and method else MODES[name]
            if owner in ("os", "io", "Image", "tarfile") and name == "open":
                continue
            if name == "open" and method and not call.args and "mode" not in keywords:
                continue  # the `open` of something else, such as a folder's
            mode = keywords.get("mode", call.args[place] if len(call.args) > place else None)
            if not (isinstance(mode, ast.Constant) and "b" in str(mode.value)):
                yield call.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_text_file_is_opened_with_an_encoding(path):
    assert list(without_encoding(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("path.read_text()", True),
        ("path.write_text(text)", True),
        ("path.write_text(text, encoding='utf-8')", False),
        ("open(path)", True),
        ("open(path, 'rb')", False),
        ("path.open('w')", True),
        ("path.open('xb')", False),
        ("os.fdopen(1, 'w')", True),
        ("subprocess.run(command, text=True)", True),
        ("folder.open()", False),
    ],
)
def test_what_this_file_looks_for(code, wrong):
    assert bool(list(without_encoding(ast.parse(code)))) == wrong
