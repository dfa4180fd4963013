"""botorch-private curator token: let somebody in, or shut somebody out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from botorch_private.cli.common import fail, show_help
from botorch_private.cli.curator.opened import opened


def add_token(verbs: Any) -> None:
    """Add the commands about tokens to a parser's."""
    token = verbs.add_parser("token", help="let somebody in, or shut somebody out")
    token.set_defaults(action=show_help(token), parser=token)
    kinds = token.add_subparsers(dest="kind", metavar="COMMAND")
    new = kinds.add_parser("new", help="make a token; it is shown once")
    new.add_argument("folder", type=Path, metavar="DIR", help="the curator's folder")
    new.add_argument(
        "--role",
        choices=("modeler", "staff"),
        required=True,
        help="modeler: release and answers; staff: the console",
    )
    new.add_argument("--name", default="", help="whose it is")
    new.add_argument("--expires", metavar="DATE", help="when it ends: 2027-03-31, or so many days: 90d")
    new.set_defaults(action=_new, parser=new)
    listing = kinds.add_parser("list", help="who has one")
    listing.add_argument("folder", type=Path, metavar="DIR", help="the curator's folder")
    listing.set_defaults(action=_list, parser=listing)
    revoke = kinds.add_parser("revoke", help="make one worthless")
    revoke.add_argument("folder", type=Path, metavar="DIR", help="the curator's folder")
    revoke.add_argument("number", type=int, help="its number, from 'token list'")
    revoke.set_defaults(action=_revoke, parser=revoke)


def _new(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.expiry import expiry
    from botorch_private.curator.service.question import ServiceError

    try:
        expires = None if options.expires is None else expiry(options.expires)
    except ValueError as error:
        fail(options, ValueError(f"argument --expires: {error}"))
    with opened(options) as store:
        try:
            print(store.tokens.make(options.role, options.name or options.role, expires).result())
        except ServiceError as error:
            fail(options, error)
    print("It is shown once. Send it over a channel that you trust.", file=sys.stderr)
    return 0


def _list(options: argparse.Namespace) -> int:
    with opened(options) as store:
        now = store.clock()
        for token in store.tokens.all():
            state = "valid"
            if token.revoked:
                state = f"revoked {token.revoked[:10]}"
            elif token.expires:
                state = f"{'expired' if token.expires <= now else 'until'} {token.expires[:10]}"
            print(f"{token.id:>4}  {token.role:<8} {state:<20} {token.name}")
    return 0


def _revoke(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.question import ServiceError

    with opened(options) as store:
        try:
            store.tokens.revoke(options.number).result()
        except ServiceError as error:
            fail(options, error)
    print(f"Token {options.number} is worthless from now on.")
    return 0
