"""botorch-private optimize: what may be said on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, count, count_from_zero, positive, refusals
from botorch_private.cli.documents.output import INTERRUPTED, add_json, put_document
from botorch_private.cli.goal import add_goal, goal_of
from botorch_private.cli.streams import tell

_SETTINGS = ("seed", "n_initial", "beta_scale", "exploration", "outcome_noise", "denoise")
# Arguments of the library whose options have other names.
_ARGUMENTS = {"verify": "--ca-file", "release_path": "--release", "k": "--best"}
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
    optimize = add_command(
        commands,
        "optimize",
        _optimize,
        "search the rows of a curator elsewhere for the best one",
        "The modeler's side: fetch the release of a curator's server, choose rows by GP-UCB, ask for "
        "their measurements, and go on until there are enough. Everything that is needed to go on later "
        "is kept in a file (--state).",
        epilog=_EPILOG,
    )
    file: dict[str, Any] = {"type": Path, "metavar": "FILE"}
    option = optimize.add_argument
    option("url", metavar="URL", help="address of the curator's server")
    option(
        "--rounds",
        type=count,
        required=True,
        metavar="N",
        help="measurements of the whole search: the random rows at its start, those of --known and "
        "--answered, and those that --state holds already, included",
    )
    option("--pending", type=count, default=1, metavar="Q", help="questions open at a time (default: 1)")
    option(
        "--stop-below",
        type=positive,
        metavar="X",
        help="stop before --rounds once the bound on how much better an unmeasured record may answer "
        "(at 5 %%, if the model is right) is at most X after two answers in a row, from the 20th on; in "
        "the unit of the outcome; with --above, how many records may be missing",
    )
    option("--token-file", **file, help="file with the token (see below)")
    option(
        "--state",
        **file,
        default=Path("run.json"),
        help="where the search is kept, and goes on from if there is one (default: run.json)",
    )
    option(
        "--known",
        **file,
        help="values that were measured before, .csv with the columns row and value: the search begins "
        "with them, and asks for no such row",
    )
    option(
        "--answered",
        action="store_true",
        help="begin with what the curator has answered already, whoever asked: it costs nothing more",
    )
    option(
        "--release",
        **file,
        help="keep the release here, to download it once only; one in parts in a folder (default for "
        "those: beside --state, run.release)",
    )
    option(
        "--plot", **file, help="redraw the best value so far, and the bound, here: .png, .pdf or .svg"
    )
    add_json(optimize)
    setting = optimize.add_argument_group(
        "the search (settled when it begins, and kept in --state)"
    ).add_argument
    setting(
        "--seed",
        type=count_from_zero,
        metavar="N",
        help="makes the picks reproducible (default: random, and kept)",
    )
    setting("--n-initial", type=count, metavar="N", help="random rows before the model (default: 5)")
    setting(
        "--beta-scale",
        type=float,
        metavar="X",
        help="> 0; less than 1 explores less than the theory (default: 1, and after 10 rounds 0.2)",
    )
    setting(
        "--exploration",
        choices=("shared", "theory"),
        help="by what records share, or as regret bounds ask (default: shared; cells: theory)",
    )
    setting(
        "--outcome-noise",
        type=float,
        metavar="X",
        help="share of the outcome's variance that no record explains, in (0, 1) (default: almost none)",
    )
    setting(
        "--denoise",
        action="store_true",
        default=None,
        help="search denoised rows: for noise as wide as the data, or many related features",
    )
    add_goal(optimize, "what is looked for (settled when it begins)", "what the curator says")
    rows = optimize.add_argument_group(
        "where rows are held (for a release in parts; not kept in --state)"
    ).add_argument
    rows(
        "--engine",
        choices=("process", "ray"),
        default="process",
        help="'ray': processes hold a share of the rows each (an extra; default: process, in memory)",
    )
    rows("--address", metavar="HOST", help="of a Ray cluster that runs (default: one is started here)")
    rows("--workers", type=count, metavar="N", help="processes of Ray (default: one a CPU)")
    network = optimize.add_argument_group("the connection").add_argument
    network(
        "--ca-file",
        type=Path,
        metavar="PEM",
        help="the server's certificate or its authority's, where no usual authority signed it",
    )
    network(
        "--insecure-http",
        action="store_true",
        help="send the token without TLS to another machine: everybody on the way can read it",
    )


def _optimize(options: argparse.Namespace) -> int:
    from botorch_private.cli.optimize.placed import placed_of
    from botorch_private.cli.optimize.search import how_to_go_on, search
    from botorch_private.cli.optimize.token import read_token
    from botorch_private.modeler.remote.transport import RemoteError

    given = {name: getattr(options, name) for name in _SETTINGS}
    goal = goal_of(options)
    given["goal"] = None if goal is None else goal.to_dict()
    try:
        with refusals(options, RemoteError, arguments=_ARGUMENTS):
            found = search(
                options.url,
                rounds=options.rounds,
                pending=options.pending,
                token=read_token(options),
                state_file=options.state,
                release_file=options.release,
                plot_file=options.plot,
                known_file=options.known,
                answered=options.answered,
                settings={name: value for name, value in given.items() if value is not None},
                ca_file=options.ca_file,
                insecure=options.insecure_http,
                stop_below=options.stop_below,
                placed=placed_of(options),
            )
            if options.json:
                put_document(options, found)
    except KeyboardInterrupt:
        stopped = f"Stopped. {how_to_go_on(options.state)}"
        if options.json:
            options.parser.exit(INTERRUPTED, f"{options.parser.prog}: {stopped}\n")
        tell(f"\n{stopped}")
        return INTERRUPTED
    return 0
