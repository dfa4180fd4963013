"""A file that must not replace another one, also where a file system has no links."""

import os

import pytest

from botorch_private._base.whole_file import write_whole


def no_links(*_):
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_appears_whole_and_never_in_the_place_of_another(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "file"
    write_whole(path, b"first", replace=False)
    with pytest.raises(FileExistsError, match="path must be new, but there is something at"):
        write_whole(path, b"second", replace=False)
    assert path.read_bytes() == b"first"
    write_whole(path, b"third")
    assert path.read_bytes() == b"third"
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
