"""Each row of the table in docs/guide/compatibility.md, as a check of what it says.

"yes" means equal to the same model on released rows, to 1e-12, whatever the mechanism. A check of a
"no" shows how BoTorch refuses it, and, where the table names a remedy in BoTorch, that the remedy works.
"""

import copy
import io
import pickle
import re
from pathlib import Path

import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    qLogExpectedImprovement,
    qMaxValueEntropy,
    qUpperConfidenceBound,
)
from botorch.acquisition.input_constructors import get_acqf_input_constructor
from botorch.acquisition.objective import GenericMCObjective
from botorch.acquisition.proximal import ProximalAcquisitionFunction
from botorch.cross_validation import loo_cv
from botorch.generation import MaxPosteriorSampling
from botorch.models import (
    MixedSingleTaskGP,
    ModelListGP,
    MultiTaskGP,
    PairwiseGP,
    SingleTaskGP,
    SingleTaskMultiFidelityGP,
)
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.kernels import CategoricalKernel, LinearTruncatedFidelityKernel
from botorch.models.transforms.input import AppendFeatures, ChainedInputTransform, Normalize
from botorch.models.transforms.outcome import Standardize
from botorch.optim import (
    optimize_acqf,
    optimize_acqf_discrete,
    optimize_acqf_discrete_local_search,
)
from botorch.sampling import SobolQMCNormalSampler
from botorch.sampling.pathwise import draw_matheron_paths
from botorch.utils.datasets import SupervisedDataset
from gpytorch.kernels import RBFKernel, ScaleKernel
from helpers.twins import (
    MECHANISMS,
    ROTATION,
    TEST,
    TRAIN,
    Twins,
    exactly,
    fitted,
    log_likelihood,
    same_posterior,
)

from botorch_private import (
    DiscreteUCB,
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
)

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "compatibility.md"
NEW = [20, 3]
CHECKS, CASES = {}, []


def row(feature, works, mechanisms=None):
    """Name the row of the page that a check stands for, and the releases that it is made on."""

    def register(check):
        CHECKS[feature, works] = check
        for name in mechanisms or (MECHANISMS if works == "yes" else [ROTATION]):
            CASES.append(pytest.param(check, name, id=f"{feature} {name}"))
        return check

    return register


# --- what works ---


@row("`SingleTaskGP`, with learned or known noise", "yes")
def single(case):
    private, plain = case.both()
    case.same(private, plain)
    case.same(private, plain, TEST.unsqueeze(-1))
    case.same(*case.both(outcomes=[0, 1]))
    noise = torch.full((9, 1), 0.1, dtype=torch.float64)
    case.same(case.private(train_Yvar=noise), case.plain(train_Yvar=noise))


@row("`ModelListGP`", "yes")
def model_list(case):
    private, plain = (
        ModelListGP(*[build([m]) for m in range(2)]) for build in (case.private, case.plain)
    )
    case.same(private, plain)
    sampler = SobolQMCNormalSampler(torch.Size([3]), seed=2)
    case.same(
        private.fantasize(case.records[NEW], copy.deepcopy(sampler)),
        plain.fantasize(case.rows[NEW], copy.deepcopy(sampler)),
    )


@row(
    "`ModelListGP` with constraints on some outcomes (`qLogExpectedImprovement(constraints=...)`)", "yes"
)
def constrained(case):
    values = []
    for build, X in ((case.private, case.records), (case.plain, case.rows)):
        model = ModelListGP(build([0]), build([1]))
        acqf = qLogExpectedImprovement(
            model,
            best_f=0.0,
            sampler=SobolQMCNormalSampler(torch.Size([16]), seed=1),
            objective=GenericMCObjective(lambda Y, X=None: -Y[..., 0]),
            constraints=[lambda Y: 0.1 - Y[..., 1]],
        )
        values.append(acqf(X[TEST].unsqueeze(-2)))
        (chosen,), _ = optimize_acqf_discrete(acqf, q=1, choices=X)
        values.append((chosen == X).all(dim=-1).nonzero().double())
    exactly(values[0], values[2])
    assert torch.equal(values[1], values[3])


@row("batched training data", "yes")
def batched(case):
    train = torch.stack([TRAIN, TRAIN + 5])
    for test in (TEST, torch.stack([TEST, TEST - 6])):
        case.same(*case.both(train=train), test)


@row("`fit_gpytorch_mll`", "yes")
def fit(case):
    private, plain = case.both()
    before = log_likelihood(plain)
    exactly(log_likelihood(private), before)
    fitted(private), fitted(plain)
    exactly(log_likelihood(private), log_likelihood(plain))
    assert log_likelihood(plain) > before
    case.same(private, plain)


@row("`optimize_acqf_discrete`", "yes")
def discrete(case):
    found = []
    for model, X in ((case.private(), case.records), (case.plain(), case.rows)):
        acqf = LogExpectedImprovement(model, best_f=0.5)
        (chosen,), _ = optimize_acqf_discrete(acqf, q=1, choices=X)
        found.append(int((chosen == X).all(dim=-1).nonzero()))
    assert found[0] == found[1]


@row("acquisition functions by samples (`qUpperConfidenceBound`, ...), with `X_pending`", "yes")
def by_samples(case):
    values = []
    for model, X in ((case.private(), case.records), (case.plain(), case.rows)):
        sampler = SobolQMCNormalSampler(torch.Size([16]), seed=1)
        acqf = qUpperConfidenceBound(model, beta=1.0, sampler=sampler, X_pending=X[[3, 4]])
        values.append(acqf(X[TEST].reshape(9, 2, -1)))
    exactly(*values)


@row("`get_acqf_input_constructor(DiscreteUCB)`, as Ax calls it", "yes")
def input_constructor(case):
    data = SupervisedDataset(
        case.records[TRAIN], case.Y[TRAIN, :1], feature_names=list("abc"), outcome_names=["y"]
    )
    build = get_acqf_input_constructor(DiscreteUCB)
    inputs = build(model=case.private(), training_data=data, candidates=case.records)
    exactly(DiscreteUCB(**inputs).scores(), DiscreteUCB(case.plain(), case.rows, 10).scores())


@row("`MaxPosteriorSampling` (Thompson sampling over the records)", "yes")
def thompson(case):
    chosen = MaxPosteriorSampling(case.private(), replacement=False)(case.records, num_samples=3)
    assert all((x == case.records).all(dim=-1).any() for x in chosen)


@row("`fantasize`", "yes")
def fantasies(case):
    sampler = SobolQMCNormalSampler(torch.Size([4]), seed=1)
    new = torch.tensor([[20, 21], [3, 3]])  # two t-batches, one of them with a repeated record
    private = case.private().fantasize(case.records[new], copy.deepcopy(sampler))
    case.same(private, case.plain().fantasize(case.rows[new], copy.deepcopy(sampler)))


@row("`condition_on_observations`", "yes")
def condition(case):
    for outcomes in ([0], [0, 1]):
        private, plain = case.both(outcomes=outcomes)
        case.same(private, plain)
        Y = case.Y[NEW][:, outcomes]
        grown = private.condition_on_observations(case.records[NEW], Y)
        case.same(grown, plain.condition_on_observations(case.rows[NEW], Y))


@row("`Standardize`, or no outcome transform", "yes")
def standardize(case):
    for make in (lambda: Standardize(1), lambda: None):
        case.same(case.private(outcome_transform=make()), case.plain(outcome_transform=make()))


@row("`loo_cv`", "yes")
def leave_one_out(case):
    same_posterior(*(loo_cv(model).posterior for model in case.both()))


@row("`state_dict` and `load_state_dict`", "yes")
def state_dict(case):
    donor = fitted(case.private())
    for mode in (True, False):
        heir = case.private().train(mode)
        heir.load_state_dict(donor.state_dict())
        same_posterior(heir.posterior(case.records), donor.posterior(case.records))


@row("`ChainedInputTransform` after `Normalize`", "yes", [ROTATION])
def chain(case):
    normalize = Normalize(3, bounds=torch.stack([case.scaling.lower, case.scaling.upper]))
    box = PublicScaling([0.0] * 3, [1.0] * 3)
    inner = PrivateProjectionTransform(normalize(case.records), box, NoisyProjection(8.0))
    chained = Twins(transform=ChainedInputTransform(normalize=normalize, private=inner))
    kernels = [ReleasedInputKernel.of(inner.release) for _ in range(2)]
    private, plain = chained.private(covar_module=kernels[0]), chained.plain(covar_module=kernels[1])
    fitted(private), fitted(plain)
    chained.same(private, plain)
    Y = chained.Y[NEW, :1]
    grown = private.condition_on_observations(chained.records[NEW], Y)
    chained.same(grown, plain.condition_on_observations(chained.rows[NEW], Y))
    assert chained.transform.equals(copy.deepcopy(chained.transform))


@row("float32 `X`", "yes", [ROTATION])
def float32(case):
    assert torch.equal(case.transform(case.records.float()), case.rows.float())
    with pytest.raises(ValueError, match="float32 values rarely equal"):
        case.transform(case.records.float() * 1.001)


@row("kernels of some columns (`active_dims`), where columns are features", "yes", ["no projection"])
def some_features(case):
    for build in (
        lambda: RBFKernel(active_dims=[0]) + RBFKernel(active_dims=[1, 2]),
        lambda: ScaleKernel(RBFKernel(active_dims=[1], ard_num_dims=1)),
    ):
        case.same(case.private(covar_module=build()), case.plain(covar_module=build()))


@row("`subset_output`", "yes")
def subset(case):
    private = SingleTaskGP(case.records[TRAIN], case.Y[TRAIN], input_transform=case.transform)
    plain = SingleTaskGP(case.rows[TRAIN], case.Y[TRAIN])
    case.same(private.subset_output([1]), plain.subset_output([1]))


# --- what does not ---


@row("`optimize_acqf`, `optimize_acqf_discrete_local_search`", "no")
def invented_records(case):
    acqf = LogExpectedImprovement(case.private(), best_f=0.5)
    bounds = torch.stack([case.scaling.lower, case.scaling.upper])
    settings = {"q": 1, "num_restarts": 2, "raw_samples": 4}
    start = case.records[:2].unsqueeze(-2).clone()
    for given in (settings, {"q": 1, "num_restarts": 2, "batch_initial_conditions": start}):
        with pytest.raises(ValueError, match=r"optimize_acqf_discrete\(choices=records\)"):
            optimize_acqf(acqf, bounds, **given)
    values = [case.records[:4, i] for i in range(3)]
    with pytest.raises(ValueError, match="X must hold records only"):
        optimize_acqf_discrete_local_search(acqf, discrete_choices=values, **settings)


@row("`draw_matheron_paths`", "no")
def matheron(case):
    kernels = [ScaleKernel(RBFKernel(ard_num_dims=5)) for _ in range(2)]
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        draw_matheron_paths(case.private(covar_module=kernels[0]).eval(), torch.Size([3]))(case.records)
    with pytest.raises(NotImplementedError, match="gen_kernel_features"):
        draw_matheron_paths(case.plain(), torch.Size([3]))
    paths = draw_matheron_paths(case.plain(covar_module=kernels[1]), torch.Size([3]))
    assert paths(case.rows).shape == (3, 24)


@row("`qMaxValueEntropy(candidate_set=...)`", "no")
def max_value_entropy(case):
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        qMaxValueEntropy(case.private().eval(), candidate_set=case.records)
    values = qMaxValueEntropy(case.plain().eval(), candidate_set=case.rows)(case.rows[:, None])
    assert torch.isfinite(values).all()


@row("`ProximalAcquisitionFunction`", "no")
def proximal(case):
    for model, X, works in ((case.private(), case.records, False), (case.plain(), case.rows, True)):
        acqf = LogExpectedImprovement(model, best_f=0.5)
        weighted = ProximalAcquisitionFunction(acqf, torch.ones_like(X[0]), beta=1.0)
        if works:
            assert torch.isfinite(weighted(X[:, None])).all()
        else:
            with pytest.raises(RuntimeError, match="must match the size"):
                weighted(X[:, None])


@row("`AppendFeatures` after the transform", "no")
def append(case):
    features = AppendFeatures(torch.zeros(2, 1, dtype=torch.float64))
    chained = ChainedInputTransform(private=case.transform, append=features)
    X, Y = case.records[TRAIN], case.Y[TRAIN, :1]
    model = SingleTaskGP(X, Y, input_transform=chained, covar_module=case.kernel())
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        model.posterior(case.records)


@row("`MultiTaskGP`", "no")
def multi_task(case):
    task = torch.tensor([0.0, 1.0] * 4 + [0.0], dtype=torch.float64).unsqueeze(-1)
    X, Y = torch.cat([case.records[TRAIN], task], dim=-1), case.Y[TRAIN, :1]
    with pytest.raises(ValueError, match="X must have 3 columns, got 4"):
        MultiTaskGP(X, Y, task_feature=-1, input_transform=case.transform)


def refused(why, build, *args, **options):
    message = f"cannot be used on released rows: .*{why}.*ReleasedInputKernel"
    with pytest.raises(ValueError, match=message):
        build(*args, **options)


EVERY = list(MECHANISMS)


@row("`MixedSingleTaskGP`, kernels of categories", "no", EVERY)
def mixed(case):
    X, Y = case.records[TRAIN], case.Y[TRAIN, :1]
    for dims in ([1], [0, 2]):
        refused("never equal", MixedSingleTaskGP, X, Y, cat_dims=dims, input_transform=case.transform)
    refused("never equal", case.private, covar_module=ScaleKernel(CategoricalKernel(ard_num_dims=3)))


@row("`SingleTaskMultiFidelityGP`, kernels of fidelities", "no", ["no projection", ROTATION, "spectral"])
def fidelity(case):
    X, Y = case.records[TRAIN], case.Y[TRAIN, :1]
    for options in ({"data_fidelities": [1]}, {"iteration_fidelity": 0}):
        for linear in (False, True):
            given = {"input_transform": case.transform, "linear_truncated": linear, **options}
            refused("never equal", SingleTaskMultiFidelityGP, X, Y, **given)
    kernel = LinearTruncatedFidelityKernel(fidelity_dims=[1], dimension=case.rows.shape[1])
    refused("never equal", case.private, covar_module=kernel)


@row("`SaasFullyBayesianSingleTaskGP`, where columns are mixtures", "no", [ROTATION, "spectral"])
def sparse(case):
    # BoTorch's needs JAX and NumPyro to be built, which the tests do not have; it is known by its name.
    kind = type("SaasFullyBayesianSingleTaskGP", (SingleTaskGP,), {})
    X, Y = case.records[TRAIN], case.Y[TRAIN, :1]
    refused("mixtures of all features", kind, X, Y, input_transform=case.transform)
    assert SaasFullyBayesianSingleTaskGP.__name__ == kind.__name__


@row("kernels of some columns (`active_dims`), where columns are mixtures", "no", [ROTATION, "spectral"])
def some_columns(case):
    kernels = [RBFKernel(active_dims=[0]), RBFKernel(active_dims=[0]) * RBFKernel(active_dims=[1, 2])]
    for kernel in kernels:
        refused("active_dims, .*mixtures of all features", case.private, covar_module=kernel)
    refused("active_dims", setattr, case.private(), "covar_module", ScaleKernel(kernels[0]))
    chained = ChainedInputTransform(private=case.transform)
    refused("active_dims", case.gp, case.records, input_transform=chained, covar_module=kernels[1])


@row("`PairwiseGP`", "no")
def pairwise(case):
    pairs = torch.tensor([[0, 1], [2, 3], [4, 1]])
    with pytest.raises(RuntimeError, match="must match the size"):
        PairwiseGP(case.records[TRAIN], pairs, input_transform=case.transform).posterior(case.records)


@row("`ModelListGP.condition_on_observations`", "no")
def condition_list(case):
    X, Y = case.records[NEW], case.Y[NEW]
    model = ModelListGP(case.private([0]), case.private([1]))
    model.posterior(X)
    with pytest.raises(RuntimeError, match="Expected size 5 but got size 3"):
        model.condition_on_observations([X, X], Y)
    parts = [part.condition_on_observations(X, Y[:, [m]]) for m, part in enumerate(model.models)]
    assert ModelListGP(*parts).posterior(X).mean.shape == (2, 2)


@row("`pickle` of a model", "no")
def pickled(case):
    with pytest.raises(pickle.PicklingError, match="holds raw records"):
        pickle.dumps(case.private())
    file = io.BytesIO()
    torch.save(case.private().state_dict(), file)
    file.seek(0)
    case.private().load_state_dict(torch.load(file, weights_only=True))


@row("`untransform`", "no")
def no_way_back(case):
    with pytest.raises(NotImplementedError, match="it would undo the release"):
        case.transform.untransform(case.rows)


# --- the table ---


@pytest.mark.filterwarnings("ignore:Data .* not contained to the unit cube")
@pytest.mark.parametrize(("check", "mechanism"), CASES)
def test_the_row_says_what_is_so(check, mechanism):
    check(Twins(mechanism))


def test_the_page_has_these_rows_and_no_others():
    text = PAGE.read_text(encoding="utf-8")
    lines = re.findall(r"^\| (.+?) \| (yes|no) \|", text, flags=re.MULTILINE)
    assert lines == list(CHECKS)
