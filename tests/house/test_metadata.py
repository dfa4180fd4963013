"""What the package, its metadata and its citation say of it is the same."""

import re
import tomllib
from pathlib import Path

import botorch_private

ROOT = Path(__file__).parents[2]
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


def test_a_source_distribution_carries_everything():
    lines = [line.split() for line in (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()]
    for kind, first, *rest in lines:
        if kind == "include":
            assert all((ROOT / name).is_file() for name in [first, *rest])
            continue
        files = [path for path in (ROOT / first).rglob("*") if path.is_file() and not made(path)]
        assert files
        assert [path for path in files if not any(path.match(pattern) for pattern in rest)] == []


def test_what_joiners_need_is_shipped():
    shipped = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    for name in (".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        assert name in shipped


def test_pins_agree_wherever_a_library_is_installed():
    pins = {
        name: dict(
            re.findall(r"^([\w.-]+)==([^;\s]+)", (ROOT / "requirements" / name).read_text(), re.M)
        )
        for name in ("runtime.txt", "dev.txt", "docs.txt", "bench.txt")
    }
    assert pins["runtime.txt"].items() <= pins["dev.txt"].items()
    for name in ("docs.txt", "bench.txt"):
        shared = pins[name].keys() & pins["dev.txt"].keys()
        assert {key: pins[name][key] for key in shared} == {key: pins["dev.txt"][key] for key in shared}


def made(path):
    """Whether a file is what a run leaves behind: see .gitignore."""
    folders = path.relative_to(ROOT).parts[:-1]
    return path.name == "runs.jsonl" or any(
        name == "__pycache__" or (name.startswith(".") and name != ".ci") for name in folders
    )
