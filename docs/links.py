"""Names in single backticks, in docstrings and on pages, become links to their entries."""

import re
from functools import cache

import griffe

import botorch_private
from botorch_private import audit, datasets, report, theory

NAME = re.compile(r"(?<![`\w\[])`([A-Za-z_][\w.]*)`(?!`)")
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)  # shown as code by its plural alone
WRAPPED = re.compile(r"^( *)>(?=[ =])", re.MULTILINE)  # a comparison, no quotation


@cache
def targets():
    """Entries of public names, and of the documented members of public classes."""
    found = {}
    for module in (botorch_private, theory, audit, report, datasets):
        for name in module.__all__:
            thing = getattr(module, name)
            home = f"{thing.__module__}.{thing.__qualname__}"
            found[name] = found[f"{module.__name__.rpartition('.')[2]}.{name}"] = home
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_") and getattr(value, "__doc__", None):
                    found[f"{name}.{member}"] = f"{home}.{member}"
    return found


def linked(text):
    """Link each public name, where it stands alone and not in a block of code."""

    def link(name):
        target = targets().get(name[1])
        return f"[`{name[1]}`][{target}]" if target else name[0]

    parts = FENCED.split(text)
    parts[::2] = [NAME.sub(link, part) for part in parts[::2]]
    return "".join(parts)


class Links(griffe.Extension):
    """Griffe extension."""

    def on_object(self, *, obj, **_):
        """Rewrite a docstring before it is parsed."""
        if obj.docstring is not None:
            text = WRAPPED.sub(r"\1\\>", linked(obj.docstring.value))
            obj.docstring.value = EXAMPLE.sub("Examples:", text)
