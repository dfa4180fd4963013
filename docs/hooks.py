"""What pages take from elsewhere when the site is built, so that there is one source of it.

``<!-- readme: Heading -->`` a section of the README, ``<!-- commands -->`` what ``--help`` says of every
command, ``<!-- guarantee -->`` a guarantee as it is printed.
"""

import argparse
import contextlib
import io
import os
import re
from pathlib import Path

from links import linked
from notebooks import pages

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"<!-- readme: (.+?) -->")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files, *, config):
    """Add the notebooks."""
    for file in pages(config):
        files.append(file)
    return files


def on_page_markdown(markdown, *, page, **_):
    """Fill in what a page asks for."""
    homes = _homes()
    markdown = SECTION.sub(lambda found: _section(found[1], page.file.src_uri, homes), markdown)
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", _commands())
    if "<!-- guarantee -->" in markdown:
        markdown = markdown.replace("<!-- guarantee -->", _guarantee())
    return linked(markdown)


def _section(heading, here, homes):
    """A section of the README, its links leading to where their targets are on the site."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"README.md has no section {heading!r}, which {here} shows")

    def moved(link):
        image, label, target = link.groups()
        if "://" in target:
            return link[0]
        if target.startswith("#") and target[1:] in homes:
            page = os.path.relpath(homes[target[1:]], os.path.dirname(here))
            return f"[{label}]({page}{target})" if homes[target[1:]] != here else link[0]
        return "" if image else label if target.startswith("#") else f"`{target}`"

    # A number at the start of a wrapped line is no list, as Python-Markdown takes it for.
    return LINK.sub(moved, re.sub(r"\n +(?=\d+\. )", " ", found[0]))


def _homes():
    """The page of each section of the README that is on one."""
    docs = ROOT / "docs"
    return {
        _slug(heading): path.relative_to(docs).as_posix()
        for path in docs.rglob("*.md")
        for heading in SECTION.findall(path.read_text(encoding="utf-8"))
    }


def _slug(heading):
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


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


def _guarantee():
    from botorch_private import NoisyProjection, PublicScaling
    from botorch_private.curator.publish import planned_guarantee

    scaling = PublicScaling([18.0, 60.0], [100.0, 200.0], names=["age", "pressure"])
    return (
        f"``` {{ .text .wrap }}\n{planned_guarantee(8126, scaling, NoisyProjection(epsilon=3.0))}\n```"
    )
