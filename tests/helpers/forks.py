"""Copies of this process that each do the same, at the same time."""

import multiprocessing

import pytest

WORKERS = 6
PATIENCE = 60.0  # seconds


def needs_fork(test):
    """Skip a test where a system cannot fork. (Newer Pythons warn of threads that are not copied.)"""
    missing = "fork" not in multiprocessing.get_all_start_methods()
    quiet = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    return pytest.mark.skipif(missing, reason="this system cannot fork")(quiet(test))


def in_forked_workers(work, workers=WORKERS):
    """What each of the workers returns after a fork of this process."""
    context = multiprocessing.get_context("fork")

    def send(connection):
        connection.send(work())
        connection.close()

    pipes = [context.Pipe(duplex=False) for _ in range(workers)]
    started = [context.Process(target=send, args=(pipe[1],), daemon=True) for pipe in pipes]
    try:
        for worker in started:
            worker.start()
        for _, sender in pipes:
            sender.close()  # so that the end of a worker that fails is the end of its pipe
        found = []
        for (receiver, _), worker in zip(pipes, started, strict=True):
            assert receiver.poll(PATIENCE), f"worker {worker.pid} sent nothing"
            found.append(receiver.recv())
            worker.join(PATIENCE)
            assert worker.exitcode == 0
        return found
    finally:
        for worker in started:
            if worker.is_alive():
                worker.kill()
