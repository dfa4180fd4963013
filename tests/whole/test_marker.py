"""Nothing on the modeler's side holds a raw value, an outcome not asked for, a seed, a singular value.

Marker values are planted in a table; everything public is searched for them (`contents.Contents`).
Markers of the first column are far from any other number here, so that rounded and printed traces are
found as well. Other secrets are found where they are copied, or printed in full.
"""

import io
import pickle

import pytest
import torch
from helpers.contents import Contents
from helpers.marked import (
    EXACT,
    MARK,
    MECHANISMS,
    OUTCOMES,
    RECORDS,
    SCALING,
    SECRETS,
    SEED,
    N,
    listening,
    refusal,
)

from botorch_private import (
    BudgetError,
    Curator,
    DenoisedRelease,
    DiscretePosterior,
    DiscreteUCB,
    History,
    Modeler,
    OutcomeMechanism,
    PrivacyGuarantee,
    Release,
    ReleasedInputKernel,
    compose,
    make_model,
    run,
)
from botorch_private.curator.publish import publish
from botorch_private.modeler.models.candidate_block import SLAB

ROUNDS = 8


def found_in(contents, curator):
    """Secrets that are there: of the table, outcomes not asked for, and the order of the rows."""
    asked = {curator.permutation[index].item() for index in curator.asked}
    unasked = [(value, EXACT) for i, value in enumerate(OUTCOMES.tolist()) if i not in asked]
    found = [value for value, tolerance in SECRETS + unasked if contents.finds(value, tolerance)]
    orders = [curator.permutation.to(kind) for kind in (torch.int64, torch.int32, torch.uint8)]
    texts = [repr(curator.permutation.tolist()).encode(), str(curator.permutation).encode()]
    patterns = texts + [order.numpy().tobytes() for order in orders]
    return found + [pattern for pattern in patterns if pattern in contents.bytes]


class Asked(Curator):
    """Curator that notes which rows were asked for."""

    def __init__(self, *arguments, **options):
        self.asked = []
        super().__init__(*arguments, **options)

    def query(self, index):
        observation = super().query(index)
        self.asked.append(observation.index)
        return observation


def pickled(thing):
    try:
        return pickle.dumps(thing)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        return error


def studied(mechanism, folder):
    """Run both parties, and return the curator and everything that the modeler gets to see."""
    with listening() as said:
        generator = torch.Generator().manual_seed(SEED)
        curator = Asked(RECORDS, SCALING, mechanism, OUTCOMES, max_queries=ROUNDS, generator=generator)
        curator.release.save(folder / "release")
        release = Release.load(folder / "release")
        modeler = Modeler(release, n_initial=3)
        for _ in range(2):
            for index in modeler.ask(q=2):
                modeler.tell(index, curator.query(index).value)
        modeler.skip(next(row for row in range(N) if row not in curator.asked))
        modeler.ask(q=2)
        resumed = Modeler(curator.release, history=modeler.history, refit_every=3)
        run(curator, resumed, rounds=2)
        denoised = Modeler(release, denoise=True, history=resumed.history)
        denoised.tell(index := denoised.ask(), curator.query(index).value)
        known = [modeler, resumed, denoised]
        model = make_model(release, *zip(*resumed.history, strict=True))
        state = io.BytesIO()
        torch.save(model.state_dict(), state)
        posterior = DiscretePosterior(model, release.candidates, max_memory=10_000)
        acquisition = DiscreteUCB(posterior, None, t=1)
        acquisition.select(q=2)
        public = {
            "file": (folder / "release").read_bytes(),
            "release in the same process": curator.release,
            "release from the file": release,
            "guarantee": [release.guarantee, str(release.guarantee), release.guarantee.to_json()],
            "composition": str(compose([release.guarantee])),
            "identity": [release.identity, release.spread],
            "denoised release": DenoisedRelease.of(release),
            "modelers": known,
            "what modelers say": [[each.best, each.pending, each.history] for each in known],
            "models": [each.model() for each in known],
            "posteriors": [[p := each.posterior(), p.mean, p.variance] for each in known],
            "model": [model, list(model.named_parameters()), list(model.named_buffers())],
            "state_dict": [model.state_dict(), state.getvalue()],
            "posterior": [posterior, posterior.moments(), acquisition],
            "kernel": [
                kernel := ReleasedInputKernel.of(release),
                kernel(release.candidates[:4]).to_dense(),
            ],
            "frame": [frame := resumed.history.to_frame(), frame.to_csv(), frame.to_json()],
            "repr of the curator": repr(curator),
            "budget": [curator.queries_left, curator.max_queries],
        }
        things = [release, *known, model, posterior, kernel, resumed.history, release.guarantee]
        public["pickles"] = [pickled(thing) for thing in things]
        public["refusals"] = [refusal(wrong) for wrong in wrong_uses(curator, release, modeler, folder)]
    return curator, public | said


def wrong_uses(curator, release, modeler, folder):
    """What a modeler can do wrong, by itself and towards the curator."""
    told, _ = next(iter(modeler.history))
    left = next(row for row in range(N) if row not in curator.asked)
    (folder / "damaged").write_bytes((folder / "release").read_bytes()[:-9])
    altered = bytearray((folder / "release").read_bytes())
    altered[-1] ^= 1
    (folder / "altered").write_bytes(altered)
    while curator.queries_left:
        curator.query(left := next(row for row in range(N) if row not in curator.asked))
    left = next(row for row in range(N) if row not in curator.asked)
    model = make_model(release, [0, 1], [1.0, 2.0])
    return [
        lambda: curator.query(-1),
        lambda: curator.query(N),
        lambda: curator.query(1.0),
        lambda: curator.query("0"),
        lambda: curator.query(release.candidates[0]),
        lambda: curator.query(left),
        lambda: curator.rerelease(),
        lambda: run(curator, modeler, rounds=1),
        lambda: Release.load(folder / "none"),
        lambda: Release.load(folder / "damaged"),
        lambda: Release.load(folder / "altered"),
        lambda: Release(release.candidates[:1], release.guarantee, 0.0, 1, False),
        lambda: release.save(folder / "none" / "release"),
        lambda: DenoisedRelease.of(DenoisedRelease.of(release)),
        lambda: DenoisedRelease.of(release).save(folder / "denoised"),
        lambda: PrivacyGuarantee.from_json("{}"),
        lambda: release.guarantee.at(-1.0),
        lambda: compose([]),
        lambda: Modeler(release.candidates),
        lambda: modeler.ask(0),
        lambda: modeler.ask(N + 1),
        lambda: modeler.tell(N, 1.0),
        lambda: modeler.tell(told, 99.0),
        lambda: modeler.tell(told, float("nan")),
        lambda: modeler.skip(told),
        lambda: Modeler(release, history=[(N, 1.0)]),
        lambda: make_model(release, [N], [1.0]),
        lambda: make_model(release, [0], [float("nan")]),
        lambda: DiscretePosterior(model, release.candidates.float()),
        lambda: DiscretePosterior(model, release.candidates[:, :1]).mean,
        lambda: DiscreteUCB(model, release.candidates, t=0),
        lambda: DiscreteUCB(model, release.candidates, t=1).select(q=N + 1),
        lambda: History([(0, float("nan"))]),
        lambda: History().best,
    ]


@pytest.fixture(scope="module", params=MECHANISMS)
def study(request, tmp_path_factory):
    """Return the curator of one mechanism, and what its modeler sees."""
    return studied(MECHANISMS[request.param], tmp_path_factory.mktemp("study"))


def test_no_secret_is_in_anything_on_the_modelers_side(study):
    curator, public = study
    leaks = {
        name: found for name, thing in public.items() if (found := found_in(Contents(thing), curator))
    }
    assert leaks == {}
    assert len(curator.asked) >= ROUNDS
    assert any(isinstance(error, BudgetError) for error in public["refusals"])


def test_the_same_search_finds_all_secrets_on_the_curators_side(study):
    curator, _ = study
    contents = Contents(curator)
    assert all(contents.finds(value) for value in RECORDS.flatten().tolist())
    assert all(contents.finds(value) for value in OUTCOMES.tolist())
    assert contents.finds(SEED)
    assert curator.permutation.numpy().tobytes() in contents.bytes


@pytest.mark.parametrize("place", ["file", "modelers", "refusals", "log"])
def test_a_planted_leak_is_found(study, place):
    curator, public = study
    for secret in (RECORDS[0, 0].item(), RECORDS[5, 1].item(), SEED, curator.permutation.tolist()):
        assert found_in(Contents(public[place], {"spy": [secret]}, repr(secret)), curator)


def test_no_outcome_at_all_is_on_the_modelers_side_where_answers_are_noised():
    noise = OutcomeMechanism(5.0, 0.0, bound=(0.0, 7.0))
    curator = Asked(RECORDS, SCALING, MECHANISMS["laplace"], OUTCOMES, outcome_mechanism=noise)
    modeler = Modeler(curator.release, n_initial=3)
    history = run(curator, modeler, rounds=ROUNDS, progress=False)
    again = [curator.query(index) for index in list(curator.asked)]
    wrong = refusal(lambda: modeler.tell(curator.asked[0], 99.0))
    contents = Contents(curator.release, modeler, history, again, pickled(modeler), wrong)
    assert [value for value in OUTCOMES.tolist() if contents.finds(value)] == []
    assert found_in(contents, curator) == []
    assert all(Contents(curator).finds(value) for value in OUTCOMES.tolist())


def test_memory_that_a_posterior_has_not_written_to_holds_nothing_of_the_process():
    release = publish(RECORDS, SCALING, MECHANISMS["laplace"]).release
    model = make_model(release, [0, 1], [1.0, 2.0])
    posterior = DiscretePosterior(model, release.candidates)
    freed = [torch.full((SLAB, N), MARK, dtype=torch.float64) for _ in range(100)]
    del freed
    assert posterior.num_observations == 2
    assert posterior.mean.isfinite().all()
    assert not Contents(pickled(posterior)).finds(MARK)


def text(record):
    return f"{record[0]:.2f}"


@pytest.mark.parametrize(
    "objective",
    [
        lambda record: record,
        lambda record: record.tolist(),
        lambda record: record.numpy().astype(str),
        lambda record: dict(enumerate(record.tolist())),
        text,
        lambda record: text(record).encode(),
        lambda record: complex(record[0]),
        lambda record: record[0] * float("nan"),
        lambda record: (record * 1e308).sum(),
        lambda record: None,
    ],
)
def test_a_refused_measurement_does_not_tell_the_record(objective):
    curator = Asked(RECORDS, SCALING, MECHANISMS["laplace"], objective)
    error = refusal(lambda: curator.query(0))
    assert "for released row 0" in str(error)
    assert found_in(Contents(error), curator) == []
