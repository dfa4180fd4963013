"""Notifier: tells people, in a thread of its own, that questions wait."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from botorch_private.curator.service.notify.message import Message, new_id
from botorch_private.curator.service.notify.outbox import Delivery, Outbox
from botorch_private.curator.service.notify.settings import NotifySettings
from botorch_private.curator.service.notify.webhook import SendingError
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.store import Store

_LOOK_SECONDS = 1.0
_LONGEST_DELAY = 86_400.0
_IDLE_LOOK_SECONDS = 60.0  # it reads all questions
_STOP_LIMIT = 3.0
_log = logging.getLogger("botorch_private.curator.service")


class Notifier:
    """Looks every second whether there is something to tell, and sends what is due.

    A message is in the outbox, on the disk, before it is sent, and leaves it after: a server that is
    killed sends it again, under the same id.

    Args:
        store: The questions.
        settings: Who is told, and when.
        path: File of the outbox.
        now: Seconds since 1970.

    Attributes:
        sent: How many messages arrived and failed, by "sent", "failed" and "given up".

    Raises:
        ValueError: If the file is damaged.
        OSError: If it cannot be read.
    """

    def __init__(
        self,
        store: Store,
        settings: NotifySettings,
        path: Path,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._settings, self._now = store, settings, now
        self._counts = store.counts
        self._channels = {each.identity: each for each in settings.channels}
        self._outbox = Outbox.load(path)
        self._outbox.deliveries = [
            each for each in self._outbox.deliveries if each.channel in self._channels
        ]
        # A folder that was put back from a backup knows fewer events than were told of.
        self._outbox.told = min(self._outbox.told, self._counts.latest())
        self._first_seen: float | None = None  # when the new questions were
        self._looked = self._outbox.told  # up to here nothing new waits
        self._idle_looked = 0.0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifying", daemon=True)
        self.sent: Counter[str] = Counter()

    def start(self) -> None:
        """Begin, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Send no more. What was not sent waits for the next start."""
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join(timeout=_STOP_LIMIT)

    def look(self) -> None:
        """Make messages that are due, and send them.

        Raises:
            OSError: If the outbox cannot be written: nothing was sent then that is not in it.
            ServiceError: If the folder is not the one that was opened.
            sqlite3.Error: If the database cannot be read.
        """
        self._store.in_place.check(wait=False)
        now = self._now()
        self._send_due(now)  # before newer ones take the place of what may have arrived
        before = (self._outbox.told, self._outbox.idle_at)
        self._tell_of_new(now)
        self._tell_of_idle(now)
        if before != (self._outbox.told, self._outbox.idle_at):
            self._outbox.save()
            self._send_due(now)

    def _send_due(self, now: float) -> None:
        for delivery in list(self._outbox.deliveries):
            # A clock that was ahead must not put it off for years.
            if not now < delivery.due < now + _LONGEST_DELAY and not self._ends.is_set():
                self._send(delivery)

    def _tell_of_new(self, now: float) -> None:
        if self._first_seen is not None and self._must_wait(now, self._first_seen):
            return
        latest = self._counts.latest()
        if not self._counts.any_new(self._looked):
            self._first_seen, self._looked = None, latest
            return
        if self._first_seen is None:
            self._first_seen = now
            if self._must_wait(now, now):
                return
        told, waiting = self._outbox.told, self._counts.open()
        self._outbox.told, self._outbox.questions_at = latest, now
        self._first_seen, self._looked = None, latest
        for channel in self._channels:
            # What did not arrive yet is told with what came since.
            taken = self._outbox.take(channel, "questions")
            since = told if taken is None else min(told, taken)
            if new := self._counts.new(since):
                self._add(channel, "questions", now, since, new=new, open=waiting)

    def _must_wait(self, now: float, first_seen: float) -> bool:
        """Whether more questions may join the message, or the last one was just now."""
        last = now - self._outbox.questions_at
        return 0 <= now - first_seen < self._settings.wait or 0 <= last < self._settings.every

    def _tell_of_idle(self, now: float) -> None:
        limit = self._settings.idle
        if limit is None or 0 <= now - self._outbox.idle_at < limit * 3600:
            return
        if 0 <= now - self._idle_looked < min(_IDLE_LOOK_SECONDS, limit * 360):
            return
        self._idle_looked = now
        hours = self._counts.hours_idle(self._store.clock())
        waiting = self._counts.open()
        if hours < limit or not waiting:
            return
        self._outbox.idle_at = now
        for channel in self._channels:
            self._outbox.take(channel, "idle")
            self._add(channel, "idle", now, 0, open=waiting, idle_hours=int(hours))

    def _add(self, channel: str, kind: str, now: float, since: int, **counts: int) -> None:
        message = replace(Message(new_id(), kind, self._store.clock()), **counts)
        self._outbox.deliveries.append(Delivery(channel, message, now, since=since))

    def _send(self, delivery: Delivery) -> None:
        channel = self._channels[delivery.channel]
        try:
            channel.send(delivery.message, self._settings.name, self._settings.console)
        except SendingError as error:
            ends = delivery.failed(self._now(), error.wait) or error.for_good
            self.sent["given up" if ends else "failed"] += 1
            _log.warning(
                "%s: a message did not arrive (%s)%s",
                channel.name,
                error,
                "; it is given up" if ends else "",
            )
            if ends:
                self._outbox.deliveries.remove(delivery)
        else:
            self.sent["sent"] += 1
            self._outbox.deliveries.remove(delivery)
        self._outbox.save()

    def _run(self) -> None:
        while not self._ends.wait(_LOOK_SECONDS):
            try:
                self.look()
            except (ServiceError, OSError, sqlite3.Error) as error:
                if not self._store.in_place.is_lost:  # that was said, once
                    _log.error("notifications paused: %s", type(error).__name__)


def send_test(settings: NotifySettings, time: str) -> list[tuple[str, str]]:
    """Send a test to each channel, once; returns their names and what went wrong (empty: nothing).

    Args:
        settings: Who is told.
        time: Now, UTC, ISO 8601.
    """
    results = []
    for channel in settings.channels:
        try:
            channel.send(Message(new_id(), "test", time), settings.name, settings.console)
        except SendingError as error:
            results.append((channel.name, str(error)))
        else:
            results.append((channel.name, ""))
    return results
