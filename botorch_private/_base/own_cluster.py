"""A Ray cluster of this machine that nobody else can enter, from this machine or its network.

What a cluster runs, it runs as whoever started it. By itself Ray listens to the network, keeps its token
in a file that every user of the machine may be able to read, and its sockets and logs in folders that
every user can write to.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

_TOKEN, _TOKEN_FILE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_LONGEST = 24  # of a folder: names of sockets have an end


def start_own(ray: Any, **settings: Any) -> None:
    """Start it, with files for this user alone, a new token, and ears for this machine alone."""
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir=_short_folder()))  # mode 0700
    try:
        with _this_machine_alone(), _new_token():
            # Ray opens its own folder to everybody: so that is one in a folder that is closed.
            ray.init(address="local", _temp_dir=str(folder / "r"), **settings)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    atexit.register(partial(_remove, ray, folder, os.getpid()))


def _remove(ray: Any, folder: Path, process: int) -> None:
    """At the end of the program that started it, and not of a fork of that."""
    if os.getpid() == process:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str | None:
    usual = tempfile.gettempdir()
    return "/tmp" if len(usual) > _LONGEST and Path("/tmp").is_dir() else usual


@contextmanager
def _this_machine_alone() -> Iterator[None]:
    """Let Ray listen at the loopback address, as it does on Windows and macOS."""
    from ray._private import ray_constants

    before = getattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _new_token() -> Iterator[None]:
    """A token in the environment of the cluster's processes, unless the user has set one."""
    if _TOKEN in os.environ or _TOKEN_FILE in os.environ:
        yield
        return
    _forget_token()
    os.environ[_TOKEN] = secrets.token_hex(32)
    try:
        yield
    finally:
        del os.environ[_TOKEN]


def _forget_token() -> None:
    """That of an earlier cluster of this program."""
    import ray._raylet

    with suppress(AttributeError):
        ray._raylet.AuthenticationTokenLoader.instance().reset_cache()  # pyright: ignore
