import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import botorch_private

ROOT = Path(__file__).parents[1]
PACKAGE = Path(botorch_private.__file__).parent  # in the tree, or where a wheel was installed
MODELER_SIDE = "The modeler's side never imports the curator's side"
LAYERS = "Imports point downwards; modules that share a line do not import each other"


def lint_imports(folder):
    """Run import-linter on the package in a folder."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied(tmp_path):
    """Return a copy of the package and its configuration, to break rules in."""
    shutil.copytree(
        PACKAGE,
        tmp_path / "botorch_private",
        ignore=shutil.ignore_patterns("__pycache__", "*.npz", "*.json"),
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_modeler_code_cannot_import_curator_code_and_imports_point_downwards():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{MODELER_SIDE} KEPT" in result.stdout
    assert f"{LAYERS} KEPT" in result.stdout
    assert "Contracts: 2 kept, 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("modeler/spy.py", "from botorch_private.curator import Curator", MODELER_SIDE),
        ("modeler/spy.py", "import botorch_private", MODELER_SIDE),
        ("observation.py", "def peek():\n    from botorch_private import scaling", MODELER_SIDE),
        ("curator/spy.py", "from botorch_private.modeler import Modeler", LAYERS),
        ("stray.py", "", LAYERS),
    ],
    ids=[
        "direct",
        "through the package",
        "indirect, inside a function",
        "upwards",
        "module without a line",
    ],
)
def test_a_planted_import_against_the_rules_is_caught(copied, module, line, broken):
    path = copied / "botorch_private" / module
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\n\n{line}\n")
    result = lint_imports(copied)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{broken} BROKEN" in result.stdout
    assert path.stem in result.stdout.split("Broken contracts")[1]


def test_the_public_names_are_sorted_and_each_stands_once():
    names = botorch_private.__all__
    assert names == sorted(set(names))


def test_every_public_name_can_be_imported():
    scope = {}
    exec("from botorch_private import *", scope)
    assert set(botorch_private.__all__) <= scope.keys()


def test_every_class_and_function_at_the_top_is_a_public_name():
    tools = {"TYPE_CHECKING", "Any", "import_module"}  # what the lazy loading itself needs
    bound = {
        name
        for name in dir(botorch_private)
        if not name.startswith("_") and not inspect.ismodule(getattr(botorch_private, name))
    }
    assert bound - tools == set(botorch_private.__all__)


@pytest.mark.parametrize(
    "package", ["acquisition", "curator", "datasets", "mechanisms", "modeler", "models", "theory"]
)
def test_every_name_that_a_package_exports_exists(package):
    module = importlib.import_module(f"botorch_private.{package}")
    assert len(module.__all__) == len(set(module.__all__))
    for name in module.__all__:
        assert hasattr(module, name)


@pytest.mark.parametrize("name", botorch_private.__all__)
def test_every_public_name_is_documented(name):
    assert inspect.getdoc(getattr(botorch_private, name))


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
