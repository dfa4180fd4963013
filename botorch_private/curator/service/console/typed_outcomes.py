"""Typed outcomes: what stands in the fields for a value, one for each outcome of a record.

A draft has it as one text: what was typed, or of several outcomes the texts by their names, as JSON.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from botorch_private.curator.service.console.shown import number
from botorch_private.curator.service.outcomes import OutcomeFacts, Outcomes
from botorch_private.curator.service.question import Outcome
from botorch_private.curator.service.typed_values import problem_of, read_value


class Field(NamedTuple):
    """A field of a form.

    Attributes:
        name: Of the field.
        outcome: That is typed there.
        text: What stands there.
        problem: What is wrong with it; may be empty.
    """

    name: str
    outcome: OutcomeFacts
    text: str
    problem: str


def fields_of(measured: Outcomes, text: str, problems: Mapping[str, str] | None = None) -> list[Field]:
    """The fields of a form, in the order of the outcomes.

    Args:
        measured: What is measured.
        text: Of the draft.
        problems: Name of a field to what is wrong with it.
    """
    texts, found = _texts(measured, text), problems or {}
    return [
        Field(name, each, texts[each.name], found.get(name, ""))
        for name, each in zip(_field_names(measured), measured.each, strict=True)
    ]


def text_of_form(measured: Outcomes, form: Mapping[str, str]) -> str:
    """What a draft keeps of the fields of a form; of those that it does not have, nothing."""
    names = _field_names(measured)
    return _joined(measured, [form.get(name, "") for name in names])


def text_with(measured: Outcomes, text: str, stored: Outcome) -> str:
    """The text of a draft, with what is stored wherever nothing was typed."""
    named = measured.named(stored)
    texts = _texts(measured, text)
    return _joined(
        measured, [texts[name] if texts[name].strip() else number(named[name]) for name in texts]
    )


def problems_of_value(measured: Outcomes, text: str) -> dict[str, str]:
    """Name of each field to why no number stands there; empty if one does."""
    return {each.name: problem_of(read_value, each.text) for each in fields_of(measured, text)}


def is_whole(measured: Outcomes, text: str) -> bool:
    """Whether there is a number for each outcome."""
    return not any(problems_of_value(measured, text).values())


def read_outcome(measured: Outcomes, text: str) -> Outcome:
    """The value that a draft says, which `is_whole`.

    Raises:
        ValueError: If it does not say one.
    """
    numbers = {each.outcome.name: read_value(each.text) for each in fields_of(measured, text)}
    return numbers if measured.several else numbers[measured.each[0].name]


def typed_numbers(measured: Outcomes, text: str) -> dict[str, float]:
    """The numbers that can be read by now, by the names of their outcomes."""
    numbers = {}
    for each in fields_of(measured, text):
        with contextlib.suppress(ValueError):
            numbers[each.outcome.name] = read_value(each.text)
    return numbers


def differ(measured: Outcomes, numbers: Mapping[str, float], stored: Outcome | None) -> bool:
    """Whether any of these numbers is another than what is stored."""
    named = {} if stored is None else measured.named(stored)
    return any(named.get(name) != value for name, value in numbers.items())


def missing(measured: Outcomes, text: str) -> list[str]:
    """Names of the outcomes that are not typed yet, where others are."""
    texts = _texts(measured, text)
    empty = [name for name, each in texts.items() if not each.strip()]
    return empty if len(empty) < len(texts) else []


def words_of_text(measured: Outcomes, text: str) -> str:
    """What was typed, as it was typed."""
    if not measured.several:
        return text
    return ", ".join(f"{name} {each}" for name, each in _texts(measured, text).items() if each.strip())


def _field_names(measured: Outcomes) -> list[str]:
    if not measured.several:
        return ["value"]
    return [f"value-{place}" for place in range(1, len(measured.each) + 1)]


def _texts(measured: Outcomes, text: str) -> dict[str, str]:
    if not measured.several:
        return {measured.each[0].name: text}
    found = json.loads(text) if text else {}
    return {each.name: found.get(each.name, "") for each in measured.each}


def _joined(measured: Outcomes, texts: list[str]) -> str:
    if not measured.several:
        return texts[0]
    found = {each.name: text for each, text in zip(measured.each, texts, strict=True) if text.strip()}
    return json.dumps(found, ensure_ascii=False) if found else ""
