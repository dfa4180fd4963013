"""A table in many files is released as one table is: the same law, one uniform order, charged once."""

import os
import shutil
import stat
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from pyarrow import parquet
from scipy.stats import chi2

from botorch_private import (
    BudgetError,
    Category,
    CellResponse,
    Cells,
    ClippedRecordsWarning,
    Encoding,
    Ledger,
    Modeler,
    NoisyProjection,
    Number,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    Release,
    ReleasedParts,
    RowMap,
    SpectralProjection,
    YesNo,
    audit,
    release_parquet,
)
from botorch_private.curator.large import assemble as assembling
from botorch_private.curator.large import gather as gathering
from botorch_private.curator.large import release_parquet as driver
from botorch_private.curator.large import room, steps
from botorch_private.curator.large import scatter as scattering
from botorch_private.curator.publish import publish

SCALING = PublicScaling([0.0, 0.0], [10.0, 1.0], names=["age", "dose"])
N, FILES = 600, 4


@pytest.fixture
def table(tmp_path):
    """Sorted by age over four files: any trace of the place in the table shows."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": np.sort(generator.uniform(0, 10, N)), "dose": generator.uniform(0, 1, N), "note": "x"}
    )
    folder = tmp_path / "stays"
    folder.mkdir()
    for i in range(FILES):
        frame[i * N // FILES : (i + 1) * N // FILES].to_parquet(folder / f"stays-{i}.parquet")
    return folder, torch.tensor(frame[["age", "dose"]].to_numpy())


def released(table, target, mechanism=None, **options):
    options = {"bucket_bytes": 2**12, "progress": False, **options}
    return release_parquet(table[0], target, SCALING, mechanism or NoisyProjection(3.0), **options)


def test_every_record_is_released_once_and_the_map_says_where(table, tmp_path):
    parts = released(table, tmp_path / "out")
    assert (parts.n, len(parts.parts) > 2) == (N, True)
    order = RowMap.load(tmp_path / "out.map").permutation
    assert torch.equal(order.sort().values, torch.arange(N))
    noise = parts.whole().candidates - SCALING.transform(table[1])[order]
    # 1,200 numbers: the relative error of a deviation is about 0.03 at a kurtosis of 6.
    assert float(noise.std()) == pytest.approx(parts.public["noise_variance"] ** 0.5, rel=0.15)


def test_a_place_in_the_map_is_that_of_the_record(table, tmp_path):
    released(table, tmp_path / "out")
    places = RowMap.load(tmp_path / "out.map")
    order = places.permutation
    for row in (0, 17, N - 1):
        place = places.place(row)
        assert place.record == int(order[row])
        found = pd.read_parquet(place.path)[["age", "dose"]].to_numpy()[place.row]
        assert found.tolist() == table[1][place.record].tolist()


def test_the_guarantee_is_that_of_a_release_in_one_piece(table, tmp_path):
    parts = released(table, tmp_path / "out")
    whole = publish(table[1], SCALING, NoisyProjection(3.0)).release
    assert parts.guarantee == whole.guarantee
    again = parts.whole()
    assert isinstance(again, Release)
    assert (again.noise_variance, again.noise_dim, again.isotropic) == (
        whole.noise_variance,
        whole.noise_dim,
        whole.isotropic,
    )
    assert 0 <= Modeler(again).ask() < N


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_all_files_share_one_projection(table, tmp_path, dim):
    """Distances between released rows are those of one map: at an epsilon that hides nothing."""
    mechanism = NoisyProjection(1e4, delta=1e-5, projection_dim=dim)
    parts = released(table, tmp_path / "out", mechanism)
    rows, order = parts.whole().candidates, RowMap.load(tmp_path / "out.map").permutation
    scaled = SCALING.transform(table[1])[order]
    solution = torch.linalg.lstsq(scaled, rows).solution
    assert float((scaled @ solution - rows).abs().max()) < 0.1


@pytest.mark.slow
def test_the_order_says_nothing_of_the_file(table, tmp_path):
    """Chi-squared over 40 releases: quarters of the released rows against the four files."""
    counts = np.zeros((4, FILES))
    for i in range(40):
        released(table, tmp_path / f"out{i}", NoisyProjection(1.0), bucket_bytes=2**13)
        order = RowMap.load(tmp_path / f"out{i}.map").permutation.numpy()
        for quarter, some in enumerate(np.array_split(order, 4)):
            counts[quarter] += np.bincount(some * FILES // N, minlength=FILES)
    expected = 40 * N / 16
    # Margins are fixed: 9 degrees of freedom. One time in 10^6.
    assert float(((counts - expected) ** 2 / expected).sum()) < chi2.isf(1e-6, 9)


def test_labels_of_cells_are_released_too(tmp_path):
    encoding = Encoding(
        [Number("age", 0, 10, edges=(5,)), YesNo("smoker"), Category("ward", ("icu", "er", "or"))]
    )
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": generator.uniform(0, 10, 300),
            "smoker": generator.integers(0, 2, 300).astype(bool),
            "ward": generator.choice(["icu", "er", "or"], 300),
        }
    )
    (tmp_path / "t").mkdir()
    frame[:100].to_parquet(tmp_path / "t" / "a.parquet")
    frame[100:].to_parquet(tmp_path / "t" / "b.parquet")
    cells = Cells.of_encoding(encoding)
    mechanism = CellResponse(30.0, cells)  # an epsilon at which nobody lies
    parts = release_parquet(
        tmp_path / "t", tmp_path / "out", encoding, mechanism, bucket_bytes=2**10, progress=False
    )
    release = parts.whole()
    order = RowMap.load(tmp_path / "out.map").permutation
    assert torch.equal(release.labels, cells.of_records(encoding.encode(frame))[order])
    assert release.guarantee == mechanism.guarantee(300, encoding.scaling.features)
    assert Modeler(release).ask() < 300


def test_float32_rounds_after_the_noise(table, tmp_path):
    seeded = {"generator": torch.Generator().manual_seed(5)}
    exact = released(table, tmp_path / "out", **seeded).whole().candidates
    seeded = {"generator": torch.Generator().manual_seed(5)}
    half = released(table, tmp_path / "half", dtype="float32", **seeded)
    assert half.read(0).dtype == torch.float32
    assert torch.equal(half.whole().candidates, exact.float().double())


def test_a_seed_voids_the_guarantee(table, tmp_path):
    parts = released(table, tmp_path / "out", generator=torch.Generator().manual_seed(0))
    assert not parts.guarantee.holds


def test_no_task_draws_what_another_one_drew_here_or_in_another_release(table, tmp_path):
    for i in range(1, FILES):
        shutil.copy(table[0] / "stays-0.parquet", table[0] / f"stays-{i}.parquet")
    rows = [released(table, tmp_path / f"out{i}").whole().candidates for i in range(2)]
    assert len(torch.unique(torch.cat(rows), dim=0)) == 2 * N
    orders = [RowMap.load(tmp_path / f"out{i}.map").permutation for i in range(2)]
    assert int((orders[0] == orders[1]).sum()) < 12  # 1 is expected; Poisson, 1 time in 10^9


def test_parts_say_nothing_of_their_rows_beside_them(table, tmp_path):
    """Such as the smallest and the largest of a part, which parquet files say by themselves."""
    released(table, tmp_path / "out")
    for file in (tmp_path / "out").glob("*.parquet"):
        facts = parquet.read_metadata(file)
        assert set(facts.metadata) == {b"ARROW:schema"}  # names and types
        for group in range(facts.num_row_groups):
            columns = [facts.row_group(group).column(i) for i in range(facts.num_columns)]
            assert not any(column.is_stats_set for column in columns)


def test_nobody_else_can_read_the_map(table, tmp_path):
    released(table, tmp_path / "out")
    folder = tmp_path / "out.map"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.iterdir())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "out.map", "stays"]


def test_the_released_folder_holds_rows_and_public_facts_alone(table, tmp_path):
    released(table, tmp_path / "out")
    names = {file.name.split("-")[0] for file in (tmp_path / "out").iterdir()}
    assert names == {"manifest.json", "part"}
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    assert "stays" not in manifest
    assert str(tmp_path) not in manifest


# --- killed, and called again ---


class KilledError(BaseException):
    """Stands for whatever ends a process."""


def killed_after(monkeypatch, module, name, calls):
    """Let a task be done so many times, and the process end in the next one."""
    done, original = [0], getattr(module, name)

    def task(*arguments):
        if done[0] == calls:
            raise KilledError
        done[0] += 1
        return original(*arguments)

    monkeypatch.setattr(steps, name, task)


@pytest.mark.parametrize(
    ("name", "calls"), [("scatter", 0), ("scatter", 2), ("gather", 1), ("gather", 3)]
)
def test_a_killed_release_goes_on_and_draws_no_second_noise(table, tmp_path, monkeypatch, name, calls):
    ledger = Ledger(path=tmp_path / "ledger.json")
    with monkeypatch.context() as patched:
        killed_after(patched, steps, name, calls)
        with pytest.raises(KilledError):
            released(table, tmp_path / "out", ledger=ledger)
    assert not (tmp_path / "out").exists()
    work = tmp_path / "out.work"
    before = {p.name: np.load(p / scattering.ROWS) for p in work.glob("drawn-*/piece-*")}
    assert len(before) == (calls if name == "scatter" else FILES)
    drawn = []
    original = steps.scatter

    def counted(number, file, some):
        if not some.piece(number).exists():
            drawn.append(number)
        return original(number, file, some)

    monkeypatch.setattr(steps, "scatter", counted)
    parts = released(table, tmp_path / "out", ledger=ledger)
    assert len(drawn) == FILES - len(before)
    rows = {row.tobytes() for row in parts.whole().candidates.numpy()}
    assert all(row.tobytes() in rows for piece in before.values() for row in piece)
    assert len(ledger.entries) == 1
    assert not work.exists()


@pytest.mark.parametrize("moment", ["before the entry", "after the entry", "before the last name"])
def test_a_release_is_charged_once_wherever_it_is_killed(table, tmp_path, monkeypatch, moment):
    ledger = Ledger(PrivacyGuarantee.budget(4.0), tmp_path / "ledger.json")

    def stop(*_, **__):
        raise KilledError

    with monkeypatch.context() as patched:
        if moment == "before the entry":
            patched.setattr(Ledger, "spend", stop)
        elif moment == "after the entry":
            patched.setattr(driver, "save_maps", stop)
        else:
            rename = os.rename
            patched.setattr(
                assembling.os, "rename", lambda a, b: stop() if str(b).endswith("out") else rename(a, b)
            )
        with pytest.raises(KilledError):
            released(table, tmp_path / "out", ledger=ledger)
        assert not (tmp_path / "out").exists()
    parts = released(table, tmp_path / "out", ledger=ledger)
    assert len(ledger.entries) == 1
    assert torch.equal(RowMap.load(tmp_path / "out.map").permutation.sort().values, torch.arange(N))
    assert RowMap.load(tmp_path / "out.map").release == parts.identity


def test_what_is_promised_about_answers_is_entered_too_and_once(table, tmp_path, monkeypatch):
    answers = OutcomeMechanism(1.0, 0.0, (0.0, 1.0)).guarantee()
    ledger = Ledger()
    begin(monkeypatch, table, tmp_path / "out", ledger=ledger, outcome_guarantee=answers)
    parts = go_on(table, tmp_path / "out", ledger=ledger, outcome_guarantee=answers)
    assert [entry.guarantee for entry in ledger.entries] == [parts.guarantee, answers]
    assert parts.public["outcome_guarantee"] == answers


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_or_a_whole_release(table, tmp_path):
    script = (
        "import os, sys\n"
        "from botorch_private import NoisyProjection, PublicScaling, release_parquet\n"
        "from botorch_private.curator.large import steps\n"
        "original, left = steps.gather, [2]\n"
        "def gather(*arguments):\n"
        "    if not left[0]: os._exit(9)\n"
        "    left[0] -= 1\n"
        "    return original(*arguments)\n"
        "if sys.argv[3] == 'die': steps.gather = gather\n"
        "scaling = PublicScaling([0, 0], [10, 1], names=['age', 'dose'])\n"
        "release_parquet(sys.argv[1], sys.argv[2], scaling, NoisyProjection(3.0), bucket_bytes=4096)\n"
    )
    arguments = [sys.executable, "-c", script, str(table[0]), str(tmp_path / "out")]
    assert subprocess.run([*arguments, "die"], check=False, capture_output=True).returncode == 9
    assert not (tmp_path / "out").exists()
    subprocess.run([*arguments, "live"], check=True, capture_output=True)
    assert ReleasedParts.load(tmp_path / "out").whole().candidates.shape == (N, 2)


def test_other_settings_do_not_go_on_with_what_was_begun(table, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        killed_after(patched, steps, "scatter", 1)
        with pytest.raises(KilledError):
            released(table, tmp_path / "out")
    with pytest.raises(ValueError, match="begun with other files or settings"):
        released(table, tmp_path / "out", NoisyProjection(2.0))


def test_a_table_that_changed_meanwhile_is_refused(table, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        killed_after(patched, steps, "scatter", 1)
        with pytest.raises(KilledError):
            released(table, tmp_path / "out")
    file = table[0] / "stays-3.parquet"
    pd.read_parquet(file).iloc[::-1].to_parquet(file)
    with pytest.raises(ValueError, match="begun with other files"):
        released(table, tmp_path / "out")


def begin(monkeypatch, table, target, scaling=SCALING, mechanism=None, **options):
    """A call that is killed once two files have their noise."""
    with monkeypatch.context() as patched:
        killed_after(patched, steps, "scatter", 2)
        with pytest.raises(KilledError):
            go_on(table, target, scaling, mechanism, **options)


def go_on(table, target, scaling=SCALING, mechanism=None, **options):
    mechanism = mechanism or NoisyProjection(3.0)
    return release_parquet(
        table[0], target, scaling, mechanism, bucket_bytes=2**12, progress=False, **options
    )


def test_a_ledger_that_comes_later_is_charged_too(table, tmp_path, monkeypatch):
    begin(monkeypatch, table, tmp_path / "out")
    small = Ledger(PrivacyGuarantee.budget(2.0))
    with pytest.raises(BudgetError):
        go_on(table, tmp_path / "out", ledger=small)
    assert not (tmp_path / "out").exists()
    ledger = Ledger(PrivacyGuarantee.budget(4.0))
    go_on(table, tmp_path / "out", ledger=ledger)
    assert len(ledger.entries) == 1


def test_a_release_that_was_begun_with_a_ledger_needs_one(table, tmp_path, monkeypatch):
    begin(monkeypatch, table, tmp_path / "out", ledger=Ledger())
    with pytest.raises(ValueError, match="ledger must be given again"):
        go_on(table, tmp_path / "out")


def test_an_entry_of_another_release_that_promises_the_same_is_not_taken_for_its_own(
    table, tmp_path, monkeypatch
):
    ledger = Ledger(path=tmp_path / "ledger.json")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "spend", lambda *_, **__: (_ for _ in ()).throw(KilledError))
        with pytest.raises(KilledError):
            go_on(table, tmp_path / "out", ledger=ledger)
    go_on(table, tmp_path / "other", ledger=ledger)
    go_on(table, tmp_path / "out", ledger=ledger)
    assert len(ledger.entries) == 2


def test_rows_of_one_release_are_scaled_alike(table, tmp_path, monkeypatch):
    """Ranges as wide elsewhere have the same units, and the same guarantee."""
    begin(monkeypatch, table, tmp_path / "out")
    with pytest.raises(ValueError, match="begun with other files or settings"):
        go_on(table, tmp_path / "out", PublicScaling([5.0, 0.0], [15.0, 1.0], names=["age", "dose"]))


def test_cells_of_one_release_are_made_by_one_function(table, tmp_path, monkeypatch):
    def cells(cut):
        made = Cells.of(lambda record: int(record[0] > cut), 2, names=["age", "dose"])
        return CellResponse(1.0, made)

    begin(monkeypatch, table, tmp_path / "out", None, cells(7.0))
    with pytest.raises(ValueError, match="so must the cells") as refused:
        go_on(table, tmp_path / "out", None, cells(9.0))
    assert "charged" not in str(refused.value)
    go_on(table, tmp_path / "out", None, cells(7.0))


def test_records_that_nobody_looked_at_are_not_released(table, tmp_path, monkeypatch):
    """A file of the same size and time, whose records are others."""
    begin(monkeypatch, table, tmp_path / "out")
    file = table[0] / "stays-3.parquet"
    before, other = file.stat(), pd.read_parquet(file)
    content = file.read_bytes()
    value = other["dose"].to_numpy()[:1].tobytes()
    assert content.count(value) >= 1
    file.write_bytes(content.replace(value, np.float64(0.123).tobytes()))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ValueError, match="the records of .* are others"):
        go_on(table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_stands_in_the_place_of_the_work_is_not_gone_on_with(table, tmp_path):
    stale = tmp_path / "out.work"
    (stale / "piece-000000").mkdir(parents=True)
    with pytest.raises(FileExistsError, match="nobody knows"):
        go_on(table, tmp_path / "out")
    shutil.rmtree(stale)
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    stale.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError, match="something at"):
        go_on(table, tmp_path / "out")
    stale.unlink()
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="something at"):
        go_on(table, tmp_path / "out", ledger=(ledger := Ledger()))
    assert not ledger.entries


class Shapes(NoisyProjection):
    """Notes what it is given to multiply."""

    seen: ClassVar[list] = []

    def draw_rows(self, scaled, maps, entropy):
        self.seen.append(tuple(scaled.shape))
        return super().draw_rows(scaled, maps, entropy)


def test_digits_of_a_row_do_not_tell_how_large_its_file_is(tmp_path):
    """Matrix products of another shape round otherwise, most of all that of one row."""
    generator = np.random.default_rng(3)
    (tmp_path / "t").mkdir()
    for name, size in (("a", 1), ("b", 500), ("c", 1500)):
        frame = pd.DataFrame(generator.uniform(0, 1, (size, 2)), columns=["age", "dose"])
        frame.to_parquet(tmp_path / "t" / f"{name}.parquet")
    mechanism = Shapes(3.0, projection_dim=4)
    parts = go_on((tmp_path / "t",), tmp_path / "out", mechanism=mechanism)
    assert parts.n == 2001
    assert len(set(Shapes.seen)) == 1


# --- refused before anything is spent ---


def test_a_bad_record_in_the_last_file_is_refused_before_anything_is_spent(table, tmp_path):
    ledger = Ledger(path=tmp_path / "ledger.json")
    file = table[0] / "stays-3.parquet"
    frame = pd.read_parquet(file)
    frame.loc[frame.index[7], "dose"] = np.nan
    frame.to_parquet(file)
    with pytest.raises(ValueError, match=r"stays-3.parquet must have no empty cells, got one in row 9"):
        released(table, tmp_path / "out", ledger=ledger)
    assert ledger.entries == ()
    assert sorted(each.name for each in tmp_path.iterdir() if "ledger" not in each.name) == ["stays"]


def test_a_budget_that_is_too_small_is_said_before_anything_is_drawn(table, tmp_path):
    ledger = Ledger(PrivacyGuarantee.budget(2.0))
    with pytest.raises(BudgetError):
        released(table, tmp_path / "out", ledger=ledger)
    assert not (tmp_path / "out.work").exists()


def test_a_full_disk_is_said_before_anything_is_spent(table, tmp_path, monkeypatch):
    ledger = Ledger(path=tmp_path / "ledger.json")
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(OSError, match="must be on a disk with room"):
        released(table, tmp_path / "out", ledger=ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"target": "stays"}, FileExistsError, "target must be new"),
        ({"target": "nowhere/out"}, FileNotFoundError, "folder that exists"),
        ({"source": "nowhere"}, FileNotFoundError, "must be a file that exists|must be .parquet"),
        ({"scaling": PublicScaling([0, 0], [10, 1])}, ValueError, "scaling must have names"),
        ({"mechanism": SpectralProjection(3.0, 1e-5, 1)}, ValueError, "each record for itself"),
        ({"dtype": "float16"}, ValueError, "dtype"),
        ({"engine": "spark"}, ValueError, "engine"),
        ({"workers": 2}, ValueError, "None without engine='ray'"),
        ({"ledger": "ledger.json"}, TypeError, "ledger must be a Ledger"),
    ],
)
def test_bad_arguments_are_refused(table, tmp_path, change, error, message):
    arguments = {
        "source": table[0],
        "target": "out",
        "scaling": SCALING,
        "mechanism": NoisyProjection(3.0),
        "progress": False,
        **change,
    }
    for name in ("source", "target"):
        arguments[name] = tmp_path / arguments[name]
    if "source" in change:
        arguments["source"] = tmp_path / "nowhere.parquet"
    with pytest.raises(error, match=message):
        release_parquet(**arguments)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_named_twice_is_refused(table, tmp_path):
    file = table[0] / "stays-0.parquet"
    with pytest.raises(ValueError, match="each file once"):
        release_parquet([file, file], tmp_path / "out", SCALING, NoisyProjection(3.0))


def test_clipped_records_are_said_to_the_curator(table, tmp_path):
    narrow = PublicScaling([0.0, 0.0], [5.0, 1.0], names=["age", "dose"])
    with pytest.warns(ClippedRecordsWarning, match="age"):
        release_parquet(table[0], tmp_path / "out", narrow, NoisyProjection(3.0), progress=False)


# --- what is read ---


def test_a_changed_part_is_refused(table, tmp_path):
    parts = released(table, tmp_path / "out")
    file = tmp_path / "out" / parts.parts[1].name
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="was changed"):
        ReleasedParts.load(tmp_path / "out").whole()
    file.unlink()
    with pytest.raises(FileNotFoundError, match="part of a release"):
        ReleasedParts.load(tmp_path / "out").whole()


def test_a_changed_manifest_is_refused(table, tmp_path):
    released(table, tmp_path / "out")
    file = tmp_path / "out" / "manifest.json"
    file.write_text(file.read_text().replace('"rows": ', '"rows": 1'))
    with pytest.raises(ValueError, match="was changed after saving"):
        ReleasedParts.load(file)


# --- the order, by the audit that ships ---


def sixteen(tmp_path):
    """A table that is sorted over 16 files."""
    ages = np.sort(np.random.default_rng(3).uniform(0, 10, 1600))
    frame = pd.DataFrame({"age": ages, "dose": 0.5 + 0.04 * ages})
    (tmp_path / "sorted").mkdir()
    for i in range(16):
        frame[100 * i : 100 * (i + 1)].to_parquet(tmp_path / "sorted" / f"{i:02d}.parquet")
    return (tmp_path / "sorted",), SCALING.transform(frame)


def test_the_order_audit_finds_nothing_in_sorted_files(tmp_path):
    source, scaled = sixteen(tmp_path)
    parts = released(source, tmp_path / "out", NoisyProjection(20.0), bucket_bytes=2**11)
    assert not audit.order_audit(parts.whole(), scaled, progress=False).found


@pytest.mark.parametrize("leak", ["a bucket for each file", "no order in a bucket"])
def test_the_order_audit_finds_a_shuffle_within_blocks(tmp_path, monkeypatch, leak):
    """What block-wise shuffling leaks: on sorted files the place of a row tells its file."""
    source, scaled = sixteen(tmp_path)
    if leak == "a bucket for each file":
        monkeypatch.setattr(
            scattering, "below", lambda _, bound, count: np.full(count, bound - 1, dtype=np.uint64)
        )
        monkeypatch.setattr(gathering, "permutation", lambda _, n: np.arange(n))
    else:
        monkeypatch.setattr(gathering, "permutation", lambda _, n: np.arange(n))
    parts = released(source, tmp_path / "out", NoisyProjection(20.0), bucket_bytes=2**13)
    assert audit.order_audit(parts.whole(), scaled, progress=False).found
