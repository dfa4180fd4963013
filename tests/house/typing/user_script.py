"""Every public name as a user writes it: tests/test_user_types.py has it type-checked in strict mode."""

import warnings
from pathlib import Path
from typing import assert_type

import pandas
import torch
from botorch.acquisition import get_acqf_input_constructor
from botorch.fit import fit_gpytorch_mll  # pyright: ignore[reportUnknownVariableType]
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import botorch_private
from botorch_private import (
    Above,
    BudgetError,
    Category,
    CellResponse,
    Cells,
    ClippedRecordsWarning,
    Constrained,
    Curator,
    DenoisedRelease,
    DiscretePosterior,
    DiscreteStraddle,
    DiscreteUCB,
    Drawn,
    Encoding,
    FeatureChoice,
    History,
    LabelKernel,
    Ledger,
    ManyCellsWarning,
    Maximize,
    MeasurementError,
    Mechanism,
    Minimize,
    Modeler,
    NoiseLaw,
    NoisyProjection,
    NoPrivacy,
    NotDifferentiallyPrivate,
    NoValueError,
    Number,
    Observation,
    OutcomeMechanism,
    PartsOracle,
    PrivacyGuarantee,
    PrivacyLeakWarning,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    ReleasedInputKernel,
    ReleasedParts,
    RemoteCurator,
    RemoteError,
    RowMap,
    RowsAbove,
    Scalarized,
    SearchPrior,
    SpectralProjection,
    Target,
    TiedScoresWarning,
    TopK,
    WithdrawnError,
    YesNo,
    add_noise,
    choose_features,
    compose,
    fit_model,
    load_cells,
    load_encoding,
    load_ranges,
    make_model,
    release_parquet,
    run,
    save_cells,
    suggest_cells,
    ucb_beta,
)
from botorch_private.audit import (
    AuditResult,
    OrderResult,
    Reconstruction,
    RepeatsResult,
    Replay,
    empirical_epsilon,
    guess,
    known_sample_attack,
    one_run_audit,
    order_audit,
    registration_attack,
    repeats_audit,
    replay,
)
from botorch_private.datasets import Dataset, hospital, property_prices
from botorch_private.report import Report, report
from botorch_private.theory import (
    expected_random_regret,
    information_gain,
    simple_regret_bound,
    theorem3_parameters,
)


def drop_in(data: Dataset) -> list[int]:
    X, y = data.records, data.outcomes
    scaling = PublicScaling(data.lower, data.upper, names=data.features)
    transform = PrivateProjectionTransform(
        X, scaling=scaling, mechanism=NoisyProjection(epsilon=3.0), ledger=Ledger()
    )
    asked = [0, 1, 2, 3, 4]
    for t in range(1, 11):
        kernel = ReleasedInputKernel.of(transform.release)
        model = SingleTaskGP(X[asked], y[asked, None], input_transform=transform, covar_module=kernel)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acqf = DiscreteUCB(model, candidates=X, t=t)
        scores: Tensor = acqf.scores()
        asked += acqf.select(q=1, exclude=asked).tolist()  # pyright: ignore[reportUnknownMemberType]
        optimize_acqf_discrete(acqf, q=1, choices=X)
        print(scores.max(), acqf(X[:1, None]), transform(X[:2]), ucb_beta(t, n=len(X)))
    get_acqf_input_constructor(DiscreteUCB)
    return asked


def outcome_of(record: Tensor) -> float:
    return float(record.sum())


def two_parties(data: Dataset) -> History:
    scaling = PublicScaling(data.lower, data.upper, names=data.features)
    budget = PrivacyGuarantee.budget(epsilon=12.0, delta=1e-5)
    curator = Curator(
        data.records,
        scaling=scaling,
        mechanism=NoisyProjection(epsilon=3.0, delta=1e-6, projection_dim=2, noise="gaussian"),
        objective=outcome_of,
        outcome_mechanism=OutcomeMechanism(epsilon=5.0, delta=0.0, bound=(-11.0, -6.0)),
        max_queries=40,
        ledger=Ledger(budget, path="flats.ledger.json"),
    )
    curator.release.save("release.safetensors")
    release = Release.load(Path("release.safetensors"))
    modeler = Modeler(release, beta_scale=0.2, outcome_noise=0.4, refit_every=5, dtype=torch.float32)
    for _ in range(15):
        index = assert_type(modeler.ask(), int)
        try:
            value: float = curator.query(index).value
        except (MeasurementError, WithdrawnError, NoValueError) as error:
            print(error.row)
            modeler.skip(index)
        else:
            modeler.tell(index, value)
    best: Observation = modeler.best
    several = assert_type(modeler.ask(q=3), list[int])
    print(scaling.lower[0], scaling.upper[0], scaling.names, scaling.unit, scaling.radius)
    print(modeler.release.identity, modeler.beta, modeler.beta_scale, modeler.outcome_noise)
    print(modeler.n_initial, modeler.refit_every, modeler.device, modeler.dtype, modeler.max_memory)
    print(best.index, best.value, several, modeler.recommend(), modeler.posterior().mean)
    modeler.save("search.json")
    modeler = assert_type(Modeler.load("search.json", release, device="cpu"), Modeler)
    known: History = History.from_csv(Path("values.csv"), rows=len(release.candidates))
    print(known.best, modeler.denoise, modeler.skipped)
    several = (Scalarized({"cost": -1.0}), Constrained(minimize="cost", at_least={"safety": 0.9}))
    print([goal.names for goal in several])
    for goal in (Maximize(), Minimize(), Above(-8.0), TopK(3), Target(-7.5)):
        wanted = Modeler(release, goal=goal, history=modeler.history)
        print(wanted.goal.best_is, wanted.recommend(), wanted.history.best_so_far)
    listed: RowsAbove = modeler.above(-8.0, confidence=0.9)
    print(listed.measured[:1], listed.unmeasured[:1])
    history = run(curator, modeler, rounds=15, progress=False, failures="skip")
    try:
        curator.rerelease()
        curator.add(data.records[:2])
    except BudgetError as error:
        print(error)
    left: int | None = curator.queries_left
    print(curator.ledger.path, curator.ledger.entries, curator.permutation, curator.outcomes)
    print(left, curator.ledger.total, curator.guarantee, modeler.pending)
    regret: float = history.simple_regret(optimum=-6.0)[-1].item()
    indices: list[int] = history.indices
    print(regret, indices, history.cumulative_regret(-6.0), history.to_frame().head())
    for row, number in history:
        print(row + 1, number / 2)
    return History([(0, -8.5), *history])


def large_pools(release: Release, history: History) -> Tensor:
    asked = history.indices
    model: SingleTaskGP = fit_model(make_model(release, asked, history.values, ard=False))
    posterior = DiscretePosterior(model, release.candidates, max_memory=10**9)
    for t in range(1, 6):
        index = int(DiscreteUCB(posterior, None, t=t, beta_scale=0.2).select(exclude=asked))
        print(DiscreteStraddle(posterior, None, t=t, level=-8.0).level)
        posterior.append(index, -8.0, noise_variance=0.1)
    posterior.update(model)
    print(posterior.model, posterior.num_observations, posterior.memory, posterior.resolution)
    denoised: Release = DenoisedRelease.of(release)
    return posterior.mean + posterior.variance.sqrt() * denoised.spread


def large_tables(scaling: PublicScaling) -> Modeler:
    parts: ReleasedParts = release_parquet(
        ["a.parquet", Path("b.parquet")], "released", scaling, NoisyProjection(3.0), dtype="float32"
    )
    places = RowMap.load("released.map")
    path, row, record = places.place(0)
    first: Tensor = parts.read(0)
    cost = places.read(places.place(0), ["cost"])["cost"]
    oracle = PartsOracle(parts, places, lambda place: float(place.row), max_queries=6)
    print(cost, run(oracle, Modeler(parts), rounds=6), oracle.queries_left)
    print(path, row + record, places.permutation.shape, first.shape, parts.guarantee, parts.identity)
    return Modeler(ReleasedParts.load("released").whole())


def remote(token: str) -> None:
    curator = RemoteCurator(
        "https://curator.example.org:8400", token, release_path="release.safetensors"
    )
    modeler = Modeler(curator.release, denoise=True)
    for index, value in curator.all_answers():
        modeler.tell(index, value)
    try:
        run(curator, modeler, rounds=20, pending=3)
    except RemoteError as error:
        print(error.code)
    curator.submit(modeler.ask())
    for index, value in curator.poll(wait=1.0):
        modeler.tell(index, value, correct=True)
    print(curator.guarantee, curator.withdrawn)
    curator.close()


def guarantees() -> PrivacyGuarantee:
    mechanisms: list[Mechanism] = [NoisyProjection(3.0), SpectralProjection(3.0, 1e-5, 2), NoPrivacy()]
    mechanisms.append(Coordinates())
    with warnings.catch_warnings():
        for category in (
            ClippedRecordsWarning,
            NotDifferentiallyPrivate,
            PrivacyLeakWarning,
            TiedScoresWarning,
        ):
            warnings.simplefilter("ignore", category)
        learned = PublicScaling.from_data(hospital().records)
        print(learned.clipped(hospital().records).sum(), learned.unit)
        promised = [mechanism.guarantee(100, 22) for mechanism in mechanisms]
    together = compose(promised[:1], delta=1e-6)
    epsilon: float = together.at(2.0)
    if together.holds and together.unit is not None:
        print(epsilon, together.unit[0], together.epsilon, together.delta, together.to_json())
    return PrivacyGuarantee.from_json(together.to_json())


class Coordinates:
    """A mechanism of one's own: noise of its own on each coordinate."""

    isotropic = False
    law: NoiseLaw = NoiseLaw("laplace", dim=1, scale=1.0, features=1)

    def guarantee(self, n: int, d: int) -> PrivacyGuarantee:
        epsilon = d * self.law.epsilon(1.0, self.law.delta_fp)
        assumptions: tuple[str, ...] = PrivacyGuarantee.OF_A_RELEASE
        return PrivacyGuarantee("Coordinates", epsilon, 1e-12, holds=True, assumptions=assumptions)

    def noise_variance(self, d: int) -> float:
        return self.law.variance

    def noise_dim(self, d: int) -> int:
        return d

    def draw(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Drawn:
        return Drawn(self.apply(scaled, generator=generator))

    def apply(self, scaled: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        return add_noise(scaled, self.law, generator=generator)


def declared() -> Curator:
    wards = Category("ward", ("icu", "surgery", "other"))
    encoding = Encoding([Number("age", 18, 100), YesNo("diabetes"), wards])
    stays = pandas.DataFrame({"age": [41, 87], "diabetes": ["yes", "no"], "ward": ["icu", "other"]})
    print(
        [step.width for step in encoding.steps], load_encoding("ranges.toml"), load_ranges("ranges.toml")
    )
    return Curator(encoding.encode(stays), encoding.scaling, NoisyProjection(2.0), [1.0, 2.0])


def whole_records(records: Tensor, outcomes: Tensor, scaling: PublicScaling) -> Curator:
    declared = suggest_cells(3.0, Encoding([Number("age", 18, 100), YesNo("diabetes")]))
    of_rule = Cells.of(lambda record: int(record[0] > 65), 2, features=2, ordered=True)
    history = Cells.from_history(records, outcomes, scaling, outcome_range=(0.0, 1.0), cuts=[0.5, 0.9])
    save_cells(history, "cells.toml")
    print(Cells.of_encoding(declared).count, of_rule.of_records(records), load_cells("cells.toml"))
    warnings.simplefilter("error", ManyCellsWarning)
    cells = Cells({"age": [18, 40, 65, 100], "weight": [0, 80, 200]})
    curator = Curator(records, cells, CellResponse(3.0, cells), outcomes)
    guarantee: PrivacyGuarantee = curator.guarantee.shuffled(1e-5)
    print(guarantee.epsilon, curator.guarantee.whole_record, LabelKernel.of(curator.release).scatter)
    return curator


def fewer_features(records: Tensor, outcomes: Tensor, scaling: PublicScaling) -> Modeler:
    choice: FeatureChoice = choose_features(
        records, outcomes, scaling, 2, outcome_range=(0.0, 1.0), epsilon=1.0, delta=1e-5
    )
    choice.prior.save("prior.json")
    curator = Curator(records[:, list(choice.columns)], choice.scaling, NoisyProjection(3.0), outcomes)
    return Modeler(curator.release, prior=SearchPrior.load("prior.json"), ard=True)


def audits(release: Release, curator: Curator, scaling: PublicScaling, X: Tensor) -> None:
    mechanism = NoisyProjection(epsilon=3.0)
    scaled: Tensor = scaling.transform(X[:2])
    moved = scaled.clone()
    moved[0, 0] += 1.0
    found: AuditResult = empirical_epsilon(mechanism, scaled, moved, trials=10_000)
    once: AuditResult = one_run_audit(mechanism, scaled, scaled + 1.0)
    print(found.lower_bound, once.refuted, found)
    recovered: Reconstruction = known_sample_attack(release, [0, 1, 2], X[:3], scaling)
    print(recovered.error.mean(), recovered.true_error(X).mean(), guess(release, X).records)
    registered: Reconstruction = registration_attack(release, X, scaling, progress=False)
    order: OrderResult = order_audit(release, X, permutations=99)
    repeats: RepeatsResult = repeats_audit(curator.query, range(3), times=3)
    replayed: Replay = replay(mechanism, scaled, moved)
    print(registered.records, order.found, repeats.problems, replayed.moved <= replayed.allowed)


def pages(release: Release) -> None:
    page: Report = report(release)
    print(page.secret, page.text())
    chance: float = expected_random_regret([1.0, 2.0], measurements=1)
    print(
        chance, theorem3_parameters, simple_regret_bound, information_gain, botorch_private.__version__
    )


if __name__ == "__main__":
    flats = property_prices()
    print(drop_in(flats), two_parties(flats))
    released = Release.load("release.safetensors")
    print(large_pools(released, History([(0, -8.5), (5, -8.2)])).shape, guarantees(), declared())
    pages(released)
    X = flats.records[:60]
    ranges = PublicScaling(flats.lower, flats.upper)
    curator = Curator(X, ranges, NoisyProjection(epsilon=3.0), flats.outcomes[:60])
    audits(curator.release, curator, ranges, X)
    fewer_features(X, flats.outcomes[:60], ranges)
