"""The digest by which a release is known, and how a file's is found without PyTorch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_LENGTH_BYTES = 8  # a safetensors file begins with the length of its header
_LARGEST_HEADER = 2**26
_FLOAT64 = ("F64", "torch.float64", 8)  # its name in the file and in PyTorch, and its bytes


def release_digest(
    version: int, dtype: str, shape: Sequence[int], settings: str, rows: Iterable[bytes | memoryview]
) -> str:
    """SHA-256 of released rows and their public settings, as 64 hexadecimal digits.

    Args:
        version: Of the file format.
        dtype: Of the rows, as PyTorch writes it.
        shape: ``(n, r)``.
        settings: JSON.
        rows: The ``n x r`` rows, one after another, in one piece or several.
    """
    digest = hashlib.sha256(f"{version} {dtype} {tuple(shape)}\n".encode())
    digest.update(settings.encode())
    for some in rows:
        digest.update(some)
    return digest.hexdigest()


def sha256_of_file(path: Path) -> str:
    """SHA-256 of all that a file holds, as 64 hexadecimal digits.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_file(path: Path) -> str:
    """The digest of what a release file holds, whatever it says of itself.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no whole release file.
    """
    content = path.read_bytes()
    start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    if not _LENGTH_BYTES < start <= min(len(content), _LARGEST_HEADER):
        raise ValueError("it is not a whole release file")
    try:
        header: Any = json.loads(content[_LENGTH_BYTES:start])
        facts, rows = header["__metadata__"], header["candidates"]
        version, settings = int(facts["format_version"]), str(facts["settings"])
        shape = [int(each) for each in rows["shape"]]
        first, last = rows["data_offsets"]
        expected = _FLOAT64[2] * shape[0] * shape[1]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ValueError("it is not a whole release file") from None
    if rows["dtype"] != _FLOAT64[0] or (first, last) != (0, expected):
        raise ValueError("it is not a whole release file")
    if len(content) != start + expected:
        raise ValueError("it is not a whole release file")
    return release_digest(version, _FLOAT64[1], shape, settings, [memoryview(content)[start:]])
