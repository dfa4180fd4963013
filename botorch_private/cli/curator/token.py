"""botorch-private curator token: let somebody in, or shut somebody out."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from botorch_private.cli.common import add_group, refusals
from botorch_private.cli.curator.folder import add_folder_command, opened
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import tell, warn

_DESCRIPTION = (
    "Make a token; it is shown, or written, once: the folder holds its hash alone. It is a password: "
    "send it over a channel that you trust. Who has it can read the release and ask for measurements "
    "(modeler), or see which records are wanted and enter values (staff)."
)


def add(verbs: Any) -> None:
    """Add the commands about tokens."""
    kinds = add_group(verbs, "token", "let somebody in, or shut somebody out")
    new = add_folder_command(kinds, "new", _new, "make a token; it is shown once", _DESCRIPTION)
    new.add_argument(
        "--role",
        choices=("modeler", "staff"),
        required=True,
        help="modeler: release and answers; staff: the console",
    )
    new.add_argument(
        "--name", default="", metavar="NAME", help="whose it is, for 'token list' (default: the role)"
    )
    new.add_argument(
        "--expires",
        metavar="DATE",
        help="when it ends: 2027-03-31, or so many days: 90d (default: never)",
    )
    add_output(new, "file for the token, which only you can read (default: print it)")
    add_folder_command(kinds, "list", _list, "who has one")
    revoke = add_folder_command(kinds, "revoke", _revoke, "make one worthless")
    revoke.add_argument("number", type=int, metavar="NUMBER", help="its number, from 'token list'")


def _new(options: argparse.Namespace) -> int:
    with refusals(options):
        expires = None if options.expires is None else expiry(options.expires)
    if options.output is not None:
        check_output(options, options.output)
    with opened(options) as store:
        _warn_of_clock(store.clock.ahead())
        token = store.tokens.make(options.role, options.name or options.role, expires).result()
        try:
            if options.output is None:
                print(token, flush=True)
            else:
                write_output(options, options.output, f"{token}\n".encode())
        except BaseException:  # nobody will ever know it
            made = store.tokens.find(token)
            if made is not None:
                store.tokens.revoke(made.id).result()
            raise
    if options.output is None:
        warn("It is shown once. Send it over a channel that you trust.")
    else:
        tell(
            f"Wrote {options.output}, for you alone (mode 0600). Send it over a channel that you trust."
        )
    return 0


def _list(options: argparse.Namespace) -> int:
    with opened(options) as store:
        now, tokens = store.clock(), store.tokens.all()
        if tokens:
            print(f"{'number':>6}  {'role':<8} {'state':<20} name")
        for token in tokens:
            state = "valid"
            if token.has_expired:
                state = f"expired {(token.expires or '')[:10]}"
            elif token.revoked:
                state = f"revoked {token.revoked[:10]}"
            elif token.expires:
                state = f"{'expired' if token.expires <= now else 'until'} {token.expires[:10]}"
            print(f"{token.id:>6}  {token.role:<8} {state:<20} {token.name}")
    return 0


def _revoke(options: argparse.Namespace) -> int:
    with opened(options) as store:
        store.tokens.revoke(options.number).result()
    tell(f"Token {options.number} is worthless from now on.")
    return 0


def _warn_of_clock(ahead: timedelta) -> None:
    from botorch_private.curator.service.clock import NOTICED, in_words

    if ahead >= NOTICED:
        warn(
            f"The latest time in the folder is {in_words(ahead)} ahead of this machine's clock, and a "
            f"token that ends before it is worthless: see 'botorch-private curator clock'."
        )


def expiry(text: str, now: datetime | None = None) -> str:
    """Turn ``2027-03-31`` (its end, UTC) or ``90d`` into a time, UTC, ISO 8601.

    Raises:
        ValueError: If it is neither, or over already.
    """
    from botorch_private.curator.service.clock import system_time

    now = system_time() if now is None else now
    days = re.fullmatch(r"(\d{1,5})d", text)
    try:
        if days:
            end = now + timedelta(days=int(days[1]))
        else:
            end = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise ValueError(
            f"argument --expires: must be a date such as 2027-03-31, or days such as 90d, got {text!r}"
        ) from None
    if end <= now:
        raise ValueError(f"argument --expires: must be in the future, got {text!r}")
    return end.isoformat(timespec="microseconds")
