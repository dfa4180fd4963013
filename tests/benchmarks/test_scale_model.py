"""The cost model of `benchmarks/scale` gives back the runs it was taken from, and divides the rest."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "scale" / "model.py"


@pytest.fixture(scope="module")
def model():
    spec = spec_from_file_location("scale_model", FILE)
    module = sys.modules["scale_model"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stage(busiest):
    return {"busiest": busiest}


SMALL = {"cpu": 9.0, "driver": 1.0, "stages": {"check": stage(2.0)}}
LARGE = {
    "rows": 10_000_000,
    "cpu": 70.0,
    "driver": 4.0,
    "path": 4.0 + 7.0 + 20.0 + 10.0,
    "stages": {"check": stage(7.0), "noise": stage(20.0), "order": stage(10.0)},
}


def test_one_worker_costs_what_it_did(model):
    release = model.ReleaseModel.of(SMALL, LARGE)
    assert release.path(LARGE["rows"], 1, 10, 4) == pytest.approx(LARGE["path"])
    assert release.cpu(LARGE["rows"], 1) == pytest.approx(LARGE["cpu"])
    assert release.cpu(LARGE["rows"], 3) == pytest.approx(LARGE["cpu"] + 2 * 2.0)


@pytest.mark.parametrize(
    ("files", "buckets", "workers"), [(10, 4, 3), (8, 8, 8), (100, 33, 32), (3, 2, 5)]
)
def test_the_busiest_worker_is_that_of_a_list_of_equal_tasks(model, files, buckets, workers):
    """Held against tasks given one by one to whoever has least."""
    release = model.ReleaseModel.of(SMALL, LARGE)

    def busiest(tasks, cost):
        loads = [0.0] * workers
        for _ in range(tasks):
            loads[loads.index(min(loads))] += cost / tasks
        return max(loads)

    millions = LARGE["rows"] / 1e6
    slow = release.start + release.fixed + millions * release.driver
    slow += busiest(files, millions * (release.check + release.noise))
    slow += busiest(buckets, millions * release.order)
    assert release.path(LARGE["rows"], workers, files, buckets) == pytest.approx(slow)


def test_a_search_divides_what_shards_do_and_not_what_the_driver_does(model):
    run = {"rows": 10_000_000, "stages": {"search": {"driver": 3.0, "busiest": 50.0}}}
    search = model.SearchModel.of(run)
    assert search.path(10_000_000, 1) == pytest.approx(53.0)
    assert search.path(10_000_000, 4) == pytest.approx(3.0 + 12.5)
    assert search.path(100_000_000, 10) == pytest.approx(53.0)
