"""The progress bar in a notebook: a widget where there are some, and else text without a warning."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

_NOTEBOOK = """
import sys, types, warnings
warnings.simplefilter("error")
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell, __path__=[])
%s
from botorch_private._base.progress import tqdm
print(tqdm.__module__)
"""
WITHOUT_WIDGETS = 'sys.modules["ipywidgets"] = None'


def bar_of(preparation):
    """Return where the bar comes from in a notebook, and what was said."""
    code = _NOTEBOOK % preparation
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


def test_a_notebook_without_widgets_gets_text_and_no_warning():
    assert bar_of(WITHOUT_WIDGETS) == ("tqdm.std", "")


@pytest.mark.skipif(find_spec("ipywidgets") is None, reason="needs ipywidgets")
def test_a_notebook_with_widgets_gets_one():
    assert bar_of("") == ("tqdm.notebook", "")
