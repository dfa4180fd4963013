"""--output is one option: it replaces nothing without --force, and refuses before any work."""

import os
import stat
from pathlib import Path

import pytest

from botorch_private.cli import demo
from botorch_private.cli.main import main
from botorch_private.curator.service.folder import Folder
from botorch_private.exchange.release import Release

COMMANDS = {
    "template": (["ranges", "template", "table.csv"], ".toml"),
    "report": (["report", "clinic/release.safetensors", "--trials", "100"], ".html"),
    "demo": (["demo", "--quick"], ".png"),
    "export": (["curator", "export", "clinic"], ".csv"),
    "token": (["curator", "token", "new", "clinic", "--role", "modeler"], ".txt"),
}


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    """A working folder with a table and a curator's folder; no demonstration is run in it."""
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("age,cost\n" + "".join(f"{20 + i},{i}\n" for i in range(12)))
    Path("ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")
    init = [
        "curator",
        "init",
        "table.csv",
        "clinic",
        "--ranges",
        "ranges.toml",
        "--epsilon",
        "3",
        "--yes",
    ]
    assert main(init) == 0
    capsys.readouterr()
    monkeypatch.setattr(demo, "run_demo", lambda **_: pytest.fail("work began"))
    return tmp_path


def refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert error.count("\n") == 1
    assert ": argument --output: " in error
    return error


@pytest.mark.parametrize("command", COMMANDS)
def test_what_must_not_or_cannot_be_written_is_refused_before_any_work(
    place, capsys, command, monkeypatch
):
    monkeypatch.setattr(Release, "load", lambda _: pytest.fail("work began"))
    monkeypatch.setattr(Folder, "open", lambda _: pytest.fail("work began"))
    arguments, ending = COMMANDS[command]
    there = Path(f"there{ending}")
    there.write_text("mine")
    error = refused([*arguments, "--output", str(there)], capsys)
    assert "there is something at there" in error
    assert "name a new file, or say --force" in error
    assert there.read_text() == "mine"
    folder = Path(f"folder{ending}")
    folder.mkdir()
    for more in ([], ["--force"]):
        error = refused([*arguments, "--output", str(folder), *more], capsys)
        assert "is a folder: name a file in it" in error
        error = refused([*arguments, "--output", f"no/such/a{ending}", *more], capsys)
        assert "there is no folder no/such" in error
    link = Path(f"null{ending}")
    link.symlink_to(os.devnull)
    error = refused([*arguments, "--output", str(link), "--force"], capsys)
    assert "is not a file" in error
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize("command", ["template", "export", "token"])
def test_with_force_a_file_is_replaced_as_a_whole(place, capsys, command):
    arguments, ending = COMMANDS[command]
    target = Path(f"there{ending}")
    assert main([*arguments, "--output", str(target)]) == 0
    first = target.read_bytes()
    assert first
    target.write_text("mine")
    assert main([*arguments, "--output", str(target), "--force"]) == 0
    assert target.read_bytes() != b"mine"
    assert (target.read_bytes() == first) == (command != "token")
    assert [each.name for each in place.iterdir() if each.name.startswith(".there")] == []


@pytest.mark.parametrize(
    "default", [(["demo", "--quick"], "demo.png"), (COMMANDS["report"][0], "report.html")]
)
def test_a_file_of_a_default_name_is_not_replaced_either(place, capsys, default):
    arguments, name = default
    Path(name).write_text("mine")
    assert name in refused(arguments, capsys)


def test_a_file_that_comes_while_the_work_is_done_is_not_replaced(place, capsys, monkeypatch):
    import botorch_private.curator.service.exported as exported

    def late(store, dialect):
        Path("late.csv").write_text("mine")
        return "text"

    monkeypatch.setattr(exported, "export_csv", late)
    with pytest.raises(SystemExit) as stopped:
        main(["curator", "export", "clinic", "--output", "late.csv"])
    assert stopped.value.code == 1
    assert "--output must be new, but there is something at" in capsys.readouterr().err
    assert Path("late.csv").read_text() == "mine"
    assert sorted(each.name for each in place.iterdir() if "late" in each.name) == ["late.csv"]


def test_a_file_with_a_token_is_for_its_owner_alone_and_is_never_printed(place, capsys):
    before = os.umask(0)
    try:
        arguments = ["curator", "token", "new", "clinic", "--role", "modeler", "--output", "token.txt"]
        assert main(arguments) == 0
    finally:
        os.umask(before)
    token = Path("token.txt").read_text().strip()
    assert token.startswith("bop_")
    assert stat.S_IMODE(Path("token.txt").stat().st_mode) == 0o600
    shown = capsys.readouterr()
    assert token not in shown.out + shown.err
    assert "mode 0600" in shown.out


def test_a_token_that_cannot_be_written_is_worthless(place, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("botorch_private.cli.output.write_whole", full)
    with pytest.raises(SystemExit):
        main(["curator", "token", "new", "clinic", "--role", "modeler", "--output", "token.txt"])
    assert capsys.readouterr().err.endswith("new: No space left on device\n")
    main(["curator", "token", "list", "clinic"])
    assert "revoked" in capsys.readouterr().out


def test_what_a_token_file_may_be(place, capsys):
    """All that is wrong with a file is one line, which names the option and shows nothing of it."""
    state = ["--state", "run.json"]
    cases = {
        "nope": (None, "there is no file nope"),
        "folder": ("", "folder is a folder, not a file"),
        "empty": (b" \n", "empty is empty"),
        "utf16": ("bop_secret".encode("utf-16"), "utf16 is not a text in UTF-8"),
        "latin": (b"bop_secr\xe9t", "latin is not a text in UTF-8"),
        "large": (b"bop_secret" * 1000, "large is too large"),
        "two": (b"bop_secret\nbop_secret", "two must hold the token alone"),
        "nope/nope": (None, "there is no file nope/nope"),
        "empty/nope": (None, "Not a directory: empty/nope"),
    }
    for name, (content, words) in cases.items():
        if content == "":
            Path(name).mkdir()
        elif content is not None:
            Path(name).write_bytes(content)
        with pytest.raises(SystemExit) as stopped:
            main(["optimize", "http://127.0.0.1:9", "--rounds", "1", "--token-file", name, *state])
        assert stopped.value.code == 1
        error = capsys.readouterr().err
        assert (
            error
            == f"botorch-private optimize: --token-file: {words}"
            + error[error.index(words) + len(words) :]
        )
        assert error.count("\n") == 1
        assert "secr" not in error
        assert "Errno" not in error


@pytest.mark.parametrize(
    ("mode", "warned"), [(0o600, False), (0o400, False), (0o644, True), (0o620, True)]
)
def test_a_token_file_that_others_can_read_is_warned_of_as_ssh_does(place, capsys, mode, warned):
    Path("token.txt").write_bytes(b"\xef\xbb\xbfbop_secret\r\n")
    Path("token.txt").chmod(mode)
    with pytest.raises(SystemExit):
        main(
            [
                "optimize",
                "http://127.0.0.1:9",
                "--rounds",
                "1",
                "--token-file",
                "token.txt",
                "--plot",
                "x",
            ]
        )
    error = capsys.readouterr().err
    assert (
        "WARNING: others on this machine can read or change --token-file token.txt" in error
    ) == warned
    assert (f"mode {mode:04o}" in error) == warned
    assert ("chmod 600 token.txt" in error) == warned
    assert error.endswith("--plot must end in .png, .pdf or .svg, got x\n")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--epsilon", "-1"], "--epsilon must be a finite number > 0"),
        (["--delta", "2"], "--delta must be"),
        (["--projection-dim", "0"], "--projection-dim must be"),
        (["--budget", "99"], "--budget must be"),
        (["--objective", "x"], "--objective must be"),
        (["--id", "age"], "--id must be"),
        (["--time-limit", "0"], "--time-limit must be"),
        (["--plausible", "3", "nan"], "--plausible must be"),
        (["--shared-outcomes"], "--shared-outcomes needs"),
        (["--outcome-epsilon", "0", "--outcome-range", "0", "1"], "--outcome-epsilon must be"),
        (["--outcome-epsilon", "1", "--outcome-range", "1", "0"], "--outcome-range must be"),
        (
            ["--outcome-epsilon", "1", "--outcome-range", "0", "1", "--outcome-delta", "3"],
            "--outcome-delta must",
        ),
        (["--ledger", "clinic"], "--ledger: "),
        (["--ledger", "no/such"], "--ledger must be in a folder that exists"),
        (["--ranges", "nope"], "--ranges must be a file of ranges"),
    ],
)
def test_refusals_of_init_name_the_option_that_was_typed(place, capsys, more, message):
    init = ["curator", "init", "table.csv", "new", "--ranges", "ranges.toml", "--epsilon", "3", "--yes"]
    with pytest.raises(SystemExit) as stopped:
        main([*init, *more])
    assert stopped.value.code == 1
    assert f"curator init: {message}" in capsys.readouterr().err
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ca-file", "nope"], "--ca-file: there is no file nope"),
        (["--ca-file", "clinic"], "--ca-file: clinic is a folder, not a file"),
        (["--ca-file", "ranges.toml"], "--ca-file must be a file with certificates in PEM form"),
        (["--state", "clinic"], "--state: clinic is a folder, not a file"),
        (["--state", "ranges.toml"], "--state must be a search that 'Modeler.save' or"),
        (["--state", "no/such"], "--state must be in a folder that exists"),
        (["--release", "no/such"], "--release must be in a folder that exists"),
        (["--plot", "no/such.png"], "--plot must be in a folder that exists"),
        (["--release", "clinic"], "--release: clinic is a folder, not a file"),
        (["--beta-scale", "-1"], "--beta-scale must be a finite number > 0"),
        (["--outcome-noise", "1"], "--outcome-noise must be a number in (0, 1)"),
    ],
)
def test_refusals_of_optimize_name_the_option_that_was_typed(place, capsys, more, message, monkeypatch):
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", "bop_secret")
    with pytest.raises(SystemExit) as stopped:
        main(["optimize", "http://127.0.0.1:9", "--rounds", "1", *more])
    assert stopped.value.code == 1
    assert f"optimize: {message}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:8400", "URL must be an address such as https://"),
        ("http://curator.example.org", "URL must begin with https://"),
    ],
)
def test_an_address_is_called_what_the_help_calls_it(place, capsys, url, message, monkeypatch):
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", "bop_secret")
    with pytest.raises(SystemExit):
        main(["optimize", url, "--rounds", "1"])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ["\udcff", "a\udce9b"])
@pytest.mark.parametrize(
    "command",
    [
        ["curator", "token", "new", "clinic", "--role", "staff", "--name"],
        ["curator", "init", "table.csv", "new", "--ranges", "ranges.toml", "--epsilon", "3", "--unit"],
        ["optimize", "--rounds", "1"],
    ],
)
def test_a_text_that_cannot_be_stored_is_refused_before_anything_is_done(place, capsys, command, text):
    with pytest.raises(SystemExit) as stopped:
        main([*command, text])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert "must be a text in UTF-8" in error
    assert text not in error
    assert not Path("new").exists()
