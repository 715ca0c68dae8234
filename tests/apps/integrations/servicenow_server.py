"""A ServiceNow on a socket: its Change Management API as published."""

import base64
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.apps.integrations.faulty_server import FaultyServer
from tests.apps.integrations.token_server import FakeTokenServer

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


class FakeServiceNow(FaultyServer):
    """An instance with its changes; tests act as the people in it."""

    def __init__(self, credential: str = "weir:correct horse") -> None:
        super().__init__()
        self.credential = credential
        self.token_server: FakeTokenServer | None = None
        """Whose access tokens it takes instead of the credential."""
        self.rows: dict[str, dict[str, str]] = {}
        self.notes: dict[str, list[str]] = {}
        self.history: dict[str, list[str]] = {}
        self.read_only: set[str] = set()
        self.refusal = "Required to provide Auth"

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

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        """Carry a request out as an account without the right to approve may."""
        if not self._is_known(headers.get("Authorization", "")):
            message = {"message": "User Not Authenticated", "detail": self.refusal}
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

    def _is_known(self, authorization: str) -> bool:
        if self.token_server is not None:
            return self.token_server.takes(authorization)
        encoded = base64.b64encode(self.credential.encode()).decode()
        return authorization == f"Basic {encoded}"

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
