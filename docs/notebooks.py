"""The tutorials as pages of the site, with the outputs that they were committed with: nothing is run."""

import re
from pathlib import Path

from jinja2 import DictLoader
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter
from traitlets.config import Config

TUTORIALS = Path(__file__).parents[1] / "tutorials"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:]+)\)")
# Lines of output are as long as they are: they wrap, as no code does.
TEMPLATE = """{% extends 'markdown/index.md.j2' %}
{%- block stream -%}
``` { .text .wrap }
{{ output.text | strip_ansi }}
```
{%- endblock stream %}
{% block data_text scoped -%}
``` { .text .wrap }
{{ output.data['text/plain'] }}
```
{%- endblock data_text %}
"""
STYLE = re.compile(r"<style.*?</style>", re.DOTALL)  # of data frames: the site has its own


def pages(config):
    """Yield a page for each notebook, and its pictures."""
    exporter = MarkdownExporter(
        config=Config({"ExtractOutputPreprocessor": {"enabled": True}}),
        extra_loaders=[DictLoader({"site.md.j2": TEMPLATE})],
        template_file="site.md.j2",
    )
    for notebook in sorted(TUTORIALS.glob("*.ipynb")):
        resources = {"unique_key": notebook.stem, "output_files_dir": "."}
        text, made = exporter.from_filename(str(notebook), resources)
        text = LINK.sub(_on_the_site, STYLE.sub("", text))
        yield File.generated(config, f"tutorials/{notebook.stem}.md", content=text)
        for name, picture in made["outputs"].items():
            yield File.generated(config, f"tutorials/{Path(name).name}", content=picture)


def _on_the_site(link):
    """Notebooks lead to their pages; other files of the source tree have none."""
    label, target = link.groups()
    if target.endswith(".ipynb") and "/" not in target:
        return f"[{label}]({target.removesuffix('.ipynb')}.md)"
    return f"`{label}`"
