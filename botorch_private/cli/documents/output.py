"""--json: the standard output holds one document alone; what people read goes to the other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import NoReturn

from botorch_private.cli.documents.document import Document
from botorch_private.cli.documents.error import ErrorDocument

INTERRUPTED = 130


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json to the options of a command, which then prints by `put_document`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document, for programs; what people read goes to the standard error (the "
        "manual has the fields, under 'Output for programs')",
    )


class Refusal(SystemExit):
    """The end of a command, by its parser; what was said stays with it."""

    def __init__(self, command: str, status: int, message: str | None) -> None:
        super().__init__(status)
        text = (message or "").removeprefix(f"{command}: ").strip()
        self.document = ErrorDocument(command, status, text)


class CommandParser(argparse.ArgumentParser):
    """A parser whose refusals can be told as a document."""

    def exit(self, status: int = 0, message: str | None = None) -> None:  # type: ignore[override]
        """End the program, as `argparse` does."""
        if message:
            self._print_message(message, sys.stderr)
        raise Refusal(self.prog, status, message)

    def error(self, message: str) -> NoReturn:
        """End with status 2 and one line; all options would take a screen, and --help has them."""
        for kind, number in (("float", "a number"), ("int", "a whole number")):
            message = message.replace(f"invalid {kind} value: ", f"must be {number}, got ")
        hint = f"'{self.prog} --help' says what it takes."
        self._print_message(f"{self.prog}: {message}\n{hint}\n", sys.stderr)
        raise Refusal(self.prog, 2, message)


@contextmanager
def telling_failures(arguments: Sequence[str]) -> Iterator[None]:
    """With --json among what was typed, print why a command failed as a document too."""
    wanted, failed = "--json" in arguments, None
    try:
        yield
    except Refusal as refusal:
        failed = refusal.document if refusal.code else None
        raise
    except KeyboardInterrupt:
        failed = ErrorDocument("botorch-private", INTERRUPTED, "Stopped.")
        raise
    except OSError:  # the output cannot be written
        raise
    except Exception:
        failed = ErrorDocument(
            "botorch-private", 1, "an error that it was not made for: the standard error says where"
        )
        raise
    finally:
        if wanted and failed is not None:
            print(failed.dumps(), flush=True)


@contextmanager
def only_documents(options: argparse.Namespace) -> Iterator[None]:
    """With --json, send whatever else is printed to the standard error."""
    if not getattr(options, "json", False):
        yield
        return
    options.documents = sys.stdout
    with redirect_stdout(sys.stderr):
        yield


def put_document(options: argparse.Namespace, document: Document) -> None:
    """Print what a command was asked for."""
    print(document.dumps(), file=options.documents, flush=True)
