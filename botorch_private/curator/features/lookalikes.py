"""What a file that is no comma-separated table looks like, and what to type to make it one.

Told from its first bytes. Nothing of what it holds is repeated.
"""

from __future__ import annotations

import re
from pathlib import Path

from botorch_private.curator.features.dialect import PLAIN, Dialect

_HEAD = 4096
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd", b"7z\xbc\xaf")
_COMMENTS = (b"#", b"%", b"//", b"--", b"!", b"*")


def refuse_lookalikes(
    path: Path,
    dialect: Dialect = PLAIN,
    *,
    undecodable: bool = False,
    one_name: bool = True,
) -> None:
    """Refuse what is separated otherwise, or is no text, and say what it looks like and what to type.

    Args:
        path: The file.
        dialect: As what it was declared.
        undecodable: Whether it turned out to be stored otherwise, maybe far behind its first bytes.
        one_name: Whether it seems to have one column; only then may its first line be a comment or
            separated by blanks.

    Raises:
        ValueError: If it looks like something else.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if dialect.wide:
        head = head.decode(dialect.encoding, errors="ignore").encode("utf-8")
    problem = _looks_like(head, dialect, undecodable, one_name)
    if problem:
        wanted = "comma-separated UTF-8 text"
        if dialect != PLAIN:
            wanted = f"text in {dialect.encoding}, with {dialect.marks} between its cells and"
        raise ValueError(f"{path} must be {wanted} with names in row 1, but it {problem}")


def looks_binary(path: Path) -> bool:
    """Whether a file begins as no text in UTF-8 does: a workbook, packed, or UTF-16."""
    with path.open("rb") as file:
        return b"\0" in file.read(_HEAD)


def wide_encoding(head: bytes) -> str:
    """The encoding of several bytes a character in which a file begins; empty: none of these."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    even, odd = b"\0" in head[::2], b"\0" in head[1::2]
    return "" if even == odd else f"utf-16-{'le' if odd else 'be'}"


def _looks_like(head: bytes, dialect: Dialect, undecodable: bool, one_name: bool) -> str:
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "looks like an Excel workbook: give it the ending .xlsx, or save it as 'CSV UTF-8'"
    if head.startswith(_PACKED):
        return "looks compressed: unpack it first"
    if head.startswith(b"PAR1"):
        return "looks like a .parquet file: give it that ending"
    if wide := wide_encoding(head):
        return f"looks like {wide[:6].upper()}: say --encoding {wide}"
    if b"\0" in head:
        return "holds NULs, as no text does"
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines() or [b""]
    line = lines[0].lstrip()
    if re.match(rb"<[a-z!?]", line, re.IGNORECASE):
        return "looks like a web page: export the table anew, as 'CSV UTF-8'"
    if re.match(rb"\[\s*[\[{]|\{\s*\"|[\[{]\s*$", line):
        return "looks like JSON: rewrite it once by pandas.read_json(FILE).to_csv(NEW, index=False)"
    if line.lower().startswith(b"sep="):
        return "begins with a line for Excel (sep=): delete that line"
    if one_name and line.startswith(_COMMENTS):
        return "begins with a comment: delete what stands above the names"
    utf8 = dialect.reading == "utf-8-sig" or dialect.wide
    encoding = "--encoding latin-1" if utf8 and (undecodable or not _is_utf8(head)) else ""
    declared = dialect.separator.encode("utf-8")
    for mark, name, option in (
        (b";", "semicolons", "--separator ';'"),
        (b"\t", "tabs", "--separator tab"),
        (b"|", "bars", "--separator '|'"),
        (b",", "commas", "--separator ','"),
    ):
        if mark != declared and line.count(mark) > line.count(declared):
            decimal = "--decimal ','" if mark != b"," and re.search(rb"\d,\d", head) else ""
            return (
                f"looks separated by {name}: say {' '.join(filter(None, (option, decimal, encoding)))}"
            )
    if one_name and _by_blanks(lines):
        options = r"sep=r'\s+'" + (", encoding='latin-1'" if encoding else "")
        return f"looks separated by blanks: {_rewrite(options)}"
    if not utf8 and not head.isascii() and _is_utf8(head):
        return "looks like UTF-8: leave --encoding out"
    return f"is not UTF-8: say {encoding}, or cp1252 for files of Windows" if encoding else ""


def _is_utf8(head: bytes) -> bool:
    try:
        head[: head.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        return len(head) == _HEAD and b"\n" not in head  # it may be cut within a letter
    return True


def _by_blanks(lines: list[bytes]) -> bool:
    """Whether the first two lines have no comma, and the same number of words, two or more."""
    if any(b"," in line for line in lines[:2]):
        return False
    words = [len(re.findall(rb"\S+", line)) for line in lines[:2]]
    return len(words) > 1 and words[0] == words[1] > 1


def _rewrite(options: str) -> str:
    return f"rewrite it once by pandas.read_csv(FILE, {options}).to_csv(NEW, index=False)"
