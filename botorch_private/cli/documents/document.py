"""Document: what a command prints for programs, as one JSON object with declared fields.

Each field says by `Annotated` what it means. The manual shows these words, so that they cannot part from
the fields. Within a version fields are only added. What has no finite value is null: JSON has neither
infinity nor NaN.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Document:
    """What one command prints. Those of a kind name it, and the version of its fields."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int] = 1

    def dumps(self) -> str:
        """One JSON object, in ASCII: any console and any pipe takes it."""
        header = {"format": f"botorch-private {self.FORMAT}", "format_version": self.VERSION}
        return json.dumps({**header, **_plain(asdict(self))}, allow_nan=False, indent=2)


def _plain(value: Any) -> Any:
    """The same without infinity and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
