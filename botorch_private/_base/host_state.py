"""PyTorch as it starts, whatever the program around it told it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_CPU = torch.device("cpu")


def on_cpu_by_default(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Run with new tensors on the CPU, and outside of inference mode, as PyTorch does from its start.

    A program may say ``torch.set_default_device("cuda")``, or call from within an inference mode.
    BoTorch and GPyTorch make tensors without a device, so that to name it in our own lines is not
    enough. Every public door that makes tensors or models has this decorator; where a device was asked
    for (``device=``), tensors go there explicitly. The state of the caller is back when it returns.

    The default dtype is global to all threads, and is never set: who makes a number that counts says its
    dtype. Gradients stay as the caller has them; a fit asks for its own.
    """

    @wraps(function)
    def called(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        elsewhere, inference = torch.get_default_device() != _CPU, torch.is_inference_mode_enabled()
        if not elsewhere and not inference:
            return function(*args, **kwargs)
        with ExitStack() as stack:
            if elsewhere:
                stack.enter_context(torch.device(_CPU))
            if inference:
                stack.enter_context(torch.inference_mode(False))
                stack.enter_context(torch.no_grad())
            return function(*args, **kwargs)

    return called
