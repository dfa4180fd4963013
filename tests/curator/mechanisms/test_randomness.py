"""Where the noise comes from: the operating system alone, unless a seed is given, which is then said."""

import hashlib
import inspect
import os
import random
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from helpers.forks import WORKERS, in_forked_workers, needs_fork

from botorch_private import (
    Curator,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    SpectralProjection,
    compose,
)
from botorch_private.curator.publish import publish, publish_more

N, D = 40, 3
SEED = 7_654_321_987
SCALING = PublicScaling([-25.0] * D, [25.0] * D, radius=25.0)
TABLE = torch.rand(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SAME = torch.ones(N, D, dtype=torch.float64)  # equal records: released rows differ by their noise alone
LAPLACE = NoisyProjection(0.5)
MECHANISMS = {
    "laplace": LAPLACE,
    "gaussian": NoisyProjection(1.0, 1e-5, noise="gaussian"),
    "rotated": NoisyProjection(1.0, projection_dim=5),
    "projected": NoisyProjection(1.0, 1e-5, projection_dim=2),
    "algorithm 1": SpectralProjection(1.0, 1e-5, 2),
}


def by_apply(mechanism, table=TABLE, **options):
    return mechanism.apply(table, **options)


def by_publish(mechanism, table=TABLE, **options):
    return publish(table, SCALING, mechanism, **options).release.candidates


def by_curator(mechanism, table=TABLE, **options):
    return Curator(table, SCALING, mechanism, torch.zeros(N), **options).release.candidates


def by_transform(mechanism, table=TABLE, **options):
    return PrivateProjectionTransform(table, SCALING, mechanism, **options).release.candidates


PATHS = [by_apply, by_publish, by_curator, by_transform]
every_way = pytest.mark.parametrize(
    ("path", "mechanism"),
    [(path, mechanism) for path in PATHS for mechanism in MECHANISMS.values()],
    ids=[f"{path.__name__} {name}" for path in PATHS for name in MECHANISMS],
)
quietly = pytest.mark.filterwarnings("ignore::botorch_private.NotDifferentiallyPrivate")


class Recorded:
    """Stands in for os.urandom: a reproducible stream that counts its bytes."""

    def __init__(self, key):
        self.key, self.bytes_asked = key, 0

    def __call__(self, size):
        start = f"{self.key} {self.bytes_asked}".encode()
        self.bytes_asked += size
        return hashlib.shake_256(start).digest(size)


def seed_all_globals(seed):
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)


def states_of_globals():
    name, words, *rest = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().tolist(), (name, words.tolist(), *rest), random.getstate()


# --- operating-system entropy is the only default ---


@quietly
@every_way
def test_global_generators_neither_repeat_a_release_nor_move_with_it(path, mechanism):
    releases = []
    for _ in range(2):
        seed_all_globals(1)
        before = states_of_globals()
        releases.append(path(mechanism))
        assert states_of_globals() == before
    shared = (releases[0].unsqueeze(1) == releases[1].unsqueeze(0)).all(dim=2)
    assert not shared.any()


@quietly
@every_way
def test_the_operating_system_is_the_only_source(path, mechanism, monkeypatch):
    releases = []
    for key in ("a", "a", "b"):
        source = Recorded(key)
        monkeypatch.setattr(os, "urandom", source)
        releases.append(path(mechanism))
        # A word for each noisy coordinate at least, or for each entry of the paper's matrix.
        least = D * 2 if isinstance(mechanism, SpectralProjection) else N * mechanism.noise_dim(D)
        assert source.bytes_asked >= 8 * least
    assert torch.equal(releases[0], releases[1])
    assert not torch.equal(releases[0], releases[2])


@pytest.mark.parametrize(
    "entrance",
    [Curator, PrivateProjectionTransform, publish]
    + [
        getattr(kind, name)
        for kind in (NoisyProjection, SpectralProjection)
        for name in ("apply", "draw")
    ],
    ids=lambda entrance: entrance.__qualname__,
)
def test_no_entrance_has_a_seed_by_default(entrance):
    parameters = inspect.signature(entrance).parameters
    assert parameters["generator"].default is None
    assert parameters["generator"].kind is inspect.Parameter.KEYWORD_ONLY
    assert not {"seed", "rng", "random_state"} & parameters.keys()


def test_noise_on_answers_has_the_same_only_source(monkeypatch):
    mechanism = OutcomeMechanism(1.0, 0.0, bound=(0.0, 1.0))
    seed_all_globals(1)
    before = states_of_globals()
    fresh = mechanism.draw(torch.zeros(N))
    assert states_of_globals() == before
    assert not torch.equal(fresh, mechanism.draw(torch.zeros(N)))
    answers = []
    for key in ("a", "a", "b"):
        monkeypatch.setattr(os, "urandom", Recorded(key))
        answers.append(mechanism.draw(torch.zeros(N)))
    assert torch.equal(answers[0], answers[1])
    assert not torch.equal(answers[0], answers[2])


# --- a seeded release says so ---


def seeded_release():
    generator = torch.Generator().manual_seed(SEED)
    return publish(TABLE, SCALING, LAPLACE, generator=generator).release


def assert_says_seeded(guarantee):
    assert not guarantee.holds
    assert guarantee.seeded
    assert any("seeded generator" in reason for reason in guarantee.reasons)
    assert "DOES NOT HOLD" in str(guarantee)
    assert "the noise came from a seeded generator" in str(guarantee)
    assert '"seeded": true' in guarantee.to_json()


def test_a_seeded_release_says_so_in_its_guarantee_its_repr_and_its_file(tmp_path):
    release = seeded_release()
    release.save(tmp_path / "release")
    loaded = Release.load(tmp_path / "release")
    for guarantee in (
        release.guarantee,
        loaded.guarantee,
        PrivacyGuarantee.from_json(release.guarantee.to_json()),
    ):
        assert_says_seeded(guarantee)
    assert "holds=False" in repr(release)
    assert "holds=False" in repr(loaded)
    content = (tmp_path / "release").read_bytes()
    assert b"seeded generator" in content[: -release.candidates.numel() * 8]


def test_an_unseeded_release_does_not_claim_to_be_seeded():
    guarantee = publish(TABLE, SCALING, LAPLACE).release.guarantee
    assert guarantee.holds
    assert not guarantee.seeded
    assert "seeded" not in str(guarantee)


def test_the_file_of_a_seeded_release_does_not_hold_the_seed(tmp_path):
    seeded_release().save(tmp_path / "release")
    content = (tmp_path / "release").read_bytes()
    for order in "<>":
        assert struct.pack(f"{order}q", SEED) not in content
        assert struct.pack(f"{order}d", SEED) not in content
    for text in (str(SEED), f"{SEED:x}", f"{SEED:X}", f"{SEED:_}", f"{SEED:,}"):
        assert text.encode() not in content


def test_one_seeded_release_voids_what_several_promise_together():
    fair = publish(TABLE, SCALING, LAPLACE).release.guarantee
    assert_says_seeded(compose([fair, seeded_release().guarantee]))


# --- workers never share noise ---


def shared_rows(tables):
    rows = np.concatenate(tables)
    return len(rows) - len(np.unique(rows, axis=0))


@needs_fork
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")  # equal records
def test_forked_workers_share_no_noise_with_each_other_or_with_their_parent(path):
    # 640 rows; two are equal by chance with probability 1e-14, so any two are in one of 10^8 runs.
    def draw():
        return path(LAPLACE, SAME).numpy()

    before = [draw() for _ in range(3)]  # the parent has drawn: nothing is buffered for later
    tables = [*before, *in_forked_workers(draw), *in_forked_workers(draw), draw()]
    assert len(tables) == 4 + 2 * WORKERS
    assert shared_rows(tables) == 0


@needs_fork
def test_forked_copies_of_one_release_grow_by_different_noise():
    # (A `Curator` refuses to do it in a copy: its copies would not know of each other's spending.)
    published = publish(SAME, SCALING, LAPLACE)

    def draw():
        return publish_more(published, SAME).release.candidates[N:].numpy()

    tables = [published.release.candidates.numpy(), *in_forked_workers(draw), draw()]
    assert shared_rows(tables) == 0


@needs_fork
def test_forked_workers_with_one_generator_would_share_all_noise():
    # The test's own mutant: a source with a state is copied by the fork.
    generator = torch.Generator().manual_seed(SEED)
    tables = in_forked_workers(lambda: by_apply(LAPLACE, SAME, generator=generator).numpy())
    assert shared_rows(tables) == N * (WORKERS - 1)


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")  # equal records
def test_threads_share_no_noise():
    with ThreadPoolExecutor(WORKERS) as pool:
        tables = list(pool.map(lambda _: by_curator(LAPLACE, SAME).numpy(), range(4 * WORKERS)))
    assert shared_rows(tables) == 0
