"""What bad input gets: a typed error that names it, before any work; or a documented behaviour.

Sources: the project's design ("What bad input gets") and the inputs that broke other libraries. Cases
with a test file of their own (files of a release, histories, shapes of tables) stand there.
"""

import os
import tempfile

import pytest
import torch
from botorch.models import SingleTaskGP

from botorch_private import (
    Curator,
    DiscreteUCB,
    Modeler,
    NoisyProjection,
    NoPrivacy,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    ReleasedInputKernel,
    SpectralProjection,
    TiedScoresWarning,
    compose,
    make_model,
    run,
    ucb_beta,
)
from botorch_private.curator.mechanisms.entropy import OSEntropy
from botorch_private.curator.publish import planned_guarantee, publish
from botorch_private.modeler import latest_fit

NAN, INF = float("nan"), float("inf")
N, D = 50, 3
RECORDS = torch.rand(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SCALING = PublicScaling([0.0] * D, [1.0] * D)
MECHANISM = NoisyProjection(3.0)
OUTCOMES = RECORDS.sum(dim=1)
CURATOR = Curator(RECORDS, SCALING, MECHANISM, OUTCOMES, max_queries=2)
RELEASE = CURATOR.release
GUARANTEE = RELEASE.guarantee
MODELER = Modeler(RELEASE, history=[(0, 1.0), (1, 2.0)], generator=torch.Generator().manual_seed(0))
MODEL = make_model(RELEASE, [0, 1, 2], [1.0, 2.0, 3.0])
ROTATED = Release(RELEASE.candidates, GUARANTEE, 0.3, D, isotropic=True)


def table(row, column, value):
    """The records with one value replaced."""
    changed = RECORDS.clone()
    changed[row, column] = value
    return changed


def curator_of(records=RECORDS, objective=OUTCOMES, mechanism=MECHANISM, **options):
    return Curator(records, SCALING, mechanism, objective, **options)


def transform_of(records):
    return PrivateProjectionTransform(records, scaling=SCALING, mechanism=MECHANISM)


def published(records, scaling=SCALING, **options):
    return publish(records, scaling, MECHANISM, **options)


def acquisition(**options):
    return DiscreteUCB(MODEL, **{"candidates": RELEASE.candidates, "t": 1, **options})


class OtherCurator:
    queries_left = 0

    def query(self, index):
        raise AssertionError("measured")


@pytest.fixture
def no_work(monkeypatch):
    """Fail if noise is drawn, a model fitted, or a file written."""

    def work(*_args, **_kwargs):
        raise AssertionError("work was done before the input was refused")

    monkeypatch.setattr(OSEntropy, "words", work)
    monkeypatch.setattr(latest_fit, "fit_model", work)
    monkeypatch.setattr(tempfile, "mkstemp", work)


TABLES = [
    (table(7, 1, NAN), "must be finite, got NaN in row 7, column 1"),
    (table(7, 1, INF), "must be finite, got an infinity in row 7, column 1"),
    (RECORDS[:0], "must have at least [12] rows, got 0"),
    (RECORDS[:1], "must have at least 2 rows, got 1"),
    (RECORDS[:, :2], "must have 3 columns, got 2"),
    (RECORDS[0], r"must have 2 dimensions \(rows, columns\), got shape \(3,\)"),
    (RECORDS + 0j, "must be real numbers"),
    (torch.full((N, D), 2**60), r"must be exact in float64, got an integer of 2\^53 or beyond in row 0"),
    ([["a"] * D] * N, "must be real numbers"),
    (None, "must be real numbers"),
]


@pytest.mark.parametrize(("records", "message"), TABLES)
@pytest.mark.parametrize("entrance", [curator_of, transform_of, published])
def test_a_bad_table_is_refused_at_every_entrance(no_work, entrance, records, message):
    with pytest.raises(ValueError, match=f"^records {message}"):
        entrance(records)


@pytest.mark.parametrize(("scaled", "message"), [case for case in TABLES if "columns" not in case[1]])
@pytest.mark.parametrize("mechanism", [MECHANISM, NoPrivacy(), SpectralProjection(1.0, 1e-5, 2)])
def test_a_bad_table_is_refused_by_a_mechanism(no_work, mechanism, scaled, message):
    with pytest.raises(ValueError, match=f"^scaled {message}"):
        mechanism.apply(scaled)


def each(make, values):
    """A call for each of the values."""
    return [lambda value=value: make(value) for value in values]


NUMBERS_ABOVE_0 = [0, 0.0, -1.0, NAN, INF, "1", None, True, 10**400]
INDICES = [-1, N, True, 1.0, "1", None]
ROW = "must be an? (row index in 0..49|integer)"
PROJECTED = NoisyProjection(1.0, projection_dim=2)
WIDE = "delta must be > 0 for projection_dim=2 < d=3 .* or accept noise='laplace'"
NOISES = "noise must be one of 'auto', 'laplace', 'l2', 'gaussian', got"
DTYPE = "dtype must be torch.float64 or torch.float32"
REFUSED = [
    # mechanisms
    ("epsilon must be a finite number > 0, got", each(NoisyProjection, NUMBERS_ABOVE_0)),
    (
        "epsilon must be a finite number > 0, got",
        each(lambda epsilon: SpectralProjection(epsilon, 1e-5, 2), NUMBERS_ABOVE_0),
    ),
    (
        "epsilon must be larger for noise in 3 dimensions",
        [lambda: NoisyProjection(1e-14).guarantee(N, D)],
    ),
    (
        r"delta must be a number in \[0, 1\), got",
        each(lambda delta: NoisyProjection(1.0, delta), [-1e-9, 1, 1.0, NAN, INF, "0", None]),
    ),
    (
        r"delta must be a number in \(0, 1\), got",
        each(lambda delta: SpectralProjection(1.0, delta, 2), [0, 1.0, NAN]),
    ),
    (
        "delta must be above 9e-16 for noise='gaussian', got 0.0",
        [lambda: NoisyProjection(1.0, noise="gaussian")],
    ),
    (r"delta must be a number in \[0, 1\), got 1.5", [lambda: compose([GUARANTEE], delta=1.5)]),
    (
        "projection_dim must be an integer >= 1, got",
        each(lambda r: NoisyProjection(1.0, projection_dim=r), [0, -1, 2.0, True, "2"]),
    ),
    ("projection_dim must be an integer >= 1, got 0", [lambda: SpectralProjection(1.0, 1e-5, 0)]),
    (WIDE, [lambda: PROJECTED.guarantee(N, D), lambda: curator_of(mechanism=PROJECTED)]),
    (NOISES, each(lambda noise: NoisyProjection(1.0, noise=noise), ["cauchy", None])),
    ("n must be an integer >= 2, got 1", [lambda: MECHANISM.guarantee(1, D)]),
    ("records must have at least 2 rows", [lambda: planned_guarantee(1, SCALING, MECHANISM)]),
    ("d must be an integer >= 1, got 0", [lambda: MECHANISM.guarantee(N, 0)]),
    ("scaled must have rows of norm at most 10000", [lambda: MECHANISM.apply(1e6 * RECORDS)]),
    # indices
    (f"index {ROW}", each(CURATOR.query, INDICES)),
    (f"index {ROW}", each(lambda i: MODELER.tell(i, 1.0), INDICES)),
    (rf"indices\[1\] {ROW}", each(lambda i: make_model(RELEASE, [0, i], [1.0, 2.0]), INDICES)),
    (f"exclude {ROW}", each(lambda i: acquisition().select(exclude=[0, i]), INDICES)),
    # outcomes
    (
        "value must be a finite number, got",
        each(lambda y: MODELER.tell(5, y), [NAN, INF, -INF, "1", None, True]),
    ),
    ("values must be finite, got NaN at position 1", [lambda: make_model(RELEASE, [0, 1], [1.0, NAN])]),
    ("values must be finite, got an infinity at pos", [lambda: make_model(RELEASE, [0, 1], [INF, 1.0])]),
    ("values must have 2 entries, got 1", [lambda: make_model(RELEASE, [0, 1], [1.0])]),
    ("indices must hold at least one measured row, got none", [lambda: make_model(RELEASE, [], [])]),
    ("objective must be finite, got NaN at position 0", [lambda: curator_of(objective=OUTCOMES * NAN)]),
    ("objective must have 50 entries, got 49", [lambda: curator_of(objective=OUTCOMES[1:])]),
    ("objective must have 1 dimension", [lambda: curator_of(objective=OUTCOMES.reshape(N, 1))]),
    ("objective must be real numbers that fit float64", [lambda: curator_of(objective=None)]),
    (
        "value must be 1.0 for index 0, which was told before, got 5.0: pass correct",
        [lambda: MODELER.tell(0, 5.0)],
    ),
    # counts
    ("max_queries must be an integer >= 1, got", each(lambda q: curator_of(max_queries=q), [0, 2.0])),
    ("rounds must be an integer >= 1, got 0", [lambda: run(CURATOR, MODELER, 0)]),
    ("rounds must be at most the curator's 2 queries left, got 3", [lambda: run(CURATOR, MODELER, 3)]),
    (
        "rounds must be at most the curator's 0 queries left, got 1",
        [lambda: run(OtherCurator(), MODELER, 1)],
    ),
    ("q must be an integer >= 1, got 0", [lambda: MODELER.ask(q=0), lambda: acquisition().select(q=0)]),
    ("q must be at most the 48 rows that are not measured yet, got 50", [lambda: MODELER.ask(q=N)]),
    ("n_initial must be an integer >= 1, got 0", [lambda: Modeler(RELEASE, n_initial=0)]),
    ("refit_every must be an integer >= 1, got 0", [lambda: Modeler(RELEASE, refit_every=0)]),
    (
        "q must be at most the 2 candidates left, got 3",
        [lambda: acquisition().select(q=3, exclude=range(N - 2))],
    ),
    ("t must be an integer >= 1, got", [lambda: acquisition(t=0), lambda: ucb_beta(1.5, 10)]),
    ("chunk_size must be an integer >= 1, got 0", [lambda: acquisition(chunk_size=0)]),
    ("n must be an integer >= 1, got 0", [lambda: ucb_beta(1, 0)]),
    # probabilities and weights
    (
        r"failure_probability must be a number in \(0, 1\), got",
        [
            lambda: ucb_beta(1, 10, 0.0),
            lambda: acquisition(failure_probability=1.0),
            lambda: Modeler(RELEASE, 2.0),
        ],
    ),
    ("beta must be a finite number >= 0, got -1.0", [lambda: acquisition(beta=-1.0)]),
    ("beta must be a finite number >= 0, got nan", [lambda: Modeler(RELEASE, beta=NAN)]),
    # candidates
    (
        "candidates must be finite, got NaN in row 3, column 2",
        [lambda: Release(table(3, 2, NAN), GUARANTEE, 0.3, D, False)],
    ),
    (
        "candidates must have at least 2 rows, got 1",
        [lambda: Release(RECORDS[:1], GUARANTEE, 0.3, D, False)],
    ),
    (
        "candidates must be finite, got an infinity in row 3",
        [lambda: acquisition(candidates=table(3, 2, INF))],
    ),
    (
        "candidates must be an n x d floating-point tensor",
        each(lambda rows: acquisition(candidates=rows), [RECORDS.numpy(), RECORDS.long()]),
    ),
    # kernels and models
    (
        "ard must be False for rotated or projected rows",
        [
            lambda: ReleasedInputKernel.of(ROTATED, ard=True),
            lambda: make_model(ROTATED, [0], [1.0], ard=True),
        ],
    ),
    ("noise_variance must be a finite number >= 0, got -1.0", [lambda: ReleasedInputKernel(-1.0)]),
    ("noise_dim must be an integer >= 1, got None", [lambda: ReleasedInputKernel(1.0)]),
    ("noise_dim must equal ard_num_dims=3", [lambda: ReleasedInputKernel(1.0, 2, ard_num_dims=3)]),
    (DTYPE, [lambda: make_model(RELEASE, [0], [1.0], dtype=torch.half)]),
    (DTYPE, [lambda: Modeler(RELEASE, dtype=torch.half)]),
]


@pytest.mark.parametrize(("message", "calls"), REFUSED)
def test_bad_input_is_refused_by_name_before_any_work(no_work, message, calls):
    for call in calls:
        with pytest.raises(ValueError, match=f"^{message}"):
            call()
    assert CURATOR.queries_left == 2
    assert list(MODELER.history) == [(0, 1.0), (1, 2.0)]
    assert MODELER.pending == []


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        (
            "scaling must be a PublicScaling, got NoneType",
            [lambda: Curator(RECORDS, None, MECHANISM, OUTCOMES)],
        ),
        (
            "scaling must be a PublicScaling, got the class PublicScaling",
            [lambda: published(RECORDS, PublicScaling)],
        ),
        (
            "mechanism must be a mechanism such as .* got (the class NoPrivacy|float|NoneType)",
            each(lambda mechanism: curator_of(mechanism=mechanism), [NoPrivacy, 1.0, None]),
        ),
        ("generator must be a torch.Generator or None, got int", [lambda: curator_of(generator=5)]),
        (
            "generator must be a torch.Generator or None, got int",
            [lambda: published(RECORDS, generator=7)],
        ),
        (
            "generator must be a torch.Generator or None, got str",
            [lambda: MECHANISM.apply(RECORDS, generator="seed")],
        ),
        ("release must be a Release, got Curator", [lambda: Modeler(CURATOR)]),
    ],
)
def test_a_part_of_the_wrong_type_is_a_type_error(no_work, message, calls):
    for call in calls:
        with pytest.raises(TypeError, match=f"^{message}"):
            call()


@pytest.mark.parametrize("path", ["nowhere", "empty", "text"])
def test_a_file_that_is_no_release_is_refused(tmp_path, path):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("index,value\n")
    with pytest.raises(
        (ValueError, FileNotFoundError), match=f"^path must be a .*release.*, but .*{path}"
    ):
        Release.load(tmp_path / path)


def test_a_refused_release_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for records, _ in TABLES:
        with pytest.raises(ValueError, match=r"^records must"):
            curator_of(records)
    assert os.listdir(tmp_path) == []


# Inputs that are legal, and what they get. -------------------------------------------------------


def seeded():
    return torch.Generator().manual_seed(1)


def search(records, outcomes, rounds, scaling=SCALING, **options):
    """Run without privacy, so that released rows are as degenerate as the records."""
    curator = Curator(records, scaling, NoPrivacy(), outcomes, generator=seeded())
    return curator, run(curator, Modeler(curator.release, generator=seeded(), **options), rounds)


def test_ten_equal_records_that_are_the_best_are_asked_one_by_one():
    records = torch.cat([RECORDS[:20], torch.full((10, D), 0.9, dtype=torch.float64)])
    outcomes = torch.cat([RECORDS[:20].sum(dim=1) - 3, torch.full((10,), 9.0, dtype=torch.float64)])
    _, history = search(records, outcomes, 15)
    assert len(set(history.indices)) == 15
    assert history.best.value == 9.0


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")
@pytest.mark.parametrize("noise_aware", [True, False])
def test_a_constant_feature_is_searched(noise_aware):
    records = RECORDS.clone()
    records[:, 1] = 0.5
    _, history = search(records, OUTCOMES, 8, noise_aware=noise_aware)
    assert len(set(history.indices)) == 8


@pytest.mark.parametrize(
    "outcomes",
    [torch.zeros(N), 1e12 + OUTCOMES / 3, -1e12 * OUTCOMES],
    ids=["constant", "offset", "large"],
)
def test_awkward_outcomes_are_searched(outcomes):
    _, history = search(RECORDS, outcomes, 8)
    assert len(set(history.indices)) == 8


def test_rows_of_any_scale_are_searched_alike():
    asked = []
    for scale in (1.0, 2.0**13):  # 2^13 times 1 unit of distance is far outside the ball
        release = Release(scale * RECORDS, NoPrivacy().guarantee(N, D), 0.0, D, isotropic=True)
        modeler = Modeler(release, generator=seeded())
        for _ in range(10):
            row = modeler.ask()
            modeler.tell(row, float(OUTCOMES[row]))
        asked.append(modeler.history.indices)
    assert asked[0] == asked[1]


def test_rows_that_all_tie_are_not_asked_by_position(monkeypatch):
    equidistant = Release(
        1e4 * torch.eye(N).double(), NoPrivacy().guarantee(N, N), 0.0, N, isotropic=True
    )
    monkeypatch.setattr(latest_fit, "fit_model", lambda model: None)
    modeler = Modeler(equidistant, n_initial=1, generator=seeded())
    for _ in range(8):
        modeler.tell(modeler.ask(), 0.0)
    asked = modeler.history.indices
    assert len(set(asked)) == 8
    assert asked != sorted(asked)  # all in order by chance: 1 / 8!


def test_ties_are_reported_where_no_generator_breaks_them():
    candidates = torch.cat([RELEASE.candidates[:1].expand(5, D), RELEASE.candidates[1:2].expand(5, D)])
    acqf = DiscreteUCB(MODEL.eval(), candidates=candidates, t=1)
    with pytest.warns(
        TiedScoresWarning, match=r"^5 candidates tie for the best score, the lowest index"
    ):
        acqf.select(q=1)


def test_scores_that_are_not_finite_are_an_error_and_not_a_choice():
    broken = make_model(RELEASE, [0, 1, 2], [1.0, 2.0, 3.0]).eval()
    with torch.no_grad():
        broken.mean_module.raw_constant.fill_(NAN)
    with pytest.raises(ValueError, match=r"^model must give finite scores, got 50 of 50 that are not"):
        DiscreteUCB(broken, candidates=RELEASE.candidates, t=1).select()


def test_a_model_whose_hyperparameters_are_frozen_is_used_as_it_is():
    frozen = make_model(RELEASE, [0, 1, 2], [1.0, 2.0, 3.0]).eval().requires_grad_(False)
    assert isinstance(frozen, SingleTaskGP)
    index = DiscreteUCB(frozen, candidates=RELEASE.candidates, t=1).select(exclude=[0, 1, 2])
    assert int(index) not in (0, 1, 2)


@pytest.mark.parametrize("told", [0, 1])
def test_one_measurement_or_none_is_enough_to_ask(told):
    modeler = Modeler(RELEASE, n_initial=1, generator=seeded())
    for _ in range(told):
        modeler.tell(modeler.ask(), 1.0)
    assert len(set(modeler.ask(q=2))) == 2


def test_a_batch_of_two_with_pending_rows_works():
    modeler = Modeler(RELEASE, n_initial=2, history=[(0, 1.0), (1, 2.0)], generator=seeded())
    first = modeler.ask()
    batch = modeler.ask(q=2)
    assert batch[0] == first
    assert len({0, 1, *batch}) == 4


def test_an_exhausted_table_is_named_as_such(monkeypatch):
    monkeypatch.setattr(latest_fit, "fit_model", lambda model: None)
    modeler = Modeler(RELEASE, history=[(row, float(row)) for row in range(N)])
    with pytest.raises(
        ValueError, match=r"^q must be at most the 0 rows that are not measured yet, got 1: the"
    ):
        modeler.ask()


def test_asking_without_telling_loses_no_row():
    modeler = Modeler(RELEASE, generator=seeded())
    first = modeler.ask()
    for _ in range(3):
        assert modeler.ask() == first


@pytest.mark.parametrize("d", [1, 100])
def test_one_feature_and_more_features_than_records_work(d):
    records = torch.rand(10, d, dtype=torch.float64)
    scaling = PublicScaling([0.0] * d, [1.0] * d)
    curator = Curator(records, scaling, NoisyProjection(3.0), torch.arange(10.0), generator=seeded())
    history = run(curator, Modeler(curator.release, generator=seeded()), 7)
    assert len(set(history.indices)) == 7


def test_no_message_of_the_modeler_s_side_shows_a_released_value():
    values = {f"{value:.3f}" for value in RELEASE.candidates.abs().flatten().tolist()}
    for call in (
        lambda: MODELER.tell(N, 1.0),
        lambda: MODELER.ask(q=N),
        lambda: make_model(RELEASE, [N], [1.0]),
        lambda: Release(
            torch.where(RELEASE.candidates > 0, NAN, RELEASE.candidates), GUARANTEE, 0.3, D, False
        ),
    ):
        with pytest.raises(ValueError, match=r"must") as caught:
            call()
        assert not any(value in str(caught.value) for value in values)
