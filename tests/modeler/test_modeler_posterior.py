"""The posterior that a Modeler keeps from round to round, against one that is built anew."""

import random

import pytest
import torch
from helpers.draws import seeded
from helpers.rounds import go_on, release_of
from torch.testing import assert_close

from botorch_private import DiscretePosterior, DiscreteUCB, Modeler
from botorch_private.modeler import latest_fit
from botorch_private.modeler.models import candidate_block, sweep

RELEASE = release_of(6 * torch.randn(40, 3, generator=seeded(0), dtype=torch.float64))
OUTCOMES = torch.sin(RELEASE.candidates[:, 0] / 4) + RELEASE.candidates[:, 1] / 10


@pytest.fixture(autouse=True)
def priors_for_hyperparameters(monkeypatch):
    """Skip the fit: what is tested here does not depend on it."""
    monkeypatch.setattr(latest_fit, "fit_model", lambda model: model)


def assert_like_a_new_one(modeler):
    fresh = DiscretePosterior(modeler.model(), RELEASE.candidates.to(modeler.dtype))
    tolerance = 1e-9 if modeler.dtype == torch.float64 else 2e-4
    kept = modeler.posterior()
    assert kept.num_observations == len(modeler.history)
    assert_close(kept.mean, fresh.mean, rtol=tolerance, atol=tolerance)
    assert_close(kept.variance, fresh.variance, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("settings", [{}, {"refit_every": 4}, {"max_memory": 1}])
@pytest.mark.parametrize("seed", range(3))
def test_posterior_after_any_sequence_of_events_is_that_of_a_new_one(settings, seed):
    chance = random.Random(seed)
    modeler = Modeler(RELEASE, generator=seeded(seed), **settings)
    for _ in range(25):
        event = chance.choice(["ask", "batch", "tell", "tell", "correct", "skip", "unasked"])
        told = [index for index, _ in modeler.history]
        if event == "ask":
            modeler.ask()
        elif event == "batch" and len(told) + len(modeler.pending) < 30:
            modeler.ask(q=3)
        elif event == "tell" and modeler.pending:
            index = chance.choice(modeler.pending)
            modeler.tell(index, float(OUTCOMES[index]))
        elif event == "correct" and told:
            modeler.tell(chance.choice(told), chance.gauss(0, 1), correct=True)
        elif event == "skip" and len(modeler.pending) > 1:
            modeler.skip(modeler.pending[-1])
        elif event == "unasked":
            index = chance.randrange(40)
            if index not in told:
                modeler.tell(index, float(OUTCOMES[index]))
        if modeler.history and len(modeler.history):
            assert_like_a_new_one(modeler)


def test_between_refits_a_round_evaluates_one_row_of_the_kernel(monkeypatch):
    rows = []
    covariance = sweep.CandidateSweep._extend

    def counted(self, wanted):
        rows.append(len(wanted.X) - len(self.rows.X))
        covariance(self, wanted)

    monkeypatch.setattr(sweep.CandidateSweep, "_extend", counted)
    modeler = Modeler(RELEASE, generator=seeded(3), refit_every=100)
    go_on(modeler, OUTCOMES, 12)
    assert rows == [5, 1, 1, 1, 1, 1, 1]


def test_a_corrected_value_does_not_evaluate_the_kernel(monkeypatch):
    modeler = Modeler(RELEASE, generator=seeded(3), refit_every=100)
    *_, index = go_on(modeler, OUTCOMES, 8)
    modeler.posterior().moments()
    monkeypatch.setattr(candidate_block.CandidateBlock, "extend", None)
    modeler.tell(index, 9.0, correct=True)
    assert float(modeler.posterior().mean.max()) > 3


@pytest.mark.parametrize("settings", [{"max_memory": 1}, {"refit_every": 3, "max_memory": 2000}])
def test_memory_does_not_change_what_is_asked(settings, monkeypatch):
    monkeypatch.setattr(sweep, "_BLOCK", 16)
    asked = []
    for limit in (settings, {**settings, "max_memory": 2**30}):
        modeler = Modeler(RELEASE, generator=seeded(3), **limit)
        asked.append(go_on(modeler, OUTCOMES, 20))
    assert asked[0] == asked[1]


def test_pending_rows_are_hallucinated_and_then_forgotten():
    modeler = Modeler(RELEASE, generator=seeded(3))
    for index in range(6):
        modeler.tell(index, float(OUTCOMES[index]))
    first = modeler.ask()
    batch = modeler.ask(q=4)
    assert batch[0] == first
    acqf = DiscreteUCB(modeler.model(), RELEASE.candidates, t=3)
    acqf.set_X_pending(RELEASE.candidates[batch[:1]])
    assert acqf.select(exclude=[*range(6), *batch[:1]]).tolist() == batch[1:2]
    assert modeler.posterior().num_observations == 6


def test_float32_modeler_asks_for_rows_and_keeps_its_type():
    modeler = Modeler(RELEASE, generator=seeded(3), dtype=torch.float32)
    go_on(modeler, OUTCOMES, 10)
    assert modeler.posterior().mean.dtype == torch.float32
    assert_like_a_new_one(modeler)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_modeler_on_a_device_asks_like_one_on_the_cpu(dtype):
    asked = []
    for device in ("cpu", "cuda"):
        modeler = Modeler(RELEASE, generator=seeded(3), device=device, dtype=dtype)
        asked.append(go_on(modeler, OUTCOMES, 15))
        assert modeler.posterior().mean.device.type == device
    assert asked[0] == asked[1]
