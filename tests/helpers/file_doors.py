"""Every door of Python and of the command line that a file can be pushed through."""

import secrets

from helpers.doors import ANSWERS, RANGES, WORDS, curator

from botorch_private import Ledger, Release, load_encoding, load_ranges
from botorch_private.cli.main import main
from botorch_private.curator.features.persons import most_records
from botorch_private.curator.features.tables import (
    read_encoded,
    read_identifiers,
    read_names,
    read_table,
    read_texts,
)

_DOSE = "[features.dose]\nlower = 0\nupper = 1\n"
_AGES = {
    "numbers": "lower = 0\nupper = 100\n",
    "words": 'kind = "category"\ncategories = ["41", "42"]\n',
    "answers": 'kind = "boolean"\n',
}


def library_doors():
    """Door -> function of a path."""
    return {
        "read_table": lambda path: read_table(path, ["age", "dose"]),
        "numbers": lambda path: read_encoded(path, RANGES),
        "categories": lambda path: read_encoded(path, WORDS),
        "yes and no": lambda path: read_encoded(path, ANSWERS),
        "read_texts": lambda path: read_texts(path, "who"),
        "read_identifiers": lambda path: read_identifiers(path, "who"),
        "most_records": lambda path: most_records(path, "who"),
        "read_names": read_names,
        "load_encoding": load_encoding,
        "load_ranges": load_ranges,
        "Release.load": Release.load,
        "Ledger": lambda path: Ledger(path=path),
    }


def command_doors(folder):
    """Door -> the command, which says what it says to its two streams."""
    ranges = {}
    for name, age in _AGES.items():
        ranges[name] = folder / f"{name}.toml"
        ranges[name].write_text(f"[features.age]\n{age}{_DOSE}")
    release = folder / "release.safetensors"
    curator().release.save(release)

    def command(*arguments):
        try:
            return main([str(each) for each in arguments])
        except SystemExit as end:
            return end.code

    def new():
        return folder / secrets.token_hex(8)

    def init(path, kind="numbers", *more, declared=None):
        declared = declared or ranges[kind]
        return command(
            "curator", "init", path, new(), "--ranges", declared, "--epsilon", 3, "--yes", *more
        )

    everything = ("--accept-clipped", "--id", "who", "--objective", "column:cost", "--person", "who")
    text = ("--text", "--trials", 100)
    return {
        "ranges template": lambda path: command("ranges", "template", path),
        "ranges check": lambda path: command("ranges", "check", path),
        "init": lambda path: init(path, "numbers", "--ledger", new()),
        "init with all": lambda path: init(path, "numbers", *everything, "--ledger", new()),
        "init of categories": lambda path: init(path, "words", "--ledger", new()),
        "init of yes and no": lambda path: init(path, "answers", "--ledger", new()),
        "init --ranges": lambda path: init(path, declared=path),
        "init --ledger": lambda path: init(path, "numbers", "--accept-clipped", "--ledger", path),
        "report --records": lambda path: command(
            "report", release, "--ranges", ranges["numbers"], "--records", path, *text
        ),
        "report --ranges": lambda path: command("report", release, "--ranges", path, *text),
        "report RELEASE": lambda path: command("report", path, *text),
        "report --ledger": lambda path: command("report", release, "--ledger", path, *text),
        "curator status": lambda path: command("curator", "status", path),
        "curator export": lambda path: command("curator", "export", path, "--output", new()),
        "optimize --token-file": lambda path: command("optimize", "http:///", "--token-file", path),
    }
