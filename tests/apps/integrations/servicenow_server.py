"""A ServiceNow on a socket: its Change Management API as published, and the faults of networks."""

import base64
import json
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

STATES = {
    **{"-5": "New", "-4": "Assess", "-3": "Authorize", "-2": "Scheduled", "-1": "Implement"},
    **{"0": "Review", "3": "Closed", "4": "Canceled"},
}
# What an account without the right to approve may do.
WAYS = {
    "-5": {"-4", "-3", "4"},
    "-4": {"4"},
    "-3": {"4"},
    "-2": {"-1", "4"},
    "-1": {"0", "4"},
    "0": {"3"},
    "3": set(),
    "4": set(),
}
WRITABLE = {
    *("short_description", "description", "justification", "implementation_plan"),
    *("backout_plan", "test_plan", "start_date", "end_date", "correlation_id"),
    *("assignment_group", "cmdb_ci", "work_notes", "state", "close_code", "close_notes"),
}


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


class FakeServiceNow:
    """An instance with its changes; tests act as the people in it."""

    def __init__(self, credential: str = "weir:correct horse") -> None:
        self.credential = credential
        self.rows: dict[str, dict[str, str]] = {}
        self.notes: dict[str, list[str]] = {}
        self.history: dict[str, list[str]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.faults: deque[Fault] = deque()
        self.read_only: set[str] = set()
        self.away = False
        self.held = threading.Event()
        """A request has come that is let wait."""
        self.stopped = threading.Event()
        self.lock = threading.RLock()

    # --- people

    def only(self) -> dict[str, str]:
        """The one change that there is."""
        (row,) = self.rows.values()
        return row

    def only_notes(self) -> list[str]:
        """Its work notes, oldest first."""
        return self.notes[self.only()["sys_id"]]

    def approve(self) -> None:
        """The board approves the only change, which is then scheduled."""
        row = self.only()
        row["approval"] = "approved"
        self._move(row, "-2")

    def reject(self) -> None:
        """The board rejects it; ServiceNow sends it back to New."""
        row = self.only()
        row["approval"] = "rejected"
        self._move(row, "-5")

    def _move(self, row: dict[str, str], state: str) -> None:
        row["state"] = state
        self.history[row["sys_id"]].append(STATES[state])

    # --- the API

    def answer(self, method: str, address: str, body: Any, header: str) -> tuple[int, Any]:
        encoded = base64.b64encode(self.credential.encode()).decode()
        if header != f"Basic {encoded}":
            message = {"message": "User Not Authenticated", "detail": "Required to provide Auth"}
            return 401, {"error": message, "status": "failure"}
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = parts.path.removeprefix("/api/sn_chg_rest/change").strip("/").split("/")
        if not parts.path.startswith("/api/sn_chg_rest/change"):
            return 400, {"error": {"message": "Requested URI does not represent any resource"}}
        if method == "POST" and path[0] in ("normal", "emergency", "standard"):
            return 200, {"result": self._insert(path[0], body)}
        if method == "GET" and path == [""]:
            return 200, {"result": self._select(query)}
        row = self.rows.get(path[0])
        if row is None:
            return 404, {"error": {"message": "Record not found", "detail": None}}
        if method == "PATCH":
            return 200, {"result": self._update(row, body)}
        return 200, {"result": self._pairs(row)}

    def _select(self, query: dict[str, str]) -> list[Any]:
        name, _, wanted = query.get("sysparm_query", "").partition("=")
        # A part of a query that names no column, or names none at all, is left out silently.
        rows = [row for row in self.rows.values() if name not in row or row[name] == wanted]
        return [self._pairs(row) for row in rows[: int(query.get("sysparm_limit", "500"))]]

    def _insert(self, kind: str, body: dict[str, str]) -> Any:
        sys_id = uuid.uuid4().hex
        standard = kind == "standard"
        row = {
            "sys_id": sys_id,
            "number": f"CHG{30052 + len(self.rows):07d}",
            "type": kind,
            "state": "-5",
            "approval": "approved" if standard else "not requested",
            **dict.fromkeys(["correlation_id", "start_date", "end_date"], ""),
        }
        self.rows[sys_id], self.notes[sys_id], self.history[sys_id] = row, [], ["New"]
        return self._update(row, body)

    def _update(self, row: dict[str, str], body: dict[str, str]) -> Any:
        ignored = []
        for name, content in body.items():
            if name not in WRITABLE or name in self.read_only:
                ignored.append(name)
            elif name == "work_notes":
                self.notes[row["sys_id"]].append(content)
            elif name == "state":
                ways = WAYS[row["state"]] | ({"-2"} if row["type"] == "standard" else set())
                if content in ways:
                    self._move(row, content)
                    if content in ("-4", "-3"):
                        row["approval"] = "requested"
            else:
                row[name] = content
        pairs = self._pairs(row)
        return {**pairs, "__meta": {"ignoredFields": ignored}} if ignored else pairs

    def _pairs(self, row: dict[str, str]) -> dict[str, Any]:
        pairs: dict[str, Any] = {
            name: {"value": content, "display_value": content} for name, content in row.items()
        }
        pairs["state"]["display_value"] = STATES[row["state"]]
        pairs["approval"]["display_value"] = row["approval"].capitalize()
        journal = [
            f"2026-11-27 10:00:00 - Weir (Work notes)\n{n}" for n in self.notes[row["sys_id"]]
        ]
        pairs["work_notes"] = {"value": "", "display_value": "\n\n".join(reversed(journal))}
        return pairs


class _Handler(BaseHTTPRequestHandler):
    instance: FakeServiceNow
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return

    def _serve(self) -> None:
        instance = self.instance
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.close_connection = True
        with instance.lock:
            fault = Fault()
            if instance.faults and instance.faults[0].method in ("", self.command):
                fault = instance.faults.popleft()
            if instance.away:
                fault = Fault(drop=True)
            plain = not (fault.status or fault.drop or fault.half or fault.body)
            status, answer = 0, None
            if plain or fault.done:
                instance.requests.append((self.command, self.path, body))
                header = self.headers.get("Authorization") or ""
                status, answer = instance.answer(self.command, self.path, body, header)
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
def served(instance: FakeServiceNow) -> Iterator[str]:
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
