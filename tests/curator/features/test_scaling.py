import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import Curator, NoisyProjection, PrivacyLeakWarning, PublicScaling
from botorch_private.curator.publish import planned_guarantee

properties = settings(derandomize=True, max_examples=100, deadline=None)
ROUNDING = 1e-9

ages = {"lower": [18.0, 0.0], "upper": [100.0, 200.0], "names": ["age", "weight"]}


@st.composite
def scalings(draw):
    d = draw(st.integers(1, 5))
    column = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(1e-3, 1e3))
    lower, width, shape = zip(*draw(st.lists(column, min_size=d, max_size=d)), strict=True)
    upper = [low + step for low, step in zip(lower, width, strict=True)]
    lengthscale = shape if draw(st.booleans()) else None
    return PublicScaling(lower, upper, lengthscale, radius=draw(st.floats(0.1, 1e4)))


def any_records(scaling, rows):
    value = st.floats(-1e9, 1e9)
    return st.lists(
        st.lists(value, min_size=scaling.features, max_size=scaling.features),
        min_size=rows,
        max_size=rows,
    )


def learned(records, **options):
    with pytest.warns(PrivacyLeakWarning, match=r"learned from the records"):
        return PublicScaling.from_data(records, **options)


@properties
@given(st.data())
def test_every_record_lands_in_the_ball_of_the_radius(data):
    scaling = data.draw(scalings())
    scaled = scaling.transform(data.draw(any_records(scaling, 3)))
    assert scaled.dtype == torch.float64
    assert float(scaled.norm(dim=1).max()) <= scaling.radius


@properties
@given(scalings())
def test_the_corners_of_the_declared_box_lie_on_the_sphere(scaling):
    ends = torch.stack([scaling.lower, scaling.upper])
    corners = torch.cartesian_prod(*ends.T).reshape(-1, scaling.features)
    norms = scaling.transform(corners).norm(dim=1)
    assert norms.tolist() == pytest.approx([scaling.radius] * len(norms), rel=1e-6)


@properties
@given(st.data())
def test_clipping_never_increases_a_scaled_distance(data):
    scaling = data.draw(scalings())
    raw = torch.tensor(data.draw(any_records(scaling, 2)), dtype=torch.float64)
    first, second = scaling.transform(raw)
    unclipped = float(((raw[0] - raw[1]) / scaling.unit).norm())
    assert float((first - second).norm()) <= unclipped * (1 + ROUNDING) + ROUNDING * scaling.radius


@properties
@given(st.data())
def test_moving_a_feature_by_its_unit_moves_the_record_by_one(data):
    scaling = data.draw(scalings())
    column = data.draw(st.integers(0, scaling.features - 1))
    middle = (scaling.lower + scaling.upper) / 2
    moved = middle.clone()
    share = min(1.0, float((scaling.upper - middle)[column] / scaling.unit[column]))
    moved[column] += share * scaling.unit[column]  # a whole unit, or as much as the range holds
    first, second = scaling.transform(torch.stack([middle, moved]))
    # A raw value far from 0 in a narrow range has few digits left for a move.
    digits = 4 * torch.finfo(torch.float64).eps * float((moved.abs() / scaling.unit)[column])
    assert float((first - second).norm()) == pytest.approx(share, rel=1e-5, abs=1e-6 + digits)
    assert float((second - first)[column]) > 0


@properties
@given(st.data())
def test_a_value_outside_its_range_equals_the_nearest_end(data):
    scaling = data.draw(scalings())
    raw = torch.tensor(data.draw(any_records(scaling, 2)), dtype=torch.float64)
    nearest = torch.minimum(torch.maximum(raw, scaling.lower), scaling.upper)
    assert torch.equal(scaling.transform(raw), scaling.transform(nearest))


@properties
@given(st.data())
def test_clipped_names_exactly_the_records_outside_their_ranges(data):
    scaling = data.draw(scalings())
    raw = torch.tensor(data.draw(any_records(scaling, 3)), dtype=torch.float64)
    outside = [
        any(
            not low <= value <= high
            for low, value, high in zip(scaling.lower, row, scaling.upper, strict=True)
        )
        for row in raw
    ]
    assert scaling.clipped(raw).tolist() == outside
    assert not scaling.clipped(torch.stack([scaling.lower, scaling.upper])).any()


def test_scaling_by_hand():
    scaling = PublicScaling([0.0, 10.0], [4.0, 30.0], radius=10.0)
    # half ranges 2 and 10; the corner (1, 1) has norm sqrt(2) and must have norm 10
    assert scaling.unit.tolist() == pytest.approx([2 * math.sqrt(2) / 10, 10 * math.sqrt(2) / 10])
    assert scaling.transform([[2.0, 20.0], [4.0, 20.0], [9.0, 20.0]]).tolist() == [
        [0.0, 0.0],
        pytest.approx([10 / math.sqrt(2), 0.0]),
        pytest.approx([10 / math.sqrt(2), 0.0]),
    ]


def test_half_the_lengthscale_gives_twice_the_resolution():
    scaling = PublicScaling([0.0, 0.0], [1.0, 1.0], lengthscale=[0.5, 1.0])
    assert float(scaling.unit[1] / scaling.unit[0]) == pytest.approx(2)


@properties
@given(st.floats(1e-3, 1e3))
def test_only_the_ratio_of_lengthscales_matters(factor):
    shape = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)
    plain = PublicScaling([0.0] * 3, [1.0, 2.0, 3.0], lengthscale=shape)
    scaled = PublicScaling([0.0] * 3, [1.0, 2.0, 3.0], lengthscale=factor * shape)
    assert scaled.unit.tolist() == pytest.approx(plain.unit.tolist())


@properties
@given(st.floats(0.1, 1e4))
def test_units_shrink_in_proportion_to_the_radius(radius):
    unit = PublicScaling([0.0], [2.0], radius=radius).unit
    assert float(unit) == pytest.approx(1 / radius)


def test_one_feature_works():
    scaling = PublicScaling([-1.0], [1.0])
    assert scaling.transform([[-1.0], [0.0], [1.0]]).flatten().tolist() == pytest.approx([-25, 0, 25])


def test_a_constant_column_works():
    scaled = PublicScaling(**ages).transform([[50.0, 70.0], [50.0, 90.0]])
    assert torch.equal(scaled[0, 0], scaled[1, 0])
    assert torch.isfinite(scaled).all()


TABLE = np.array([[20, 50], [60, 100], [99, 10]])


@pytest.mark.parametrize("method", ["transform", "clipped"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_missing_value_is_named_by_row_and_column_and_no_record_is_echoed(method, value):
    records = torch.full((3, 2), 31.4159265, dtype=torch.float64)
    records[1, 1] = value
    with pytest.raises(
        ValueError, match=r"^records must be finite, got .* in row 1, column 1"
    ) as caught:
        getattr(PublicScaling(**ages), method)(records)
    assert "31" not in str(caught.value)


@pytest.mark.parametrize("method", ["transform", "clipped"])
def test_another_width_is_refused(method):
    with pytest.raises(ValueError, match=r"^records must have 2 columns, got 3$"):
        getattr(PublicScaling(**ages), method)([[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 5.0], [1.0, 5.0]), "^lower must be below upper, .* column 1: 5.0 >= 5.0$"),
        (([0.0, 6.0], [1.0, 5.0]), "^lower must be below upper, .* column 1: 6.0 >= 5.0$"),
        (([0.0, float("nan")], [1.0, 5.0]), "^lower must be finite, got NaN at position 1"),
        (([0.0, 1.0], [1.0, float("inf")]), "^upper must be finite, got an infinity at position 1"),
        (([0.0, 1.0], [1.0]), "^upper must have 2 entries, got 1"),
        (([], []), "^lower must have at least 1 entry, got 0"),
        (([[0.0]], [[1.0]]), r"^lower must have 1 dimension, got shape \(1, 1\)"),
        (([0.0], [1.0], [0.0]), "^lengthscale must be > 0, got 0.0 for column 0"),
        (([0.0], [1.0], [-1.0]), "^lengthscale must be > 0, got -1.0 for column 0"),
        (([0.0], [1.0], [1.0, 1.0]), "^lengthscale must have 1 entries, got 2"),
        (([0.0], [1.0], None, 0.0), "^radius must be a finite number > 0, got 0.0"),
        (([0.0], [1.0], None, float("nan")), "^radius must be a finite number > 0, got nan"),
        (([0.0], [1.0], None, 2e4), "^radius must be at most 10000, got 20000.0"),
        (([0.0], [5e-324]), "must give a finite unit > 0 in float64, got 0.0 for column 0"),
        (([0.0], [1.0], [1e-320]), "must give a finite unit > 0 in float64, got inf for column 0"),
    ],
)
def test_unusable_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PublicScaling(*arguments)


def test_messages_carry_the_name_of_the_feature():
    with pytest.raises(ValueError, match=r"for column 1 \(weight\): 0.0 >= 0.0$"):
        PublicScaling([18.0, 0.0], [100.0, 0.0], names=["age", "weight"])
    with pytest.raises(ValueError, match=r"^lengthscale must be > 0, got -2.0 for column 0 \(age\)$"):
        PublicScaling(**ages, lengthscale=[-2.0, 1.0])
    with pytest.raises(ValueError, match=r"^names must have 2 entries, got 1$"):
        PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age"])


@pytest.mark.parametrize(("lower", "upper"), [(-1e308, 1e308), (1e16, 1e16 + 2), (1e6, 1e6 + 1e-3)])
def test_extreme_ranges_still_end_in_the_ball(lower, upper):
    scaling = PublicScaling([lower], [upper])
    scaled = scaling.transform([[lower], [upper], [(lower / 2 + upper / 2)]])
    assert torch.isfinite(scaled).all()
    assert float(scaled.abs().max()) <= 25
    assert float(scaled[1] - scaled[0]) > 24


def test_the_declared_box_does_not_follow_later_changes_of_the_arguments():
    lower, upper = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    scaling = PublicScaling(lower, upper)
    lower[0], upper[1] = -100.0, 100.0
    assert float(scaling.transform([[-100.0, 100.0]]).norm()) <= 25


def test_repr_shows_no_range_and_whether_the_scaling_is_public():
    assert repr(PublicScaling(**ages)) == "PublicScaling(features=2, radius=25.0, public=True)"
    assert "public=False" in repr(learned(TABLE))


@properties
@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1, 1)), min_size=2, max_size=8, unique=True),
    st.floats(0.1, 100),
    st.booleans(),
)
def test_a_learned_scaling_equals_centring_and_the_largest_norm_by_numpy(rows, radius, shaped):
    table = np.array(rows)
    lengthscale = np.array([0.5, 2.0]) if shaped else None
    centred = (table - table.mean(axis=0)) / (lengthscale if shaped else 1.0)
    largest = np.linalg.norm(centred, axis=1).max()
    if largest < 1e-9:
        return  # equal but for rounding
    scaling = learned(table, radius=radius, lengthscale=lengthscale)
    assert np.allclose(scaling.transform(table).numpy(), centred / largest * radius, atol=1e-9 * radius)


def test_a_learned_scaling_is_not_public_and_voids_guarantees_without_carrying_its_unit():
    scaling = learned(TABLE, names=["age", "weight"])
    assert scaling.public is False
    guarantee = planned_guarantee(len(TABLE), scaling, NoisyProjection(1.0))
    assert guarantee.holds is False
    assert any("learned from the records" in reason for reason in guarantee.reasons)
    assert guarantee.unit is None


def test_a_learned_scaling_knows_the_names_of_its_features():
    scaling = learned([[1.0, 2.0], [3.0, 5.0]], names=["age", "dose"])
    assert scaling.names == ("age", "dose")
    with pytest.raises(ValueError, match="got NaN in row 0, column 1 .dose."):
        scaling.transform([[1.0, math.nan]])


def test_a_declared_scaling_is_public_and_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaling = PublicScaling(**ages)
    assert scaling.public is True
    guarantee = planned_guarantee(10, scaling, NoisyProjection(1.0))
    assert guarantee.holds is True
    assert guarantee.unit == tuple(scaling.unit.tolist())


def test_a_learned_scaling_works_with_constant_columns_however_large():
    table = [[1e17, 0.0, 5.0], [1e17, 1.0, 5.0], [1e17, 3.0, 5.0]]
    scaled = learned(table).transform(table)
    assert torch.isfinite(scaled).all()
    assert float(scaled.norm(dim=1).max()) == pytest.approx(25)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            [[1.0, 2.0], [1.0, 2.0]],
            "^records must hold at least two different rows, got equal rows only",
        ),
        ([[1.0, 2.0]], "^records must hold at least two different rows"),
        ([[1.0, float("nan")]], "^records must be finite, got NaN in row 0, column 1"),
        (np.zeros((0, 2)), "^records must have at least 1 rows, got 0"),
        ([[1e200, 0.0], [-1e200, 1.0]], "must give a finite unit > 0 in float64, got inf"),
    ],
)
def test_a_table_that_no_scaling_can_be_learned_from_is_refused(records, message):
    with (
        pytest.warns(PrivacyLeakWarning, match=r"learned from the records"),
        pytest.raises(ValueError, match=message),
    ):
        PublicScaling.from_data(records)


def test_columns_of_a_data_frame_must_be_the_features_in_their_order():
    pd = pytest.importorskip("pandas")
    scaling = PublicScaling([0.0, 0.0], [1.0, 2.0], names=["age", "pressure"])
    table = pd.DataFrame({"age": [0.5, 1.0], "pressure": [1.0, 0.0]})
    assert torch.equal(scaling.transform(table), scaling.transform(table.to_numpy()))
    for wrong in (table[["pressure", "age"]], table.rename(columns={"age": "Age"})):
        with pytest.raises(
            ValueError, match=r"records must have the columns \['age', 'pressure'\], in this order, but "
        ):
            scaling.transform(wrong)
    assert PublicScaling([0.0, 0.0], [1.0, 2.0]).transform(table).shape == (2, 2)  # nothing to compare


def test_columns_that_hold_no_numbers_are_named_and_yes_no_columns_are_widened():
    pd = pytest.importorskip("pandas")
    scaling = PublicScaling([0.0, 0.0], [1.0, 2.0])
    table = pd.DataFrame({"smoker": [True, False], "dose": [1.0, 2.0]})
    assert torch.equal(scaling.transform(table), scaling.transform([[1.0, 1.0], [0.0, 2.0]]))
    with pytest.raises(ValueError, match=r"column 0 does not: encode words"):
        scaling.transform(pd.DataFrame({"ward": ["a", "b"], "dose": [1.0, 2.0]}))
    holes = pd.DataFrame({"smoker": [1, None], "dose": [1.0, 2.0]}).astype({"smoker": "Int64"})
    with pytest.raises(ValueError, match=r"got NaN in row 1, column 0; drop such records"):
        scaling.transform(holes)
    whole = holes.fillna(0)
    assert torch.equal(scaling.transform(whole), scaling.transform([[1.0, 1.0], [0.0, 2.0]]))


def test_names_that_are_one_text_are_refused():
    with pytest.raises(ValueError, match="names must be a sequence of 2 names, got the text 'ab'"):
        PublicScaling([0.0, 0.0], [1.0, 2.0], names="ab")


def test_inverse_takes_scaled_rows_back_to_raw_units(scaling, records):
    torch.testing.assert_close(scaling.inverse(scaling.transform(records)), records)
    beyond = records.clone()
    beyond[0, 0] = 7.0  # clipped to 1
    assert float(scaling.inverse(scaling.transform(beyond))[0, 0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="scaled must have 3 columns, got 2"):
        scaling.inverse(records[:, :2])


def test_a_step_is_the_distance_of_two_choices_that_are_farthest_apart():
    names = ["age", "well", "c=1", "c=2", "c=3"]
    scaling = PublicScaling(
        [18.0, 0.0, 0.0, 0.0, 0.0],
        [100.0, 1.0, 1.0, 1.0, 1.0],
        [41.0, 0.5, 1.0, 2.0, 0.5],
        names=names,
        choices={"c": names[2:], "well": ["well"]},
    )
    rows = torch.cat([torch.zeros(3, 2), torch.eye(3)], dim=1).double() + torch.tensor(
        [18.0, 0.0, 0.0, 0.0, 0.0]
    )
    scaled = scaling.transform(rows)
    category, well = scaling.steps
    assert (category.name, category.columns) == ("c", ("c=1", "c=2", "c=3"))
    assert category.width == pytest.approx(float(torch.cdist(scaled, scaled).max()))
    rows[0, 1] = 1.0
    moved = scaling.transform(rows)
    assert well.width == pytest.approx(float((moved[0] - scaled[0]).norm()))
    signs = PublicScaling([-1.0], [1.0], names=["sign"], choices={"sign": ["sign"]})
    assert signs.steps[0].width == pytest.approx(50.0)  # from one end of the ball to the other
    assert PublicScaling([0.0], [1.0]).steps == ()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"c": ["a", "x"]}, "choices must be of columns in names, each of one choice, got 'x' for 'c'"),
        ({"c": ["a", "b"], "d": ["b"]}, "each of one choice, got 'b' for 'd'"),
        ({"c": ["a", "a"]}, "each of one choice, got 'a' for 'c'"),
        ({"c": "ab"}, "choices must name the columns of 'c' in a sequence"),
        ({"c": []}, "choices must name the columns of 'c' in a sequence"),
    ],
)
def test_choices_of_columns_that_are_not_there_are_refused(choices, message):
    with pytest.raises(ValueError, match=message):
        PublicScaling([0.0, 0.0], [1.0, 1.0], names=["a", "b"], choices=choices)
    with pytest.raises(ValueError, match="choices must"):
        PublicScaling([0.0, 0.0], [1.0, 1.0], choices=choices)


@pytest.mark.parametrize("name", ["lower", "upper", "unit"])
def test_what_a_property_returns_cannot_change_how_records_are_scaled(name, scaling, records):
    before = scaling.transform(records)
    stated = getattr(scaling, name).clone()
    handed = getattr(scaling, name)
    handed *= 0.1
    assert torch.equal(getattr(scaling, name), stated)
    assert torch.equal(scaling.transform(records), before)


@pytest.mark.parametrize(
    "name", ["lower", "upper", "unit", "radius", "public", "names", "steps", "features"]
)
def test_a_scaling_is_settled_when_it_is_made(name, scaling):
    with pytest.raises(AttributeError):
        setattr(scaling, name, getattr(scaling, name))


def test_records_that_join_are_scaled_as_the_guarantee_says(records, scaling):
    """Whatever was done to the tensors that were handed out."""
    curator = Curator(records, scaling, NoisyProjection(1e6), torch.zeros(len(records)))
    unit, upper, permutation = scaling.unit, scaling.upper, curator.permutation
    unit *= 0.1
    upper *= 100
    permutation *= 0
    rows = curator.add(records, torch.zeros(len(records)), repeats=True).candidates
    exact = scaling.transform(torch.cat([records, records]))[curator.permutation]
    assert float((rows - exact).abs().max()) < 0.01
