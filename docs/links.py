"""Names in single backticks, in docstrings, become links to their entries."""

import re

import griffe

import botorch_private
from botorch_private import audit, report, theory

EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)  # shown as code by its plural alone
NAME = re.compile(r"(?<![`\w])`([A-Za-z_][\w.]*)`(?!`)")


def _targets():
    for module in (botorch_private, theory, audit, report):
        for name in module.__all__:
            thing = getattr(module, name)
            home = f"{thing.__module__}.{thing.__qualname__}"
            yield name, home
            yield f"{module.__name__.rpartition('.')[2]}.{name}", home
            for member in vars(thing) if isinstance(thing, type) else ():
                if not member.startswith("_"):
                    yield f"{name}.{member}", f"{home}.{member}"


class Links(griffe.Extension):
    """Griffe extension."""

    def __init__(self):
        self.targets = dict(_targets())

    def on_object(self, *, obj, **_):
        """Rewrite a docstring before it is parsed."""
        if obj.docstring is not None:
            text = NAME.sub(self._link, obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub("Examples:", text)

    def _link(self, found):
        target = self.targets.get(found[1])
        return f"[`{found[1]}`][{target}]" if target else found[0]
