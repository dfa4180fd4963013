"""How a table lies in its ranges: the curator is warned, nothing of it leaves, and wolves are real."""

import re
import warnings
from functools import reduce

import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import (
    Category,
    ClippedRecordsWarning,
    Curator,
    Encoding,
    NoisyProjection,
    Number,
    PrivacyGuarantee,
    PrivacyLeakWarning,
    PrivateProjectionTransform,
    PublicScaling,
    YesNo,
    datasets,
)
from botorch_private.curator.features import column_look
from botorch_private.curator.features.column_look import look_at, merged
from botorch_private.curator.features.range_fit import fit_of, fit_of_look

N = 50
SCALING = PublicScaling([18.0, 60.0], [100.0, 200.0], names=["age", "pressure"])
MECHANISM = NoisyProjection(3.0)


def table(seed=0, n=N):
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(n, 2, dtype=torch.float64, generator=generator)
    return torch.tensor([20.0, 70.0]) + share * torch.tensor([60.0, 100.0])


def with_column(column, value, share=1.0):
    records = table()
    records[: round(share * N), column] = value
    return records


def by_curator(records, scaling=SCALING):
    return Curator(records, scaling, MECHANISM, torch.zeros(len(records)))


def by_transform(records, scaling=SCALING):
    return PrivateProjectionTransform(records, scaling, MECHANISM)


def by_adding(records, scaling=SCALING):
    curator = Curator(table(7), scaling, MECHANISM, torch.zeros(N))
    curator.add(records, torch.zeros(len(records)))
    return curator


DOORS = pytest.mark.parametrize("door", [by_curator, by_transform, by_adding])
KPA = table() * torch.tensor([1.0, 0.133322])


@DOORS
@pytest.mark.parametrize(
    ("records", "told"),
    [
        (with_column(0, -999.0), "age (50 of 50)"),
        (with_column(0, 1e300), "age (50 of 50)"),
        (KPA, "pressure (50 of 50)"),
        (table().flip(1), "age ("),  # the order of the columns
        (with_column(1, -999.0, 0.2), "pressure (10 of 50)"),
    ],
    ids=["stand-in", "largest", "kPa", "order", "a fifth"],
)
def test_records_that_are_clipped_warn_the_curator_at_every_door(door, records, told):
    with pytest.warns(ClippedRecordsWarning, match=re.escape(told)) as warned:
        door(records)
    assert "999" not in str(warned[0].message).replace("such as -999", "")
    assert warned[0].filename == __file__


@pytest.mark.parametrize("door", [by_curator, by_transform])
@pytest.mark.parametrize("value", [18.0, 50.0], ids=["at an end", "within"])
def test_a_number_that_is_the_same_in_all_records_warns(door, value):
    with pytest.warns(ClippedRecordsWarning, match=r"age \(all 50 are the same\)"):
        door(with_column(0, value))


def test_records_on_both_sides_of_a_range_are_all_clipped_but_not_the_same():
    records = table()
    records[::2, 0], records[1::2, 0] = 0.0, 200.0
    with pytest.warns(ClippedRecordsWarning, match=r"age \(50 of 50\)"):
        by_curator(records)


@pytest.mark.parametrize("value", [-999.0, 9999.0, 0.0])
def test_one_stand_in_for_unknown_in_few_records_warns(value):
    records = table()
    records[:3, 1] = value
    with pytest.warns(ClippedRecordsWarning, match=r"pressure \(3 of 50\)"):
        by_curator(records, PublicScaling([18.0, 60.0], [100.0, 170.0], names=["age", "pressure"]))


def test_a_few_counts_right_beyond_a_range_are_no_stand_ins():
    records = table()
    records[:4, 0] = 101.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_curator(records)


def test_few_clipped_records_and_groups_that_share_a_number_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_curator(with_column(0, 101.5, 0.1))
        curator = by_curator(table())
        curator.add(with_column(0, 50.0), torch.zeros(N))  # all joined at the age of 50
        by_curator(with_column(0, 50.0)[:9])
        bits = torch.stack([torch.zeros(N), table()[:, 1]], dim=1)  # one that no molecule has
        by_curator(bits, PublicScaling([0.0, 60.0], [1.0, 200.0]))


def test_a_warning_comes_before_anything_is_spent():
    curator = by_curator(table())
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippedRecordsWarning)
        with pytest.raises(ClippedRecordsWarning):
            curator.add(with_column(0, -999.0), torch.zeros(N))
    assert len(curator.release.candidates) == N
    assert curator.guarantee.epsilon == pytest.approx(3.0)
    curator.add(table(1), torch.zeros(N))


def test_rerelease_warns_again():
    budget = PrivacyGuarantee.budget(epsilon=6.1)
    records = with_column(0, -999.0)
    with pytest.warns(ClippedRecordsWarning):
        curator = Curator(records, SCALING, MECHANISM, torch.zeros(N), privacy_budget=budget)
    with pytest.warns(ClippedRecordsWarning, match=r"age \(50 of 50\)") as warned:
        curator.rerelease()
    assert warned[0].filename == __file__


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")
@pytest.mark.filterwarnings("ignore::botorch_private.PrivacyLeakWarning")
def test_nothing_of_it_leaves():
    spoiled, sound = by_curator(with_column(0, -999.0)), by_curator(table())
    assert spoiled.release.guarantee == sound.release.guarantee
    assert str(spoiled.guarantee) == str(sound.guarantee)
    records = table()
    looked_up = PublicScaling(records.amin(0), records.amax(0))
    other = PublicScaling(records.amin(0), records.amax(0))
    assert by_curator(records, looked_up).guarantee == by_curator(table(5), other).guarantee


# --- ranges that come from the table ---


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(-1e6, 1e6), st.integers(-20, 120)), min_size=3, max_size=3),
        min_size=2,
        max_size=20,
    )
)
def test_the_smallest_and_largest_values_as_ranges_always_warn(rows):
    records = torch.tensor(rows, dtype=torch.float64)
    low, high = records.amin(0), records.amax(0)
    varied = low < high
    if not varied.any():
        return
    records, low, high = records[:, varied], low[varied], high[varied]
    assert len(fit_of(records, PublicScaling(low, high)).looked_up) == len(low)


@DOORS
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_one_end_of_one_column_is_enough(door, column, end):
    records = table(3)
    ends = {"lower": [18.0, 60.0], "upper": [100.0, 200.0]}
    taken = records.amin(0) if end == "lower" else records.amax(0)
    if door is by_adding:
        taken = (
            torch.cat([records, table(7)]).amin(0) if end == "lower" else records.new_tensor([99, 199])
        )
        records[0, column] = taken[column]  # the value is of one who joins
        taken = torch.where(taken == taken.round(), taken + 0.123, taken)
        records[0, column] = taken[column]
    ends[end][column] = float(taken[column])
    scaling = PublicScaling(**ends, names=["age", "pressure"])
    with pytest.warns(PrivacyLeakWarning, match=f"{end} of {['age', 'pressure'][column]}. If") as warned:
        door(records, scaling)
    assert warned[0].filename == __file__
    assert str(float(taken[column])) not in str(warned[0].message)


@pytest.mark.parametrize("turn", [lambda x: x.float().double(), lambda x: x * (1 + 1e-9)])
def test_what_rounding_leaves_of_a_copied_end_warns_as_well(turn):
    records = table()
    scaling = PublicScaling([18.0, 60.0], [turn(records.amax(0))[0], 200.0])
    with pytest.warns(PrivacyLeakWarning, match="upper of column 0"):
        by_curator(records, scaling)


@pytest.mark.parametrize(
    "learned",
    [
        lambda x: (
            x.quantile(0.02, 0, interpolation="lower"),
            x.quantile(0.98, 0, interpolation="higher"),
        ),
        lambda x: (x.sort(0).values[2], x.sort(0).values[-3]),
        lambda x: (x.mean(0) - 3 * x.std(0), x.mean(0) + 3 * x.std(0)),
    ],
    ids=["quantiles", "all but two", "mean and deviation"],
)
@pytest.mark.parametrize("door", [by_curator, by_transform])
def test_ranges_that_follow_from_the_values_in_another_way_warn(door, learned):
    records = table()
    with pytest.warns(
        PrivacyLeakWarning, match="lower and upper of column 0, lower and upper of column 1"
    ):
        door(records, PublicScaling(*learned(records)))


def test_min_max_scaling_done_beforehand_warns():
    records = table()
    records[:, 0] = (records[:, 0] - records[:, 0].min()) / (records[:, 0].max() - records[:, 0].min())
    with pytest.warns(PrivacyLeakWarning, match="lower and upper of column 0"):
        by_curator(records, PublicScaling([0.0, 60.0], [1.0, 200.0]))


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0, 0, 1, 2, 7], 0, 10),  # a count of which some are zero
        ([18, 25, 40, 63, 87], 18, 100),  # adults, and one of 18
        ([0, 0, 40, 100, 100], 0, 100),  # a score that reaches both of its ends
        ([0, 1, 0, 1, 1], 0, 1),  # a yes or no, as a number
        ([120.0, 95.0, 70.0, 66.6, 33.2], 0, 120),
        ([0.5, 0.25, 0.1, 0.11, 0.2], 0.1, 1),
        ([-180, -20, 3, 70, 100], -180, 180),
    ],
)
def test_ends_that_people_choose_do_not_warn_where_some_records_reach_them(values, low, high):
    records = torch.stack([torch.tensor(values, dtype=torch.float64), table(n=5)[:, 1]], dim=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_curator(records, PublicScaling([low, 60.0], [high, 200.0]))


def test_yes_no_and_categories_have_the_ends_of_their_kind():
    encoding = Encoding([YesNo("smoker"), Category("ward", ("icu", "er")), Number("age", 0, 120)])
    frame = pandas.DataFrame(
        {"smoker": [0, 1, 1] * 5, "ward": ["icu"] * 15, "age": [41.5, 50.1, 87.3] * 5}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_curator(encoding.encode(frame), encoding.scaling)


@pytest.mark.parametrize("data", [datasets.hospital(), datasets.property_prices()], ids=lambda d: d.name)
def test_the_shipped_tables_do_not_warn(data):
    fit = fit_of(data.records, PublicScaling(data.lower, data.upper, names=data.features))
    assert (fit.clipping_words(), fit.leak_words()) == ("", "")


def test_a_scaling_that_was_learned_warns_once():
    with pytest.warns(PrivacyLeakWarning, match="learned from the records"):
        scaling = PublicScaling.from_data(table())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_curator(table(), scaling)


def test_counts_are_those_of_a_loop_over_all_values():
    records = 60 + 80 * torch.randn(3000, 2, dtype=torch.float64)
    fit = fit_of(records, SCALING)
    for i, each in enumerate(fit.features):
        column = records[:, i].tolist()
        assert each.below == sum(value < float(SCALING.lower[i]) for value in column)
        assert each.above == sum(value > float(SCALING.upper[i]) for value in column)
        assert each.n == 3000
    assert sum(each.clipped for each in fit.features) >= int(SCALING.clipped(records).sum())


@given(
    values=st.lists(
        st.lists(st.sampled_from([-999.0, -1.0, 0.0, 0.5, 1.0, 3.1416, 7.0]), min_size=2, max_size=2),
        min_size=2,
        max_size=30,
    ),
    lower=st.sampled_from([0.0, -1.0, 0.1234]),
    upper=st.sampled_from([1.0, 3.1416, 7.0]),
    entries=st.sampled_from([1, 4, 14]),
)
@settings(deadline=None, max_examples=60)
def test_what_is_found_is_what_looking_at_every_value_finds(values, lower, upper, entries):
    """In chunks, of which most are not looked at twice, against one look at each number."""
    scaling = PublicScaling([lower, 0.0], [upper, 1.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_look, "_CHUNK_ENTRIES", entries)
        found = fit_of(torch.tensor(values, dtype=torch.float64), scaling)
    for i, (feature, low, high) in enumerate(
        zip(found.features, [lower, 0.0], [upper, 1.0], strict=True)
    ):
        column = [row[i] for row in values]
        assert feature.below == sum(value < low for value in column)
        assert feature.above == sum(value > high for value in column)
        odd = {0.1234: "lower", 3.1416: "upper"}
        middle = abs(sum(column) / len(column) - (low + high) / 2) <= 1e-12 * (high - low)
        expected = []
        for name, end, extreme in (("lower", low, min(column)), ("upper", high, max(column))):
            if extreme == end or (odd.get(end) == name and (end in column or middle)):
                expected.append(name)
        assert list(feature.ends) == expected
        coded = (low, high) == (0.0, 1.0) and set(column) <= {0.0, 1.0}
        held = {"lower": column.count(min(column)), "upper": column.count(max(column))}
        assert feature.single == (not coded and all(held[name] == 1 for name in expected))


@pytest.mark.parametrize("cuts", [[], [1], [7, 8, 30], [20, 40, 59]])
def test_looks_at_pieces_of_a_table_are_together_the_look_at_the_whole(cuts):
    generator = torch.Generator().manual_seed(len(cuts))
    table = torch.randint(-3, 4, (60, 4), generator=generator).double()
    table[:, 1] = (table[:, 1] > 0).double()
    table[::9, 2] = -999.0
    table[:, 3] = torch.linspace(0.12345, 0.98765, 60, dtype=torch.float64)
    scaling = PublicScaling([-2.0, 0.0, 0.0, 0.12345], [2.0, 1.0, 1.0, 0.98765])
    whole = fit_of(table, scaling)
    looks = [look_at(some, scaling) for some in table.tensor_split(cuts)]
    assert fit_of_look(reduce(merged, looks), scaling) == whole
    assert fit_of_look(reduce(merged, reversed(looks)), scaling) == whole
