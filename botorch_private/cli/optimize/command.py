"""botorch-private optimize: what may be said on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from botorch_private.cli.common import count, count_from_zero

_EPILOG = """\
The token is read from --token-file, or from the environment variable BOTORCH_PRIVATE_TOKEN, never from
the command line, where other users of this machine would see it.

Stop it by Ctrl-C, or let the machine be restarted, whenever you like: questions stay open at the
curator, and the same command goes on where it was, with the picks of an undisturbed run. Measurements
may take weeks; the curator's server may be restarted meanwhile.

  botorch-private optimize https://curator.example.org:8400 --token-file token.txt --rounds 50
"""


def add_optimize(commands: Any) -> None:
    """Add the command to a parser's."""
    optimize = commands.add_parser(
        "optimize",
        help="search the rows of a curator elsewhere for the best one",
        description=(
            "The modeler's side: fetch the release of a curator's server, choose rows by GP-UCB, ask "
            "for their measurements, and go on until there are enough. Everything that is needed to go "
            "on later is kept in a file (--state)."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    optimize.add_argument("url", metavar="URL", help="address of the curator's server")
    optimize.add_argument(
        "--rounds",
        type=count,
        required=True,
        metavar="N",
        help="measurements of the whole search, with those that --state holds already",
    )
    optimize.add_argument(
        "--pending", type=count, default=1, metavar="Q", help="questions open at a time (default: 1)"
    )
    optimize.add_argument("--token-file", type=Path, metavar="FILE", help="file with the token")
    optimize.add_argument(
        "--state",
        type=Path,
        default=Path("run.json"),
        metavar="FILE",
        help="where the search is kept, and goes on from if there is one (default: run.json)",
    )
    optimize.add_argument(
        "--release", type=Path, metavar="FILE", help="keep the release here, to download it once only"
    )
    optimize.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the best value so far: .png, .pdf or .svg"
    )
    _add_settings(
        optimize.add_argument_group("the search (settled when it begins, and kept in --state)")
    )
    network = optimize.add_argument_group("the connection")
    network.add_argument(
        "--ca-file",
        type=Path,
        metavar="PEM",
        help="the server's certificate or its authority's, where no usual authority signed it",
    )
    network.add_argument(
        "--insecure-http",
        action="store_true",
        help="send the token without TLS to another machine: everybody on the way can read it",
    )
    optimize.set_defaults(action=_optimize, parser=optimize)


def _add_settings(search: Any) -> None:
    search.add_argument(
        "--seed", type=count_from_zero, help="makes the picks reproducible (default: random, and kept)"
    )
    search.add_argument("--n-initial", type=count, help="random rows before the model (default: 5)")
    search.add_argument(
        "--beta-scale", type=float, help="less than 1 explores less than the theory (default: 1)"
    )
    search.add_argument(
        "--outcome-noise",
        type=float,
        help="share of the outcome's variance that no record explains, in (0, 1) (default: almost none)",
    )
    search.add_argument(
        "--denoise",
        action="store_true",
        default=None,
        help="search denoised rows: for noise as wide as the data, or many related features",
    )


def _optimize(options: argparse.Namespace) -> int:
    from botorch_private.cli.optimize.search import search

    return search(options)
