"""The page and the text: same words, one file, readable without scripts, pictures or sight."""

import re
import sys
from html.parser import HTMLParser

import pytest
from helpers.report_samples import KINDS, make_release, reports_of

from botorch_private.report import report
from botorch_private.report.document import Document, Paragraph, Points, Section, Table
from botorch_private.report.text import as_text

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Collect tags with their attributes, check that they nest, and keep the text outside style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self._open = [], [], []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.words.append(data)

    def all(self, tag):
        return [attributes for found, attributes in self.tags if found == tag]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_one_accessible_file(kind):
    text = reports_of(kind).html()
    page = Page(text)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == len(page.all("title")) - len(page.all("svg")) == 1
    assert next(tag for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)) == "h1"
    assert not page.all("script") + page.all("link") + page.all("img") + page.all("iframe")
    assert all(attributes["scope"] in ("col", "row") for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) > 3
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.all("a"):
        assert attributes["href"].removeprefix("#") in ids
    for attributes in page.all("svg"):
        assert attributes["role"] == "img"
        assert set(attributes["aria-labelledby"].split()) <= set(ids)
    addresses = re.findall(r"https?://[^\"' ]+", text)
    assert set(addresses) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"url\((?!#)|@import", text)


@pytest.mark.parametrize("kind", ["laplace", "spectral", "table", "two"])
def test_page_and_text_have_the_same_words(kind):
    made = reports_of(kind)
    words = re.sub(r"\s+", "", "".join(Page(made.html()).words))
    for section in made.document.sections:
        for block in section.blocks:
            said = {
                Paragraph: lambda b: [b.text],
                Points: lambda b: list(b.items),
                Table: lambda b: [b.caption, *b.header, *(cell for row in b.rows for cell in row)],
            }.get(type(block), lambda b: [b.description])(block)
            for text in said:
                assert re.sub(r"\s+", "", text) in words
    squeezed = re.sub(r"\s+", "", made.text())
    for section in made.document.sections:
        for block in section.blocks:
            if isinstance(block, Paragraph):
                assert re.sub(r"\s+", "", block.text) in squeezed


def test_names_are_escaped_in_the_page():
    text = reports_of("laplace").html()
    assert "<b>" not in text
    assert "&lt;b&gt;x&lt;/b&gt; &amp; y" in text
    release = make_release("laplace")
    made = report(release, names=["<script>alert(1)</script>"], trials=100, progress=False)
    assert "<script" not in made.html()


def test_the_page_is_the_same_on_every_run():
    made = reports_of("two")
    assert made.html() == made.html()


def test_the_plot_follows_the_colours_of_the_page():
    text = reports_of("laplace").html()
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert "currentColor" in svg
    assert "var(--accent)" in svg
    assert not re.search(r"#0[0-9]0[0-9]0[0-9]", svg)
    assert "<metadata" not in svg
    assert "one unit" in svg
    assert "whole record" in svg


def test_where_nothing_is_promised_beyond_a_unit_there_is_no_plot():
    assert "<svg" not in reports_of("spectral").html()
    assert "<svg" not in reports_of("none").html()


def test_a_report_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    made = reports_of("laplace")
    path = tmp_path / "report.html"
    made.save(path)
    assert path.read_text(encoding="utf-8") == made.html()
    monkeypatch.setattr(type(made), "html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        made.save(tmp_path / "no" / "report.html")


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_text_needs_no_layout_and_the_page_says_what_it_needs(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    made = report(make_release("laplace"), trials=100, progress=False)
    assert made.text().startswith("Privacy report")
    with pytest.raises(ImportError, match=r"pip install 'botorch-private\[report\]'"):
        made.html()


def test_the_text_fits_a_terminal():
    lines = reports_of("table").text().splitlines()
    assert max(len(line) for line in lines) <= 120


def test_a_table_with_a_missing_cell_cannot_be_made():
    with pytest.raises(ValueError, match="a cell for each column"):
        Table("t", ("a", "b"), (("1",),))


def test_an_empty_table_is_laid_out():
    section = Section("s", "S", (Table("t", ("a", "b"), ()),))
    assert "a" in as_text(Document("T", "s", False, (section,)))
