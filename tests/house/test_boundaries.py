import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import botorch_private

ROOT = Path(__file__).parents[2]
PACKAGE = Path(botorch_private.__file__).parent  # in the tree, or where a wheel was installed
LAYERS = "Imports point downwards; curator and modeler never import each other"
COMMAND = "The modeler's command has nothing of the curator"
CONTRACTS = (LAYERS, COMMAND, "Inside the curator", "Inside the modeler")
PLANTED = "from botorch_private.curator.curator import Curator as Planted"


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


def kept(result):
    """The contracts that held, by their names."""
    return {name for name in CONTRACTS if f"{name} KEPT" in result.stdout}


def test_imports_point_downwards_and_the_parties_never_import_each_other():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert kept(result) == set(CONTRACTS)
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken" in result.stdout


def test_the_curator_cannot_be_imported_by_any_module_of_the_modelers_side(copied):
    """One line for each module is refused: planted together, so that one run of the linter is enough."""
    package = copied / "botorch_private"
    sides = [package / "modeler", package / "cli" / "optimize"]
    planted = {}
    for path in sorted(path for side in sides for path in side.rglob("*.py")):
        text = path.read_text()
        path.write_text(f"{text}\n\n{PLANTED}\n")
        module = ".".join(path.relative_to(copied).with_suffix("").parts)
        planted[module.removesuffix(".__init__")] = len(text.splitlines()) + 3
    assert len(planted) > 35
    result = lint_imports(copied)
    assert result.returncode == 1, result.stdout + result.stderr
    assert {LAYERS, COMMAND}.isdisjoint(kept(result))
    for module, line in planted.items():
        own = rf"{re.escape(module)} -> botorch_private\.curator\.curator \([^)]*\bl\.{line}\b"
        assert re.search(own, result.stdout), module


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("modeler/run.py", PLANTED, LAYERS),
        ("modeler/spy.py", "import botorch_private", LAYERS),
        ("exchange/observation.py", "def peek():\n    import botorch_private.curator.features", LAYERS),
        ("privacy/words.py", "import botorch_private.curator.ledger", LAYERS),
        ("curator/spy.py", "from botorch_private.modeler.modeler import Modeler", LAYERS),
        ("cli/optimize/spy.py", "import botorch_private.datasets", COMMAND),
        ("curator/publish.py", "import botorch_private.curator.curator", "Inside the curator"),
        ("modeler/history.py", "import botorch_private.modeler.run", "Inside the modeler"),
        ("stray.py", "", LAYERS),
    ],
    ids=[
        "direct",
        "through the package",
        "inside a function, from what both sides know",
        "from under both",
        "the other way",
        "the modeler's command",
        "upwards in the curator",
        "upwards in the modeler",
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
    "package",
    [
        "audit",
        "curator.mechanisms",
        "datasets",
        "modeler.acquisition",
        "modeler.models",
        "report",
        "theory",
    ],
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
