"""`make lowest` installs the versions that pyproject.toml promises, and no higher ones."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
OTHERS = ("dev", "ax", "baybe")  # tools, and hosts, which are tested with one version each


def test_lowest_requirements_are_the_lower_bounds_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = dict(
        re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements/lowest.txt").read_text(), re.MULTILINE)
    )
    extras = {name: n for name, n in project["optional-dependencies"].items() if name not in OTHERS}
    promised = [
        *project["dependencies"],
        *(need for name in extras if name != "all" for need in extras[name]),
    ]
    for requirement in map(Requirement, promised):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        assert Version(pinned[requirement.name]) == Version(bound.version), requirement.name


def test_each_host_is_tested_with_a_version_that_its_extra_allows():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra, pins in (("ax", "dev.txt"), ("baybe", "baybe.txt")):
        (needed,) = map(Requirement, project["optional-dependencies"][extra])
        text = (ROOT / "requirements" / pins).read_text(encoding="utf-8")
        (version,) = re.findall(rf"^{needed.name}==(\S+)$", text, re.MULTILINE)
        assert version in needed.specifier
