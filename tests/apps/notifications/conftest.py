"""An installation with a mail server."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.mail_server import MailServer, serving


@pytest.fixture
def mail(settings: Any) -> Iterator[MailServer]:
    with serving() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.DEFAULT_FROM_EMAIL = "weir@example.org"
        yield server
