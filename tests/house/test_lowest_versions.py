"""`make lowest` installs the versions that pyproject.toml promises, and no higher ones."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def test_lowest_requirements_are_the_lower_bounds_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = dict(
        re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements/lowest.txt").read_text(), re.MULTILINE)
    )
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name != "dev"}
    promised = [
        *project["dependencies"],
        *(need for name in extras if name != "all" for need in extras[name]),
    ]
    for requirement in map(Requirement, promised):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        assert Version(pinned[requirement.name]) == Version(bound.version), requirement.name
