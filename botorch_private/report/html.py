"""The report as one HTML page without external resources. Needs jinja2 and matplotlib."""

from __future__ import annotations

from importlib.resources import files

from botorch_private.report.document import Document, Paragraph, Plot, Points, Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.plot import draw

_INSTALL = "pages need jinja2 and matplotlib: pip install 'botorch-private[report]'; text needs neither"
_LONGEST_NUMBER = 24  # characters of a cell; a longer one holds words, and may be broken


def require_layout() -> None:
    """Raise an ImportError that says what to install where jinja2 or matplotlib is missing."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(_INSTALL) from error


def as_html(document: Document, facts: PublicFacts) -> str:
    """Lay a document out as a page that works without scripts, on paper, and in the dark.

    Raises:
        ImportError: If jinja2 or matplotlib is not installed.
    """
    require_layout()
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    kinds = {Paragraph: "paragraph", Points: "points", Table: "table", Plot: "plot"}
    page = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(files("botorch_private.report").joinpath("page.html").read_text(encoding="utf-8"))
    return page.render(
        document=document,
        longest_number=_LONGEST_NUMBER,
        kind=lambda block: kinds[type(block)],
        draw=lambda block: Markup(draw(facts, block)),  # drawn here, labels escaped
    )
