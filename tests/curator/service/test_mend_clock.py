"""A clock that was ahead is mended: what had ended by it stays dead, also what nobody used meanwhile."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from helpers.staff_browser import console_folder

from botorch_private.curator.service.clock import Clock, stamp
from botorch_private.curator.service.mend_clock import mend_clock
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail_check import check_database


@pytest.mark.parametrize("used", [False, True])
def test_a_token_that_had_ended_stays_dead_whether_anybody_used_it_meanwhile(tmp_path, used):
    now = [datetime.now(UTC) + timedelta(days=1)]
    folder = console_folder(tmp_path / "folder")
    with closing(Store(folder.database, lambda latest: Clock(latest, lambda: now[0]))) as store:
        new = store.tokens.make
        short = new("modeler", "short", stamp(now[0] + timedelta(days=90))).result()
        long = new("modeler", "long", stamp(now[0] + timedelta(days=2000))).result()
        now[0] += timedelta(days=1000)
        store.ask("key-00001", 3, 2).result()  # an event by the wrong clock
        if used:
            assert store.tokens.find(short) is None
        now[0] -= timedelta(days=1000)
        mended = mend_clock(store)
        assert mended.dead == ((1,) if not used else mended.dead)
        assert store.tokens.find(short) is None
        assert store.tokens.find(long).name == "long"
        assert [token.id for token in store.tokens.all() if token.revoked] == [1]
        assert check_database(store).problem == ""
