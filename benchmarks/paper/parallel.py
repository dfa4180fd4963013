"""Run what is missing in all cores, and keep results as soon as a few are there."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from typing import Any, NamedTuple

import torch
from store import RunStore
from tqdm import tqdm

_BATCH = 8  # jobs sent to a process at once


class Job(NamedTuple):
    """One run: a function of a module, its arguments, and the key that its result is kept by."""

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def complete(store: RunStore, jobs: Sequence[Job], *, workers: int | None, label: str) -> None:
    """Run all jobs whose key the store lacks.

    Args:
        store: Gets each result; what it has when this is interrupted stays.
        jobs: What must be in the store in the end.
        workers: Processes, of one thread each; None: one a core.
        label: Of the progress bar.
    """
    workers = workers or len(os.sched_getaffinity(0))
    missing = list({job.key: job for job in jobs if job.key not in store}.values())
    if not missing:
        return
    batches = (missing[start : start + _BATCH] for start in range(0, len(missing), _BATCH))
    with (
        tqdm(total=len(missing), desc=label, unit="run", smoothing=0.05) as bar,
        ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_start) as pool,
    ):
        running: dict[Future[Any], list[Job]] = {}
        try:
            while True:
                # Few at a time: what waits in the pool's queue is lost to an interrupt.
                for batch in islice(batches, 2 * workers - len(running)):
                    running[pool.submit(_run, batch)] = batch
                if not running:
                    return
                failure = None
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    batch = running.pop(future)
                    results, error = future.result()
                    store.add(zip([job.key for job in batch[: len(results)]], results, strict=True))
                    bar.update(len(results))
                    failure = failure or error
                if failure:
                    raise failure
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run(batch: list[Job]) -> tuple[list[Any], Exception | None]:
    """Results up to the first error, and that."""
    results: list[Any] = []
    try:
        for job in batch:
            results.append(job.function(*job.arguments))
    except Exception as error:
        return results, error
    return results, None


def _start() -> None:
    """Set one thread a process, leave an interrupt to the parent, and end when it has ended.

    With more threads, small matrices spend their time waiting for each other.
    """
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)  # the parent was killed, and nobody will read a result
