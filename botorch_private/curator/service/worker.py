"""The process that calls a curator's objective, ``module:function``.

It reads records as JSON lists, one a line, and writes one JSON object a line: ``{"value": ...}`` or
``{"error": ...}``. What the function prints goes to the error stream.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Any

FAILED = "the objective failed; what it said stands in objective.log in the curator's folder"
OTHER_NAMES = "the objective must return a dict with a number for each declared outcome"


def load(name: str) -> Callable[[Any], Any]:
    """Find a function by ``module:function``, also in the working folder.

    Raises:
        ValueError: If there is no such function.
    """
    module_name, _, function_name = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise ValueError(f"objective must be module:function, but {error}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ValueError(
            f"objective must be module:function, but {module_name} has no {function_name}()"
        )
    return function


def answer(
    function: Callable[[Any], Any], record: list[float], names: Collection[str] = ()
) -> dict[str, Any]:
    """Call the function on a record, and say what came of it.

    Args:
        function: Measures.
        record: Raw features.
        names: Of several outcomes, as they were declared: no other name leaves this process. Empty: a
            record has one.
    """
    import torch  # as in a `Curator`, a record is a tensor of d float64 numbers

    from botorch_private.curator.objective import number_of

    try:
        found = function(torch.tensor(record, dtype=torch.float64))
        if names and isinstance(found, Mapping):
            if set(found) != set(names):
                return {"error": OTHER_NAMES}
            value: Any = {name: number_of(found[name]) for name in names}
        else:
            value = number_of(found)
    except Exception:
        # Its text, and even its type, may be of the record: they go where what it prints goes.
        traceback.print_exc()
        sys.stderr.flush()
        return {"error": FAILED}
    if not all(map(math.isfinite, value.values() if isinstance(value, dict) else (value,))):
        return {"error": "the objective must return a finite number, got another one"}
    return {"value": value}


def main() -> int:
    """Serve until the input ends."""
    # Whatever prints, in whatever language, must neither mix with the replies nor fail.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    try:
        function = load(sys.argv[1])
    except ValueError as error:
        print(json.dumps({"error": str(error)}), file=replies, flush=True)
        return 1
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(function, json.loads(line), sys.argv[2:])), file=replies, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
