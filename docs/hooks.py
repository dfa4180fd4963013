"""What pages take from elsewhere when the site is built, so that there is one source of it.

``<!-- readme: Heading -->`` a section of the README, ``<!-- setup -->`` what the examples start from,
``<!-- commands -->`` what ``--help`` says of every command, ``<!-- documents -->`` the fields of what
``--json`` prints, ``<!-- guarantee -->`` a guarantee as it is printed. The pictures come from the
benchmarks.
"""

import argparse
import contextlib
import io
import os
import re
from pathlib import Path

from links import linked
from mkdocs.structure.files import File
from notebooks import pages

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"<!-- readme: (.+?) -->")
PICTURES = ("results/demo.png", "results/console.png", "paper/results/simple_regret.png")


def on_files(files, *, config):
    """Add the notebooks and the pictures."""
    for file in pages(config):
        files.append(file)
    for picture in map(Path, PICTURES):
        source = ROOT / "benchmarks" / picture
        files.append(File.generated(config, f"pictures/{picture.name}", abs_src_path=str(source)))
    return files


def on_page_markdown(markdown, **_):
    """Fill in what a page asks for."""
    markdown = SECTION.sub(lambda found: _section(found[1]), markdown)
    for name, made in (
        ("setup", _setup),
        ("commands", _commands),
        ("documents", _documents),
        ("guarantee", _guarantee),
    ):
        if f"<!-- {name} -->" in markdown:
            markdown = markdown.replace(f"<!-- {name} -->", made())
    return linked(markdown)


def _section(heading):
    """A section of the README, for a page of the guide."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[0].replace("](docs/guide/", "](")


def _setup():
    text = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    lines = re.search(r"```python\n.*?```", text, re.DOTALL)[0].replace("\n", "\n    ")
    return f'??? note "The examples on this page start from these lines"\n\n    {lines}'


def _commands():
    from botorch_private.cli.main import _parser, main

    os.environ["COLUMNS"], os.environ["NO_COLOR"] = "88", "1"
    parts = []

    def add(name, text):
        parts.append(f"## {name}\n\n```text\n{text.strip()}\n```")

    def walk(parser):
        if parser.add_help:
            add(parser.prog, parser.format_help())
        else:  # it prints its own
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
                main([*parser.prog.split()[1:], "--help"])
            add(parser.prog, said.getvalue())
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for each in action.choices.values():
                    walk(each)

    walk(_parser())
    return "\n\n".join(parts)


def _documents():
    from botorch_private.cli.documents.fields import DOCUMENTS, fields_of

    parts = []
    for command, document in DOCUMENTS.items():
        about = f"`format` is `botorch-private {document.FORMAT}`, `format_version` {document.VERSION}."
        rows = [f"| `{path}` | {kind} | {meaning} |" for path, kind, meaning in fields_of(document)]
        table = "\n".join(["| field | type | meaning |", "| --- | --- | --- |", *rows])
        parts.append(f"## {command}\n\n{about}\n\n{table}")
    return "\n\n".join(parts)


def _guarantee():
    from botorch_private import NoisyProjection, PublicScaling
    from botorch_private.curator.publish import planned_guarantee

    scaling = PublicScaling([18.0, 60.0], [100.0, 200.0], names=["age", "pressure"])
    return (
        f"``` {{ .text .wrap }}\n{planned_guarantee(8126, scaling, NoisyProjection(epsilon=3.0))}\n```"
    )
