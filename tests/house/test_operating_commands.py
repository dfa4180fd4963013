"""The operator's guide: its commands run as they stand there, and what it ships can be used."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from helpers.receiver import receiver
from helpers.staff_browser import console_folder

import botorch_private
from botorch_private.cli import main as cli

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide" / "operating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- these commands are run by .*?-->\n```\n(.*?)```", GUIDE, re.DOTALL)
SETTINGS = re.search(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[1]
UNIT = ROOT / "deploy" / "curator@.service"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
RUN = [sys.executable, "-W", "ignore", "-m", "botorch_private"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(botorch_private.__file__).parents[1])}


def commands(block):
    return [each for each in BLOCKS[block].splitlines() if each and not each.startswith("#")]


def arguments(line):
    program, *found = shlex.split(line)
    assert program == "botorch-private"
    return found


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder `clinic`, where the commands are typed."""
    monkeypatch.chdir(tmp_path)
    console_folder(tmp_path / "clinic")
    return tmp_path


def test_a_backup_comes_back_and_says_so(place, capsys):
    for line in commands(0):
        assert cli.main(arguments(line)) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^[0-9a-f]{64}  clinic\.backup$", shown, re.MULTILINE)
    assert "Put back from a backup of" in shown


def test_the_trail_is_checked_and_its_last_hash_shown(place, capsys):
    for line in commands(2):
        assert cli.main(arguments(line)) == 0
    status, verified = re.findall("(?:last one|last event): ([0-9a-f]{64})", capsys.readouterr().out)
    assert status == verified


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_people_are_told_as_the_guide_says(place, capsys):
    secret, check, test, serve = commands(1)
    subprocess.run(["sh", "-c", secret], check=True, capture_output=True)
    assert (place / "webhook.secret").stat().st_mode & 0o077 == 0
    (place / "smtp.password").write_text("a password")
    (place / "notify.toml").write_text(SETTINGS)
    assert cli.main(arguments(check)) == 0
    shown = capsys.readouterr().out
    assert "webhook hooks.example.org\nmail by smtp.example.org" in shown
    with receiver() as kept:
        here = SETTINGS.partition("[[mail]]")[0].replace("https://hooks.example.org/curator", kept.url)
        (place / "notify.toml").write_text(f"{here}internal = true\n")
        assert cli.main(arguments(test)) == 0
        assert len(kept.received) == 1
        options = ["0" if each == "9400" else each for each in arguments(serve)]
        with subprocess.Popen(
            [*RUN, *options, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        ) as server:
            try:
                address = server.stdout.readline().strip()
                assert httpx2.get(f"{address}/v1/health", trust_env=False).status_code == 200
            finally:
                server.terminate()
    assert "GET /v1/health 200" in (place / "access.log").read_text()


def test_the_units_command_is_one_that_there_is():
    (start,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    _, *found = start.replace("%i", "clinic").replace(" $CURATOR_OPTIONS", "").split()
    options, rest = cli._parser().parse_known_args(found)
    assert rest == []
    assert options.action.__name__ == "_serve"
    (more,) = re.findall(r"CURATOR_OPTIONS=(--.*)$", UNIT.read_text(), re.MULTILINE)
    assert cli._parser().parse_known_args([*found, *more.split()])[1] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_is_one_that_systemd_takes(tmp_path):
    unit = tmp_path / "curator@clinic.service"
    unit.write_text(UNIT.read_text().replace("/opt/botorch-private/bin/botorch-private", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    rated = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)[1]
    assert f"rates\nit {rated} of 10" in GUIDE


def test_the_image_runs_the_command_as_nobody_in_particular():
    steps = re.sub(r"\\\n", " ", DOCKERFILE.read_text()).splitlines()
    steps = [each.split(maxsplit=1) for each in steps if each and not each.startswith("#")]
    known = {"FROM", "COPY", "ARG", "RUN", "USER", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"}
    assert {name for name, _ in steps} <= known | {"ENTRYPOINT", "CMD"}
    names = [name for name, _ in steps]
    assert steps[0][0] == "FROM"
    assert names.index("USER") < names.index("ENTRYPOINT")
    (user,) = [value for name, value in steps if name == "USER"]
    assert user.isdigit()
    assert int(user) > 0
    for copied in re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE):
        assert (ROOT / copied).exists()
    (python,) = {value.split()[0] for name, value in steps if name == "FROM"}
    assert re.fullmatch(r"python:3\.1[1-9]-slim", python)


def test_what_the_image_does_not_need_is_not_sent_to_it():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [each for each in lines if each and not each.startswith("#")]
    assert rules[0] == "*"
    assert {"!botorch_private", "!pyproject.toml", "!README.md", "!LICENSE"} <= set(rules)
