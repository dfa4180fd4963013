"""A folder is on the disk, with all that lies in it, before anybody is told that it is made."""

import os

import numpy as np
import pytest
from helpers.staff_browser import IDENTIFIERS, console_folder


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="folders cannot be synced")
def test_records_and_names_are_on_the_disk_before_the_folder_is_told_of(tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(handle):
        synced.append(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    folder = console_folder(tmp_path / "folder", objective="module:function")
    paths = (folder.release, folder.ledger, folder.records, folder.path, tmp_path)
    assert {path.name for path in paths if path.stat().st_ino not in synced} == set()
    # The folder after what lies in it, and the one around it last.
    places = [len(synced) - synced[::-1].index(path.stat().st_ino) for path in paths]
    assert places[-1] > places[-2] > max(places[:-2])
    assert folder.records.stat().st_mode & 0o777 == 0o600


def test_raw_features_are_written_only_where_a_function_measures(tmp_path):
    by_people = console_folder(tmp_path / "people")
    by_function = console_folder(tmp_path / "function", objective="module:function")
    assert not by_people.records.exists()
    assert np.load(by_function.records).shape == (len(IDENTIFIERS), 2)
