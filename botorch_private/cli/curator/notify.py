"""botorch-private curator notify: check who is told that questions wait, and send a test."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, refusals
from botorch_private.cli.streams import tell


def add(verbs: Any) -> None:
    """Add the command."""
    notify = add_command(
        verbs,
        "notify",
        _notify,
        "check the file that says who is told of new questions, and send a test",
        "Read a file that 'serve --notify FILE' is to be given, and say who would be told, and when. "
        "With --test a message goes to each of them now. Messages hold counts of questions, never an "
        "identifier or a value.",
    )
    notify.add_argument("file", type=Path, metavar="FILE", help="webhooks and e-mail, TOML")
    notify.add_argument("--test", action="store_true", help="send each of them a test message now")


def _notify(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.clock import stamp, system_time
    from botorch_private.curator.service.notify.notifier import send_test
    from botorch_private.curator.service.notify.settings import read_settings

    with refusals(options):
        settings = read_settings(options.file)
    if not options.test:
        for channel in settings.channels:
            print(channel.name)
        print(f"New questions: {settings.wait:g} s after the first, every {settings.every:g} s at most")
        idle = "never" if settings.idle is None else f"after {settings.idle:g} h without a value"
        print(f"Questions that nobody answers: {idle}")
        return 0
    results = send_test(settings, stamp(system_time()))
    for name, problem in results:
        tell(f"{name}: {problem or 'sent'}")
    return 1 if any(problem for _, problem in results) else 0
