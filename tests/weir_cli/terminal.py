"""A shell in which `weir` is called, against the control plane of the test itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import client_of
from weir_cli.__main__ import main


class InProcess(httpx.BaseTransport):
    """Requests answered by the control plane within the test's own transaction."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        kept = ("authorization", "if-match", "if-none-match", "idempotency-key", "accept")
        answer = client_of(None).generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            content_type=request.headers.get("Content-Type", ""),
            headers={name: request.headers[name] for name in kept if name in request.headers},
        )
        return httpx.Response(
            answer.status_code,
            headers=[*answer.items()],
            content=b"".join(answer) if answer.streaming else answer.content,
        )


class Terminal:
    """A shell in which `weir` is called; it keeps what the last call has written."""

    def __init__(self, capsys: Any, token: str) -> None:
        self._capsys = capsys
        self.environment = {"WEIR_URL": "http://testserver", "WEIR_TOKEN": token}
        self.out = self.err = ""
        self.meanwhile: Callable[[], None] = lambda: None
        """What others do while the command waits."""

    def __call__(self, *arguments: str | Path) -> int:
        self._capsys.readouterr()
        status = main(
            [str(one) for one in arguments],
            environment=self.environment,
            transport=InProcess(),
            sleep=lambda seconds: self.meanwhile(),
        )
        self.out, self.err = self._capsys.readouterr()
        return status

    @property
    def json(self) -> Any:
        return json.loads(self.out)
