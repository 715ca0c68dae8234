"""What a connection to an HTTP endpoint has to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.integrations.connectors.http.templates import check_body, check_path
from apps.integrations.connectors.settings import (
    ADDRESS,
    AUTHENTICATION_HELP,
    CLIENT_IN_BODY,
    HEADERS,
    SCOPE,
    TOKEN_ADDRESS,
    check_headers,
    check_length,
    check_tokens,
    state_names,
)
from weir.errors import InvalidProblem
from weir.plugins import about, check_fields

METHODS = ("POST", "PUT", "PATCH")
RECORD = ("id", "number", "key")
CHANGE = (
    *("key", "title", "description", "justification", "implementation", "back_out", "test"),
    *("starts_at", "ends_at", "link"),
)
COMMENT = (*RECORD, "text", "mark")
END = (*RECORD, "text", "outcome")
WHERE = (
    *("id_at", "number_at", "link_at", "find_list_at", "key_at", "state_at"),
    *("starts_at", "ends_at"),
)
_CHANGE_HELP = ", ".join(f"{{{name}}}" for name in CHANGE)


def _path(help: str, label: str = "") -> Any:
    return field(default="", metadata=about(help=help, label=label))


def _body(help: str) -> Any:
    return field(default_factory=dict, metadata=about(help=help, type="mapping"))


def _method(help: str) -> Any:
    return field(default="POST", metadata=about(help=f"{help}.", choices=METHODS))


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The address of an endpoint, what is sent to it, and what is read where in its answers."""

    address: str = field(metadata=ADDRESS)
    authentication: str = field(default="bearer", metadata=AUTHENTICATION_HELP)
    token_address: str = field(default="", metadata=TOKEN_ADDRESS)
    scope: str = field(default="", metadata=SCOPE)
    client_in_body: bool = field(default=False, metadata=CLIENT_IN_BODY)
    headers: Mapping[str, str] = field(default_factory=dict, metadata=HEADERS)
    test_path: str = _path("Read by the test of the connection; empty: the address itself.")

    open_method: str = _method("Method that opens a change")
    open_path: str = field(metadata=about(help="Path that opens a change, such as /tickets."))
    open_body: Mapping[str, Any] = field(
        metadata=about(help=f"Its body; it may hold {_CHANGE_HELP}.", type="mapping")
    )
    id_at: str = _path(
        "Where in the answer the change's id is, such as result.id; empty: the correlation id "
        "serves as its id.",
        label="Place of the ID",
    )
    number_at: str = _path(
        "Where its number for people is; empty: the id.", label="Place of the number"
    )
    link_at: str = _path("Where the address for people is; empty: none.", label="Place of the link")

    find_path: str = _path("Path that finds a change by its correlation id: /tickets?ref={key}.")
    find_list_at: str = _path(
        "Where in that answer the list of changes is; empty: it is the list.",
        label="Place of the list",
    )
    key_at: str = _path(
        "Where in a change the correlation id is.", label="Place of the correlation ID"
    )

    status_path: str = _path("Path that reads a change, such as /tickets/{id}.")
    state_at: str = _path("Where in that answer the state is.", label="Place of the state")
    approved_states: str = _path("States that mean approved, separated by commas.")
    refused_states: str = _path("States that mean that people refused it.")
    closed_states: str = _path("States that mean that it is over.")
    starts_at: str = _path(
        "Where the planned start is, ISO 8601; empty: nowhere.", label="Place of the planned start"
    )
    ends_at: str = _path(
        "Where the planned end is, ISO 8601; empty: nowhere.", label="Place of the planned end"
    )

    comment_method: str = _method("Method that adds a comment")
    comment_path: str = _path("Path that adds a comment; empty: no comments are sent.")
    comment_body: Mapping[str, Any] = _body("Its body; it may hold {text}, {mark}, {id}, {key}.")
    comments_path: str = _path("Path whose answer shows the comments; each is looked for there.")

    begin_method: str = _method("Method that says that a plan is being carried out")
    begin_path: str = _path("Its path; empty: that is not said.")
    begin_body: Mapping[str, Any] = _body("Its body; it may hold {id}, {number}, {key}.")

    end_method: str = _method("Method that closes or cancels a change")
    end_path: str = _path("Its path; empty: changes are not closed.")
    end_body: Mapping[str, Any] = _body(
        "Its body; it may hold {outcome} (succeeded, failed or cancelled), {text}, {id}, {key}."
    )

    @property
    def shows_approval(self) -> bool:
        """Return whether these settings say how an approval is read."""
        return bool(self.status_path and self.state_at and state_names(self.approved_states))

    @property
    def shows_window(self) -> bool:
        """Return whether these settings say where the planned times are read."""
        return bool(self.status_path and self.starts_at and self.ends_at)

    def __post_init__(self) -> None:
        check_fields(self)
        check_headers(self.headers)
        check_tokens(self)
        if not self.open_path:
            raise InvalidProblem("open_path", "Say where changes are opened, such as /tickets.")
        for name, known in (
            ("open", CHANGE),
            ("comment", COMMENT),
            ("begin", RECORD),
            ("end", END),
        ):
            self._check_request(name, known)
        check_path("test_path", self.test_path, ())
        check_path("find_path", self.find_path, ("key",))
        check_path("status_path", self.status_path, RECORD)
        check_path("comments_path", self.comments_path, RECORD)
        for name in (*WHERE, "approved_states", "refused_states", "closed_states"):
            check_length(name, getattr(self, name))
        if self.id_at and not self.find_path:
            raise InvalidProblem(
                "find_path", "Say how a change is found whose answer was lost, or leave id_at out."
            )
        if self.find_path and "{key}" not in self.find_path:
            raise InvalidProblem("find_path", "Put {key} where the correlation id belongs.")
        if self.find_path and not self.key_at:
            raise InvalidProblem("key_at", "Say where the correlation id is in what is found.")

        both = state_names(self.approved_states) & state_names(self.refused_states)
        if both:
            raise InvalidProblem(
                "refused_states", f'"{min(both)}" is among the approved states as well.'
            )
        if self.state_at and not self.status_path:
            raise InvalidProblem("status_path", "Say where the state is read, or leave it out.")

    def _check_request(self, name: str, known: tuple[str, ...]) -> None:
        check_path(f"{name}_path", getattr(self, f"{name}_path"), known)
        check_body(f"{name}_body", getattr(self, f"{name}_body"), known)
