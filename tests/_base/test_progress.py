"""The progress bar in a notebook: a widget where there are some, and else text without a warning."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

pytest.importorskip("IPython")
_NOTEBOOK = """
import sys, types, warnings
import IPython
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
IPython.get_ipython = lambda: shell
sys.modules["ipykernel.zmqshell"] = types.ModuleType("zmqshell")  # by which newer tqdm knows a notebook
%s
warnings.simplefilter("error")
from botorch_private._base.progress import tqdm
print([each.__module__ for each in tqdm.__mro__])
"""


def bar_of(preparation):
    """Return where the bar comes from in a notebook, and what was said."""
    code = _NOTEBOOK % preparation
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


def test_a_notebook_without_widgets_gets_text_and_no_warning():
    kinds, said = bar_of('sys.modules["ipywidgets"] = None')
    assert "tqdm.notebook" not in kinds
    assert "tqdm.std" in kinds
    assert said == ""


@pytest.mark.skipif(find_spec("ipywidgets") is None, reason="needs ipywidgets")
def test_a_notebook_with_widgets_gets_one():
    kinds, said = bar_of("import ipywidgets")
    assert "tqdm.notebook" in kinds
    assert said == ""
