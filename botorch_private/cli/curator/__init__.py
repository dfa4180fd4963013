"""botorch-private curator: a file for each command behind it, with its options and what it does."""

from typing import Any

from botorch_private.cli.common import add_group
from botorch_private.cli.curator import (
    add,
    backup,
    clock,
    export,
    import_sheet,
    init,
    notify,
    retry,
    serve,
    status,
    token,
    verify,
    worklist,
)


def add_curator(commands: Any) -> None:
    """Add the commands of the curator to a parser's."""
    verbs = add_group(
        commands,
        "curator",
        "hold a table for modelers elsewhere: release it, answer questions about its rows",
        "The curator's side on a machine of its own. 'init' releases a table once and makes a folder; "
        "'serve' answers modelers over HTTP and shows staff what to measure; 'token new' lets somebody "
        "in.",
    )
    commands = (
        init,
        serve,
        token,
        worklist,
        import_sheet,
        add,
        status,
        export,
        retry,
        clock,
        backup,
        notify,
        verify,
    )
    for command in commands:
        command.add(verbs)
