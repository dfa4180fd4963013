"""`ranges choose`: from a history to a file of ranges, to a release that says so."""

import random

import pytest

from botorch_private import Release, SearchPrior, load_encoding
from botorch_private.cli.main import main

RANGES = """
[features.weight]
lower = 0
upper = 200
[features.age]
lower = 18
upper = 100
edges = [40, 65]
[features.smoker]
kind = "boolean"
yes = "J"
no = "N"
[features.ward]
kind = "category"
categories = ["icu", "er"]
"""
MARK = "MRK-7f3a"
CHOOSE = ("ranges", "choose", "last.csv", "--ranges", "ranges.toml", "--outcome", "cost")
RANGE = ("--outcome-range", "0", "150")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranges.toml").write_text(RANGES)
    rng = random.Random(0)
    for name, n in (("stays.csv", 120), ("last.csv", 2000)):
        lines = ["weight,age,smoker,ward,cost"]
        for _ in range(n):
            age, ward = rng.randint(19, 99), rng.choice(["icu", "er"])
            cost = age + 40 * (ward == "icu") + rng.random()
            lines.append(f"{rng.randint(40, 160)},{age},{rng.choice('JN')},{ward},{cost:.3f}")
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def choose(*more):
    return main([*CHOOSE, *RANGE, *more])


def test_features_are_chosen_released_and_the_guarantee_says_so(place, capsys):
    assert choose("--count", "2", "--epsilon", "2", "--prior", "prior.json") == 0
    told = capsys.readouterr().out
    assert "Wrote chosen.toml" in told
    assert "2000 people of a history, none of whom is in this table" in told
    assert "changes the chance of any choice by at most epsilon 2 and delta 1e-05" in told
    chosen, declared = load_encoding("chosen.toml"), load_encoding("ranges.toml")
    assert [each.name for each in chosen.features] == ["age", "ward"]
    assert chosen.features == tuple(each for each in declared.features if each.name in ("age", "ward"))
    assert chosen.scaling.history.epsilon == 2.0
    unit = dict(zip(declared.names, declared.scaling.unit.tolist(), strict=True))
    for name, size in zip(chosen.names, chosen.scaling.unit.tolist(), strict=True):
        assert size == pytest.approx(unit[name], rel=1e-9)
    prior = SearchPrior.load("prior.json")
    assert prior.names == chosen.names
    assert main(["ranges", "check", "chosen.toml"]) == 0
    assert "changes the chance of any choice by at most epsilon 2" in capsys.readouterr().out
    command = ["curator", "init", "stays.csv", "clinic", "--ranges", "chosen.toml", "--epsilon", "3"]
    assert main([*command, "--yes", "--objective", "column:cost"]) == 0
    assert "features were chosen from records of 2000 people" in capsys.readouterr().out
    release = Release.load(place / "clinic" / "release.safetensors")
    assert release.guarantee.names == chosen.names
    assert any("another promise holds" in each for each in release.guarantee.assumptions)


def test_a_whole_record_release_of_chosen_features_says_so(place, capsys):
    assert choose("--count", "2") == 0
    command = ["curator", "init", "stays.csv", "clinic", "--ranges", "chosen.toml", "--whole-record"]
    assert main([*command, "--epsilon", "3", "--yes"]) == 0
    assert "features were chosen from records of 2000 people" in capsys.readouterr().out


def test_a_public_history_is_called_so(place, capsys):
    assert choose("--count", "1", "--public") == 0
    assert "the curator says that it is public" in capsys.readouterr().out
    assert load_encoding("chosen.toml").scaling.history.public


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--count", "5"), "--count must be at most the 4 features"),
        (("--count", "0"), "--count: must be a whole number >= 1"),
        (("--count", "1", "--epsilon", "0"), "--epsilon must be a finite number > 0"),
        (("--count", "1", "--delta", "1"), "--delta must be a number in (0, 1)"),
        (("--count", "1", "--outcome-range", "5", "5"), "--outcome-range must be two rising numbers"),
        (("--count", "1", "--outcome", "age"), "--outcome must not be a feature"),
        (("--count", "1", "--outcome", "price"), "price"),
        (("--count", "1", "--prior", "chosen.toml"), "another file than that of --output"),
        (("--count", "1", "--prior", "no/prior.json"), "argument --prior: there is no folder"),
    ],
)
def test_what_is_unusable_is_refused_and_no_file_is_written(place, capsys, change, message):
    with pytest.raises(SystemExit):
        choose(*change)
    assert message in capsys.readouterr().err
    assert not (place / "chosen.toml").exists()


def test_a_file_that_is_there_is_kept_and_so_is_its_prior(place):
    (place / "prior.json").write_text("mine")
    with pytest.raises(SystemExit):
        choose("--count", "1", "--prior", "prior.json")
    assert (place / "prior.json").read_text() == "mine"
    assert not (place / "chosen.toml").exists()
    assert choose("--count", "1", "--prior", "prior.json", "--force") == 0


def test_a_chosen_file_is_not_chosen_from_again(place, capsys):
    assert choose("--count", "2") == 0
    again = [*CHOOSE, *RANGE, "--count", "1", "--output", "fewer.toml", "--ranges", "chosen.toml"]
    with pytest.raises(SystemExit):
        main(again)
    assert "adds up" in capsys.readouterr().err
    assert not (place / "fewer.toml").exists()


@pytest.mark.parametrize(
    "change",
    [
        ("people = 2000", "people = 0"),
        ("public = false", "public = true"),
        ("epsilon = 1.0", "epsilon = 'one'"),
        ("delta = 1e-05\n", ""),
        ("seeded = false", "seeded = 0"),
        ("[history]\n", "[history]\nmore = 1\n"),
    ],
)
def test_a_promise_that_was_changed_is_refused(place, change):
    assert choose("--count", "1") == 0
    text = (place / "chosen.toml").read_text()
    assert change[0] in text
    (place / "chosen.toml").write_text(text.replace(*change))
    with pytest.raises(ValueError, match="the table history must be as 'ranges choose' writes it"):
        load_encoding("chosen.toml")


def test_no_text_of_a_history_is_shown(place, capsys):
    rows = "41,50,J,er,5\n" * 60
    (place / "last.csv").write_text(f"weight,age,smoker,ward,cost\n40,{MARK},N,icu,4\n{rows}")
    with pytest.raises(SystemExit):
        choose("--count", "1")
    error = capsys.readouterr().err
    assert "row 2" in error
    assert MARK not in error


def test_a_file_that_appears_meanwhile_is_named_by_its_own_option(place, capsys, monkeypatch):
    from botorch_private.curator.history import choose_features as module

    real = module.release_moments

    def meanwhile(*arguments, **options):
        (place / "prior.json").write_text("of somebody else")
        return real(*arguments, **options)

    monkeypatch.setattr(module, "release_moments", meanwhile)
    with pytest.raises(SystemExit):
        choose("--count", "2", "--prior", "prior.json")
    assert "--prior must be new" in capsys.readouterr().err
    assert (place / "prior.json").read_text() == "of somebody else"
    assert not (place / "chosen.toml").exists()
