"""What an import costs, and that lazy names are what they say."""

import subprocess
import sys
from pathlib import Path

import botorch_private


def loaded_by(code):
    command = [sys.executable, "-W", "ignore", "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_loads_nothing_that_is_not_used_yet():
    assert not {"torch", "botorch", "scipy", "numpy"} & loaded_by("import botorch_private")
    assert "botorch" not in loaded_by("from botorch_private.cli.main import _parser; _parser()")


def test_a_server_that_is_left_running_has_no_pytorch():
    service = Path(botorch_private.__file__).parent / "curator" / "service"
    names = {".".join(path.relative_to(service).with_suffix("").parts) for path in service.rglob("*.py")}
    heavy = {"declared_outcomes", "grow", "make_folder", "initialize", "promised", "worker"}
    lean = sorted(name for name in names - heavy if not name.startswith("parts.make."))
    assert "server" in lean
    imports = "\n".join(f"import botorch_private.curator.service.{name}" for name in lean)
    assert "torch" not in loaded_by(imports)


def test_every_public_name_has_a_home_and_nothing_else_has():
    assert sorted(botorch_private._HOMES) == botorch_private.__all__
    for name in botorch_private.__all__:
        home = (
            sys.modules[f"botorch_private.{botorch_private._HOMES[name]}"]
            if hasattr(botorch_private, name)
            else None
        )
        assert getattr(home, name) is getattr(botorch_private, name)
    assert set(botorch_private.__all__) <= set(dir(botorch_private))


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(botorch_private, "Curatr")


def test_progress_bars_come_from_one_place_which_knows_notebooks():
    package = Path(botorch_private.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "from tqdm" in path.read_text(encoding="utf-8")
    }
    # The command line's own bar is for terminals alone.
    assert found == {"_base/progress.py", "cli/optimize/progress.py"}
    code = "import warnings; warnings.simplefilter('error'); import botorch_private._base.progress as p"
    assert "tqdm.notebook" not in loaded_by(code)  # (only in a notebook)
