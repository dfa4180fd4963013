"""A feature on a log scale: distance is counted in factors, and everything stays in raw units."""

import json
import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import (
    CellResponse,
    Cells,
    Curator,
    Encoding,
    Ledger,
    NoisyProjection,
    Number,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    YesNo,
    audit,
    choose_features,
    load_encoding,
    load_ranges,
    suggest_cells,
)
from botorch_private.cli import main as cli
from botorch_private.curator.cells.cells_file import load_cells, save_cells
from botorch_private.curator.features.described import describe
from botorch_private.curator.features.written import ranges_text
from botorch_private.privacy.noise_law import INPUT_ERROR, LARGEST_NORM
from botorch_private.report import report

SCALING = PublicScaling([18.0, 1.0], [100.0, 1e6], names=["age", "income"], scale=["linear", "log"])
FEATURES = [Number("age", 18.0, 100.0), Number("income", 1.0, 1e6, scale="log")]


def drawn(n=200, seed=0):
    generator = torch.Generator().manual_seed(seed)
    table = torch.rand(n, 2, generator=generator, dtype=torch.float64)
    return torch.stack([20 + 70 * table[:, 0], 10 ** (6 * table[:, 1])], dim=1)


POSITIVE = st.floats(1e-3, 1e9)


@st.composite
def log_ranges(draw):
    low = draw(st.floats(1e-6, 1e6))
    return low, low * draw(st.floats(1.1, 1e9))


@settings(deadline=None)  # the first call loads what logarithms need
@given(log_ranges(), POSITIVE, POSITIVE, st.floats(0.5, 100.0))
def test_it_is_a_linear_scale_of_the_logarithm(ends, x, y, radius):
    """The slow twin: logarithms first, then a plain scaling."""
    low, high = ends
    fast = PublicScaling([low, -1.0], [high, 1.0], radius=radius, scale=["log", "linear"])
    slow = PublicScaling([math.log(low), -1.0], [math.log(high), 1.0], radius=radius)
    rows = torch.tensor([[x, 0.5], [y, -2.0]], dtype=torch.float64)
    logs = torch.stack([rows[:, 0].log(), rows[:, 1]], dim=1)
    torch.testing.assert_close(fast.transform(rows), slow.transform(logs), rtol=1e-9, atol=1e-9 * radius)
    torch.testing.assert_close(fast.unit, slow.unit, rtol=1e-9, atol=0)
    torch.testing.assert_close(fast.widths, slow.widths, rtol=1e-9, atol=0)
    assert float(fast.transform(rows).norm(dim=1).max()) <= radius


@given(log_ranges(), POSITIVE, POSITIVE)
def test_distance_is_counted_in_factors_and_clipping_moves_nothing_apart(ends, x, y):
    scaling = PublicScaling([ends[0]], [ends[1]], scale=["log"])
    one, other = scaling.transform([[x], [y]]).flatten().tolist()
    stated = abs(math.log(x) - math.log(y)) / float(scaling.unit[0])
    assert abs(one - other) <= stated + 1e-9
    inside = [min(max(each, ends[0]), ends[1]) for each in (x, y)]
    moved = abs(math.log(inside[0] / inside[1])) / float(scaling.unit[0])
    assert abs(one - other) == pytest.approx(moved, abs=1e-9)


@given(st.floats(1e-3, 1e3), st.floats(1.02, 1e12), st.floats(0.0, 1.0))
def test_what_rounding_adds_is_less_than_what_the_noise_is_charged_for(low, ratio, share):
    radius = 50.0
    scaling = PublicScaling([low], [low * ratio], radius=radius, scale=["log"])
    x = min(max(low * ratio**share, low), low * ratio)
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(x) / mpmath.mpf(float(scaling._middle[0])))
        exact /= mpmath.mpf(float(scaling.unit[0]))
        error = float(abs(mpmath.mpf(float(scaling.transform([[x]])[0, 0])) - exact))
    assert error <= 1.1e5 * 2.0**-53
    assert INPUT_ERROR * 17 * LARGEST_NORM / 2 >= 1.1e5 * 2.0**-53


def test_the_inverse_is_in_raw_units():
    rows = drawn()
    torch.testing.assert_close(SCALING.inverse(SCALING.transform(rows)), rows, rtol=1e-12, atol=0)


def test_a_record_is_scaled_by_itself():
    rows = drawn(1003)
    alone = torch.cat([SCALING.transform(row[None]) for row in rows])
    assert torch.equal(alone, SCALING.transform(rows))
    assert torch.equal(
        SCALING.scale_tensor(rows.requires_grad_()).detach().round(decimals=9), alone.round(decimals=9)
    )


@pytest.mark.parametrize("wrong", [0.0, -1.0, -0.0])
def test_values_of_0_and_less_are_refused_by_row_and_not_shown(wrong):
    rows = drawn(20)
    rows[7, 1] = wrong
    doors = [
        SCALING.transform,
        lambda table: Curator(table, SCALING, NoisyProjection(3.0), torch.zeros(20)),
        lambda table: PrivateProjectionTransform(table, SCALING, NoisyProjection(3.0)),
        Cells.of_encoding(suggest_cells(3.0, Encoding(FEATURES))).of_records,
        SCALING.clipped,
    ]
    for door in doors:
        with pytest.raises(
            ValueError, match=r"> 0 on a log scale, got 0 or less in row 7, column 1 \(inc"
        ):
            door(rows)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows.numpy(), columns=["age", "income"])
    with pytest.raises(ValueError, match="got 0 or less in row 7, column 'income'"):
        Encoding(FEATURES).encode(frame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": [0.0], "upper": [1.0]}, "lower must be above 0 on a log scale"),
        ({"lower": [-1.0], "upper": [1.0]}, "lower must be above 0 on a log scale"),
        ({"lower": [1.0], "upper": [1.001]}, "scale must be linear for column 0"),
        ({"lower": [1.0], "upper": [9.0], "lengthscale": [1.0]}, "lengthscale must be a factor > 1"),
        ({"lower": [1.0], "upper": [9.0], "scale": "log"}, "scale must have 1 entries"),
        ({"lower": [1.0], "upper": [9.0], "scale": ["ln"]}, "scale must be 'linear' or 'log'"),
        ({"lower": [1.0], "upper": [9.0], "scale": ["log", "log"]}, "scale must have 1 entries"),
        (
            {"lower": [1.0], "upper": [9.0], "names": ["a"], "choices": {"a": ["a"]}},
            "choices must be of columns in names",
        ),
    ],
)
def test_ranges_that_cannot_be_on_a_log_scale_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PublicScaling(**{"scale": ["log"], **arguments})


def test_a_lengthscale_is_a_factor():
    given_ = PublicScaling([1.0, 1.0], [100.0, 100.0], [10.0, 100.0], scale=["log", "log"])
    assert float(given_.unit[1] / given_.unit[0]) == pytest.approx(2.0)
    default = PublicScaling([1.0], [100.0], scale=["log"])
    ten = PublicScaling([1.0], [100.0], [10.0], scale=["log"])
    assert float(default.unit[0]) == pytest.approx(float(ten.unit[0]))


# --- the guarantee ---


def released(**options):
    generator = torch.Generator().manual_seed(1)
    return Curator(
        drawn(), SCALING, NoisyProjection(3.0), torch.zeros(200), generator=generator, **options
    )


def test_the_guarantee_says_the_unit_as_a_factor_that_is_rounded_down():
    text = str(released().guarantee)
    unit = SCALING.unit.tolist()
    factor = math.exp(unit[1])
    assert (
        f"One unit is: 2.31 of age, or a factor of {math.floor(factor * 1000) / 1000:g} in income"
        in text
    )
    assert "D units are that factor to the power of D" in text
    assert released().guarantee.log_columns == (1,)


def test_a_linear_guarantee_is_what_it_was():
    plain = PublicScaling([18.0], [100.0])
    guarantee = Curator([[20.0], [30.0]], plain, NoisyProjection(1.0), [1.0, 2.0]).guarantee
    assert "log_columns" not in json.loads(guarantee.to_json())
    assert guarantee.known_at_first


def test_a_release_and_a_ledger_say_that_they_are_newer(tmp_path):
    ledger = Ledger(path=tmp_path / "ledger.json")
    found = released(ledger=ledger).release
    found.save(tmp_path / "r.safetensors")
    again = Release.load(tmp_path / "r.safetensors")
    assert again.guarantee == found.guarantee
    assert again.identity == found.identity
    assert b'"format_version":"2"' in (tmp_path / "r.safetensors").read_bytes()
    assert json.loads((tmp_path / "ledger.json").read_text())["format_version"] == 2
    assert Ledger(path=tmp_path / "ledger.json").total == ledger.total
    assert PrivacyGuarantee.from_json(found.guarantee.to_json()) == found.guarantee


def test_the_scaling_of_another_scale_is_not_that_of_a_release():
    guarantee = released().release.guarantee
    SCALING.check_belongs(guarantee, "r")
    linear = PublicScaling([18.0, 1.0], [100.0, 1e6], names=["age", "income"])
    with pytest.raises(ValueError, match="on a log scale"):
        linear.check_belongs(guarantee, "r")


def test_audits_hold_and_see_a_scaling_that_counts_otherwise():
    assert audit.clipping_audit(SCALING, NoisyProjection(3.0)).problems == ()

    class Finer(PublicScaling):
        def scale_tensor(self, rows):
            scaled = super().scale_tensor(rows)
            return scaled * scaled.abs() / self.radius

    wrong = Finer([18.0, 1.0], [100.0, 1e6], names=["age", "income"], scale=["linear", "log"])
    assert audit.clipping_audit(wrong, NoisyProjection(3.0)).problems


@pytest.mark.slow
def test_an_attack_on_two_records_a_unit_factor_apart_does_not_refute_epsilon():
    factor = math.exp(float(SCALING.unit[1]))
    table, neighbour = (
        SCALING.transform([[50.0, income], [30.0, 20.0]]) for income in (1000.0, 1000.0 * factor)
    )
    assert float((table - neighbour).norm()) == pytest.approx(1.0, rel=1e-9)
    generator = torch.Generator().manual_seed(0)
    found = audit.empirical_epsilon(
        NoisyProjection(1.0), table, neighbour, trials=20_000, confidence=0.999, generator=generator
    )
    assert found.lower_bound > 0.5
    assert not found.refuted


# --- what is built on it ---


def outcomes_of(table):
    return table[:, 1].log() / 14


def test_features_are_chosen_by_their_logarithms_and_keep_their_unit():
    table = drawn(4000)
    choice = choose_features(
        table,
        outcomes_of(table),
        SCALING,
        1,
        outcome_range=(0.0, 1.0),
        epsilon=10.0,
        generator=torch.Generator().manual_seed(0),
    )
    assert choice.features == ("income",)
    assert choice.correlations[0] > 0.99
    assert choice.scaling.scale == ("log",)
    assert float(choice.scaling.unit[0]) == pytest.approx(float(SCALING.unit[1]), rel=1e-12)
    declared = choice.encoding(Encoding(FEATURES))
    assert float(declared.scaling.unit[0]) == pytest.approx(float(SCALING.unit[1]), rel=1e-12)


def test_cells_of_a_history_are_those_of_logarithms_and_stay_so_in_a_file(tmp_path):
    table = drawn(4000)
    cells = Cells.from_history(
        table,
        outcomes_of(table),
        SCALING,
        outcome_range=(0.0, 1.0),
        cuts=[0.5],
        epsilon=10.0,
        generator=torch.Generator().manual_seed(0),
    )
    truth = (table[:, 1] > 1000).long()
    assert float((cells.of_records(table) == truth).double().mean()) > 0.95
    save_cells(cells, tmp_path / "cells.toml")
    again = load_cells(tmp_path / "cells.toml")
    assert torch.equal(again.of_records(table), cells.of_records(table))
    assert "log_columns = [1]" in (tmp_path / "cells.toml").read_text()


def test_suggested_edges_are_equal_factors():
    (feature,) = suggest_cells(4.0, Encoding([FEATURES[1]])).features
    ends = np.array([1.0, *feature.edges, 1e6])
    assert ends[1:] / ends[:-1] == pytest.approx(ends[1] / ends[0])
    cells = Cells.of_encoding(Encoding([feature]))
    assert cells.of_records([[1.0], [1e6]]).tolist() == [0, cells.count - 1]
    assert CellResponse(3.0, cells).guarantee(n=10, d=1).holds


def test_a_report_speaks_of_factors():
    found = released().release
    public = report(found, scaling=SCALING, trials=200).text()
    factor = math.floor(math.exp(float(SCALING.unit[1])) * 1000) / 1000
    assert f"a factor of {factor:g}" in public
    assert "income (as a factor)" in public
    secret = report(found, scaling=SCALING, records=drawn(), trials=200)
    spread = math.exp(float(drawn()[:, 1].log().std(correction=0)))
    assert secret.table[0].features[1].spread == pytest.approx(spread, rel=1e-6)
    assert not secret.table[0].refuted


TEXT = """\
[features.age]
lower = 18
upper = 100

[features.income]
lower = 1
upper = 1_000_000
scale = "log"
missing = 1000
edges = [10, 1000]
"""


def test_a_file_of_ranges_says_it_and_keeps_it(tmp_path, capsys):
    file = tmp_path / "ranges.toml"
    file.write_text(TEXT)
    encoding = load_encoding(file)
    assert encoding.scaling.scale == ("linear", "log")
    file.write_text(ranges_text(encoding))
    assert load_encoding(file).features == encoding.features
    assert "a factor of 1.478 within 1 ... 1000000" in describe(encoding)
    assert cli.main(["ranges", "check", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["features"][1]
    assert found["scale"] == "log"
    assert found["unit"] == pytest.approx(math.exp(float(encoding.scaling.unit[1])), rel=1e-12)
    file.write_text(TEXT.replace("missing = 1000\n", ""))
    assert load_ranges(file).scale == ("linear", "log")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lower = 1\n", "lower = 0\n", "lower must be above 0 on a log scale"),
        ('scale = "log"', 'scale = "ln"', "scale of 'income' must be 'linear' or 'log'"),
        ("missing = 1000", "missing = 0", "within its range"),
    ],
)
def test_what_cannot_be_is_said(old, new, message, tmp_path):
    file = tmp_path / "ranges.toml"
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=message):
        load_encoding(file)


def test_beside_other_kinds_a_step_keeps_its_width():
    mixed = Encoding([FEATURES[1], YesNo("smoker")])
    assert mixed.widths["income"] == pytest.approx(mixed.widths["smoker"], rel=1e-9)
