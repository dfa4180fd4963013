"""What the package, its metadata and its citation say of it is the same."""

import re
import tomllib
from pathlib import Path

import botorch_private

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def cited(field):
    return re.findall(rf"^{field}: *(.+)$", CITATION, re.MULTILINE)


def test_versions_agree():
    assert cited("version") == [PROJECT["version"]] == [botorch_private.__version__]


def test_the_citation_has_the_licence_and_the_keywords_of_the_package():
    assert cited("license") == [PROJECT["license"]]
    listed = CITATION.split("keywords:\n")[1].split("references:")[0]
    assert re.findall(r"^  - (.+)$", listed, re.MULTILINE) == PROJECT["keywords"]


def test_what_a_source_distribution_carries_exists():
    lines = [line.split() for line in (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()]
    named = [name for kind, *names in lines if kind in {"include", "graft"} for name in names]
    assert "tests" in named
    assert [name for name in named if not (ROOT / name).exists()] == []
