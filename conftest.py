"""Run the README's Python blocks, in order, in a folder of their own."""

import os
import tempfile

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

_START = os.getcwd()


def _enter(namespace):
    namespace["_folder"] = tempfile.TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def _leave(namespace):
    os.chdir(_START)
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], patterns=["README.md"], setup=_enter, teardown=_leave
).pytest()
