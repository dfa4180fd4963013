"""A release that grew: a search of the shorter one goes on with the longer one, and is not misled."""

import json
import tempfile
from pathlib import Path

import pytest
import torch
from helpers.remote_server import OUTCOMES, RECORDS, make_curator, make_modeler

from botorch_private import Curator, Modeler, NoisyProjection, PublicScaling, Release
from botorch_private.modeler.remote.download import download_release
from botorch_private.modeler.remote.questions import Questions, earlier_of
from botorch_private.modeler.remote.transport import RemoteError

FURTHER = torch.rand(7, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.fixture
def grown():
    """A release, the longer one, and what the curator answers."""
    curator = make_curator()
    old = curator.release
    return old, curator.add(FURTHER, torch.sin(6 * FURTHER).sum(dim=1)), curator


def test_a_saved_search_goes_on_with_the_longer_release(grown, tmp_path):
    old, new, curator = grown
    modeler = make_modeler(old)
    for _ in range(6):
        row = modeler.ask()
        modeler.tell(row, curator.query(row).value)
    modeler.skip(modeler.ask())
    (open_row,) = modeler.ask(1)
    modeler.save(tmp_path / "run.json")
    on = Modeler.load(tmp_path / "run.json", new)
    assert list(on.history) == list(modeler.history)
    assert (on.pending, on.skipped) == ([open_row], modeler.skipped)
    for _ in range(len(new.candidates) - len(on.history) - len(on.skipped)):
        row = on.ask()
        on.tell(row, curator.query(row).value)
    assert {row for row, _ in on.history} >= set(range(len(old.candidates), len(new.candidates)))
    on.save(tmp_path / "run.json")
    with pytest.raises(ValueError, match="must be a search of the release"):
        Modeler.load(tmp_path / "run.json", old)  # it knows rows that this one has not


def test_a_release_that_does_not_begin_with_these_rows_is_refused_and_so_is_a_file_of_before(
    grown, tmp_path
):
    old, new, _ = grown
    make_modeler(old).save(tmp_path / "run.json")
    changed = new.candidates.clone()
    changed[3, 0] = torch.nextafter(changed[3, 0], torch.tensor(9.0, dtype=torch.float64))
    other = Release(changed, new.guarantee, new.noise_variance, new.noise_dim, new.isotropic)
    with pytest.raises(ValueError, match="must be a search of the release"):
        Modeler.load(tmp_path / "run.json", other)
    written = json.loads((tmp_path / "run.json").read_text())
    assert written["rows"] == [len(old.candidates), old.rows_digest()]


def test_the_longer_release_and_the_shorter_one_know_each_other(grown):
    old, new, curator = grown
    longer = curator.add(FURTHER[:1] / 2 + 0.25, OUTCOMES[:1])
    assert new.begins_with(old)
    assert longer.begins_with(old)
    assert longer.begins_with(new)
    assert not old.begins_with(new)
    another = Curator(RECORDS, PublicScaling([0.0, 0.0], [1.0, 1.0]), NoisyProjection(100.0), OUTCOMES)
    assert not longer.begins_with(another.release)


def shown(number, row):
    return {"id": number, "row": row, "state": "pending", "value": None, "revision": 0}


class Sent:
    """A transport that has one release to send, and says what the server says."""

    url = "http://curator"

    def __init__(self, release, facts=None):
        self.release, self.facts, self.keys, self.questions = release, facts, [], []

    def download(self, path, file, etag):
        if etag == self.release.identity:
            return False
        with tempfile.TemporaryDirectory() as place:
            self.release.save(Path(place, "sent"))
            file.write(Path(place, "sent").read_bytes())
        return True

    def get(self, path, **_):
        return {"queries": self.questions} if path == "/v1/queries" else self.facts

    def no_curator(self, why):
        return RemoteError("no_curator", why)

    def post(self, path, body, key):
        self.keys.append(key)
        return shown(1, body["row"])


def test_the_longer_release_replaces_the_file_only_if_it_begins_with_its_rows(grown, tmp_path):
    old, new, _ = grown
    path, earlier = tmp_path / "release", {old.identity: len(old.candidates)}
    old.save(path)
    kept = path.read_bytes()
    lies = Release(
        new.candidates.flip(0), new.guarantee, new.noise_variance, new.noise_dim, new.isotropic
    )
    with pytest.raises(RemoteError, match="must begin with the rows of the one in") as refused:
        download_release(Sent(lies), lies.identity, path, earlier)
    assert refused.value.code == "other_release"
    assert path.read_bytes() == kept
    assert download_release(Sent(new), new.identity, path, earlier).identity == new.identity
    assert Release.load(path).identity == new.identity


def test_a_question_keeps_its_key_and_a_server_that_grew_is_still_the_same():
    first, now = "a" * 64, "b" * 64
    grown = {"identity": now, "earlier": [{"identity": first, "rows": 5}]}
    before, after = Sent(None, {"identity": first}), Sent(None, grown)
    Questions(before, first, 5, None).ask(3)
    Questions(after, now, 8, None, known_as=first).ask(3)
    assert before.keys == after.keys
    assert Questions(after, first, 5, None).facts() == grown  # a search of before the growth
    with pytest.raises(RemoteError, match="serves another release by now"):
        Questions(after, "c" * 64, 5, None).facts()
    assert earlier_of({}) == {}


def test_questions_of_others_about_rows_that_joined_do_not_end_a_search_of_the_shorter_release():
    first = "a" * 64
    grown = {"identity": "b" * 64, "rows": 8, "earlier": [{"identity": first, "rows": 5}]}
    transport = Sent(None, grown)
    questions = Questions(transport, first, 5, None)
    number = questions.ask(3)
    transport.questions = [shown(number, 3), shown(2, 7)]
    found, lost = questions.look()
    assert ([each.row for each in found], lost) == ([3, 7], [])
    transport.questions = [shown(number, 3), shown(2, 8)]  # of no row that there is
    with pytest.raises(RemoteError, match="answers about a question with something else"):
        questions.look()


def test_a_server_that_says_nonsense_of_earlier_releases_is_none():
    questions = Questions(Sent(None, {"identity": "a" * 64, "earlier": [3]}), "a" * 64, 5, None)
    with pytest.raises(RemoteError, match="is not one"):
        questions.facts()
