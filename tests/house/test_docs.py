"""The site's pages name everything that is public, and what they name exists."""

import math
import re
from importlib import import_module
from pathlib import Path

import pytest

from botorch_private import CellResponse, Cells, Curator, NoisyProjection, PublicScaling
from botorch_private.cli import demo
from botorch_private.privacy.rounding import round_up

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")
}
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
WRITTEN_FOR_USERS = sorted(
    [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "tutorials").glob("*.ipynb")]
)
ROOMS = "_base|cli|curator|exchange|modeler|privacy"
ENTRIES = re.findall(r"^::: ([\w.]+)$", "\n".join(PAGES.values()), re.MULTILINE)


def named(dotted):
    home, _, name = dotted.rpartition(".")
    return getattr(import_module(home), name)


@pytest.mark.filterwarnings("ignore:ax:DeprecationWarning")  # Ax's own, of where its modules are
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
    shown = [
        heading for text in PAGES.values() for heading in re.findall(r"<!-- readme: (.+?) -->", text)
    ]
    assert len(shown) == 5
    for heading in shown:
        assert f"\n## {heading}\n" in README, heading


def test_the_readme_is_short_and_says_first_what_is_promised_about_a_whole_record_then_a_unit():
    lines = README.splitlines()
    assert len(lines) <= 250
    first_screen = "\n".join(lines[:52])
    assert first_screen.index("**About a whole record**") < first_screen.index("**About one unit**")
    assert "**Before the first question** epsilon is 0.225, at delta 0.00001." in first_screen
    assert "one unit is 2.31 years of age, or 3.95 of blood pressure" in first_screen
    assert "**Replacing a whole record costs 150.**" in first_screen
    assert "whole record costs more: 799" in first_screen


def test_the_readmes_numbers_are_those_of_a_guarantee():
    scaling = PublicScaling([18.0, 60.0], [100.0, 200.0], names=["age", "pressure"])
    records = [[30.0, 90.0], [60.0, 150.0]]
    curator = Curator(records, scaling, NoisyProjection(epsilon=3.0), [1.0, 2.0])
    assert "One unit is: 2.31 of age, or 3.95 of pressure." in str(curator.guarantee)
    assert "50 units: 150 (one record replaced by any other)" in str(curator.guarantee)
    gaussian = NoisyProjection(epsilon=3.0, delta=1e-5, noise="gaussian").guarantee(n=2, d=2)
    assert 798 < gaussian.at(50.0) <= 799


def test_what_the_readme_says_of_a_whole_record_is_that_of_a_guarantee():
    cells = Cells({"age": [18, 40, 100], "pressure": [60, 120, 200]})
    guarantee = CellResponse(epsilon=3.0, cells=cells).guarantee(n=8126, d=2)
    assert cells.count == 4
    assert round_up(guarantee.shuffled(1e-5).epsilon, 3) == "0.225"
    assert round_up(math.exp(guarantee.whole_record), 3) == "20.1"
    assert guarantee.delta == 0


def shown_rows(text):
    return {
        tuple(cell.strip() for cell in line.split("|")[1:-1])
        for line in text.splitlines()
        if "|" in line
    }


def test_the_epsilons_of_the_demo_are_those_of_its_guarantees():
    """Regret was measured; what is promised can be computed again."""
    start = {row[0]: row for row in shown_rows(PAGES["guide/start.md"])}
    promised = {row[1:3] for row in shown_rows(README) if row[0] in ("declared", "by a history")}
    for arm in demo.ARMS:
        guarantee = demo.arm_guarantee(arm)
        always, before, regret, error, _ = start[arm][1:]
        assert always == (round_up(guarantee.whole_record) if guarantee.holds else "none"), arm
        if arm.startswith("cells"):
            assert before == round_up(guarantee.shuffled(1e-5).epsilon), arm
            assert (always, before) in promised
            assert f"{regret} +- {error}" in README


@pytest.mark.parametrize("path", WRITTEN_FOR_USERS, ids=lambda path: path.name)
def test_what_is_written_for_users_spells_no_room(path):
    """Public names are promised, and where they live is not. Entries of the reference need it."""
    text = re.sub(r"^::: .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not re.findall(rf"botorch_private[./](?:{ROOMS})\b[\w.]*", text)


@pytest.mark.parametrize("words", ["(Thompson", "`make_model`", "curator.query", "yes/no", "[Ax", "e^3"])
def test_the_search_of_the_site_finds_words_beside_punctuation(words):
    """Each word of a page stands alone, as the site's search splits it."""
    (separator,) = re.findall(r"^ +separator: '(.*)'$", CONFIG, re.MULTILINE)
    found = re.split(separator.replace("''", "'"), f"{words}, sampling)")
    for word in re.findall(r"[\w^]+", words):
        assert word in found


def test_pages_fetch_nothing_from_elsewhere():
    for page, text in {**PAGES, "mkdocs.yml": CONFIG}.items():
        assert not re.search(r"""(src|href)=["']https?:|!\[[^\]]*\]\(https?:|@import""", text), page
    assert "font: false" in CONFIG
