"""Independent random streams of one run, each named after what it decides."""

from __future__ import annotations

import zlib

import numpy as np
import torch


def stream(seed: int, purpose: str) -> torch.Generator:
    """Return the generator of one purpose in one run.

    Arms that ask for the same purpose get the same numbers: the same function, initial record and
    projection matrix. A stream does not depend on what other purposes have drawn.
    """
    words = np.random.SeedSequence([seed, zlib.crc32(purpose.encode())]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(words[0]))
