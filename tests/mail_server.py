"""A mail server on this machine that keeps what it takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.nats_server import free_port


class MailServer:
    """Takes messages, or answers as it is told to."""

    def __init__(self, *, signed_in: bool) -> None:
        self.taken: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.refuses = ""
        """An answer such as `550 No such user`; empty: everything is taken."""
        self.refuses_sender = ""
        """What it answers to whoever sends; empty: they may."""
        self.unknown = ""
        """A recipient that is refused."""
        self.port = free_port()
        self._signed_in = signed_in

    async def handle_MAIL(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if self.refuses_sender:
            return self.refuses_sender
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address == self.unknown:
            return "550 5.1.1 No such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self._signed_in and not session.authenticated:
            return "530 Authentication required"
        if self.refuses:
            return self.refuses
        message = message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.taken.append(message)
        self.recipients.append(list(envelope.rcpt_tos))
        return "250 taken"


@contextmanager
def serving(user: str = "", password: str = "") -> Iterator[MailServer]:
    """Run it on a free port; with a user, whoever sends has to sign in."""
    mail = MailServer(signed_in=bool(user))

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        right = (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=right, handled=False)

    controller = Controller(
        mail,
        hostname="127.0.0.1",
        port=mail.port,
        authenticator=check,
        auth_require_tls=False,
    )
    controller.start()
    try:
        yield mail
    finally:
        controller.stop()
