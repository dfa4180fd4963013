"""The notebooks are committed as they were executed, and are small; `make notebooks` runs them."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "tutorials").glob("*.ipynb"))
LARGEST = 400_000  # bytes


def test_notebooks_are_numbered_without_gaps():
    assert [int(path.name[:2]) for path in NOTEBOOKS] == list(range(1, 8))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_one_run_from_top_to_bottom_without_complaints(path):
    code = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output["text"] for output in outputs if output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs), "no plot"
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_is_listed_in_the_readme_and_on_the_site(path):
    assert f"(tutorials/{path.name})" in (ROOT / "README.md").read_text("utf-8")
    assert f"tutorials/{path.stem}.md" in (ROOT / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_the_machine_is_in_them(path):
    text = path.read_text("utf-8")
    for trace in ("/tmp/", "/root/", "/home/", "site-packages"):
        assert trace not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_names_are_those_that_are_public(path):
    """Of the package itself, or of one of its public modules: none is read from a room."""
    public = "audit|datasets|report|theory"
    rooms = re.findall(rf"\bbotorch_private\.(?!(?:{public})\b(?!\.))\w[\w.]*", path.read_text("utf-8"))
    assert rooms == []
