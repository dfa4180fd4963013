"""What a draw takes is predicted from sizes alone, and never too little."""

import subprocess
import sys
import tracemalloc
import warnings

import pytest
import torch
from helpers.draws import uniform

from botorch_private import NoisyProjection, NoPrivacy, NotDifferentiallyPrivate, SpectralProjection
from botorch_private._base import memory
from botorch_private.curator.mechanisms import base
from botorch_private.curator.mechanisms.base import draw_memory

CASES = {
    "many records": (NoisyProjection(3.0), 400_000, 3),
    "rotated into more": (NoisyProjection(3.0, projection_dim=20, noise="laplace"), 100_000, 5),
    "into a subspace": (NoisyProjection(3.0, 1e-5, 5, "gaussian"), 60_000, 50),
    "a large projection": (NoisyProjection(3.0, projection_dim=900, noise="laplace"), 10, 600),
    "a large subspace": (NoisyProjection(3.0, 1e-5, 600, "gaussian"), 10, 900),
    "few features, many columns": (NoisyProjection(3.0, projection_dim=200_000), 10, 4),
    "long records": (NoisyProjection(1e4, 1e-5, None, "gaussian"), 4, 200_000),
    "the paper, many records": (SpectralProjection(3.0, 1e-4, 10), 100_000, 10),
    "the paper, as many features": (SpectralProjection(3.0, 1e-4, 300), 300, 300),
    "the paper, many features": (SpectralProjection(3.0, 1e-4, 10), 30, 20_000),
}


@pytest.mark.parametrize(("mechanism", "n", "d"), CASES.values(), ids=CASES)
def test_the_prediction_covers_what_is_taken_and_is_not_far_above(mechanism, n, d):
    """Tracing sees the arrays of NumPy, which hold nearly all of it."""
    scaled = uniform(n, d) / d**0.5
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotDifferentiallyPrivate)
            mechanism.draw(scaled)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    predicted = draw_memory(mechanism, n, d)
    assert taken <= predicted
    assert predicted < 3.5 * taken + 2**25


def test_of_another_mechanism_the_released_rows_are_known_to_be_needed():
    assert draw_memory(NoPrivacy(), 1000, 3) == 8 * 3000


def test_a_mechanism_may_say_what_it_takes():
    class Told:
        def draw_memory(self, n, d):
            return n * d

    assert draw_memory(Told(), 1000, 3) == 3000


@pytest.mark.parametrize(
    "mechanism", [NoisyProjection(1.0, projection_dim=10**9), SpectralProjection(1.0, 1e-4, 10**9)]
)
def test_a_draw_refuses_by_itself_what_does_not_fit(mechanism):
    for draw in (mechanism.draw, mechanism.apply):
        with pytest.raises(MemoryError, match=r"choose a smaller projection_dim .* nothing was drawn"):
            draw(uniform(20, 3))


def test_of_a_small_release_nobody_asks_whether_it_fits(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: pytest.fail("asked"))
    monkeypatch.setattr(base, "_LITTLE", 2**26)
    assert torch.isfinite(NoisyProjection(1.0).apply(uniform(20, 3))).all()


WHOLE = """
import warnings
from pathlib import Path
import torch
from botorch_private import CellResponse, Cells, Curator
from botorch_private.curator.mechanisms import base

def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

warnings.simplefilter("ignore")
torch.set_num_threads(1)
n, d = 2_000_000, WIDTH
edges = [[0.0, 0.5, 1.0], *[[0.0, 1.0]] * (d - 1)]
mechanism = CellResponse(3.0, Cells(edges))
records = torch.rand(n, d, dtype=torch.float64)
outcomes = records[:, 0].clone()
Curator(records[:100], None, mechanism, outcomes[:100])
said = []
base.refuse_draw = lambda need, n, d: said.append(need)
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
curator = Curator(records, None, mechanism, outcomes)
print(status("VmHWM") - before - outcomes.nbytes, said[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads what a process takes from /proc")
@pytest.mark.parametrize("width", [1, 10])
def test_what_a_curator_of_labels_takes_is_predicted(width):
    """All of it but the outcomes, which are taken before; pages of the allocator come on top."""
    finished = subprocess.run(
        [sys.executable, "-c", WHOLE.replace("WIDTH", str(width))],
        capture_output=True,
        text=True,
        check=True,
    )
    taken, said = map(int, finished.stdout.split())
    assert taken <= said < 2.5 * taken


LIMITED = """
import resource, psutil, torch
from botorch_private import Curator, Ledger, NoisyProjection, PrivacyGuarantee, PublicScaling

limit = psutil.Process().memory_info().vms + 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
records = torch.rand(1000, 3, dtype=torch.float64)
ledger = Ledger(PrivacyGuarantee.budget(3.0), path="ledger.json")
scaling = PublicScaling([0.0] * 3, [1.0] * 3)
try:
    Curator(records, scaling, NoisyProjection(3.0, projection_dim=500_000), records[:, 0], ledger=ledger)
except MemoryError as error:
    print(error)
print(len(ledger.entries))
print(Curator(records, scaling, NoisyProjection(3.0), records[:, 0], ledger=ledger).release)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_a_process_with_little_memory_is_told_before_anything_is_spent(tmp_path):
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LIMITED],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    refused, entries, accepted = finished.stdout.splitlines()
    assert refused.startswith("releasing 1000 records of 3 features in this way needs 3.7")
    assert entries == "0"
    assert accepted.startswith("Release(n=1000, projection_dim=3, epsilon=3,")
