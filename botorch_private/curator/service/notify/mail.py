"""Mail: one e-mail by SMTP."""

from __future__ import annotations

import hashlib
import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from botorch_private.curator.service.notify.message import Message
from botorch_private.curator.service.notify.webhook import SendingError

_SECONDS = 20.0
SECURITY = ("starttls", "tls", "none")


@dataclass(frozen=True)
class Mail:
    """Whom messages are mailed to, and by which server.

    Args:
        to: Addresses.
        sender: The address that they come from.
        host: The mail server.
        port: Its port.
        security: "starttls" (the connection must turn to TLS), "tls" (from the start) or "none".
        user: Who logs in; empty: nobody.
        password: Of that user.
        context: Whose certificates are believed.
    """

    to: tuple[str, ...]
    sender: str
    host: str
    port: int
    security: str = "starttls"
    user: str = ""
    password: str = field(default="", repr=False)
    context: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """For the log."""
        return f"mail by {self.host}"

    @property
    def identity(self) -> str:
        """Tells it from other channels, in the file of what is still to be sent."""
        where = "\n".join((self.host, self.sender, *self.to))
        return f"mail:{hashlib.sha256(where.encode()).hexdigest()[:16]}"

    def send(self, message: Message, name: str, console: str) -> None:
        """Send a message.

        Raises:
            SendingError: If the server does not take it for everybody.
        """
        mail = EmailMessage()
        mail["From"], mail["To"] = self.sender, ", ".join(self.to)
        mail["Subject"] = f"{name}: {message.subject}"
        mail["Date"] = format_datetime(datetime.fromisoformat(message.time))
        mail["Message-ID"] = f"<{message.id}@{self.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"  # no holiday notice answers it (RFC 3834)
        mail.set_content(message.text(name, console))
        try:
            refused = self._deliver(mail)
        except smtplib.SMTPResponseException as error:
            raise SendingError(f"it answered {error.smtp_code}") from None
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise SendingError(type(error).__name__) from None
        if refused:
            # The others have it: they would get it again with every try.
            raise SendingError(f"it refused {len(refused)} of {len(self.to)} addresses", for_good=True)

    def _deliver(self, mail: EmailMessage) -> dict[str, tuple[int, bytes]]:
        context = self.context or ssl.create_default_context()
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=_SECONDS, context=context
            )
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=_SECONDS)
        try:
            if self.security == "starttls":
                server.starttls(context=context)  # raises where the server does not offer it
            if self.user:
                server.login(self.user, self.password)
            return server.send_message(mail)
        finally:
            with suppress(smtplib.SMTPException, OSError):  # it has the message, or an error is told
                server.quit()
            server.close()
