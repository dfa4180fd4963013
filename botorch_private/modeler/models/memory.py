"""How much memory is free, on the host or on a GPU."""

from __future__ import annotations

from pathlib import Path

import psutil
import torch

DEFAULT_MEMORY = 2**30  # bytes of V that are kept where the user does not say
NOTHING_KEPT = 1  # byte of V: everything is recomputed
_CGROUP = Path("/sys/fs/cgroup")  # a container's limit, which the host's numbers do not show


def free_memory(device: torch.device) -> int:
    """Bytes that can still be allocated on a device."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + reserved
    return min(psutil.virtual_memory().available, _left_in_container())


def _left_in_container() -> float:
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if limit == "max" else max(0, int(limit) - used)


def in_words(number: float) -> str:
    """A number of bytes, such as ``1.5 GiB``."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:.4g} GiB"
