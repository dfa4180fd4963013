"""Which models the fast posterior takes, and what becomes of the others."""

import warnings

import pytest
import torch
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.models import (
    KroneckerMultiTaskGP,
    MixedSingleTaskGP,
    ModelListGP,
    MultiTaskGP,
    SingleTaskGP,
    SingleTaskMultiFidelityGP,
    SingleTaskVariationalGP,
)
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.ensemble import EnsembleModel
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.model import Model
from botorch.models.transforms import Normalize
from botorch.models.transforms.input import AppendFeatures, InputPerturbation
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import (
    FixedNoiseGaussianLikelihood,
    GaussianLikelihood,
    GaussianLikelihoodWithMissingObs,
    StudentTLikelihood,
)
from gpytorch.means import ConstantMean
from gpytorch.models import ExactGP
from helpers.draws import uniform
from torch.testing import assert_close

from botorch_private import (
    DiscretePosterior,
    DiscreteUCB,
    NoisyProjection,
    ReleasedInputKernel,
    make_model,
)
from botorch_private.curator.publish import publish
from botorch_private.modeler.models.exactness import why_not_exact

X = uniform(30, 3)
Y = torch.sin(5 * X[:, :1]) + X[:, 1:2]
TASKS = torch.cat([X[:8, :2], torch.arange(8.0, dtype=torch.float64).remainder(2)[:, None]], dim=1)


class Own(ExactGP, GPyTorchModel):
    """A user's exact GP, which knows only the interface of BoTorch."""

    _num_outputs = 1

    def __init__(self, train_X, train_Y):
        super().__init__(train_X, train_Y.squeeze(-1), GaussianLikelihood())
        self.mean_module, self.covar_module = ConstantMean(), ScaleKernel(RBFKernel())
        self.to(train_X)

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x) + x[..., 0], self.covar_module(x))


class OwnPosterior(SingleTaskGP):
    def posterior(self, X, *args, **kwargs):
        return super().posterior(X.square(), *args, **kwargs)


class Ensemble(EnsembleModel):
    num_outputs = 1

    def forward(self, X):
        return torch.stack([X.sum(dim=-1, keepdim=True), X.prod(dim=-1, keepdim=True)], dim=-3)


def single(**settings):
    return SingleTaskGP(X[:6], Y[:6], covar_module=ScaleKernel(RBFKernel()), **settings)


def perturbed():
    noise = 0.01 * uniform(4, 3, seed=2)
    return single(input_transform=InputPerturbation(noise))


def widened():
    transform = AppendFeatures(feature_set=uniform(2, 1), transform_on_train=False)
    rows = torch.cat([X[:6], uniform(6, 1, seed=3)], dim=1)
    return SingleTaskGP(rows, Y[:6], covar_module=RBFKernel(), input_transform=transform)


def student():
    model = single()
    model.likelihood = StudentTLikelihood()
    return model


def missing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return single(likelihood=GaussianLikelihoodWithMissingObs())


EXACT = {
    "SingleTaskGP": single,
    "known noise": lambda: SingleTaskGP(X[:6], Y[:6], torch.full_like(Y[:6], 0.1)),
    "input transform": lambda: single(input_transform=Normalize(d=3)),
    "released": lambda: SingleTaskGP(X[:6], Y[:6], covar_module=ReleasedInputKernel(0.1, noise_dim=3)),
    "mixed": lambda: MixedSingleTaskGP(X[:6].round(decimals=1), Y[:6], cat_dims=[2]),
    "multi-fidelity": lambda: SingleTaskMultiFidelityGP(X[:6], Y[:6], data_fidelities=[2]),
    "own": lambda: Own(X[:6], Y[:6]),
}
OTHERS = {
    "two outputs": (
        lambda: SingleTaskGP(X[:6], torch.cat([Y[:6], -Y[:6]], dim=1)),
        "one output and no batch, got 2 and",
    ),
    "batch": (
        lambda: SingleTaskGP(X[:6].expand(2, 6, 3), Y[:6].expand(2, 6, 1)),
        r"one output and no batch, got 1 and \(2,\)",
    ),
    "batch of kernels": (
        lambda: SingleTaskGP(X[:6], Y[:6], covar_module=RBFKernel(batch_shape=torch.Size([2]))),
        r"got 1 and \(2,\)|a kernel and a mean without batch",
    ),
    "batch of means": (
        lambda: SingleTaskGP(X[:6], Y[:6], mean_module=ConstantMean(batch_shape=torch.Size([2]))),
        "",
    ),
    "several rows from one point": (perturbed, ""),
    "several wider rows from one point": (widened, ""),
    "list": (lambda: ModelListGP(single(), single()), "an exact GP of BoTorch, got ModelListGP"),
    "two tasks": (
        lambda: MultiTaskGP(TASKS, Y[:8], task_feature=2),
        "posterior of an exact GP, but MultiTaskGP has its own",
    ),
    "one task of two": (
        lambda: MultiTaskGP(TASKS, Y[:8], task_feature=2, output_tasks=[0]),
        "posterior of an exact GP, but MultiTaskGP has its own",
    ),
    "Kronecker": (
        lambda: KroneckerMultiTaskGP(X[:6], torch.cat([Y[:6], -Y[:6]], dim=1)),
        "KroneckerMultiTaskGP has its own",
    ),
    "own posterior": (lambda: OwnPosterior(X[:6], Y[:6]), "but OwnPosterior has its own"),
    "missing observations": (missing, "Gaussian noise, got GaussianLikelihoodWithMissingObs"),
    "Student's t": (student, "Gaussian noise, got StudentTLikelihood"),
    "variational": (
        lambda: SingleTaskVariationalGP(X[:6], Y[:6]),
        "an exact GP of BoTorch, got SingleTaskVariationalGP",
    ),
    "deterministic": (
        lambda: GenericDeterministicModel(lambda X: X.sum(dim=-1, keepdim=True)),
        "an exact GP of BoTorch, got GenericDeterministicModel",
    ),
    "ensemble": (Ensemble, "an exact GP of BoTorch, got Ensemble"),
    "posterior of candidates": (
        lambda: DiscretePosterior(single(), X),
        "an exact GP of BoTorch, got DiscretePosterior",
    ),
    "no model": (lambda: None, "an exact GP of BoTorch, got NoneType"),
    "a class": (lambda: SingleTaskGP, "an exact GP of BoTorch, got"),
}
every_exact = pytest.mark.parametrize("build", EXACT.values(), ids=EXACT)
every_other = pytest.mark.parametrize(("build", "reason"), OTHERS.values(), ids=OTHERS)
pytestmark = pytest.mark.filterwarnings(
    "ignore::botorch.exceptions.InputDataWarning", "ignore:Sparse invariant checks"
)


@every_exact
def test_exact_models_are_taken_and_have_botorchs_numbers(build):
    model = build()
    assert why_not_exact(model) == ""
    candidates = X.round(decimals=1) if isinstance(model, MixedSingleTaskGP) else X
    posterior = DiscretePosterior(model, candidates)
    for one, other in ((posterior, model), (DiscretePosterior(model.train(), candidates), model)):
        with torch.no_grad():
            theirs = other.posterior(candidates.unsqueeze(1))
        assert_close(one.mean, theirs.mean[:, 0, 0], rtol=1e-8, atol=1e-8)
        assert_close(one.variance, theirs.variance[:, 0, 0], rtol=1e-8, atol=1e-8)


def test_a_model_of_a_release_is_exact(records, scaling, generator):
    release = publish(records, scaling, NoisyProjection(8.0), generator=generator).release
    assert why_not_exact(make_model(release, [0, 1], [0.0, 1.0])) == ""


@every_other
def test_other_models_are_refused_with_the_reason_also_by_an_update_which_changes_nothing(build, reason):
    posterior = DiscretePosterior(single(), X)
    posterior.append(9, 1.0)
    before, model, other = posterior.moments(), posterior.model, build()
    for refused in (lambda: DiscretePosterior(other, X), lambda: posterior.update(other)):
        with pytest.raises(UnsupportedError, match=f"^DiscretePosterior needs .*{reason}"):
            refused()
    assert posterior.model is model
    assert posterior.num_observations == 7
    assert all(map(torch.equal, posterior.moments(), before))


@pytest.mark.parametrize("kind", [GaussianLikelihood, FixedNoiseGaussianLikelihood])
def test_likelihoods_that_derive_from_the_known_ones_are_not_taken_for_them(kind):
    class OwnLikelihood(kind):
        """Its noise may depend on the inputs, say."""

    noise = {"noise": torch.full((6,), 0.1, dtype=torch.float64)}
    model = single(likelihood=OwnLikelihood(**noise if kind is FixedNoiseGaussianLikelihood else {}))
    assert "OwnLikelihood" in why_not_exact(model)


WEIGHTS = ScalarizedPosteriorTransform(torch.tensor([0.3, 0.7], dtype=torch.float64))
IN_CHUNKS = {
    "two outputs": WEIGHTS,
    "list": WEIGHTS,
    "one task of two": None,
    "own posterior": None,
    "missing observations": None,
    "variational": None,
    "deterministic": None,
}


@pytest.mark.parametrize("name", IN_CHUNKS)
def test_acquisition_over_other_models_is_scored_in_chunks_by_their_own_posterior(name):
    model, weights = OTHERS[name][0](), IN_CHUNKS[name]
    candidates = X[:, : 2 if name == "one task of two" else 3]
    acqf = DiscreteUCB(model, candidates, t=2, posterior_transform=weights, chunk_size=7)
    with torch.no_grad():
        posterior = model.posterior(candidates.unsqueeze(1), posterior_transform=weights)
        deviation = posterior.variance.clamp_min(1e-300).sqrt()
        expected = (posterior.mean + acqf.beta**0.5 * deviation)[:, 0, 0]
    assert_close(acqf.scores(), expected, rtol=1e-10, atol=1e-10)
    assert int(acqf.select()) == int(expected.argmax())


@pytest.mark.parametrize("build", [perturbed, widened])
def test_acquisition_over_a_model_of_several_rows_a_point_never_chooses_a_row_that_is_none(build):
    acqf = DiscreteUCB(build(), X, t=1)
    with pytest.raises((AssertionError, UnsupportedError, ValueError)):
        acqf.select()


class Broken(Model):
    """A model that is not even a GP, and whose posterior raises."""

    num_outputs = 1
    batch_shape = torch.Size()

    def posterior(self, X, *args, **kwargs):
        raise RuntimeError("no posterior today")


def test_an_error_of_a_models_own_posterior_is_not_hidden():
    with pytest.raises(RuntimeError, match="no posterior today"):
        DiscreteUCB(Broken(), X, t=1).select()
