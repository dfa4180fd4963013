import pytest
import torch

import botorch_private.datasets
from botorch_private.datasets import hospital, property_prices

LOADERS = pytest.mark.parametrize("load", [hospital, property_prices])
YES_NO = ["diabetes", "dementia", "male", "metastatic", "cancer"]
# The range of these is the definition of the feature, so a table may well reach both of its ends.
RANGE_IS_THE_DEFINITION = [*YES_NO, "scoma"]


def column(data, feature):
    return data.records[:, data.features.index(feature)]


def outside(data):
    lower = torch.tensor(data.lower, dtype=torch.float64)
    upper = torch.tensor(data.upper, dtype=torch.float64)
    return (data.records < lower) | (data.records > upper)


def test_public_names_are_sorted_and_present():
    names = botorch_private.datasets.__all__
    assert names == sorted(names)
    assert all(hasattr(botorch_private.datasets, name) for name in names)


@pytest.mark.parametrize(("load", "n", "d"), [(hospital, 8126, 22), (property_prices, 2004, 2)])
def test_tables_have_their_stated_shape(load, n, d):
    data = load()
    assert data.records.shape == (n, d)
    assert data.outcomes.shape == (n,)
    per_feature = (data.features, data.units, data.lower, data.upper, data.range_reasons)
    assert all(len(entries) == d for entries in per_feature)


@LOADERS
def test_tables_are_finite_and_in_double_precision(load):
    data = load()
    for numbers in (data.records, data.outcomes):
        assert numbers.dtype == torch.float64
        assert torch.isfinite(numbers).all()


@LOADERS
def test_name_is_the_name_of_the_function(load):
    data = load()
    assert data.name == load.__name__
    assert data.title
    assert data.outcome


@LOADERS
def test_each_call_returns_fresh_tensors(load):
    first, second = load(), load()
    expected = second.records.clone(), second.outcomes.clone()
    first.records.zero_()
    first.outcomes.zero_()
    first.provenance.clear()
    assert torch.equal(second.records, expected[0])
    assert torch.equal(second.outcomes, expected[1])
    assert torch.equal(load().records, expected[0])
    assert load().provenance


@LOADERS
def test_repr_shows_shapes_and_names_and_no_value(load):
    data = load()
    text = repr(data)
    n, d = data.records.shape
    assert data.name in text
    assert f"{n} x {d}" in text
    assert all(feature in text for feature in data.features)
    for number in (data.records[0, 0], data.outcomes[0], data.outcomes.max(), data.lower[0]):
        assert f"{float(number):.4g}" not in text
    assert "tensor" not in text


@LOADERS
def test_every_range_has_a_width_a_unit_and_a_reason(load):
    data = load()
    entries = zip(data.lower, data.upper, data.units, data.range_reasons, strict=True)
    for lower, upper, unit, reason in entries:
        assert lower < upper
        assert unit
        assert len(reason) > 20


@LOADERS
def test_ranges_are_not_the_minimum_and_maximum_of_the_table(load):
    data = load()
    for feature, lower, upper in zip(data.features, data.lower, data.upper, strict=True):
        values = column(data, feature)
        from_table = float(values.min()) == lower and float(values.max()) == upper
        assert from_table == (feature in RANGE_IS_THE_DEFINITION), feature


@LOADERS
def test_at_most_five_percent_of_the_records_are_clipped_in_any_feature(load):
    data = load()
    share = outside(data).double().mean(dim=0)
    clipped = {f: float(s) for f, s in zip(data.features, share, strict=True) if s > 0.05}
    assert not clipped


def test_four_in_five_hospital_records_lie_inside_all_ranges():
    assert outside(hospital()).any(dim=1).double().mean() < 0.2


@LOADERS
def test_ranges_are_not_absurdly_wide(load):
    # The middle 98 % of the table fills at least a third of every range, yes/no features included.
    data = load()
    low, high = torch.quantile(data.records, torch.tensor([0.01, 0.99]).double(), dim=0)
    width = torch.tensor(data.upper).double() - torch.tensor(data.lower).double()
    assert ((high - low) / width >= 1 / 3).all()


def test_a_row_of_the_published_support2_file_is_found_unchanged():
    # Row 15 of support2.csv at the stated commit; its albumin and bilirubin are missing there and
    # filled with the recommended normal values 3.5 and 1.01.
    published = {
        "age": 43.53998, "num.co": 1, "diabetes": 0, "dementia": 0, "scoma": 26, "avtisst": 38.25,
        "hday": 148, "meanbp": 67, "wblc": 24.5976562, "hrt": 172, "resp": 20, "temp": 38.79688,
        "pafi": 113.32812, "alb": 3.5, "bili": 1.01, "crea": 0.59997559, "sod": 134,
        "ph": 7.399414, "adlsc": 2.7641602, "male": 0, "metastatic": 0, "cancer": 0,
    }  # fmt: skip
    data = hospital()
    expected = torch.tensor([published[feature] for feature in data.features]).double()
    gap = (data.records - expected).abs().amax(dim=1)
    assert gap.min() < 1e-4
    assert data.outcomes[gap.argmin()].exp() == pytest.approx(390460.5)


def test_hospital_matches_published_summaries_of_the_study():
    # Published for all 9,105 patients: mean age 62.7, 56 % men, 1.87 comorbidities. 979 of them are
    # not in the table, hence the tolerances.
    data = hospital()
    assert column(data, "age").mean() == pytest.approx(62.7, abs=0.5)
    assert column(data, "male").mean() == pytest.approx(0.56, abs=0.01)
    assert column(data, "num.co").mean() == pytest.approx(1.87, abs=0.05)
    assert column(data, "age").min() >= 18


def test_coma_scores_are_the_eleven_values_of_the_support_coma_score():
    scores = column(hospital(), "scoma").unique().tolist()
    assert scores == [0, 9, 26, 37, 41, 44, 55, 61, 89, 94, 100]


@pytest.mark.parametrize("feature", YES_NO)
def test_yes_no_columns_hold_zeros_and_ones_only(feature):
    data = hospital()
    assert column(data, feature).unique().tolist() == [0, 1]
    assert data.units[data.features.index(feature)] == "yes/no"


def test_cancer_that_has_spread_is_cancer():
    data = hospital()
    assert (column(data, "metastatic") <= column(data, "cancer")).all()


def test_hospital_outcome_is_the_log_of_a_positive_dollar_cost_and_the_costliest_is_known():
    cost = hospital().outcomes.exp()
    assert cost.max() == pytest.approx(633212)
    assert (cost == cost.max()).sum() == 1
    assert cost.min() == pytest.approx(39.496, rel=1e-4)
    assert cost.quantile(0.5) == pytest.approx(14698.6, rel=1e-4)


def test_property_outcome_is_minus_the_log_of_a_price_and_the_cheapest_is_known():
    price = (-property_prices().outcomes).exp()
    assert price.min() == pytest.approx(3008.85, abs=0.01)
    assert price.max() == pytest.approx(54245.60, abs=0.01)
    assert property_prices().outcomes.argmax() == price.argmin()


def test_homes_around_orchard_road_cost_more_than_elsewhere():
    # Orchard Road lies in Singapore's dearest districts. With easting and northing exchanged, as in
    # the source, no project would lie within 1.5 km of it.
    data = property_prices()
    orchard = torch.tensor([103.832, 1.304]).double()
    near = (data.records - orchard).norm(dim=1) * 111.2 < 1.5  # km per degree near the equator
    price = (-data.outcomes).exp()
    assert near.sum() > 100
    assert price[near].median() > 1.5 * price[~near].median()


def test_property_locations_are_distinct():
    records = property_prices().records
    assert len(records.unique(dim=0)) == len(records)
