"""The report states no number that was not computed from the release or the table it was given."""

import ast
import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.report_samples import KINDS, reports_of

import botorch_private.report
from botorch_private.report import shown

FOLDER = Path(botorch_private.report.__file__).parent
TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
INDICES = {0, 1}
WORDS = [*sorted((FOLDER / "chapters").glob("*.py")), FOLDER / "text.py", FOLDER / "document.py"]


def test_the_template_holds_no_digit_outside_tags_and_style():
    text = (FOLDER / "page.html").read_text(encoding="utf-8")
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", "", text, flags=re.DOTALL)
    assert not re.search(r"\d", text)


@pytest.mark.parametrize("path", WORDS, ids=lambda path: path.name)
def test_no_sentence_holds_a_digit_and_no_chapter_a_number_but_an_index(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [each.value for each in constants if id(each) not in docstrings]
    assert not [text for text in texts if isinstance(text, str) and re.search(r"\d", text)]
    if path.parent.name == "chapters":
        numbers = {each for each in texts if isinstance(each, int | float)}
        assert numbers <= INDICES  # True and False are equal to 1 and 0


def leaves(value):
    """Yield every number and text inside facts."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, dict | list | tuple):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def spellings(number):
    """Return every text that the report may show a number as."""
    if isinstance(number, int):
        return {f"{number:,}"}
    found = {format(number) for format in (shown.up, shown.down, shown.small, shown.given)}
    found |= {shown.uncertainty(number), shown.percent_down(number)} if math.isfinite(number) else set()
    if 0 <= number <= 1:
        found.add(shown.percent(number))
    if 0 <= number < 20:  # an epsilon, as a factor
        found.add(shown.factor(number))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_in_the_text_is_a_fact(kind):
    made = reports_of(kind)
    facts = (made.facts, made.audits, made.table, made.spent)
    known = set()
    for leaf in leaves(facts):
        for text in [leaf] if isinstance(leaf, str) else spellings(leaf):
            known |= set(TOKEN.findall(text))
    for release in made.facts.releases:  # what is not a fact itself, but follows from one
        if release.attacker is not None:
            share = release.attacker.noise_length / release.attacker.spread_length
            known |= set(TOKEN.findall(shown.percent_down(share)))
        promise = release.outcome_guarantee
        if promise is not None:
            low, high = promise.outcome_range
            known.add(shown.down(math.sqrt(promise.law.variance) * (high - low)))
    known.add(str(len(made.facts.releases)))
    text = re.sub(r"\s+", " ", made.text())
    found = TOKEN.findall(text)
    assert len(found) > 20
    assert set(found) <= known, set(found) - known


def test_what_leaks_is_rounded_up_and_what_protects_down():
    assert shown.up(1.00001) == "1.001"
    assert shown.down(1.2999) == "1.29"
    assert shown.percent(0.97123456) == "97.13 %"
    assert shown.percent_down(0.2999) == "29.9 %"
    assert shown.small(1.01e-5) == "1.1e-05"
    assert float(shown.factor(1.0)) >= math.e
    assert shown.up(123456.0) == "123,500"
    assert shown.given(-1000.0) == "-1,000"
    assert shown.factor(np.inf) == "unlimited"
    assert shown.factor(150.0) == "e to the power of 150"
