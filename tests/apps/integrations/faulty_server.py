"""A server on a socket of this machine whose answers get lost, late, cut or replaced."""

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl


class Fault:
    """What goes wrong with one request; `done`: the server carries it out all the same."""

    def __init__(
        self,
        *,
        done: bool = False,
        status: int = 0,
        headers: dict[str, str] | None = None,
        drop: bool = False,
        half: bool = False,
        wait_s: float = 0.0,
        body: str = "",
        method: str = "",
    ) -> None:
        self.done, self.status, self.headers = done, status, headers or {}
        self.drop, self.half, self.wait_s, self.body = drop, half, wait_s, body
        self.method = method


class FaultyServer:
    """What a server does with requests, and what goes wrong with the next ones."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.faults: deque[Fault] = deque()
        self.away = False
        self.is_maintained = False
        """It says that it carries nothing out now."""
        self.held = threading.Event()
        """A request has come that is let wait."""
        self.stopped = threading.Event()
        self.lock = threading.RLock()

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        """Carry a request out; return status and answer."""
        raise NotImplementedError


def _body(content: bytes, kind: str) -> Any:
    if not content:
        return None
    if kind == "application/x-www-form-urlencoded":
        return dict(parse_qsl(content.decode(), strict_parsing=True))
    return json.loads(content)


class _Handler(BaseHTTPRequestHandler):
    instance: FaultyServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return

    def _serve(self) -> None:
        instance = self.instance
        length = int(self.headers.get("Content-Length") or 0)
        body = _body(self.rfile.read(length), self.headers.get("Content-Type", ""))
        self.close_connection = True
        with instance.lock:
            fault = Fault()
            if instance.faults and instance.faults[0].method in ("", self.command):
                fault = instance.faults.popleft()
            if instance.away:
                fault = Fault(drop=True)
            if instance.is_maintained:
                fault = Fault(status=503, headers={"Retry-After": "1"})
            plain = not (fault.status or fault.drop or fault.half or fault.body)
            status, answer = 0, None
            if plain or fault.done:
                instance.requests.append((self.command, self.path, body))
                given = dict(self.headers)
                status, answer = instance.answer(self.command, self.path, body, given)
        if fault.wait_s:
            instance.held.set()
            instance.stopped.wait(fault.wait_s)
        if fault.drop:
            self.connection.close()
            return
        text = fault.body or json.dumps(
            answer if not fault.status else {"error": {"message": f"fault {fault.status}"}}
        )
        content = text.encode()
        self.send_response(fault.status or status or 200)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(OSError):
            # The worker may have been killed.
            self.wfile.write(content[: len(content) // 2] if fault.half else content)

    do_GET = do_POST = do_PATCH = _serve


@contextmanager
def served(instance: FaultyServer) -> Iterator[str]:
    """The instance on a port of this machine; yields its address."""
    handler = type("Handler", (_Handler,), {"instance": instance})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        instance.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
