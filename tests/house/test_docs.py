"""The site's pages name everything that is public, and what they name exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")
}
ENTRIES = re.findall(r"^::: ([\w.]+)$", "\n".join(PAGES.values()), re.MULTILINE)


def named(dotted):
    home, _, name = dotted.rpartition(".")
    return getattr(import_module(home), name)


@pytest.mark.parametrize("home", ["", ".audit", ".datasets", ".report", ".theory"])
def test_every_public_name_has_one_entry(home):
    module = import_module(f"botorch_private{home}")
    entries = [named(entry) for entry in ENTRIES]
    for name in module.__all__:
        assert sum(entry is getattr(module, name) for entry in entries) == 1, name


def test_every_formula_is_on_the_page_of_the_papers_formulas():
    theory = import_module("botorch_private.theory")
    for name in theory.__all__:
        home = getattr(theory, name).__module__
        assert f"[`{name}`][{home}.{name}]" in PAGES["guide/formulas.md"], name


def test_sections_that_pages_take_from_the_readme_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [
        (page, heading)
        for page, text in PAGES.items()
        for heading in re.findall(r"<!-- readme: (.+?) -->", text)
    ]
    assert len(shown) > 10
    for page, heading in shown:
        assert f"\n## {heading}\n" in readme, (page, heading)


def test_pages_fetch_nothing_from_elsewhere():
    for page, text in {**PAGES, "mkdocs.yml": (ROOT / "mkdocs.yml").read_text(encoding="utf-8")}.items():
        assert not re.search(r"""(src|href)=["']https?:|!\[[^\]]*\]\(https?:|@import""", text), page
    assert "font: false" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
