"""A versioned file says what it is, and nothing else is taken for it."""

import json
from pathlib import Path

import pytest

from botorch_private._base.versioned import FileFormat

PATH = Path("list.json")
SECOND = FileFormat("shopping list", 2, "a shopping list", "write another one")
BARE = FileFormat("shopping list", 2, "a shopping list", digest=False)


def first(text):
    return text.replace(b'"format_version": 2', b'"format_version": 1')


@pytest.mark.parametrize("form", [SECOND, BARE])
def test_values_come_back(form):
    values = {"bread": 2, "milk": [0.1, 1e300]}
    assert form.loads(form.dumps(values), PATH) == values
    assert form.loads(form.dumps(values, indent=1), PATH) == values
    assert json.loads(form.dumps(values))["format"] == "shopping list"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"3", b"{}", b'{"format": "x"}', b"\xff\x00", b"{"]
)
def test_what_is_something_else_is_refused_with_the_advice(content):
    with pytest.raises(
        ValueError, match=r"^path must be a shopping list, but list.json is .*; write another one$"
    ):
        SECOND.loads(content, PATH)


def test_every_altered_byte_of_a_value_is_noticed():
    whole = SECOND.dumps({"bread": 2})
    for altered in (
        whole.replace(b": 2,", b": 3,", 2),
        whole.replace(b"bread", b"broad"),
        whole.replace(b"sha256", b"sha"),
    ):
        assert altered != whole
        with pytest.raises(ValueError, match="was changed after saving|another version"):
            SECOND.loads(altered, PATH)


@pytest.mark.parametrize(
    ("version", "read"), [(0, False), (1, True), (2, True), (3, False), (None, False)]
)
def test_a_version_and_the_one_before_are_read(version, read):
    header = {"format": "shopping list", "format_version": version}
    if read:
        assert SECOND.require(header, PATH) == version
        assert SECOND.require(header | {"format_version": str(version)}, PATH) == version
    else:
        with pytest.raises(ValueError, match="is of another version: upgrade"):
            SECOND.require(header, PATH)


def test_a_text_of_the_version_before_is_read():
    assert BARE.loads(first(BARE.dumps({"bread": 2})), PATH) == {"bread": 2}


def test_numbers_that_json_has_not_are_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        SECOND.dumps({"bread": float("nan")})
