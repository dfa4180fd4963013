"""Holders: who holds the shards, in this process or as actors on Ray, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from botorch_private._base.engine import require_ray, start_ray

_RETRIES = 3


class Holders(Protocol):
    """Several shards, made from their arguments."""

    def __len__(self) -> int:
        """How many."""
        ...

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of each shard, at the same time; None: that shard is not asked."""
        ...


class Here:
    """All shards in this process: the slow and obvious way.

    Args:
        make: Makes a shard.
        arguments: Of each.
    """

    def __init__(self, make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> None:
        self._shards = [make(*some) for some in arguments]

    def __len__(self) -> int:
        return len(self._shards)

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """As in `Holders`."""
        return [
            None if some is None else getattr(shard, method)(*some)
            for shard, some in zip(self._shards, arguments, strict=True)
        ]


class Actors:
    """A Ray actor for each shard. One that dies is made again, from its arguments, and asked again.

    Args:
        make: Makes a shard.
        arguments: Of each.
        address: Of a cluster that runs; None: that which this program is connected to, or one that is
            started on this machine.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        *,
        address: str | None = None,
    ) -> None:
        self._ray = require_ray()
        start_ray(self._ray, address=address)
        # A CPU to be placed, none to be kept: more shards than CPUs, or a second search, must not wait
        # for ever for those that others hold.
        self._make = self._ray.remote(scheduling_strategy="SPREAD")(make)
        self._arguments = list(arguments)
        self._actors = [self._make.remote(*some) for some in arguments]

    def __len__(self) -> int:
        return len(self._actors)

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """As in `Holders`. What all are sent alike is sent once.

        Raises:
            RuntimeError: If an actor dies again and again.
        """
        sent = self._sent(arguments)
        waiting = {i: self._call(i, method, some) for i, some in enumerate(sent) if some is not None}
        found: list[Any] = [None] * len(self)
        for attempt in range(_RETRIES + 1):
            lost = []
            for i, reference in waiting.items():
                found[i], died = self._result(reference)
                if died:
                    lost.append(i)
            if not lost:
                return found
            if attempt == _RETRIES:
                break
            for i in lost:
                self._actors[i] = self._make.remote(*self._arguments[i])
            waiting = {i: self._call(i, method, sent[i]) for i in lost}  # type: ignore[arg-type]
        raise RuntimeError(
            f"a process that holds rows of the release died {_RETRIES + 1} times: mostly memory is "
            f"short; take more workers on more machines, a smaller max_memory, or dtype=torch.float32"
        )

    def stop(self) -> None:
        """Let all actors go."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    def _sent(self, arguments: Sequence[tuple[Any, ...] | None]) -> list[tuple[Any, ...] | None]:
        kept: dict[int, Any] = {}

        def once(value: Any) -> Any:
            if value is None or isinstance(value, int | float | list):
                return value
            if id(value) not in kept:
                kept[id(value)] = self._ray.put(value)
            return kept[id(value)]

        return [None if some is None else tuple(map(once, some)) for some in arguments]

    def _call(self, i: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return getattr(self._actors[i], method).remote(*arguments)

    def _result(self, reference: Any) -> tuple[Any, bool]:
        """What an actor answered, and whether it died instead."""
        failed: Exception
        try:
            return self._ray.get(reference), False
        except self._ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            failed = cause if isinstance(cause, Exception) else RuntimeError("a question on Ray failed")
        except self._ray.exceptions.RayError:
            return None, True
        raise failed
