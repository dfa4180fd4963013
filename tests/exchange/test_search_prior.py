"""SearchPrior: its file, and what it refuses."""

import math

import pytest

from botorch_private import SearchPrior

PRIOR = SearchPrior((3.0, 0.1 + 0.2), 5.0, 0.4, ("a", "b"))


def test_a_file_holds_every_digit(tmp_path):
    PRIOR.save(tmp_path / "prior.json")
    assert SearchPrior.load(tmp_path / "prior.json") == PRIOR
    nameless = SearchPrior((1.0,), 1.0, 0.5)
    nameless.save(tmp_path / "other.json")
    assert SearchPrior.load(tmp_path / "other.json") == nameless


@pytest.mark.parametrize("change", [("0.4", "0.5"), ("{", ""), ("search prior", "release")])
def test_a_changed_or_other_file_is_refused(tmp_path, change):
    PRIOR.save(tmp_path / "prior.json")
    text = (tmp_path / "prior.json").read_text()
    (tmp_path / "prior.json").write_text(text.replace(*change, 1))
    with pytest.raises(ValueError, match=r"path must be a whole file of SearchPrior\.save"):
        SearchPrior.load(tmp_path / "prior.json")


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is none"):
        SearchPrior.load(tmp_path / "prior.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengthscales": ()}, "lengthscales must have at least 1 entry"),
        ({"lengthscales": (1.0, 0.0)}, r"lengthscales\[1\] must be a finite number > 0"),
        ({"lengthscales": (1.0, math.inf)}, r"lengthscales\[1\] must be a finite number > 0"),
        ({"lengthscale": -1.0}, "lengthscale must be a finite number > 0"),
        ({"outcome_noise": 1.0}, r"outcome_noise must be a number in \(0, 1\)"),
        ({"names": ("a",)}, "names must have 2 entries, got 1"),
    ],
)
def test_what_is_no_prior_is_refused(change, message):
    given = {"lengthscales": (1.0, 2.0), "lengthscale": 1.0, "outcome_noise": 0.4, **change}
    with pytest.raises(ValueError, match=message):
        SearchPrior(**given)
