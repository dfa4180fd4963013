"""Tasks run once each, wherever they run; what fails says so in its own words."""

import os
import sys
from pathlib import Path

import pytest
from helpers.ray_cluster import ray_cluster

from botorch_private._base.engine import engine_of, require_ray


def done_by(engine, task, count, *shared, **options):
    with engine_of(engine, **options) as tasks:
        return sorted(tasks.run(task, [(i,) for i in range(count)], *shared))


def test_tasks_in_this_process_are_done_in_order():
    order = []
    assert done_by("process", lambda i, k: order.append(i) or i * k, 4, 3) == [
        (0, 0),
        (1, 3),
        (2, 6),
        (3, 9),
    ]
    assert order == [0, 1, 2, 3]


def test_an_error_of_a_task_is_raised_as_it_is():
    def task(i):
        raise ValueError(f"task {i}")

    with pytest.raises(ValueError, match="task 0"):
        done_by("process", task, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "dask"}, "engine must be"),
        ({"address": "auto"}, "None without engine='ray'"),
        ({"workers": 0, "engine": "ray"}, "workers must be"),
    ],
)
def test_unusable_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message), engine_of(**options):
        pass


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'botorch-private\[ray\]'"):
        require_ray()


@pytest.mark.slow
def test_tasks_on_ray_are_done_by_several_processes():
    ray_cluster()
    found = done_by("ray", lambda i, k: (i * k, os.getpid()), 12, 3)
    assert [value for _, (value, _) in found] == [3 * i for i in range(12)]
    assert os.getpid() not in {pid for _, (_, pid) in found}


@pytest.mark.slow
def test_an_error_of_a_task_on_ray_is_raised_without_what_the_worker_said():
    ray_cluster()

    def task(i):
        secret = f"cell-{i}"
        raise ValueError("row 3 is unusable") from KeyError(secret)

    with pytest.raises(ValueError, match="^row 3 is unusable$") as caught:
        done_by("ray", task, 2)
    assert caught.value.__context__ is None


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(tmp_path):
    ray_cluster()

    def task(i, folder):
        first = Path(folder) / f"tried-{i}"
        if i == 2 and not first.exists():
            first.touch()
            os._exit(9)
        return i

    assert done_by("ray", task, 4, str(tmp_path)) == [(i, i) for i in range(4)]
    assert (tmp_path / "tried-2").exists()


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_given_up_with_advice():
    ray_cluster()
    with pytest.raises(RuntimeError, match="died 4 times.*fewer workers") as caught:
        done_by("ray", lambda i: os._exit(9), 1)
    assert caught.value.__context__ is None
