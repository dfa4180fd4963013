"""How much memory is free, and the one refusal of what needs more."""

import math

import psutil
import pytest
import torch

from botorch_private._base import memory
from botorch_private._base.memory import free_memory, in_words, require_memory

CPU = torch.device("cpu")


@pytest.fixture
def cgroup(tmp_path, monkeypatch):
    """Return a function that pretends to be in a container of that limit and use."""
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)

    def write(limit, used):
        (tmp_path / "memory.max").write_text(limit)
        (tmp_path / "memory.current").write_text(used)

    return write


@pytest.fixture
def host(monkeypatch):
    """Pretend that the host has a million bytes free."""
    free = type("Memory", (), {"available": 10**6})
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [
        ("max\n", "12345\n", 10**6),
        ("500000\n", "200000\n", 300_000),
        ("9000000\n", "200000\n", 10**6),
        ("500000\n", "600000\n", 0),
        ("500000\n", "", 10**6),
    ],
)
def test_free_memory_is_that_of_the_container_where_it_has_a_limit(limit, used, free, cgroup, host):
    cgroup(limit, used)
    assert free_memory(CPU) == free


def test_without_control_groups_the_free_memory_is_that_of_the_host(tmp_path, monkeypatch, host):
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "missing")
    assert free_memory(CPU) == 10**6


def test_free_memory_of_this_machine_is_a_number_of_bytes():
    assert 0 <= free_memory(CPU) <= psutil.virtual_memory().total


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_free_memory_of_a_device_shrinks_by_what_is_allocated_and_grows_back():
    device = torch.device("cuda")
    before = free_memory(device)
    table = torch.empty(2**26, dtype=torch.float64, device=device)
    assert before - free_memory(device) >= 2**28
    del table
    assert abs(free_memory(device) - before) < 2**26


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (100 * 2**20, "100 MiB"),
        (1.5 * 2**30, "1.5 GiB"),
        (2**31 + 2**29, "2.5 GiB"),
        (3000 * 2**30, "3000 GiB"),
    ],
)
def test_numbers_of_bytes_are_said_in_words(number, words):
    assert in_words(number) == words


def test_a_number_that_no_float_holds_is_said_in_words_all_the_same():
    assert in_words(8 * 10**400) == "more than 1e300 GiB"


# --- control groups ---


@pytest.fixture
def own_group(tmp_path, monkeypatch):
    """Return a function that pretends that this process is in a control group of such a line."""

    def write(line):
        (tmp_path / "own").write_text(f"9:cpu:/elsewhere\n{line}\n")
        monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")

    return write


def limited(group, limit, used, *, names=("memory.max", "memory.current")):
    group.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, used), strict=True):
        (group / name).write_text(f"{value}\n")


def test_the_limit_of_any_group_around_the_process_counts(tmp_path, cgroup, own_group, host):
    own_group("0::/user.slice/job.scope")
    limited(tmp_path / "user.slice", 900_000, 100_000)
    limited(tmp_path / "user.slice" / "job.scope", "max", 50_000)
    assert free_memory(CPU) == 800_000
    limited(tmp_path / "user.slice" / "job.scope", 70_000, 50_000)
    assert free_memory(CPU) == 20_000


def test_groups_of_version_1_count_as_well(tmp_path, cgroup, own_group, host):
    own_group("4:memory:/docker/abc")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    limited(tmp_path / "memory" / "docker" / "abc", 600_000, 100_000, names=names)
    assert free_memory(CPU) == 500_000
    limited(tmp_path / "memory", 400_000, 100_000, names=names)
    assert free_memory(CPU) == 300_000


def test_files_that_were_read_once_make_room(cgroup, tmp_path, host):
    cgroup("500000\n", "450000\n")
    (tmp_path / "memory.stat").write_text("anon 50000\ninactive_file 300000\nactive_file 100000\n")
    assert free_memory(CPU) == 350_000


def test_a_limit_of_the_process_counts(monkeypatch, cgroup, host):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 2**60}))
    taken = psutil.Process().memory_info().vms
    limits = {resource.RLIMIT_AS: taken + 10**9}
    unlimited = resource.RLIM_INFINITY
    monkeypatch.setattr(
        memory.resource, "getrlimit", lambda kind: (limits.get(kind, unlimited), unlimited)
    )
    assert free_memory(CPU) == pytest.approx(10**9, abs=10**8)


def test_without_such_limits_the_process_has_none(monkeypatch):
    monkeypatch.setattr(memory, "resource", None)
    assert memory._left_to_process() == math.inf


# --- the refusal ---


def test_what_needs_more_than_is_free_is_refused_with_both_numbers_and_a_remedy(cgroup, host):
    require_memory(10**6, what="a matrix", remedy="take a smaller one")
    message = "^a matrix needs 976.6 KiB of memory, and 976.6 KiB are free: take a smaller one$"
    with pytest.raises(MemoryError, match=message):
        require_memory(10**6 + 1, what="a matrix", remedy="take a smaller one")


def test_little_is_not_looked_for(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: 0)
    require_memory(100, what="a vector", remedy="none", unless_below=100)
    with pytest.raises(MemoryError):
        require_memory(101, what="a vector", remedy="none", unless_below=100)
