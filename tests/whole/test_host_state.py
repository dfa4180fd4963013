"""What the program around the package told PyTorch and NumPy changes no result, and stays as it was."""

import copy
import random
import warnings
from contextlib import ExitStack, contextmanager

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from helpers.draws import seeded

from botorch_private import (
    Curator,
    DenoisedRelease,
    DiscretePosterior,
    DiscreteUCB,
    Modeler,
    NoisyProjection,
    OutcomeMechanism,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    ReleasedInputKernel,
    fit_model,
    make_model,
    run,
)
from botorch_private.audit import empirical_epsilon

RECORDS = torch.rand(40, 3, generator=seeded(1), dtype=torch.float64)
OUTCOMES = torch.sin(5 * RECORDS[:, 0]) + RECORDS[:, 1]
ROWS = [3, 8, 1, 20, 33, 12, 7]


@contextmanager
def called(switch, value, back):
    switch(value)
    try:
        yield
    finally:
        switch(back)


@contextmanager
def gpytorch_settings():
    with ExitStack() as stack:
        for setting in (
            gpytorch.settings.min_variance(1e-2, 1e-2, 1e-2),
            gpytorch.settings.min_fixed_noise(0.5, 0.5, 0.5),
            gpytorch.settings.max_cholesky_size(0),
            gpytorch.settings.lazily_evaluate_kernels(False),
            gpytorch.settings.fast_pred_var(),
            gpytorch.settings.cholesky_jitter(1e-2, 1e-2, 1e-2),
        ):
            stack.enter_context(setting)
        yield


@contextmanager
def other_seeds():
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    torch.manual_seed(5), np.random.seed(5), random.seed(5)  # noqa: NPY002
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        random.setstate(states[2])


STATES = {
    "default device meta": lambda: called(torch.set_default_device, "meta", None),
    "default device cpu": lambda: called(torch.set_default_device, "cpu", None),
    "device context": lambda: torch.device("meta"),
    "default dtype float64": lambda: called(torch.set_default_dtype, torch.float64, torch.float32),
    "default dtype float16": lambda: called(torch.set_default_dtype, torch.float16, torch.float32),
    "gradients off": torch.no_grad,
    "inference mode": torch.inference_mode,
    "deterministic": lambda: called(torch.use_deterministic_algorithms, True, False),
    "NumPy raises": lambda: np.errstate(all="raise"),
    "GPyTorch's settings": gpytorch_settings,
    "two threads": lambda: called(torch.set_num_threads, 2, 1),
    "other seeds": other_seeds,
}
if torch.cuda.is_available():
    STATES["default device cuda"] = lambda: called(torch.set_default_device, "cuda", None)


def scaling():
    return PublicScaling([0.0] * 3, [1.0] * 3, names=["a", "b", "c"])


def curator_of(mechanism, **options):
    return Curator(RECORDS.clone(), scaling(), mechanism, OUTCOMES, generator=seeded(2), **options)


def laplace():
    return curator_of(NoisyProjection(3.0)).release.candidates


def gaussian():
    mechanism = NoisyProjection(3.0, delta=1e-5, projection_dim=2)
    release = curator_of(mechanism).release
    assert release.guarantee.at(2.0) > release.guarantee.at(1.0) > 0
    assert str(release.guarantee)
    return release.candidates


def answers():
    curator = curator_of(NoisyProjection(3.0), outcome_mechanism=OutcomeMechanism(2.0, 0.0, (-1.0, 2.0)))
    curator.add(RECORDS[:3] / 2, OUTCOMES[:3])
    return torch.tensor([curator.query(row).value for row in ROWS], dtype=torch.float64, device="cpu")


RELEASE = curator_of(NoisyProjection(3.0)).release


def settled(picks):
    return torch.tensor(picks, dtype=torch.float64, device="cpu")


def search(answers=None, **options):
    curator = curator_of(NoisyProjection(3.0), outcome_mechanism=answers)
    modeler = Modeler(curator.release, generator=seeded(3), n_initial=4, **options)
    run(curator, modeler, 10, progress=False)
    return settled([*modeler.history.indices, modeler.recommend(), *modeler.ask(3)])


def models():
    model = fit_model(make_model(RELEASE, ROWS, OUTCOMES[ROWS], outcome_noise=0.3))
    posterior = DiscretePosterior(model, RELEASE.candidates)
    posterior.append(0, 0.5)
    acqf = DiscreteUCB(posterior, None, t=3)
    parts = (posterior.mean, posterior.variance, acqf.scores(), settled(acqf.select(3).tolist()))
    return torch.cat([part.detach() for part in parts])


def fallback():
    """A kernel without closed form is fitted by BoTorch."""
    rows = RELEASE.candidates
    rows = (rows - rows.amin(dim=0)) / (rows.amax(dim=0) - rows.amin(dim=0))
    model = SingleTaskGP(rows[ROWS], OUTCOMES[ROWS].unsqueeze(-1), covar_module=additive_kernel())
    return DiscreteUCB(fit_model(model), rows, t=3).scores()


def additive_kernel():
    return ScaleKernel(RBFKernel() + RBFKernel()).double()


def denoised():
    return DenoisedRelease.of(RELEASE).candidates.abs()


def file(tmp_path):
    RELEASE.save(tmp_path / "r.safetensors")
    return Release.load(tmp_path / "r.safetensors").candidates


def transformed():
    transform = PrivateProjectionTransform(RECORDS, scaling(), NoisyProjection(3.0), generator=seeded(4))
    first = transform(RECORDS)
    again = PrivateProjectionTransform.from_release(
        transform.release, RECORDS, scaling(), transform.permutation
    )
    return torch.cat([first, again(RECORDS[ROWS])])


def audited():
    other = torch.cat([RECORDS[:1] / 2, RECORDS[1:4]])
    result = empirical_epsilon(NoisyProjection(2.0), RECORDS[:4], other, trials=400, generator=seeded(5))
    return settled([result.lower_bound, result.claimed])


FLOWS = {
    "l2 Laplace": laplace,
    "Gaussian subspace": gaussian,
    "answers": answers,
    "search": search,
    "search of noised answers": lambda: search(OutcomeMechanism(30.0, 0.0, (-1.0, 2.0))),
    "denoised search": lambda: search(denoise=True),
    "models": models,
    "denoised": denoised,
    "transform": transformed,
    "audit": audited,
}
EXPECTED = {}


def expected(name):
    if name not in EXPECTED:
        EXPECTED[name] = FLOWS[name]()
    return EXPECTED[name]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("flow", FLOWS)
def test_the_result_is_the_same_in_every_state_of_the_host(flow, state):
    wanted = expected(flow)
    with STATES[state]():
        found = FLOWS[flow]()
    assert (found.dtype, found.device.type) == (wanted.dtype, wanted.device.type)
    # the number of threads, and BoTorch's own default dtype, change the last digits
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("flow", FLOWS)
def test_the_state_of_the_host_is_left_as_it_was(flow):
    expected(flow)

    def state():
        return (
            torch.get_default_device(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.get_num_threads(),
            np.geterr(),
            torch.get_rng_state().tolist(),
            np.random.get_state()[1].tolist(),  # noqa: NPY002
            random.getstate(),
            warnings.filters[:],
            gpytorch.settings.min_variance.value(torch.float64),
        )

    before = copy.deepcopy(state())
    FLOWS[flow]()
    assert state() == before


def test_a_fit_by_botorch_takes_gradients_where_the_host_has_none():
    wanted = fallback()
    for name in ("gradients off", "NumPy raises", "other seeds"):
        with STATES[name]():
            torch.testing.assert_close(fallback(), wanted, rtol=1e-6, atol=1e-6)


def test_a_release_file_is_read_in_every_state(tmp_path):
    for state in STATES.values():
        with state():
            assert torch.equal(file(tmp_path).cpu(), RELEASE.candidates)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_a_kernel_of_a_release_starts_from_the_same_values_in_any_default_dtype(dtype):
    wanted = ReleasedInputKernel.of(RELEASE).lengthscale
    with called(torch.set_default_dtype, dtype, torch.float32):
        assert torch.equal(ReleasedInputKernel.of(RELEASE).lengthscale, wanted)
