"""Output never fails: whatever the console's encoding is, whoever reads, a success stays a success."""

import io
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import botorch_private
from botorch_private.cli.main import main
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.service.folder import Folder

ENCODINGS = ["ascii", "cp1252", "latin-1", "utf-8"]
NAMES = ["kl-Δ", "kl-\udcff", "Klinik 1"]  # (the second one has a byte that is no UTF-8)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a table whose names no old encoding has."""
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(f"{20 + i},{60 + i},{i}" for i in range(12))
    Path("table.csv").write_text(f"age,Δ-Wert,cost\n{lines}\n", encoding="utf-8")
    Path("ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n", encoding="utf-8")
    return tmp_path


@contextmanager
def streams(stdout, stderr=None):
    before = sys.stdout, sys.stderr
    sys.stdout = stdout
    sys.stderr = stderr or io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    try:
        yield sys.stdout, sys.stderr
    finally:
        sys.stdout, sys.stderr = before


def console(encoding="ascii"):
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", write_through=True)


def unread():
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w", encoding="utf-8")


def full():
    """A device that is full."""
    return open("/dev/full", "w", encoding="utf-8")


def closed():
    """A descriptor that cannot be written, as one that was closed when the command began."""
    return os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8", closefd=True)


def quietly_close(stream):
    with suppress(OSError):
        stream.close()


def init(folder, *more):
    return main(
        [
            "curator",
            "init",
            "table.csv",
            folder,
            "--ranges",
            "ranges.toml",
            "--epsilon",
            "3",
            "--yes",
            *more,
        ]
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", NAMES)
def test_all_about_a_folder_works_whatever_its_name_and_the_consoles_encoding(place, encoding, name):
    with streams(console(encoding), console(encoding)):
        assert init(name, "--objective", "column:cost", "--outcome", "Δ", "--unit", "€") == 0
        assert main(["curator", "status", name]) == 0
        assert main(["curator", "token", "new", name, "--role", "modeler", "--name", "Δ"]) == 0
        token = ["--role", "staff", "--output", f"{name}.token"]
        assert main(["curator", "token", "new", name, *token]) == 0
        assert main(["curator", "token", "list", name]) == 0
        assert main(["curator", "token", "revoke", name, "1"]) == 0
        assert main(["curator", "export", name]) == 0
        assert main(["curator", "export", name, "--output", f"{name}.csv"]) == 0
        assert main(["curator", "retry", name]) == 0
        release = str(Folder(Path(name)).release)
        assert main(["report", release, "--text", "--trials", "100"]) == 0
        for wrong in (["curator", "status", f"{name}-Δ"], ["ranges", "check", f"{name}-Δ"]):
            with pytest.raises(SystemExit) as stopped:
                main(wrong)
            assert stopped.value.code == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_report_about_a_file_of_any_name_is_written(place, name):
    with streams(console(), console()):
        assert init(name) == 0
        release = str(Folder(Path(name)).release)
        assert main(["report", release, "--output", f"{name}.html", "--trials", "100"]) == 0
    assert "</html>" in Path(f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_printed_template_is_a_file_that_check_reads(place, encoding):
    with streams(console(encoding)) as (out, _):
        assert main(["ranges", "template", "table.csv"]) == 0
        text = out.buffer.getvalue().decode("utf-8")
    assert 'features."Δ-Wert"' in text
    written = Path("written.toml")
    with streams(console(encoding)):
        assert main(["ranges", "template", "table.csv", "--output", "written.toml"]) == 0
    assert written.read_text(encoding="utf-8") == text
    Path("declared.toml").write_text('[features."Δ-Wert"]\nlower = 0\nupper = 1\n', encoding="utf-8")
    with streams(console(encoding)):
        assert main(["ranges", "check", "declared.toml"]) == 0
    assert load_encoding("declared.toml").features[0].name == "Δ-Wert"


@pytest.mark.parametrize("stream", [unread, full, closed])
def test_what_was_done_is_a_success_though_nobody_can_read_of_it(place, stream):
    out = stream()
    with streams(out):
        assert init("clinic", "--objective", "column:cost") == 0
    quietly_close(out)
    assert Folder(Path("clinic")).release.is_file()
    for done in (
        ["curator", "token", "new", "clinic", "--role", "staff", "--output", "token.txt"],
        ["curator", "export", "clinic", "--output", "all.csv"],
        ["curator", "retry", "clinic"],
        ["ranges", "template", "table.csv", "--output", "new.toml"],
    ):
        out = stream()
        with streams(out):
            assert main(done) == 0
        quietly_close(out)


@pytest.mark.parametrize(
    ("stream", "status", "words"),
    [(unread, 141, ""), (full, 1, "No space left on device"), (closed, 1, "Bad file descriptor")],
)
def test_what_was_asked_for_and_cannot_be_printed_is_a_failure_without_a_traceback(
    place, stream, status, words
):
    with streams(console()):
        assert init("clinic", "--objective", "column:cost") == 0
    for asked in (
        ["ranges", "check", "ranges.toml"],
        ["ranges", "template", "table.csv"],
        ["curator", "status", "clinic"],
        ["curator", "export", "clinic"],
        ["curator", "token", "new", "clinic", "--role", "staff"],
        ["--help"],
        ["curator"],
    ):
        out = stream()
        with streams(out) as (_, error):
            try:
                code = main(asked)
            except SystemExit as stopped:
                code = stopped.code
            said = error.buffer.getvalue().decode()
        quietly_close(out)
        assert code == status
        assert words in said
        assert "Traceback" not in said
    with streams(console()) as (out, _):
        assert main(["curator", "token", "list", "clinic"]) == 0
        listed = out.buffer.getvalue().decode()
    assert "revoked" in listed  # nobody could read that token
    assert "valid" not in listed


def test_who_is_asked_must_be_able_to_read_what_for(place, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    out = unread()
    with streams(out):
        arguments = [
            "curator",
            "init",
            "table.csv",
            "clinic",
            "--ranges",
            "ranges.toml",
            "--epsilon",
            "3",
        ]
        assert main(arguments) == 141
    quietly_close(out)
    assert not Path("clinic").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_may_have_a_name_that_is_no_utf8(place, ending):
    pandas = pytest.importorskip("pandas")
    name = f"t\udcff.{ending}"
    table = pandas.read_csv("table.csv")
    Path("table.parquet").write_bytes(table.to_parquet())
    Path(f"table.{ending}").rename(name)
    Path("ranges.toml").rename("r\udcff.toml")
    with streams(console()):
        assert main(["ranges", "template", name]) == 0
        assert main(["ranges", "check", "r\udcff.toml"]) == 0
        init = [
            "curator",
            "init",
            name,
            "c\udcff",
            "--ranges",
            "r\udcff.toml",
            "--epsilon",
            "3",
            "--yes",
        ]
        assert main([*init, "--ledger", "l\udcff"]) == 0
        release = str(Folder(Path("c\udcff")).release)
        more = ["--ranges", "r\udcff.toml", "--records", name, "--ledger", "l\udcff", "--trials", "100"]
        assert main(["report", release, "--text", *more]) == 0


def test_a_streams_own_way_with_errors_is_put_back():
    with streams(console()) as (out, _):
        main(["curator"])
        assert out.errors == "strict"


def test_interrupting_any_command_ends_it_in_one_line(monkeypatch, place):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("botorch_private.curator.features.ranges.load_encoding", interrupted)
    with streams(console()) as (_, error):
        assert main(["ranges", "check", "ranges.toml"]) == 130
        assert error.buffer.getvalue() == b"Stopped.\n"


@pytest.mark.slow
def test_a_process_whose_streams_are_closed_keeps_them_from_its_files(place):
    environment = {**os.environ, "PYTHONPATH": str(Path(botorch_private.__file__).parents[1])}
    command = f"{sys.executable} -W ignore -m botorch_private"
    run = f"{command} curator init table.csv clinic --ranges ranges.toml --epsilon 3 --yes"
    done = subprocess.run(["sh", "-c", f"{run} <&- >&- 2>&-"], env=environment, check=False)
    assert done.returncode == 0
    token = f"{command} curator token new clinic --role staff --output token.txt"
    done = subprocess.run(["sh", "-c", f"{token} <&- >&- 2>&-"], env=environment, check=False)
    assert done.returncode == 0
    done = subprocess.run(
        ["sh", "-c", f"{command} curator status clinic | head -c 1"],
        env={**environment, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, len(done.stdout), done.stderr) == (0, 1, b"")
