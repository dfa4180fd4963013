"""look_after: what a server does by itself, twice a second."""

from __future__ import annotations

import asyncio
import logging
import sqlite3

from botorch_private.curator.service.clock import NOTICED, in_words
from botorch_private.curator.service.question import LostError, StorageError
from botorch_private.curator.service.refusals import Refusals
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.waiting import Waiting

_SECONDS = 0.5
_log = logging.getLogger("botorch_private.curator.service")


async def look_after(store: Store, waiting: Waiting, refusals: Refusals) -> None:
    """Look at the files, the clock, and the tokens of requests that wait, until it is cancelled.

    Nothing that is acknowledged depends on this: every request and every commit looks for itself. It has
    a fault in the log before somebody meets it, and ends waiting requests.
    """
    clock_told = False
    while True:
        await asyncio.sleep(_SECONDS)
        try:
            store.in_place.check(wait=False)
            waiting.let_go_of_ended_tokens()
            refusals.flush()
        except LostError:
            waiting.let_go()
            store.submit(lambda _: None)  # its refusal saves what can be saved
            store.in_place.put_log_aside()
        except (StorageError, sqlite3.Error):
            continue  # whoever asks is told
        clock_told = warn_of_clock(store, told=clock_told)


def warn_of_clock(store: Store, *, told: bool = False) -> bool:
    """Log that the folder's clock is ahead of the machine's, unless that was told; whether it is."""
    ahead = store.clock.ahead()
    if ahead < NOTICED:
        return False
    if not told:
        _log.warning(
            "the latest time in the folder is %s ahead of this machine's clock, and times stand still: "
            "see 'botorch-private curator clock'",
            in_words(ahead),
        )
    return True
