"""A Jira on a socket: the APIs of its platform and of Jira Service Management as published."""

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.apps.integrations.faulty_server import FaultyServer

CATEGORIES = {
    **{"Awaiting approval": "new", "Approved": "indeterminate", "Implementing": "indeterminate"},
    **{"Completed": "done", "Failed": "done", "Canceled": "done", "Declined": "done"},
}
# The ways of an account that may not approve: identifier, name, from which states, to which.
WAYS = [
    ("11", "Start work", {"Approved"}, "Implementing"),
    ("21", "Close as done", {"Implementing"}, "Completed"),
    ("31", "Close as failed", {"Implementing", "Approved"}, "Failed"),
    ("41", "Give up", {"Awaiting approval", "Approved", "Implementing"}, "Canceled"),
]
PUBLIC = "https://portal.example.org"


class FakeJira(FaultyServer):
    """A site with a service desk and a project; tests act as the people in it."""

    def __init__(self, edition: str = "cloud") -> None:
        super().__init__()
        self.is_cloud = edition == "cloud"
        self.rows: dict[str, dict[str, Any]] = {}
        self.required: set[str] = set()
        """Fields without which nothing is made."""
        self.forbidden: set[str] = set()
        """The last parts of addresses that this account may not write to."""
        self.sloppy = False
        """Every search is answered with every issue."""
        self.screens: dict[str, dict[str, Any]] = {}
        """Fields of the screens on the way to a state."""
        self.unsearchable: set[str] = set()
        """Issues that the index of the search does not have yet."""

    # --- people

    def only(self) -> dict[str, Any]:
        """The one change that there is."""
        (row,) = self.rows.values()
        return row

    def ask(self, name: str = "Change advisory board") -> dict[str, Any]:
        """The only change needs an approval, as its workflow says."""
        row = self.only()
        approval = {
            "id": str(len(row["approvals"]) + 1),
            "name": name,
            "finalDecision": "pending",
            "canAnswerApproval": False,
        }
        row["approvals"].append(approval)
        return approval

    def approve(self) -> None:
        """The board approves the only change, whose workflow goes on."""
        row = self.only()
        for approval in row["approvals"]:
            approval["finalDecision"] = "approved"
        self._to(row, "Approved")

    def decline(self) -> None:
        """The board declines it."""
        row = self.only()
        for approval in row["approvals"]:
            approval["finalDecision"] = "declined"
        self._to(row, "Declined")

    def comments(self) -> list[str]:
        """What the comments of the only change say, oldest first."""
        return [words_of(comment["body"]) for comment in self.only()["comments"]]

    def _to(self, row: dict[str, Any], state: str) -> None:
        row["state"] = state
        row["history"].append(state)

    # --- the APIs

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        """Carry a request out as an account without the right to approve may."""
        basic = base64.b64encode(b"weir@example.org:tok-123456").decode()
        wanted = f"Basic {basic}" if self.is_cloud else "Bearer tok-123456"
        if headers.get("Authorization") != wanted:
            return 401, {"message": "Client must be authenticated to access this resource."}
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = parts.path.strip("/").split("/")
        if method == "POST" and path[-1] in self.forbidden:
            return 403, {"errorMessages": ["You do not have the permission."], "errors": {}}
        if path[:2] == ["rest", "servicedeskapi"]:
            experimental = headers.get("X-ExperimentalApi") == "opt-in"
            if not self.is_cloud and not experimental:
                return 412, {"errorMessage": "This API is experimental."}
            return self._desk(method, path[2:], query, body)
        version = "3" if self.is_cloud else "2"
        if path[:3] != ["rest", "api", version]:
            return 404, {"errorMessages": ["No such resource"]}
        return self._platform(method, path[3:], query, body)

    def _desk(
        self, method: str, path: list[str], query: dict[str, str], body: Any
    ) -> tuple[int, Any]:
        if path == ["servicedesk", "7", "requesttype", "12"]:
            return 200, {"id": "12", "name": "Request a change"}
        if path == ["request"] and method == "POST":
            return self._request(body)
        row = self._find(path[1]) if len(path) > 1 and path[0] == "request" else None
        if row is None:
            return 404, {"errorMessage": "The request you are looking for does not exist."}
        if path[2:] == ["approval"]:
            start, limit = int(query.get("start", 0)), int(query.get("limit", 50))
            values = row["approvals"][start : start + min(limit, 2)]
            last = start + len(values) >= len(row["approvals"])
            page = {"start": start, "limit": limit, "size": len(values)}
            return 200, {**page, "isLastPage": last, "values": values}
        if path[2:] == ["comment"] and method == "POST":
            if not isinstance(body.get("body"), str):
                return 400, {"errorMessage": "Comment body is no text."}
            return 201, self._comment(row, body["body"], public=body.get("public", True))
        return 404, {"errorMessage": "No such resource"}

    def _request(self, body: Any) -> tuple[int, Any]:
        fields = body["requestFieldValues"]
        if (body["serviceDeskId"], body["requestTypeId"]) != ("7", "12"):
            return 404, {"errorMessage": "The service desk does not exist."}
        if not isinstance(fields.get("description"), str) or "labels" in fields:
            return 400, {"errorMessage": "The field is not part of the request type."}
        missing = self.required - fields.keys()
        if missing:
            return 400, {"errorMessage": f"{min(missing)} is required."}
        row = self._insert("SD", fields)
        links = {"web": f"{PUBLIC}/servicedesk/customer/portal/7/{row['key']}"}
        return 201, {"issueId": row["id"], "issueKey": row["key"], "_links": links}

    def _platform(
        self, method: str, path: list[str], query: dict[str, str], body: Any
    ) -> tuple[int, Any]:
        if path == ["myself"]:
            return 200, {"displayName": "Weir", "active": True}
        if path == ["project", "OPS"]:
            return 200, {"key": "OPS", "name": "Operations"}
        if path == ["issue"] and method == "POST":
            return self._issue(body)
        if path == (["search", "jql"] if self.is_cloud else ["search"]):
            return self._search(query)
        row = self._find(path[1]) if len(path) > 1 and path[0] == "issue" else None
        if row is None:
            return 404, {"errorMessages": ["Issue does not exist or you do not have permission."]}
        if path[2:] == ["transitions"]:
            return self._transitions(method, row, query, body)
        if path[2:] == ["comment"]:
            return self._comments(method, row, query, body)
        return 200, self._shown(row, query)

    def _issue(self, body: Any) -> tuple[int, Any]:
        fields = body["fields"]
        errors = {name: f"{name} is required." for name in self.required - fields.keys()}
        if fields["project"] != {"key": "OPS"}:
            errors["project"] = "valid project is required"
        if fields["issuetype"] != {"name": "Change"}:
            errors["issuetype"] = "The issue type selected is invalid."
        if not self._is_text(fields["description"]):
            errors["description"] = "Operation value must be an Atlassian Document"
        if any(" " in label for label in fields["labels"]):
            errors["labels"] = "The label contains spaces which is invalid."
        if errors:
            return 400, {"errorMessages": [], "errors": errors}
        row = self._insert("OPS", fields)
        return 201, {"id": row["id"], "key": row["key"]}

    def _is_text(self, text: Any) -> bool:
        return is_document(text) if self.is_cloud else isinstance(text, str)

    def _insert(self, project: str, fields: dict[str, Any]) -> dict[str, Any]:
        if "\n" in fields["summary"] or not 0 < len(fields["summary"]) <= 255:
            raise ValueError("no summary")
        number = len(self.rows) + 1
        row = {
            **{"id": str(10_000 + number), "key": f"{project}-{number}", "fields": dict(fields)},
            **{"comments": [], "approvals": [], "history": []},
        }
        self.rows[str(row["id"])] = row
        self._to(row, "Awaiting approval")
        return row

    def _find(self, name: str) -> dict[str, Any] | None:
        return next((row for row in self.rows.values() if name in (row["id"], row["key"])), None)

    def _search(self, query: dict[str, str]) -> tuple[int, Any]:
        label = re.fullmatch(r'labels = "(\S+)" ORDER BY key ASC', query["jql"])
        word = re.fullmatch(r'description ~ "(\w+)" ORDER BY key ASC', query["jql"])
        if not label and not word:
            return 400, {"errorMessages": [f"Error in the JQL Query: {query['jql']}"]}
        rows = [
            row
            for row in self.rows.values()
            if self.sloppy
            or (label and label[1] in row["fields"].get("labels", ()))
            or (word and word[1] in re.findall(r"\w+", words_of(row["fields"]["description"])))
        ]
        found = [self._shown(row, query) for row in rows if row["id"] not in self.unsearchable]
        return 200, {"issues": found, **({"isLast": True} if self.is_cloud else {"total": 1})}

    def _shown(self, row: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
        category = {"key": CATEGORIES[row["state"]]}
        status = {"name": row["state"], "statusCategory": category}
        fields = {**row["fields"], "status": status}
        if self.is_cloud and isinstance(fields["description"], str):
            text = {"type": "text", "text": fields["description"]}
            paragraph = {"type": "paragraph", "content": [text]}
            fields["description"] = {"version": 1, "type": "doc", "content": [paragraph]}
        wanted = query.get("fields", "").split(",")
        shown = {name: value for name, value in fields.items() if name in wanted}
        return {"id": row["id"], "key": row["key"], "fields": shown}

    def _transitions(
        self, method: str, row: dict[str, Any], query: dict[str, str], body: Any
    ) -> tuple[int, Any]:
        ways = [way for way in WAYS if row["state"] in way[2]]
        if method == "GET":
            shown = [
                {"id": way[0], "name": way[1], "to": {"name": way[3]}}
                | ({"fields": self.screens.get(way[3], {})} if "expand" in query else {})
                for way in ways
            ]
            return 200, {"transitions": shown}
        chosen = [way for way in ways if way[0] == body["transition"]["id"]]
        if not chosen:
            return 400, {"errorMessages": ["It seems that you have tried an illegal operation."]}
        fields, screen = body.get("fields", {}), self.screens.get(chosen[0][3], {})
        message = "It is not on the appropriate screen."
        wrong = {name: message for name in fields if name not in screen}
        for name, one in screen.items():
            if one["required"] and not one["hasDefaultValue"] and name not in fields:
                wrong[name] = f"{one['name']} is required."
        if wrong:
            return 400, {"errorMessages": [], "errors": wrong}
        row["fields"] |= fields
        self._to(row, chosen[0][3])
        return 204, ""

    def _comments(
        self, method: str, row: dict[str, Any], query: dict[str, str], body: Any
    ) -> tuple[int, Any]:
        if method == "POST":
            if not self._is_text(body.get("body")):
                return 400, {"errors": {"comment": "Comment body is not valid!"}}
            return 201, self._comment(row, body["body"], public=True)
        start = int(query.get("startAt", 0))
        newest = row["comments"][::-1] if query.get("orderBy") == "-created" else row["comments"]
        page = newest[start : start + min(int(query.get("maxResults", 50)), 3)]
        return 200, {"startAt": start, "total": len(row["comments"]), "comments": page}

    def _comment(self, row: dict[str, Any], text: Any, *, public: bool) -> dict[str, Any]:
        comment = {"id": str(len(row["comments"])), "body": text, "jsdPublic": public}
        row["comments"].append(comment)
        return comment


def is_document(node: Any) -> bool:
    """Return whether this is a document of nodes: texts are not empty, blocks are no texts."""
    if not isinstance(node, dict) or (node.get("version"), node.get("type")) != (1, "doc"):
        return False
    blocks = node["content"]
    inline = [one for block in blocks for one in block["content"]]
    return all(block["type"] in ("paragraph", "heading") for block in blocks) and all(
        one["type"] == "hardBreak" or (one["type"] == "text" and one["text"]) for one in inline
    )


def words_of(node: Any) -> str:
    """Return the text of a document, or the text that this is."""
    if isinstance(node, str):
        return node
    if node["type"] == "text":
        return str(node["text"])
    between = "" if node["type"] in ("paragraph", "heading") else "\n"
    inside = between.join(words_of(one) for one in node.get("content", ()))
    return "\n" if node["type"] == "hardBreak" else inside
