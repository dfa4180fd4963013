"""The file of who is told: what it may say, and that it is not repeated."""

import pytest
from helpers.receiver import SECRET

from botorch_private.cli.main import main
from botorch_private.curator.service.notify.settings import read_settings

HOOK = '[[webhook]]\nurl = "https://hooks.example.org/a/b?c=d"\nsecret_file = "hook.secret"\n'
MAIL = '[[mail]]\nto = ["lab@example.org"]\nfrom = "curator@example.org"\nhost = "smtp.example.org"\n'


@pytest.fixture
def write(tmp_path):
    """Write the file, beside its secret."""
    (tmp_path / "hook.secret").write_text(SECRET + "\n")
    (tmp_path / "smtp.password").write_text("hunter2-MARKER\n")

    def write(text):
        path = tmp_path / "notify.toml"
        path.write_text(text)
        return path

    return write


def test_both_kinds_are_read(write):
    user = 'user = "curator"\npassword_file = "smtp.password"\n'
    settings = read_settings(write(f'name = "Clinic"\nidle = 24\nevery = 60\n{HOOK}{MAIL}{user}'))
    hook, mail = settings.channels
    assert (settings.name, settings.idle, settings.every, settings.wait) == ("Clinic", 24.0, 60.0, 60.0)
    assert hook.name == "webhook hooks.example.org"  # the path may be a secret
    assert (mail.port, mail.security, mail.password) == (587, "starttls", "hunter2-MARKER")
    assert "MARKER" not in repr(settings)
    assert SECRET[6:14] not in repr(settings)


def test_a_secret_may_come_from_the_environment(write, monkeypatch):
    path = write(HOOK.replace("secret_file", "secret_env").replace("hook.secret", "HOOK_SECRET"))
    with pytest.raises(ValueError, match="secret_env must name a variable that is set"):
        read_settings(path)
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    assert len(read_settings(path).channels) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nobody would be told"),
        ("name = MARKER", "must be a TOML file in UTF-8"),
        (f"MARKER = 1\n{HOOK}", "the file must have no entries but"),
        (f'{HOOK}MARKER = "x"\n', r"\[\[webhook\]\] 1 must have no entries but"),
        (f"wait = -1\n{HOOK}", "wait must be a finite number >= 0"),
        (f"every = true\n{HOOK}", "every must be a number"),
        (f"idle = 0\n{HOOK}", "idle must be a finite number >= 0.001"),
        (f"idle = inf\n{HOOK}", "idle must be a finite number"),
        (f'name = "MARKER\\n"\n{HOOK}', "name must be a text of one line"),
        (f'console = "javascript:MARKER"\n{HOOK}', "console must be an address"),
        (HOOK + HOOK, "must be named once"),
        ("webhook = 3", r"webhook must be written as \[\[webhook\]\]"),
        (HOOK.replace("https", "http"), "url must begin with https://"),
        (HOOK.replace("https://", "https://me:MARKER@"), "without a password"),
        (HOOK.replace("hooks.example.org", "[MARKER"), "url must be an address"),
        (HOOK.replace("hook.secret", "smtp.password"), "a webhook's secret must be"),
        (HOOK.replace('secret_file = "hook.secret"', ""), "secret_file or secret_env must say"),
        (f'{HOOK}internal = "yes"', "internal must be true or false"),
        (f'{HOOK}ca_file = "hook.secret"', "ca_file must be a file with certificates"),
        (MAIL.replace('["lab@example.org"]', '["lab@example.org\\nBcc: MARKER"]'), "to must be a list"),
        (MAIL.replace('["lab@example.org"]', '"lab@example.org"'), "to must be a list"),
        (MAIL.replace("curator@", ""), "from must be an e-mail address"),
        (f'{MAIL}security = "MARKER"', "security must be one of starttls, tls, none"),
        (f'{MAIL}security = "none"', 'security must be "starttls" or "tls"'),
        (f"{MAIL}port = 70000", "port must be in 1..65535"),
        (f'{MAIL}user = "me"', "password_file or password_env must say where the password is"),
        (f'{MAIL}password_file = "smtp.password"', "user must say whose password it is"),
        (f'{MAIL}user = "me"\npassword_file = "notify.toml"', "must hold the password alone"),
    ],
)
def test_what_cannot_be_used_is_refused_and_not_repeated(write, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_settings(write(text))
    assert "MARKER" not in str(caught.value)


def test_the_command_says_who_would_be_told_and_when(write, capsys):
    assert main(["curator", "notify", str(write(f"idle = 12\n{HOOK}{MAIL}"))]) == 0
    shown = capsys.readouterr().out
    assert "webhook hooks.example.org\nmail by smtp.example.org\n" in shown
    assert "60 s after the first, every 900 s at most" in shown
    assert "after 12 h without a value" in shown


@pytest.mark.parametrize("command", [["notify"], ["serve", "nowhere", "--notify"]])
def test_a_file_that_cannot_be_used_ends_the_command_in_one_line(write, capsys, command):
    path = write(f"{HOOK}MARKER = 1")
    with pytest.raises(SystemExit) as stop:
        main(["curator", *command, str(path)])
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert "must have no entries but" in error
    assert error.count("\n") == 1
    assert "MARKER" not in error
