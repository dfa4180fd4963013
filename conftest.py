"""Run the Python blocks of the README and of the site's pages, each file in a folder of its own."""

import os
import re
import tempfile
from pathlib import Path

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

_START = os.getcwd()
_DOCS = Path(__file__).parent / "docs"


def _enter(namespace):
    namespace["_folder"] = tempfile.TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def _enter_a_page(namespace):
    """Begin with the lines that the reference's examples begin with as well."""
    _enter(namespace)
    setup = (_DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", setup, re.DOTALL)[1], namespace)


def _leave(namespace):
    os.chdir(_START)
    namespace["_folder"].cleanup()


_README = Sybil([PythonCodeBlockParser()], pattern="README.md", setup=_enter, teardown=_leave)
_PAGES = Sybil(
    [PythonCodeBlockParser()],
    patterns=["docs/index.md", "docs/guide/*.md"],
    setup=_enter_a_page,
    teardown=_leave,
)
pytest_collect_file = (_README + _PAGES).pytest()
