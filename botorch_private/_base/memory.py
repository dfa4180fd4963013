"""How much memory is free, on the host or on a GPU, and one refusal for whatever needs more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

_CGROUP = Path("/sys/fs/cgroup")  # a container's limits, which the host's numbers do not show
_OWN_GROUPS = Path("/proc/self/cgroup")
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_CPU = torch.device("cpu")
_UNITS = ("bytes", "KiB", "MiB", "GiB")


def require_memory(
    need: int, *, what: str, remedy: str, device: torch.device = _CPU, unless_below: int = 0
) -> None:
    """Refuse, before anything is allocated, what needs more memory than there is.

    The system ends a process that takes too much, without an error. So whoever is about to spend
    privacy, or to make a matrix whose size a caller chose, predicts the need from sizes and asks here.

    Args:
        need: Bytes at the peak, beyond what is taken now.
        what: What needs them, for the message: "releasing 50 records".
        remedy: What to do instead, for the message.
        device: Where.
        unless_below: Nobody looks for less: for what is called in a loop.

    Raises:
        MemoryError: If fewer bytes are free.
    """
    if need <= unless_below:
        return
    free = free_memory(device)
    if need > free:
        raise MemoryError(
            f"{what} needs {in_words(need)} of memory, and {in_words(free)} are free: {remedy}"
        )


def free_memory(device: torch.device) -> int:
    """Bytes that can still be allocated on a device."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + reserved
    return int(min(psutil.virtual_memory().available, _left_in_container(), _left_to_process()))


def in_words(number: int) -> str:
    """A number of bytes, such as ``1.5 GiB``."""
    power = 0
    while power < len(_UNITS) - 1 and number >= 1024 ** (power + 1):
        power += 1
    try:
        return f"{number / 1024**power:.4g} {_UNITS[power]}"
    except OverflowError:  # an integer that no float can hold
        return "more than 1e300 GiB"


def _left_in_container() -> float:
    """What the tightest of the control groups around this process leaves, versions 1 and 2."""
    return min((_left(group, *names) for group, names in _groups()), default=math.inf)


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    yield _CGROUP, _V2  # in a container its own group is the root
    yield _CGROUP / "memory", _V1
    try:
        lines = _OWN_GROUPS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        below = [part for part in path.split("/") if part not in ("", "..")]
        if controllers == "":
            root, names = _CGROUP, _V2
        elif "memory" in controllers.split(","):
            root, names = _CGROUP / "memory", _V1
        else:
            continue
        for depth in range(1, len(below) + 1):  # a limit of any group above binds as well
            yield root.joinpath(*below[:depth]), names


def _left(group: Path, limit: str, used: str, cache: str) -> float:
    try:
        text = (group / limit).read_text(encoding="ascii", errors="replace").strip()
        if text == "max":
            return math.inf
        taken = int((group / used).read_text(encoding="ascii", errors="replace"))
        left = int(text) - taken
    except (OSError, ValueError):
        return math.inf
    return max(0, left + min(taken, _dropped_on_need(group, cache)))


def _dropped_on_need(group: Path, name: str) -> int:
    """Bytes of files that were read once: they count as used, and make room for what is needed."""
    try:
        lines = (group / "memory.stat").read_text(encoding="ascii", errors="replace").splitlines()
        return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)
    except (OSError, ValueError, IndexError):
        return 0


def _left_to_process() -> float:
    """What ``ulimit -v`` and ``ulimit -d`` leave."""
    left = math.inf
    if resource is None:
        return left
    used = psutil.Process().memory_info()
    for limit, taken in (("RLIMIT_AS", used.vms), ("RLIMIT_DATA", getattr(used, "data", 0))):
        soft, _ = resource.getrlimit(getattr(resource, limit))
        if soft != resource.RLIM_INFINITY:
            left = min(left, max(0, soft - taken))
    return left
