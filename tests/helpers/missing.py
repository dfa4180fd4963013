"""A library that is not installed, as far as one module can tell."""

import sys


def without(library, monkeypatch, module):
    """Hide a library, and forget a module, so that its next import is one without the library."""
    for name in [name for name in sys.modules if name == library or name.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, module)
