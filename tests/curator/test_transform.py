import copy

import pytest
import torch
from botorch.models.transforms.input import Normalize
from helpers.dense_gp import every_device
from helpers.draws import seeded, uniform
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from botorch_private import (
    NoisyProjection,
    NoPrivacy,
    NotDifferentiallyPrivate,
    PrivateProjectionTransform,
    PublicScaling,
    SpectralProjection,
)

MECHANISMS = {
    "no projection": NoisyProjection(3.0),
    "rotation into r > d": NoisyProjection(3.0, projection_dim=5),
    "subspace r < d": NoisyProjection(3.0, delta=1e-5, projection_dim=2),
}
properties = settings(derandomize=True, max_examples=60, deadline=None)


def unit_box(d):
    return PublicScaling([0.0] * d, [1.0] * d)


def private(records, mechanism=MECHANISMS["no projection"], scaling=None):
    scaling = scaling or unit_box(records.shape[-1])
    return PrivateProjectionTransform(records, scaling, mechanism, generator=seeded(1))


def spectral(records, epsilon=1.0, projection_dim=2, scaling=None):
    mechanism = SpectralProjection(epsilon, 1e-5, projection_dim)
    with pytest.warns(NotDifferentiallyPrivate):
        return private(records, mechanism, scaling)


RECORDS = uniform(12, 3, seed=1)
TRANSFORM = private(RECORDS, MECHANISMS["subspace r < d"])


# --- rows of records ---


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_each_record_gets_its_own_row_of_the_release(mechanism, records, scaling):
    transform = private(records, mechanism, scaling)
    for released_row, record in enumerate(transform.permutation):
        expected = transform.release.candidates[released_row]
        assert torch.equal(transform.transform(records[record, None])[0], expected)
    assert torch.equal(transform.transform(records), transform.released_rows)


@st.composite
def index_batches(draw):
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    count = int(torch.Size(shape).numel())
    rows = draw(st.lists(st.integers(0, len(RECORDS) - 1), min_size=count, max_size=count))
    return torch.tensor(rows).reshape(shape)


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
@properties
@given(index=index_batches())
def test_row_of_a_record_is_the_same_whatever_the_batch(mode, index):
    TRANSFORM.train(mode)
    assert torch.equal(TRANSFORM(RECORDS[index]), TRANSFORM.released_rows[index])


def test_rows_of_a_view_of_the_table_are_those_of_the_table():
    transform = private(RECORDS)
    whole = transform(RECORDS)
    expanded, transposed = RECORDS.expand(2, 3, 12, 3), RECORDS.reshape(3, 4, 3).transpose(0, 1)
    assert torch.equal(transform(expanded), whole.expand(2, 3, 12, 3))
    assert torch.equal(transform(transposed), whole.reshape(3, 4, 3).transpose(0, 1))


def test_no_rows_give_no_rows():
    assert private(RECORDS).transform(RECORDS[:0]).shape == (0, 3)
    assert TRANSFORM.transform(RECORDS.expand(2, 12, 3)[:, :0]).shape == (2, 0, 2)


def test_answers_are_copies_that_a_caller_may_overwrite():
    transform = private(RECORDS)
    transform.transform(RECORDS).zero_()
    assert torch.equal(transform.transform(RECORDS), transform.released_rows)
    assert transform.released_rows.abs().min() > 0


@pytest.mark.parametrize("as_array", [False, True])
def test_changing_the_table_afterwards_changes_nothing(as_array):
    table = RECORDS.clone()
    transform = private(table.numpy() if as_array else table)
    table += 1.0
    assert torch.equal(transform.transform(RECORDS), transform.released_rows)


def test_duplicate_records_get_the_row_of_the_first_of_them():
    table = torch.cat([RECORDS, RECORDS[[4, 4, 7]]])
    transform = private(table)
    expected = transform.released_rows[[4, 4, 7]]
    assert torch.equal(transform.transform(table)[12:], expected)
    # Each keeps a noisy row of its own in the release.
    assert len(transform.release.candidates.unique(dim=0)) == 15


# --- what it refuses ---


def with_strangers(shape, positions):
    X = RECORDS[: int(torch.Size(shape).numel())].reshape(*shape, 3).clone()
    for position in positions:
        X[position] = 0.123
    return X


@pytest.mark.parametrize(
    ("shape", "positions", "named"),
    [
        ((12,), [(3,)], "not records: 3"),
        ((12,), [(2,), (7,)], "not records: 2, 7"),
        ((4, 3), [(0, 1), (3, 2)], r"not records: \(0, 1\), \(3, 2\)"),
        ((2, 3, 2), [(1, 2, 0)], r"not records: \(1, 2, 0\)"),
        ((12,), [(i,) for i in range(8)], "not records: 0, 1, 2, 3, 4 and 3 more"),
    ],
)
def test_rows_that_are_no_records_are_named_by_position(shape, positions, named):
    with pytest.raises(ValueError, match=f"X must hold records only, but these positions are {named}"):
        TRANSFORM.transform(with_strangers(shape, positions))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (RECORDS[:, :2], "X must have 3 columns, got 2"),
        (RECORDS[0], r"X must be a batch_shape x q x d floating-point tensor.*shape \(3,\)"),
        (RECORDS.long(), "floating-point tensor, got a torch.int64"),
        (RECORDS.numpy(), "floating-point tensor, got a <class 'numpy.ndarray'>"),
    ],
)
def test_anything_but_a_batch_of_float_rows_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        TRANSFORM.transform(X)


def test_inputs_that_require_gradients_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"X must not require gradients.*optimize_acqf_discrete"):
        TRANSFORM.transform(RECORDS.clone().requires_grad_())


@pytest.mark.parametrize(
    "table", [uniform(2, 3), uniform(9, 1), uniform(3, 8)], ids=["n=2", "d=1", "n<d"]
)
def test_small_tables_work(table):
    transform = private(table)
    assert torch.equal(transform.transform(table), transform.released_rows)


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")
def test_a_constant_column_and_ten_identical_records_work():
    table = RECORDS.clone()
    table[:, 1] = 0.5
    table[2:] = table[1]
    transform = private(table)
    assert torch.equal(transform.transform(table), transform.released_rows[[0] + [1] * 11])


# --- dtype and device ---


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_casting_the_module_does_not_touch_the_released_rows(dtype):
    transform = private(RECORDS)
    before, state = transform.released_rows.clone(), copy.deepcopy(transform.state_dict())
    transform.to(RECORDS.to(dtype))
    transform.to(torch.float64)
    transform.load_state_dict(state)
    assert transform.released_rows.dtype == torch.float64
    assert torch.equal(transform.transform(RECORDS), before)


@every_device
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rows_come_back_on_the_device_and_in_the_dtype_they_were_asked(device, dtype):
    table = RECORDS.float().double()
    transform = private(table).to(device)
    answer = transform(table.to(device=device, dtype=dtype))
    assert (answer.device.type, answer.dtype) == (device, dtype)
    assert torch.equal(answer.cpu(), transform.released_rows.to(dtype))


@every_device
def test_linear_map_works_on_the_device(device):
    transform = spectral(RECORDS).to(device)
    rows = uniform(4, 2, 3, seed=5)
    assert_close(transform(rows.to(device)).cpu(), transform(rows), rtol=1e-12, atol=1e-12)


# --- identity, copies, secrets ---


def test_equals_means_the_same_release():
    transform = private(RECORDS)
    assert transform.equals(transform)
    assert transform.equals(copy.deepcopy(transform))
    assert not transform.equals(PrivateProjectionTransform(RECORDS, unit_box(3), NoisyProjection(3.0)))
    assert not transform.equals(private(RECORDS, NoisyProjection(3.0 + 1e-12)))
    assert not transform.equals(private(RECORDS * 0.999))
    assert not transform.equals(Normalize(3))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_share_the_released_rows(copied):
    transform = private(RECORDS)
    twin = copied(transform)
    assert twin.release is transform.release
    assert torch.equal(twin(RECORDS), transform(RECORDS))


def test_state_dict_holds_the_digest_of_the_release_and_nothing_else():
    state = TRANSFORM.state_dict()
    assert list(state) == ["release_sha256"]
    assert bytes(state["release_sha256"].tolist()).hex() == TRANSFORM.release.identity


def test_repr_shows_shapes_and_the_guarantee():
    mechanism = NoisyProjection(3.0, delta=1e-5, projection_dim=2, noise="gaussian")
    release = "Release(n=12, projection_dim=2, epsilon=3, delta=1e-05, holds=False)"
    assert repr(private(RECORDS, mechanism)) == f"PrivateProjectionTransform({release})"


def test_state_dict_of_the_same_release_is_loaded():
    transform = private(RECORDS)
    assert transform.load_state_dict(copy.deepcopy(transform).state_dict())
    assert torch.equal(transform(RECORDS), transform.released_rows)


@pytest.mark.parametrize("strict", [True, False])
def test_state_dict_of_another_release_is_refused(strict):
    other = PrivateProjectionTransform(RECORDS, unit_box(3), NoisyProjection(3.0))
    transform = private(RECORDS)
    with pytest.raises(RuntimeError, match="release_sha256: the state_dict belongs to another release"):
        transform.load_state_dict(other.state_dict(), strict=strict)
    assert transform.equals(private(RECORDS))


# --- AttributeError ---


class Broken(PrivateProjectionTransform):
    def transform(self, X):
        return super().transform(X) * self.scale_that_does_not_exist


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
def test_attribute_error_of_a_broken_subclass_is_not_let_out(mode):
    broken = Broken(RECORDS, unit_box(3), NoisyProjection(3.0)).train(mode)
    with pytest.raises(
        RuntimeError, match=r"PrivateProjectionTransform failed.*scale_that_does_not_exist"
    ):
        broken(RECORDS)


def test_attribute_error_deep_inside_is_not_let_out(monkeypatch):
    transform = private(RECORDS)
    monkeypatch.delattr("botorch_private._base.record_index.RecordIndex.find")
    with pytest.raises(RuntimeError, match=r"PrivateProjectionTransform failed.*find"):
        transform.transform(RECORDS)


@pytest.mark.parametrize("flag", ["transform_on_train", "transform_on_eval"])
def test_a_deleted_flag_is_an_error_and_not_a_pass_through(flag):
    transform = private(RECORDS).train(flag == "transform_on_train")
    delattr(transform, flag)
    with pytest.raises(RuntimeError, match="PrivateProjectionTransform failed"):
        transform(RECORDS)


# --- mechanisms that are maps ---


@pytest.mark.parametrize("epsilon", [1e4, 1.0], ids=["floor not reached", "singular values lifted"])
def test_spectral_projection_is_an_affine_map_that_gives_records_their_rows(epsilon):
    transform = spectral(RECORDS, epsilon)
    assert_close(transform(RECORDS), transform.released_rows, rtol=1e-11, atol=1e-11)
    A, B = uniform(5, 4, 3, seed=2), uniform(5, 4, 3, seed=3)  # no records, inside the declared box
    mixed = transform(0.3 * A + 0.7 * B)
    assert_close(mixed, 0.3 * transform(A) + 0.7 * transform(B), rtol=1e-10, atol=1e-10)
    assert_close(transform(A[1:2, 2:3])[0, 0], transform(A)[1, 2], rtol=1e-12, atol=1e-12)


def test_spectral_projection_takes_both_branches_in_these_tests():
    mechanism = SpectralProjection(1e4, 1e-5, 2)
    smallest = torch.linalg.svdvals(RECORDS - RECORDS.mean(dim=0))[-1] / unit_box(3).unit[0]
    assert mechanism.singular_value_floor < smallest
    assert SpectralProjection(1.0, 1e-5, 2).singular_value_floor > smallest


def test_spectral_projection_clips_rows_into_the_declared_box():
    transform = spectral(RECORDS)
    outside = torch.tensor([[-3.0, 0.5, 7.0]], dtype=torch.float64)
    assert torch.equal(transform(outside), transform(outside.clamp(0, 1)))


def test_spectral_projection_is_differentiable_in_its_inputs():
    transform = spectral(RECORDS)
    rows = uniform(3, 3, seed=4).requires_grad_()
    assert torch.autograd.gradcheck(transform.transform, rows, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_spectral_projection_names_the_position_of_a_missing_value(value):
    rows = uniform(2, 3, 3)
    rows[1, 2, 0] = value
    with pytest.raises(ValueError, match=r"X must be finite.*position \(1, 2\)"):
        spectral(RECORDS).transform(rows)


def dependent_columns(spread):
    table = 0.9 + spread * uniform(40, 3)
    table[:, 2] = table[:, 0] / 2 + 0.2
    return table


def nearly_dependent_columns(distance):
    table = uniform(40, 3)
    table[:, 2] = (table[:, 0] + table[:, 1]) / 2 + distance * uniform(40, seed=1)
    return table


def constant_column():
    table = uniform(40, 3)
    table[:, 1] = 0.3
    return table


@pytest.mark.filterwarnings("ignore::botorch_private.ClippedRecordsWarning")
@pytest.mark.parametrize(
    "table",
    [uniform(2, 3), uniform(3, 3), constant_column(), dependent_columns(0.09), dependent_columns(1e-6)],
    ids=["n<d", "n=d", "constant column", "dependent columns", "dependent columns in a cluster"],
)
def test_spectral_projection_looks_records_up_without_full_column_rank(table):
    transform = spectral(table)
    assert torch.equal(transform(table), transform.released_rows)
    with pytest.raises(ValueError, match="X must hold records only"):
        transform(uniform(2, 3, seed=9))


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
def test_spectral_projection_gives_records_their_rows_however_close_to_rank_deficient(distance):
    table = nearly_dependent_columns(distance)
    transform = spectral(table)
    largest = float(transform.released_rows.abs().max())
    assert_close(transform(table), transform.released_rows, rtol=0, atol=1e-9 * largest)


def test_no_privacy_gives_the_scaled_rows():
    transform = private(RECORDS, NoPrivacy())
    anything = uniform(4, 3, seed=6)
    assert torch.equal(transform(anything), unit_box(3).transform(anything))


@pytest.mark.parametrize("flag", ["transform_on_train", "transform_on_eval", "transform_on_fantasize"])
def test_a_flag_that_was_switched_off_is_refused_rather_than_mixing_raw_and_released_rows(flag):
    records = torch.rand(6, 2, dtype=torch.float64)
    transform = PrivateProjectionTransform(records, PublicScaling([0, 0], [1, 1]), NoisyProjection(1.0))
    setattr(transform, flag, False)
    with pytest.raises(ValueError, match=r"transform_on_train, .* must stay True"):
        transform(records)


def test_a_handed_out_permutation_is_a_copy(records, scaling):
    transform = PrivateProjectionTransform(records, scaling, NoisyProjection(3.0))
    before = transform.permutation
    transform.permutation.zero_()
    assert torch.equal(transform.permutation, before)
    assert before.sort().values.tolist() == list(range(len(records)))
