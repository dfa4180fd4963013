"""A transform is built once, and can be built of a release that exists."""

import warnings

import pytest
import torch
from botorch.models import SingleTaskGP
from helpers.draws import seeded, uniform

from botorch_private import (
    Curator,
    DenoisedRelease,
    Encoding,
    Ledger,
    NoisyProjection,
    NoPrivacy,
    Number,
    PrivacyLeakWarning,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    ReleasedInputKernel,
    SpectralProjection,
    YesNo,
)
from botorch_private.curator import transform as transform_module

SCALING = PublicScaling([0.0] * 3, [1.0] * 3)
RECORDS = uniform(400, 3)
MECHANISMS = {
    "no projection": NoisyProjection(8.0),
    "rotation": NoisyProjection(8.0, projection_dim=5),
    "subspace": NoisyProjection(8.0, delta=1e-5, projection_dim=2),
    "spectral": SpectralProjection(2.0, 1e-5, 4),
    "none": NoPrivacy(),
    "drowned": NoisyProjection(0.001),
}
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def curator_of(name, records=RECORDS, scaling=SCALING):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Curator(records, scaling, MECHANISMS[name], RECORDS[:, 0], generator=seeded(1))


def of(curator, records=RECORDS, scaling=SCALING, release=None, permutation=None):
    return PrivateProjectionTransform.from_release(
        curator.release if release is None else release,
        records,
        scaling,
        curator.permutation if permutation is None else permutation,
    )


@every_mechanism
def test_it_gives_each_record_its_row_of_the_release_and_spends_nothing(name, tmp_path):
    curator = curator_of(name)
    spent = curator.guarantee
    transform = of(curator)
    rows = transform(RECORDS)
    assert torch.equal(rows[curator.permutation], curator.release.candidates)
    assert transform.release is curator.release
    assert curator.guarantee == spent
    curator.release.save(tmp_path / "release.safetensors")
    again = of(curator, release=Release.load(tmp_path / "release.safetensors"))
    assert again.equals(transform)
    kernel = ReleasedInputKernel.of(again.release)
    model = SingleTaskGP(RECORDS[:5], RECORDS[:5, :1], input_transform=again, covar_module=kernel)
    assert model.posterior(RECORDS[:9]).mean.shape == (9, 1)


def test_one_of_an_earlier_transform_is_equal_to_it():
    first = PrivateProjectionTransform(
        RECORDS, SCALING, NoisyProjection(8.0, projection_dim=2, delta=1e-5)
    )
    second = PrivateProjectionTransform.from_release(first.release, RECORDS, SCALING, first.permutation)
    assert second.equals(first)
    assert torch.equal(second(RECORDS), first(RECORDS))


@every_mechanism
def test_other_records_scaling_or_order_are_refused_as_far_as_the_release_shows_it(name):
    curator = curator_of(name)
    permutation = curator.permutation
    with pytest.raises(ValueError, match="records must be the 400 x 3 that were released"):
        of(curator, records=RECORDS[:-1])
    with pytest.raises(ValueError, match="permutation must hold each of 0..399 once"):
        of(curator, permutation=torch.zeros(400, dtype=torch.int64))
    with pytest.raises(ValueError, match="permutation must have 400 entries"):
        of(curator, permutation=permutation[:-1])
    if MECHANISMS[name].guarantee(400, 3).features is not None:
        for other in (
            PublicScaling([0.0] * 3, [1.1] * 3),
            PublicScaling([0.0] * 3, [1.0] * 3, names=list("abc")),
        ):
            with pytest.raises(ValueError, match="scaling must be that of the release"):
                of(curator, scaling=other)
    for wrong in (
        {"permutation": permutation.flip(0)},
        {"records": RECORDS.flip(0)},
        {"records": uniform(400, 3, seed=9)},
    ):
        if name in ("no projection", "rotation", "none"):
            with pytest.raises(ValueError, match="records must be those of the release"):
                of(curator, **wrong)
        else:
            of(curator, **wrong)  # nothing to see it by


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 30.0])
def test_the_right_order_is_never_refused_whatever_the_noise(epsilon, seed):
    records = uniform(60, 2, seed=seed)
    scaling = PublicScaling([0.0] * 2, [1.0] * 2)
    curator = Curator(records, scaling, NoisyProjection(epsilon), records[:, 0], generator=seeded(seed))
    of(curator, records, scaling)


def test_what_is_no_release_or_no_scaling_is_refused():
    curator = curator_of("rotation")
    for other in (DenoisedRelease.of(curator.release), curator, None):
        with pytest.raises(TypeError, match="release must be a Release as it was made"):
            PrivateProjectionTransform.from_release(other, RECORDS, SCALING, curator.permutation)
    with pytest.raises(TypeError, match="scaling must be a PublicScaling"):
        of(curator, scaling=MECHANISMS["rotation"])


def test_a_scaling_with_categories_is_compared_too():
    encoding = Encoding([Number("a", 0.0, 1.0), YesNo("b")])
    records = torch.cat([RECORDS[:, :1], (RECORDS[:, 1:2] > 0.5).double()], dim=1)
    scaling = encoding.scaling
    curator = curator_of("no projection", records, scaling)
    assert of(curator, records, scaling).release is curator.release
    with pytest.raises(ValueError, match="scaling must be that of the release"):
        of(curator, records, PublicScaling([0.0, 0.0], [1.0, 1.0], names=["a", "b"]))


# --- a second one warns ---


@pytest.fixture(autouse=True)
def nothing_was_released_yet(monkeypatch):
    monkeypatch.setattr(transform_module, "_RELEASED", set())


def build(records=RECORDS, mechanism=MECHANISMS["rotation"], scaling=SCALING, **options):
    return PrivateProjectionTransform(records, scaling, mechanism, **options)


@pytest.mark.parametrize(
    "again",
    [
        {},
        {"records": RECORDS.clone()},
        {"records": RECORDS.numpy()},
        {"mechanism": NoisyProjection(1.0)},
        {"scaling": PublicScaling([0.0] * 3, [2.0] * 3)},
    ],
)
def test_a_second_one_of_the_same_records_warns_before_it_releases(again):
    build()
    with pytest.warns(PrivacyLeakWarning, match="was built before in this process") as caught:
        build(**again)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyLeakWarning):
            build(**again)
        build(RECORDS[:-1])  # another table
        build(ledger=Ledger())  # which counts
    with pytest.warns(PrivacyLeakWarning):
        build()


def test_seeded_ones_and_those_that_promise_nothing_do_not_warn():
    for _ in range(2):
        build(generator=seeded(1))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*not private")
            warnings.filterwarnings("ignore", category=UserWarning, message=".*differentially.*")
            build(mechanism=NoPrivacy())
    build()


def test_a_failed_one_does_not_count_as_a_release():
    from botorch_private import BudgetError, PrivacyGuarantee

    with pytest.raises(BudgetError):
        build(ledger=Ledger(PrivacyGuarantee.budget(0.001)))
    build()
