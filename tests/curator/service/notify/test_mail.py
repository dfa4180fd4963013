"""E-mail, sent to a real SMTP server on this machine: TLS, log-in, and refusals."""

import email
import ssl
from contextlib import contextmanager
from email.policy import default

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from botorch_private.curator.service.notify.mail import Mail
from botorch_private.curator.service.notify.message import Message
from botorch_private.curator.service.notify.webhook import SendingError

MESSAGE = Message("msg_1", "idle", "2026-01-02T03:04:05.000000+00:00", open=1, idle_hours=30)


class Kept:
    """What came, and whom the server refuses."""

    def __init__(self, refused=()):
        self.mails, self.secure, self.refused = [], [], refused

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        if address in self.refused:
            return "550 MARKER no such person"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        self.mails.append(email.message_from_bytes(envelope.content, policy=default))
        self.secure.append(server.transport.get_extra_info("sslcontext") is not None)
        return "250 OK"


class Starting(Controller):
    """A server whose port is any that is free."""

    def __init__(self, handler, **options):
        super().__init__(handler, hostname="127.0.0.1", port=0, **options)

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]  # known only now
        super()._trigger_server()


@contextmanager
def mail_server(kept, *, tls="", **options):
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    if tls == "tls":
        options["ssl_context"] = server
    elif tls == "starttls":
        options |= {"tls_context": server, "require_starttls": True}
    controller = Starting(kept, **options)
    controller.start()
    try:
        yield controller.port, client
    finally:
        controller.stop()


def channel(port, context=None, security="none", **options):
    to = options.pop("to", ("lab@example.org",))
    return Mail(to, "curator@example.org", "localhost", port, security, context=context, **options)


@pytest.mark.parametrize("security", ["none", "starttls", "tls"])
def test_a_mail_arrives_with_counts_alone(security):
    kept = Kept()
    with mail_server(kept, tls=security.replace("none", "")) as (port, context):
        channel(port, context, security).send(MESSAGE, "Clinic", "https://c.example.org/console")
    (mail,) = kept.mails
    assert kept.secure == [security != "none"]
    assert mail["Subject"] == "Clinic: 1 question waits for 30 h without a value"
    assert mail["Message-ID"] == "<msg_1@example.org>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content().replace("\r\n", "\n") == (
        "Clinic:\nNo question was settled for 30 hours.\n1 question waits.\n"
        "The console: https://c.example.org/console\n"
    )


@pytest.mark.parametrize("password", ["right", "wrong-MARKER"])
def test_a_password_goes_over_tls_alone(password):
    def check(server, session, envelope, mechanism, data):
        assert session.ssl is not None
        is_right = (data.login, data.password) == (b"me", b"right")
        return AuthResult(success=is_right, handled=False)

    kept = Kept()
    with mail_server(kept, tls="starttls", authenticator=check, auth_required=True) as (port, context):
        sending = channel(port, context, "starttls", user="me", password=password)
        assert password not in repr(sending)
        if password == "right":
            sending.send(MESSAGE, "Clinic", "")
        else:
            with pytest.raises(SendingError, match="^it answered 535$"):
                sending.send(MESSAGE, "Clinic", "")
    assert len(kept.mails) == (password == "right")


def test_a_server_without_tls_gets_nothing_where_tls_is_wanted():
    kept = Kept()
    with mail_server(kept) as (port, context):
        for security in ("starttls", "tls"):
            with pytest.raises(SendingError, match="^[A-Za-z]+$"):
                channel(port, context, security).send(MESSAGE, "Clinic", "")
    assert kept.mails == []


def test_a_certificate_that_nobody_vouches_for_is_refused():
    kept = Kept()
    with (
        mail_server(kept, tls="starttls") as (port, _),
        pytest.raises(SendingError, match="SSLCertVerificationError"),
    ):
        channel(port, None, "starttls").send(MESSAGE, "Clinic", "")
    assert kept.mails == []


def test_who_is_refused_alone_is_said_and_the_others_get_it_once():
    kept = Kept(refused=("gone@example.org",))
    with mail_server(kept) as (port, _):
        with pytest.raises(SendingError, match="^it refused 1 of 2 addresses$") as caught:
            channel(port, to=("lab@example.org", "gone@example.org")).send(MESSAGE, "Clinic", "")
        assert caught.value.for_good
        with pytest.raises(SendingError, match="^SMTPRecipientsRefused$") as caught:
            channel(port, to=("gone@example.org",)).send(MESSAGE, "Clinic", "")
        assert not caught.value.for_good
    assert len(kept.mails) == 1


def test_no_server_is_an_error():
    with pytest.raises(SendingError, match="ConnectionRefusedError"):
        channel(9).send(MESSAGE, "Clinic", "")
