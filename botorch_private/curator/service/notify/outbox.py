"""Outbox: what is still to be sent, in a file, so that a restart does not drop it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.curator.service.notify.message import Message

FORMAT = FileFormat(
    "botorch-private notifications",
    1,
    "the state of notifications",
    "Remove it: then what waits is told of anew",
)
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3600.0
GIVEN_UP_AFTER = 3 * 86_400.0


@dataclass
class Delivery:
    """A message on its way to one channel.

    Args:
        channel: Identity of the channel.
        message: What is told.
        made: When, seconds since 1970.
        attempts: How often it was tried.
        due: When it is tried next, seconds since 1970.
        since: Number of the event after which its questions are new.
    """

    channel: str
    message: Message
    made: float
    attempts: int = 0
    due: float = 0.0
    since: int = 0

    def failed(self, now: float, wait: float = 0.0) -> bool:
        """Put it off, later and later; whether it is given up.

        Args:
            now: Seconds since 1970.
            wait: Seconds that the receiver asks for, which counts up to `LONGEST_PAUSE`.
        """
        pause = min(FIRST_PAUSE * 2.0 ** min(self.attempts, 20), LONGEST_PAUSE)
        pause = max(pause * random.uniform(0.8, 1.2), min(wait, LONGEST_PAUSE))
        self.attempts += 1
        self.due = now + pause
        return now - self.made > GIVEN_UP_AFTER


@dataclass
class Outbox:
    """What was told of, and what is still to be sent.

    A new message takes the place of an older one of its kind to the same channel: the newer counts are
    the true ones, and an outbox cannot grow.

    Args:
        path: Its file.
        told: Number of the latest event that was told of.
        questions_at: When a message about new questions was made last, seconds since 1970.
        idle_at: When one about an idle queue was.
        deliveries: Still to be sent.
    """

    path: Path
    told: int = 0
    questions_at: float = 0.0
    idle_at: float = 0.0
    deliveries: list[Delivery] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Outbox:
        """Read the file; without one nothing was told yet.

        Raises:
            ValueError: If it is another file, or damaged.
            OSError: If it cannot be read.
        """
        if not path.exists():
            return cls(path)
        found = FORMAT.loads(path.read_bytes(), path)
        try:
            return cls(
                path,
                int(found["told"]),
                float(found["questions_at"]),
                float(found["idle_at"]),
                [_delivery(each) for each in found["deliveries"]],
            )
        except (KeyError, TypeError, ValueError):
            raise FORMAT.refusal(path, "is damaged") from None

    def save(self) -> None:
        """Write the file, whole or not at all.

        Raises:
            OSError: If that is not possible.
        """
        values = {
            "told": self.told,
            "questions_at": self.questions_at,
            "idle_at": self.idle_at,
            "deliveries": [
                {**vars(each), "message": each.message.to_dict()} for each in self.deliveries
            ],
        }
        write_whole(self.path, FORMAT.dumps(values))

    def take(self, channel: str, kind: str) -> int | None:
        """Take a message back; the event after which its questions are new, None: there is none."""
        found = [
            each for each in self.deliveries if (each.channel, each.message.kind) == (channel, kind)
        ]
        for each in found:
            self.deliveries.remove(each)
        return min((each.since for each in found), default=None)


def _delivery(found: dict[str, Any]) -> Delivery:
    message = Message(**found["message"])
    return Delivery(
        str(found["channel"]),
        message,
        float(found["made"]),
        int(found["attempts"]),
        float(found["due"]),
        int(found["since"]),
    )
