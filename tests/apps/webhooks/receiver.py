"""A receiver of webhooks that verifies what comes with the published packages."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
from standardwebhooks import Webhook, WebhookVerificationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request: its headers in small letters, and its body as it came."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> Any:
        """The CloudEvent, as its SDK reads it."""
        return from_structured_event(HTTPMessage(headers=dict(self.headers), body=self.body))

    def verifies(self, secret: str) -> bool:
        """Whether a receiver with this secret takes it."""
        try:
            Webhook(secret).verify(self.body, dict(self.headers))
        except WebhookVerificationError:
            return False
        return True


@dataclass
class Receiver:
    """What has come, and what is answered next; 204 where nothing is said."""

    received: list[Received] = field(default_factory=list)
    answers: deque[tuple[int, Mapping[str, str], bytes]] = field(default_factory=deque)
    held: threading.Event | None = None
    """Requests wait for it before they are answered."""
    arrived: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer the next request like this."""
        self.answers.append((status, headers, body))

    @property
    def types(self) -> list[str]:
        return [one.event.get_type() for one in self.received]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a port of this machine."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            return

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(headers=headers, body=body))
            receiver.arrived.set()
            if receiver.held is not None:
                receiver.held.wait(60.0)
            self.close_connection = True
            status, more, text = receiver.answers.popleft() if receiver.answers else (204, {}, b"")
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name.replace("_", "-"), value)
            if status != 204 and "Content_Length" not in more:
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}/hook?token=of-the-chat"
    try:
        yield receiver
    finally:
        if receiver.held is not None:
            receiver.held.set()
        server.shutdown()
        server.server_close()
        thread.join()
