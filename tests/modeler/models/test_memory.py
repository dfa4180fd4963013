"""Memory of V: how much it takes, what is said before, and what is refused."""

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, RQKernel
from helpers.dense_gp import small_pieces
from helpers.draws import uniform
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import (
    DenoisedRelease,
    DiscretePosterior,
    DiscreteUCB,
    Modeler,
    NoisyProjection,
    Release,
    ReleasedInputKernel,
)
from botorch_private._base import memory as _base_memory
from botorch_private.modeler.models import candidate_block, memory, sweep

properties = settings(derandomize=True, max_examples=40, deadline=None, report_multiple_bugs=False)
N = 50


ROWS = uniform(N, 2)
VALUES = torch.sin(5 * ROWS[:, 0]) + ROWS[:, 1]


def gp(indices=(0, 1, 2), kernel=RBFKernel):
    indices = list(indices)
    return SingleTaskGP(
        ROWS[indices], VALUES[indices, None], covar_module=kernel(), outcome_transform=None
    )


def told(posterior, indices):
    for index in indices:
        posterior.append(index, float(VALUES[index]))
    return posterior


def assert_equal_moments(one, other):
    for actual, expected in zip(one.moments(), other.moments(), strict=True):
        assert_close(actual, expected, rtol=1e-10, atol=1e-10)


def full(indices, kernel=RBFKernel):
    """Return a posterior of all observations at once, with all of V."""
    return DiscretePosterior(gp(indices, kernel), ROWS)


def full_without_checks(indices):
    """Return the same, without asking whether memory is free."""
    return DiscretePosterior(gp(indices), ROWS, max_memory=10**6)


@pytest.fixture
def blocks(monkeypatch):
    """Cut the 50 candidates into five blocks, each into chunks, and count memory from the first byte."""
    small_pieces(monkeypatch, block=10, chunk=3)
    monkeypatch.setattr(sweep, "MUCH", 0)


ROW = 8 * N  # bytes of V for one observation


# --- what V takes ---


def test_memory_is_that_of_the_rows_of_v():
    posterior = DiscretePosterior(gp(), ROWS)
    assert posterior.memory == 0
    posterior.moments()
    assert posterior.memory == 3 * ROW
    told(posterior, range(3, 40)).moments()
    assert posterior.memory == 40 * ROW
    posterior.update(gp(range(5)))
    posterior.moments()
    assert posterior.memory == 5 * ROW


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
def test_float32_takes_half():
    model = SingleTaskGP(ROWS[:4].float(), VALUES[:4, None].float(), covar_module=RBFKernel())
    posterior = DiscretePosterior(model, ROWS.float())
    posterior.moments()
    assert posterior.memory == 4 * ROW / 2


# --- max_memory ---


@pytest.mark.slow
@properties
@given(
    max_memory=st.integers(1, 40 * ROW),
    kernel=st.sampled_from([RBFKernel, RQKernel]),
    steps=st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=9), min_size=1, max_size=4),
)
def test_v_never_takes_more_than_max_memory_and_the_numbers_stay(max_memory, kernel, steps):
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, block=10, chunk=3)
        posterior = DiscretePosterior(gp(kernel=kernel), ROWS, max_memory=max_memory)
        indices = [0, 1, 2]
        for step in steps:
            told(posterior, step)
            indices += step
            assert_equal_moments(posterior, full(indices, kernel))
            assert posterior.memory <= max_memory
        twin = posterior.hallucinate([4])
        assert_equal_moments(twin, full(indices, kernel).hallucinate([4]))
        assert posterior.memory <= max_memory


@pytest.mark.parametrize("kept", [0, 1, 3, 5])
def test_as_many_blocks_are_kept_as_fit(kept, blocks, caplog):
    caplog.set_level(logging.INFO, logger="botorch_private")
    slabs = 8  # 7 observations, in slabs of 4
    posterior = DiscretePosterior(gp(), ROWS, max_memory=max(1, kept * slabs * ROW // 5))
    told(posterior, range(3, 7)).moments()
    assert posterior.memory == kept * 7 * ROW / 5
    said = [record.message for record in caplog.records]
    assert said == [f"V is kept for {left} of 5 blocks of candidates" for left in range(4, kept - 1, -1)]
    assert_equal_moments(posterior, full(range(7)))


@pytest.mark.parametrize("max_memory", [1, 3 * 8 * ROW // 5])
def test_every_way_to_go_on_works_where_v_is_not_kept(max_memory, blocks):
    posterior = DiscretePosterior(gp(range(8)), ROWS, max_memory=max_memory)
    posterior.moments()
    told(posterior, [20, 21])
    posterior.correct(20, 5.0)
    expected = told(DiscretePosterior(gp(range(8)), ROWS), [20, 21])
    expected.correct(20, 5.0)
    assert_equal_moments(posterior, expected)
    for model in (gp(range(9)), gp(range(4)), gp([7, 8, 9])):
        twin = posterior.hallucinate([30, 31])
        before = twin.moments()
        posterior.update(model)
        told(posterior, [40])
        assert_equal_moments(posterior, told(DiscretePosterior(model, ROWS), [40]))
        assert all(map(torch.equal, twin.moments(), before))
    posterior.model.covar_module.lengthscale = 0.2
    assert_equal_moments(posterior, told(DiscretePosterior(posterior.model, ROWS), [40]))


def test_acquisition_builds_a_posterior_of_no_more_than_its_max_memory(blocks):
    model = gp(range(8))
    whole = DiscreteUCB(model, ROWS, t=1)
    for max_memory in (1, 2 * 8 * ROW // 5):
        acqf = DiscreteUCB(model, ROWS, t=1, max_memory=max_memory)
        assert_close(acqf.scores(), whole.scores(), rtol=1e-10, atol=1e-10)
        assert torch.equal(acqf.select(q=4), whole.select(q=4))
        assert acqf._built.memory <= max_memory


# --- before memory is taken ---


def test_need_is_logged_before_it_is_taken(blocks, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="botorch_private")
    posterior = DiscretePosterior(gp(), ROWS)
    allocated = []
    allocate = candidate_block.CandidateBlock._allocate

    def noted(self, rows):
        allocated.append(len(caplog.records))
        allocate(self, rows)

    monkeypatch.setattr(candidate_block.CandidateBlock, "_allocate", noted)
    posterior.moments()
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert re.fullmatch(r"V grows to \d+ x 50: [\d.]+ (bytes|KiB) more", record.message)
    assert min(allocated) == 1
    posterior.moments()
    assert len(caplog.records) == 1


def test_little_memory_is_taken_in_silence(caplog):
    caplog.set_level(logging.INFO, logger="botorch_private")
    told(DiscretePosterior(gp(), ROWS), range(10, 49)).moments()
    assert caplog.records == []


def test_memory_that_is_not_there_is_refused_with_the_remedy_and_nothing_is_half_done(
    blocks, monkeypatch
):
    posterior = DiscretePosterior(gp(range(4)), ROWS)
    before = posterior.moments()
    told(posterior, [20, 21])
    monkeypatch.setattr(sweep, "free_memory", lambda device: ROW // 2)
    message = (
        "V of 50 candidates and 6 observations needs .* more, and 200 bytes are free: set max_memory"
    )
    for refused in (posterior.moments, lambda: posterior.hallucinate([3]), lambda: posterior.mean):
        with pytest.raises(MemoryError, match=message):
            refused()
    assert posterior.num_observations == 6
    assert posterior.memory == 4 * ROW
    assert all(map(torch.equal, (posterior._sweep.mean, posterior._sweep.variance), before))
    posterior.max_memory = 4 * ROW
    assert_equal_moments(posterior, full_without_checks([0, 1, 2, 3, 20, 21]))
    assert posterior.memory <= 4 * ROW


def test_a_refused_rebuild_gives_no_numbers_of_the_old_hyperparameters(blocks, monkeypatch):
    posterior = DiscretePosterior(gp(range(4)), ROWS)
    posterior.moments()
    posterior.model.covar_module.lengthscale = 0.2
    with monkeypatch.context() as patch:
        patch.setattr(sweep, "free_memory", lambda device: 0)
        for _ in range(2):
            with pytest.raises(MemoryError):
                posterior.moments()
    assert_equal_moments(posterior, DiscretePosterior(posterior.model, ROWS))


def test_v_that_grows_row_by_row_is_refused_before_the_memory_is_used_up(monkeypatch):
    """Each slab is paid for when it is allocated, since nobody asks again while it fills."""
    monkeypatch.setattr(sweep, "MUCH", 0)
    posterior = DiscretePosterior(gp([0]), ROWS)
    budget = 5 * ROW
    monkeypatch.setattr(sweep, "free_memory", lambda device: budget - posterior.memory)

    def grow():
        for index in range(1, 40):
            posterior.moments()
            assert posterior.memory <= budget
            posterior.append(index, 1.0)

    with pytest.raises(MemoryError):
        grow()


def test_blocks_that_are_recomputed_need_no_memory(blocks, monkeypatch):
    posterior = DiscretePosterior(gp(range(4)), ROWS, max_memory=1)
    posterior.moments()
    told(posterior, [20])
    posterior.max_memory = None
    monkeypatch.setattr(sweep, "free_memory", lambda device: 0)
    assert_equal_moments(posterior, full_without_checks([0, 1, 2, 3, 20]))


GROW_TO_64_ROWS = """
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel
from botorch_private import DiscretePosterior, DiscreteUCB

def peak():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

torch.set_num_threads(1)
n = 200_000
rows = torch.rand(n, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
model = SingleTaskGP(rows[:STEPS], rows[:STEPS, :1], covar_module=RBFKernel(), outcome_transform=None)
small = DiscretePosterior(model, rows[:2000])
small.append(5, 1.0)
small.hallucinate([7]).moments()
DiscreteUCB(small, None, t=1).select()
posterior = DiscretePosterior(model, rows)
before = peak()
for index in range(STEPS, 65):
    posterior.moments()
    if index < 64:
        posterior.append(index, 0.5)
assert posterior.memory == 8 * n * 64
after = peak()
for _ in range(8):
    posterior = posterior.hallucinate([70])
posterior.moments()
print(after - before, peak() - after)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
@pytest.mark.parametrize("first", [1, 64], ids=["row by row", "at once"])
def test_v_of_200000_candidates_and_64_observations_takes_little_more_than_its_numbers(first):
    """At most 1.3 times them and 10 numbers a candidate; eight pending rows ten more numbers each."""
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", GROW_TO_64_ROWS.replace("STEPS", str(first))],
        capture_output=True,
        text=True,
        check=True,
    )
    growth, pending = map(int, finished.stdout.split())
    n = 200_000
    assert growth < 1.3 * 8 * n * 64 + 10 * 8 * n
    assert pending < 8 * 10 * 8 * n


# --- matrices of n x n ---


@pytest.fixture
def little(monkeypatch):
    """Pretend that a million bytes are free, and ask for every matrix."""
    monkeypatch.setattr(memory, "MUCH", 0)
    monkeypatch.setattr(_base_memory, "free_memory", lambda device: 10**6)


def released_model(n, requires_grad=False):
    """Return a model of three rows of a release of ``n``."""
    rows = uniform(n, 2)
    release = Release(rows, NoisyProjection(3.0).guarantee(n, 2), 0.1, 2, isotropic=False)
    kernel = ReleasedInputKernel.of(release)
    return SingleTaskGP(rows[:3], VALUES[:3, None], covar_module=kernel), rows


TOO_LARGE = "covariance matrix of 200 x 200 needs 1.5.* MiB of memory, .* ask for fewer points at a time"


@pytest.mark.parametrize("kind", [RBFKernel, RQKernel])
def test_a_joint_posterior_that_does_not_fit_is_refused_with_the_way_out(kind, little):
    posterior = DiscretePosterior(gp(kernel=kind), ROWS)
    assert posterior.posterior(uniform(100, 2)).mean.shape == (100, 1)
    with pytest.raises(MemoryError, match=TOO_LARGE):
        posterior.posterior(uniform(200, 2))
    with pytest.raises(MemoryError, match="50 x 50"):
        posterior.posterior(uniform(11 * 50, 2).reshape(11, 50, 2))
    with pytest.raises(MemoryError, match=TOO_LARGE):
        posterior.hallucinate_points(uniform(200, 2))


def test_a_thompson_sample_of_a_plain_model_of_a_release_is_refused_before_it_is_computed(little):
    model, rows = released_model(200)
    with torch.no_grad():
        assert MaxPosteriorSampling(model)(rows[:80]).shape == (1, 2)
        with pytest.raises(MemoryError, match="ask for fewer points at a time"):
            MaxPosteriorSampling(model)(rows)


def test_mean_and_variance_of_many_candidates_need_no_such_matrix(little):
    model, rows = released_model(200)
    posterior = DiscretePosterior(model, rows, max_memory=1)
    assert len(posterior.mean) == 200
    assert len(DiscreteUCB(posterior, None, t=1).select(3)) == 3


def test_axes_of_a_wide_release_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(_base_memory, "free_memory", lambda device: 10**6)
    narrow = Release(uniform(10, 20), NoisyProjection(3.0).guarantee(10, 20), 0.1, 20, isotropic=False)
    wide = Release(uniform(10, 200), NoisyProjection(3.0).guarantee(10, 200), 0.1, 200, isotropic=False)
    assert len(DenoisedRelease.of(narrow).candidates) == 10
    with pytest.raises(MemoryError, match="principal axes of rows of 200 numbers .*denoise=False"):
        DenoisedRelease.of(wide)
    with pytest.raises(MemoryError, match="denoise=False"):
        Modeler(wide, denoise=True)
