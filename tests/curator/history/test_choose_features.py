"""choose_features: what it finds, in which unit it stays, what it says to whom."""

import math

import numpy as np
import pandas
import pytest
import torch

from botorch_private import (
    Category,
    CellResponse,
    Cells,
    Curator,
    Encoding,
    NoisyProjection,
    Number,
    PublicScaling,
    YesNo,
    choose_features,
)
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.features.written import ranges_text
from botorch_private.datasets import hospital

DOLLARS = (math.log(1e3), math.log(1e6))


def people(m=2_000, width=5, seed=0):
    """Features of which the second and the last matter."""
    generator = torch.Generator().manual_seed(seed)
    records = torch.rand(m, width, generator=generator, dtype=torch.float64)
    return records, (records[:, 1] - 2 * records[:, -1] + 2) / 3


def scaling_of(width=5, **more):
    return PublicScaling([0.0] * width, [1.0] * width, **more)


def chosen(count=2, *, m=2_000, width=5, **more):
    records, outcomes = people(m, width)
    names = [f"x{i}" for i in range(width)]
    given = {"outcome_range": (0.0, 1.0), "epsilon": 2.0, **more}
    return choose_features(records, outcomes, scaling_of(width, names=names), count, **given)


def test_what_matters_is_chosen_the_most_correlated_first():
    choice = chosen()
    assert choice.features == ("x4", "x1")
    assert choice.columns == (1, 4)
    assert choice.correlations[0] < -0.5 < 0.2 < choice.correlations[1]
    assert choice.scaling.names == ("x1", "x4")


def test_a_public_history_gives_the_exact_order():
    records, outcomes = people(300, 8)
    choice = choose_features(records, outcomes, scaling_of(8), 8, outcome_range=(0.0, 1.0), public=True)
    assert [abs(each) for each in choice.correlations] == sorted(map(abs, choice.correlations))[::-1]
    assert choice.features[:2] == ("feature 7", "feature 1")
    assert choice.columns == tuple(range(8))
    assert choice.scaling.radius == pytest.approx(25.0, rel=1e-9)


@pytest.mark.parametrize("lengthscale", [None, [1.0, 0.3, 0.2, 2.0, 0.5]])
def test_one_unit_of_distance_stays_what_it_was(lengthscale):
    """So that an epsilon promises for each feature what it promised with all of them."""
    records, outcomes = people()
    whole = scaling_of(lengthscale=lengthscale)
    kept = choose_features(records, outcomes, whole, 2, outcome_range=(0.0, 1.0), epsilon=2.0)
    columns = list(kept.columns)
    assert kept.scaling.unit.tolist() == pytest.approx(whole.unit[columns].tolist(), rel=1e-11)
    one, two = (whole.transform(records)[:, columns], kept.scaling.transform(records[:, columns]))
    assert (one - one[0]).numpy() == pytest.approx((two - two[0]).numpy(), abs=1e-9)


def test_a_skewed_feature_of_small_range_is_found_by_correlation():
    """Covariance would rank the wide feature first, which goes with the outcome by chance alone."""
    generator = torch.Generator().manual_seed(0)
    rare = (torch.rand(5_000, generator=generator) < 0.1).double()
    wide = torch.randint(2, (5_000,), generator=generator).double()
    outcomes = 0.3 * rare + 0.1 * wide
    outcomes = outcomes + 0.05 * torch.randn(5_000, generator=generator, dtype=torch.float64)
    found = choose_features(
        torch.stack([wide, rare], dim=1), outcomes, scaling_of(2), 2, outcome_range=(0, 1), epsilon=3.0
    )
    assert found.features[0] == "feature 1"
    exact = np.cov(torch.stack([wide, rare, outcomes]).numpy())[:2, -1]
    assert found.correlations[0] > 0.5
    assert exact[1] / exact[0] < 1.3


ENCODING = Encoding(
    [
        Number("age", 18, 100),
        YesNo("smoker"),
        Category("ward", ("icu", "er", "other")),
        Number("weight", 0, 200),
    ]
)


def stays(m=3_000):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "age": rng.integers(18, 100, m),
            "smoker": rng.choice(["yes", "no"], m),
            "ward": rng.choice(["icu", "er", "other"], m),
            "weight": rng.integers(40, 160, m),
        }
    )
    outcomes = 1.0 * (frame["ward"] == "icu") + 0.7 * (frame["smoker"] == "yes")
    return frame, torch.tensor((outcomes + 0.1 * rng.standard_normal(m)).to_numpy())


def test_a_category_is_chosen_whole_and_a_yes_no_by_its_codes():
    frame, outcomes = stays()
    choice = choose_features(
        ENCODING.encode(frame), outcomes, ENCODING.scaling, 2, outcome_range=(0.0, 2.0), epsilon=2.0
    )
    assert set(choice.features) == {"smoker", "ward"}
    assert choice.scaling.names == ("smoker", "ward=icu", "ward=er", "ward=other")
    assert choice.columns == (1, 2, 3, 4)
    kept = choice.encoding(ENCODING)
    for ours, theirs in zip(kept.scaling.steps, choice.scaling.steps, strict=True):
        assert (ours.name, ours.columns) == (theirs.name, theirs.columns)
        assert ours.width == pytest.approx(theirs.width, rel=1e-12)
    assert kept.scaling.unit.tolist() == pytest.approx(choice.scaling.unit.tolist(), rel=1e-14)
    curator = Curator(kept.encode(frame), kept.scaling, NoisyProjection(3.0), outcomes)
    assert [step.name for step in curator.guarantee.steps] == ["smoker", "ward"]


def test_the_chosen_ones_of_other_declarations_are_refused():
    with pytest.raises(ValueError, match="features that were chosen from"):
        chosen().encoding(ENCODING)


def test_a_data_frame_in_another_order_is_refused():
    records, outcomes = people()
    frame = pandas.DataFrame(records.numpy(), columns=["b", "a", "c", "d", "e"])
    named = scaling_of(names=["a", "b", "c", "d", "e"])
    with pytest.raises(ValueError, match="columns"):
        choose_features(frame, outcomes, named, 2, outcome_range=(0.0, 1.0))


@pytest.mark.parametrize("lengthscale", [None, 2.0])
def test_a_file_of_chosen_ranges_says_the_same(tmp_path, lengthscale):
    features = [
        Number("x 0", 18, 100, lengthscale, edges=(40, 65.5)),
        YesNo("smöker", lengthscale, yes="J", no='N"'),
        Category("ward", ("icu", "er\\"), lengthscale),
    ]
    promise = chosen().promise
    written = Encoding(features, 11.3, history=promise)
    (tmp_path / "ranges.toml").write_text(ranges_text(written), encoding="utf-8")
    found = load_encoding(tmp_path / "ranges.toml")
    assert found.features == written.features
    assert found.scaling.radius == 11.3
    assert found.scaling.history == promise


def test_the_guarantee_names_both_groups_whoever_releases():
    records, outcomes = people()
    choice = chosen()
    kept = records[:, choice.columns]
    noise = Curator(kept, choice.scaling, NoisyProjection(3.0), outcomes).guarantee
    cells = Cells.of_encoding(
        Encoding([Number(n, 0, 1, edges=(0.5,)) for n in ("x1", "x4")], history=choice.promise)
    )
    for text in map(str, (noise, CellResponse(3.0, cells).guarantee(100, 2))):
        assert "features were chosen from records of 2000 people of a history" in text
        assert "none of whom is in this table" in text
        assert "changes the chance of any choice by at most epsilon 2 and delta 1e-05" in text


def test_what_the_pool_is_promised_is_the_same_with_and_without_a_history():
    choice = chosen()
    bare = PublicScaling(
        choice.scaling.lower, choice.scaling.upper, choice.scaling.unit, choice.scaling.radius
    )
    records, outcomes = people()
    kept = records[:, choice.columns]
    one, two = (
        Curator(kept, scaling, NoisyProjection(3.0, 1e-6), outcomes).guarantee
        for scaling in (choice.scaling, bare)
    )
    assert (one.epsilon, one.delta, one.at(7.0)) == (two.epsilon, two.delta, two.at(7.0))
    assert one.holds
    assert two.holds


def test_a_seed_is_said_aloud():
    choice = chosen(generator=torch.Generator().manual_seed(0))
    assert "does not hold" in choice.promise.sentence
    assert choice.features == chosen(generator=torch.Generator().manual_seed(0)).features


@pytest.mark.parametrize("count", [0, 6, 1.5, True])
def test_a_count_that_is_not_there_is_refused(count):
    with pytest.raises((ValueError, TypeError), match="count must be"):
        chosen(count)


def test_a_scaling_that_was_learned_is_refused():
    records, outcomes = people()
    with pytest.warns(match="learned from the records"):
        learned = PublicScaling.from_data(records)
    with pytest.raises(ValueError, match="scaling must be declared"):
        choose_features(records, outcomes, learned, 2, outcome_range=(0.0, 1.0))
    with pytest.raises(TypeError, match="scaling must be a PublicScaling"):
        choose_features(records, outcomes, ENCODING, 2, outcome_range=(0.0, 1.0))


@pytest.mark.parametrize(
    ("number", "least", "most"), [(3_000, 0.87, 1.0), (1_000, 0.39, 1.0), (300, 0.0, 0.3)]
)
def test_both_best_features_of_the_hospital_are_among_the_first_four(number, least, most):
    """100 runs, at a whole-person epsilon of 1: at least the shares measured before it was built."""
    data = hospital()
    scaling = PublicScaling(data.lower, data.upper, names=data.features)
    both = 0
    for seed in range(100):
        generator = torch.Generator().manual_seed(seed)
        rows = torch.randperm(len(data.records), generator=generator)[:number]
        found = choose_features(
            data.records[rows],
            data.outcomes[rows],
            scaling,
            4,
            outcome_range=DOLLARS,
            generator=generator,
        )
        both += {"avtisst", "hday"} <= set(found.features)
    assert least <= both / 100 <= most


def test_the_prior_of_a_linear_outcome_has_its_slopes():
    """``y = 2 x0 + x1`` in deviations: length-scales as 1 to 2, and no scatter."""
    generator = torch.Generator().manual_seed(0)
    records = torch.rand(20_000, 3, generator=generator, dtype=torch.float64)
    outcomes = (2 * records[:, 0] + records[:, 1]) / 3
    choice = choose_features(records, outcomes, scaling_of(3), 2, outcome_range=(0.0, 1.0), public=True)
    one, two = choice.prior.lengthscales
    assert two / one == pytest.approx(2.0, rel=0.05)
    assert choice.prior.outcome_noise == pytest.approx(0.05)  # no less is believed
    slope = 2 / 3 / float(outcomes.std()) * float(choice.scaling.unit[0])  # for a unit of distance
    assert one == pytest.approx(2 * math.sqrt(0.95) / slope, rel=0.15)  # rows cut to a norm are steeper


def test_the_scatter_of_an_outcome_is_found():
    generator = torch.Generator().manual_seed(0)
    records = torch.rand(20_000, 2, generator=generator, dtype=torch.float64)
    scatter = 0.3 * torch.randn(20_000, generator=generator, dtype=torch.float64)
    choice = choose_features(
        records, records[:, 0] + scatter, scaling_of(2), 1, outcome_range=(-2.0, 3.0), public=True
    )
    assert choice.prior.outcome_noise == pytest.approx(0.09 / (0.09 + 1 / 12), rel=0.1)
