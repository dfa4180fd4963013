"""One small Ray cluster for all tests of a process that want one."""

import atexit

import pytest

from botorch_private._base.engine import start_ray

CPUS = 2


def ray_cluster():
    """Ray, connected to a cluster of this machine; the test is skipped where Ray is not installed."""
    ray = pytest.importorskip("ray")
    if not ray.is_initialized():
        start_ray(ray, workers=CPUS)
        atexit.register(ray.shutdown)
    return ray
