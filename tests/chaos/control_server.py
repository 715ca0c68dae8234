"""The control plane of chaos runs behind HTTP: the harness's `/test/*`, agents' `/agent/v1/*`.

python -m tests.chaos.control_server --port PORT --state FILE --system FILE
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.chaos.control import LEASE_S, Control
from weir.coordination.wire import to_dict

TICK_S = 0.1


def _handler(control: Control) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Answers in one packet, at once: pauses of shifts are measured through them.
        wbufsize = -1
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, code: int, body: Any = None) -> None:
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        @property
        def _broker(self) -> str:
            return self.headers["Authorization"].removeprefix("Bearer ")

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            if parts.path == "/test/state":
                self._answer(200, control.shown(query.get("execution", "")))
                return
            if control.fenced(self._broker, int(query["incarnation"])):
                self._answer(409, {"code": "fenced", "detail": "a newer agent acts"})
                return
            document = control.document(self._broker, query.get("seen", ""))
            if document is None:
                self._answer(204)
            else:
                self._answer(200, to_dict(document))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/test/plan":
                control.plan(body["name"], body["steps"])
                self._answer(200, {})
            elif self.path == "/agent/v1/session":
                session = control.session(self._broker, body["address"], body["key"])
                self._answer(200, session)
            elif control.fenced(self._broker, body["incarnation"]):
                self._answer(409, {"code": "fenced", "detail": "a newer agent acts"})
            else:
                control.report(self._broker, body)
                self._answer(200, {"lease_s": LEASE_S})

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever hung up has hung up."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--system", type=Path, required=True)
    options = parser.parse_args()
    control = Control(options.state, json.loads(options.system.read_text()))
    server = _Server(("127.0.0.1", options.port), _handler(control))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    while True:
        time.sleep(TICK_S)
        control.tick()


if __name__ == "__main__":
    main()
