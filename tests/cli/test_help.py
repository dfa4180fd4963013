"""The help of each command suffices: every option is explained, with its default and an example."""

import argparse

import pytest

from botorch_private.cli import main as cli


def parsers(parser, path=()):
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from parsers(child, (*path, name))


ALL = {" ".join(path): parser for path, parser in parsers(cli._parser()) if path != ("reproduce",)}


@pytest.mark.parametrize("path", ALL)
def test_every_option_is_explained(path):
    for action in ALL[path]._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction)


@pytest.mark.parametrize("path", ALL)
def test_every_default_is_in_the_help(path):
    for action in ALL[path]._actions:
        if action.option_strings and action.default not in (None, False, argparse.SUPPRESS, [], ""):
            shown = f"{action.default:g}" if isinstance(action.default, float) else str(action.default)
            assert shown in action.help, action.option_strings


@pytest.mark.parametrize(
    "path", ["", "report", "ranges template", "ranges check", "curator init", "optimize"]
)
def test_there_are_examples_and_their_lines_stand_as_they_were_written(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = ALL[path].format_help()
    assert "\n  botorch-private " in text
    for line in ALL[path].epilog.splitlines():
        assert line in text.splitlines()


def test_the_examples_are_commands_that_exist():
    parser = cli._parser()
    seen = 0
    for each in ALL.values():
        text = (each.epilog or "").replace("\\\n", " ").replace("'length of stay'", "length")
        for line in text.splitlines():
            if line.startswith("  botorch-private "):
                parser.parse_args(line.partition("#")[0].split()[1:])
                seen += 1
    assert seen >= 12


def test_a_wrong_option_ends_in_two_lines_that_say_where_the_options_are(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli._parser().parse_args(["optimize", "http://127.0.0.1:8400", "--rounds", "0"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        "botorch-private optimize: argument --rounds: must be a whole number >= 1, got '0'\n"
        "'botorch-private optimize --help' says what it takes.\n"
    )
