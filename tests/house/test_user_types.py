"""What a user's strict type checker says of the public names, installed as any other typed package."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

import botorch_private

SCRIPT = Path(__file__).parent / "typing" / "user_script.py"
CHECKER = Path(sys.executable).with_name("basedpyright")
WRONG = """\
from botorch_private import Curator, Modeler, Release

release = Release.load("release.safetensors")
Modeler(release, rounds=3)
Modeler(release).tell(0, "high")
print(release.records)


def left(curator: Curator) -> int:
    return curator.queries_left
"""


def test_the_script_uses_every_public_name():
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert set(botorch_private.__all__) <= used


@pytest.mark.slow
@pytest.mark.skipif(not CHECKER.exists(), reason="needs basedpyright beside this Python")
def test_users_in_strict_mode_meet_no_error_that_is_not_theirs(tmp_path):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = tmp_path / "user" / "lib" / f"python{version}" / "site-packages"
    packages.mkdir(parents=True)
    packages.joinpath("botorch_private").symlink_to(Path(botorch_private.__file__).parent)
    packages.joinpath("torch.pth").write_text(str(Path(torch.__file__).parents[1]))
    tmp_path.joinpath("right.py").write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    tmp_path.joinpath("wrong.py").write_text(WRONG, encoding="utf-8")
    settings = {
        "include": ["right.py", "wrong.py"],
        "typeCheckingMode": "strict",
        "reportMissingTypeStubs": False,  # GPyTorch is not typed
        "pythonVersion": version,
        "venvPath": ".",
        "venv": "user",
    }
    tmp_path.joinpath("pyrightconfig.json").write_text(json.dumps(settings))
    command = [CHECKER, "--project", tmp_path, "--outputjson"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert said["summary"]["filesAnalyzed"] == 2
    found = [(Path(each["file"]).name, each) for each in said["generalDiagnostics"]]
    assert [each for name, each in found if name != "wrong.py"] == []
    lines = Counter(each["range"]["start"]["line"] + 1 for name, each in found if name == "wrong.py")
    assert set(lines) == {4, 5, 6, 10}
