"""Where independent tasks run: in this process one after another, or on Ray, which is an extra.

A task is a plain function that leaves what it did in files and returns a small number or a small tuple.
It may run twice: a worker that dies is replaced, and its task begins anew. So a task must leave its work
under its final name by one rename, and look for that name first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from botorch_private._base import validate
from botorch_private._base.own_cluster import start_own

ENGINES = ("process", "ray")
_RETRIES = 3


class Engine(Protocol):
    """Runs tasks, and says when each is done."""

    workers: int

    def run(
        self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], *shared: Any
    ) -> Iterable[tuple[int, Any]]:
        """Call ``task(*arguments[i], *shared)`` for each ``i``; yield ``i`` and what came of it."""
        ...


class InProcess:
    """One task after another, in this process."""

    workers = 1

    def run(
        self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], *shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """As in `Engine`, in order."""
        for i, some in enumerate(arguments):
            yield i, task(*some, *shared)


class OnRay:
    """Tasks of a Ray cluster, as many at a time as it has CPUs for."""

    def __init__(self, ray: Any, workers: int) -> None:
        self._ray, self.workers = ray, workers

    def run(
        self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], *shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """As in `Engine`. A worker that dies is replaced; an error of the task itself is raised here."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(task)
        kept = [ray.put(each) for each in shared]
        waiting: Iterable[int] = iter(range(len(arguments)))
        running: dict[Any, int] = {}
        try:
            while True:
                for i in waiting:
                    running[remote.remote(*arguments[i], *kept)] = i
                    if len(running) >= self.workers:
                        break
                if not running:
                    return
                done, _ = ray.wait(list(running), num_returns=1)
                for reference in done:
                    yield running.pop(reference), self._result(reference)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _result(self, reference: Any) -> Any:
        """What a task returned, or its own error: Ray wraps it, with text of the worker."""
        failed: BaseException
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            failed = cause if isinstance(cause, Exception) else RuntimeError("a task on Ray failed")
        except self._ray.exceptions.RayError as error:
            name = type(error).__name__
            failed = RuntimeError(
                f"a worker of Ray died {_RETRIES + 1} times in the same task ({name}): mostly memory is "
                f"short; take fewer workers, or smaller files. Call again to go on where it was"
            )
        raise failed  # outside of the handler, so that nothing of the worker's text is chained


def require_ray() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import ray
    except ImportError:
        ray = None
    if ray is None:
        raise ImportError("engine='ray' needs Ray: pip install 'botorch-private[ray]'")
    return ray


@contextmanager
def engine_of(
    engine: str = "process", *, address: str | None = None, workers: int | None = None
) -> Iterator[Engine]:
    """Start what tasks run on, and stop it again where it was started here.

    Args:
        engine: "process": this process alone. "ray": a Ray cluster; one that this program is connected
            to already is used, and left running.
        address: Of a cluster that runs, such as "auto" or "ray://host:10001"; None: one is started on
            this machine, for as long as it is needed.
        workers: Tasks at a time; None: as many as the cluster has CPUs.

    Raises:
        ImportError: If Ray is wanted and not installed.
        ValueError: If a setting is unusable.
    """
    validate.one_of(ENGINES, engine=engine)
    if workers is not None:
        validate.count(workers=workers)
    if engine == "process":
        if address is not None or workers not in (None, 1):
            raise ValueError("address and workers must be None without engine='ray'")
        yield InProcess()
        return
    ray = require_ray()
    own = start_ray(ray, address=address, workers=workers)
    try:
        yield OnRay(ray, workers or _cpus(ray))
    finally:
        if own:
            ray.shutdown()


def start_ray(ray: Any, *, address: str | None = None, workers: int | None = None) -> bool:
    """Connect to a cluster, or start one here; says whether this program was not connected before."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a curator's machine tells nobody anything
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        # The dashboard listens on a port that nobody here needs.
        start_own(ray, num_cpus=workers, include_dashboard=False, **quiet)
    else:
        ray.init(address=address, **quiet)
    return True


def cpus_of_ray(*, address: str | None = None) -> int:
    """CPUs of the cluster, which is started or joined where this program is not connected yet."""
    ray = require_ray()
    start_ray(ray, address=address)
    return _cpus(ray)


def _cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
