"""Everything that an object holds, however deep, for tests that look for what must not be there."""

import gc
import re
import struct
import types
import weakref
from numbers import Real

import numpy as np
import torch

SKIPPED = (type, types.ModuleType, types.CodeType, types.FrameType, types.TracebackType)
NUMERAL = re.compile(r"(?<![A-Za-z0-9_.])[0-9]+(?:_[0-9]+)*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")


class Contents:
    """Numbers, texts and bytes that can be reached from some objects.

    Through attributes, slots, containers, closures, defaults, bound methods, weak references, whole
    storages behind views, and the causes and contexts of exceptions; by what ``repr`` and ``str`` show;
    and by the numerals in each text. Left out are classes, modules and the local variables of frames.
    """

    def __init__(self, *roots):
        self._seen = {}  # keeps what was seen alive, so that no identity is used twice
        self._numbers = []
        self._bytes = []
        waiting = list(roots)
        while waiting:
            thing = waiting.pop()
            if not isinstance(thing, SKIPPED) and id(thing) not in self._seen:
                self._seen[id(thing)] = thing
                waiting.extend(self._open(thing))
        self.numbers = np.concatenate([np.empty(0), *self._numbers])
        self.bytes = b"\n".join(self._bytes)

    def finds(self, value, tolerance=1e-12):
        """Whether a number is among them, up to a relative tolerance, or its bytes are."""
        if bool((np.abs(self.numbers - value) <= tolerance * abs(value)).any()):
            return True
        patterns = [struct.pack(f"{order}d", value) for order in "<>"]
        if isinstance(value, int):
            patterns.append(value.to_bytes(value.bit_length() // 8 + 1, "little"))
        elif tolerance > 1e-7:
            patterns += [struct.pack(f"{order}f", value) for order in "<>"]
        return any(pattern in self.bytes for pattern in patterns)

    def _open(self, thing):
        """Note what a thing says, and return what it refers to."""
        if isinstance(thing, str):
            return self._read(thing)
        if isinstance(thing, bytes | bytearray | memoryview):
            self._bytes.append(bytes(thing))
            return self._read(bytes(thing).decode("latin-1"))
        if isinstance(thing, Real):
            self._note([float(thing)])
            return []
        if isinstance(thing, torch.Tensor) and thing.is_nested:
            return list(thing.unbind())
        if isinstance(thing, torch.Tensor) and thing.layout != torch.strided:
            return [thing.detach().to_dense()]
        if isinstance(thing, torch.Tensor):
            whole = torch.empty(0, dtype=thing.dtype).set_(thing.detach().cpu().untyped_storage())
            gradient = thing.grad if thing.is_leaf else None
            return [whole.numpy().copy(), gradient, *vars(thing).values()]  # a copy has no base
        if isinstance(thing, np.ndarray):
            if thing.dtype.kind in "iufb":
                self._note(thing.astype(np.float64).ravel())
                self._bytes.append(thing.tobytes())
            return [thing.base] + (thing.ravel().tolist() if thing.dtype.kind in "OSU" else [])
        if isinstance(thing, torch.Generator):
            return [thing.initial_seed(), thing.get_state()]
        if isinstance(thing, weakref.ref):
            return [thing()]
        if isinstance(thing, types.FunctionType):
            return [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, vars(thing)]
        if isinstance(thing, dict | list | tuple | set | frozenset | types.CellType):
            return gc.get_referents(thing)
        chain = [thing.__cause__, thing.__context__] if isinstance(thing, BaseException) else []
        return [repr(thing), str(thing), *chain, *gc.get_referents(thing)]

    def _read(self, text):
        self._bytes.append(text.encode("utf-8", "surrogatepass"))
        self._note([float(numeral) for numeral in NUMERAL.findall(text)])
        return []

    def _note(self, numbers):
        self._numbers.append(np.asarray(numbers, dtype=np.float64))
