"""What a file is that was given in place of another one, in words of our own.

Told from its first bytes. Nothing of what it holds is repeated.
"""

from __future__ import annotations

import re

HEAD = 4096  # bytes that are looked at
FORMATS = {  # what our own files say of themselves, and what they are called
    "botorch-private run": "a search",
    "botorch-private search prior": "a search prior",
    "botorch-private release": "a release",
    "botorch-private release in parts": "the manifest of a release in parts",
    "botorch-private release begun": "the plan of an unfinished release",
    "botorch-private row map": "the map of a release in parts",
    "botorch-private folder begun": "what an unfinished folder was begun with",
    "botorch-private ledger": "a ledger",
    "botorch-private notifications": "the state of notifications",
    "botorch-private events": "a file of events",
    "botorch-private backup": "the list of a backup",
}
_BEGINNINGS = (
    (b"SQLite format 3\0", "is an SQLite database"),
    (b"PK\x03\x04", "looks like a zip archive, as workbooks are"),
    (b"\xd0\xcf\x11\xe0", "looks like a workbook of an old Excel"),
    (b"PAR1", "looks like a .parquet file"),
    (b"\x93NUMPY", "looks like an array of NumPy"),
    (b"\x1f\x8b", "looks compressed"),
    (b"\x89PNG", "looks like a picture"),
    (b"%PDF", "looks like a .pdf file"),
    (b"-----BEGIN ", "looks like a certificate or a key"),
    (b"bop_", "looks like a token"),
)
_FORMAT = re.compile(rb'"format"\s*:\s*"([a-z -]{1,64})"')
_TAR = (257, b"ustar")
_LENGTH_BYTES = 8  # a safetensors file begins with the length of a header in JSON


def other_kind(head: bytes, wanted: str) -> str:
    """What a file is, such as "is a ledger"; empty where it is damaged, or nothing that is known here.

    Args:
        head: Its first bytes, `HEAD` of them or all.
        wanted: What one that is wanted says of itself, a name of `FORMATS`.
    """
    if not head.strip():
        return "is empty"
    for beginning, words in _BEGINNINGS:
        if head.startswith(beginning):
            return words
    if is_tar(head):
        return "looks like a tar archive, as a backup is"
    return _of_ours(head, wanted) or _text(head)


def called(name: object) -> str:
    """What a file of this format is; empty: it is none of ours."""
    return f"is {FORMATS[name]}" if isinstance(name, str) and name in FORMATS else ""


def _of_ours(head: bytes, wanted: str) -> str:
    if not head.lstrip().startswith(b"{") and not _is_safetensors(head):
        return ""
    found = _FORMAT.search(head[:HEAD])
    name = found[1].decode() if found else ""
    return "" if name == wanted else called(name)


def is_tar(head: bytes) -> bool:
    """Whether a file begins as a tar archive does."""
    return head[_TAR[0] :].startswith(_TAR[1])


def _is_safetensors(head: bytes) -> bool:
    return head[_LENGTH_BYTES - 2 : _LENGTH_BYTES + 1] == b"\0\0{"


def _text(head: bytes) -> str:
    """Of a text that is no JSON, and long enough to tell. A cut JSON text is JSON here."""
    if len(head) <= _LENGTH_BYTES or b"\0" in head or head.lstrip()[:1] in (b"{", b"["):
        return ""
    try:
        head[: head.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        return ""
    first = head.splitlines()[0]
    return "looks like a table" if any(mark in first for mark in (b",", b";", b"\t")) else "is a text"
