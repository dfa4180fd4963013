"""The progress bar of the library: a widget in a notebook that has them, text elsewhere."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a notebook without ipywidgets shows text, and need not be told
    from tqdm.auto import tqdm

__all__ = ["tqdm"]
