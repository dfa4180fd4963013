"""How a curator agrees to a release before anything is spent."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from botorch_private.cli.streams import tell

if TYPE_CHECKING:
    from botorch_private.curator.features.range_fit import RangeFit


def add_agreement(parser: argparse.ArgumentParser) -> None:
    """Add how questions are answered beforehand to the options of a command that releases."""
    option = parser.add_argument
    option(
        "--yes",
        action="store_true",
        help="do not ask; what clips a feature in more than half of the records is refused nevertheless",
    )
    option(
        "--accept-clipped",
        action="store_true",
        help="release also where a declared range clips a feature in most records",
    )


def _show(options: argparse.Namespace, words: str) -> None:
    if options.yes:
        tell(f"{words}\n")
    else:
        print(f"{words}\n", flush=True)  # who cannot read it has not agreed


def agreed(options: argparse.Namespace, words: str, fit: RangeFit) -> bool:
    """Show what is promised and what would be clipped, and ask; harder where that would spoil records.

    What is shown depends on the records. It goes to the curator's terminal, and nowhere else.
    """
    _show(options, words)
    clipping, leak = fit.clipping_words(), fit.leak_words()
    warnings = [f"Warning: {words}." for words in (clipping, leak) if words]
    _show(options, "\n\n".join(filter(None, [fit.table(), fit.filled_table(), *warnings])))
    if options.yes:
        if fit.spoiled and not options.accept_clipped:
            names = ", ".join(each.name for each in fit.spoiled)
            raise ValueError(
                f"the range of {names} must hold most records, and not all of them the same, to be "
                f"released without a question: mend the table or the ranges, or say --accept-clipped"
            )
        return True
    if not _ask("Release them once with this guarantee?", ("y", "yes"), "[y/N] "):
        return False
    if clipping and not options.accept_clipped:
        question = "So many records are clipped. Type 'clipped' to release them nevertheless:"
        if not _ask(question, ("clipped",)):
            return False
    return not leak or _ask(
        "Type 'declared' if no end of these ranges was taken from the table:", ("declared",)
    )


def _ask(question: str, yes: tuple[str, ...], choices: str = "") -> bool:
    if not sys.stdin.isatty():
        raise ValueError("nobody is there to be asked: say --yes if you agree")
    try:
        return input(f"{question} {choices}").strip().lower() in yes
    except (EOFError, KeyboardInterrupt):  # no answer is no
        print()
        return False
