"""What a connection to Jira has to know."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
    check_web_address,
    state_names,
)
from weir.errors import InvalidProblem
from weir.plugins import about, check_fields

REQUEST, ISSUE = "service_request", "issue"
KINDS = (REQUEST, ISSUE)
CLOUD, DATA_CENTER = "cloud", "data_center"
EDITIONS = (CLOUD, DATA_CENTER)
WRITTEN = ("summary", "description", "labels", "project", "issuetype")
"""Fields that Weir fills."""

_NUMBER = re.compile(r"[0-9]{1,18}")
_PROJECT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}")


def _text(help: str, kind: str = "") -> Any:
    only_with = {"kind": kind} if kind else None
    return field(default="", metadata=about(help=help, only_with=only_with))


@dataclass(frozen=True, slots=True, kw_only=True)
class JiraSettings:
    """The address of a Jira, what is made there, and what its states mean."""

    address: str = field(metadata=ADDRESS)
    authentication: str = field(default="basic", metadata=AUTHENTICATION_HELP)
    token_address: str = field(default="", metadata=TOKEN_ADDRESS)
    scope: str = field(default="", metadata=SCOPE)
    client_in_body: bool = field(default=False, metadata=CLIENT_IN_BODY)
    web_address: str = field(
        default="",
        metadata=about(
            help="Where people open Jira, such as https://example.atlassian.net; empty: at the "
            "address. https://api.atlassian.com/ex/jira/… is one that programs alone reach.",
        ),
    )
    edition: str = field(
        default=CLOUD,
        metadata=about(help="Jira Cloud, or Data Center on servers of your own.", choices=EDITIONS),
    )
    kind: str = field(
        default=REQUEST,
        metadata=about(
            help="A request of Jira Service Management, which has approvals, or an issue.",
            choices=KINDS,
        ),
    )
    service_desk: str = _text(
        "Of requests: the number of the service desk, as the portal's address has it.", REQUEST
    )
    request_type: str = _text("Of requests: the number of their type.", REQUEST)
    project: str = _text("Of issues: the key of the project, such as OPS.", ISSUE)
    issue_type: str = _text("Of issues: the name of their type, such as Change.", ISSUE)
    fields: Mapping[str, Any] = field(
        default_factory=dict,
        metadata=about(
            help="Further fields that are filled, such as customfield_10010.",
            type="mapping",
            label="Further fields",
        ),
    )
    start_field: str = _text("Field of the planned start, such as customfield_10101; empty: none.")
    end_field: str = _text("Field of the planned end; empty: none.")
    approved_states: str = _text(
        "States that mean approved, separated by commas. Of requests: states in which their "
        "approvals count; empty: in each."
    )
    refused_states: str = _text("States that mean that people refused it.")
    begin_state: str = _text("State while a plan is carried out; empty: it stays.")
    succeeded_state: str = _text("State of a plan that was carried out; empty: it stays.")
    failed_state: str = _text("State of a plan that failed; empty: it stays.")
    cancelled_state: str = _text("State of a plan that was given up; empty: it stays.")
    transition_fields: Mapping[str, Any] = field(
        default_factory=dict,
        metadata=about(
            help='Fields of the screens on the way to these states, such as resolution: {"name": '
            '"Done"}. Each is filled where a screen has it.',
            type="mapping",
        ),
    )
    headers: Mapping[str, str] = field(default_factory=dict, metadata=HEADERS)

    @property
    def shows_approval(self) -> bool:
        """Return whether a change says that it is approved: requests do, issues by states."""
        return self.kind == REQUEST or bool(state_names(self.approved_states))

    @property
    def shows_window(self) -> bool:
        """Return whether the settings name the fields of the planned times."""
        return bool(self.start_field and self.end_field)

    def __post_init__(self) -> None:
        check_fields(self)
        check_headers(self.headers)
        check_tokens(self)
        check_web_address(self.web_address)
        self._check_kind()
        self._check_more()
        for name in ("issue_type", "approved_states", "refused_states", "begin_state"):
            check_length(name, getattr(self, name))
        for name in ("succeeded_state", "failed_state", "cancelled_state"):
            check_length(name, getattr(self, name))
        both = state_names(self.approved_states) & state_names(self.refused_states)
        if both:
            raise InvalidProblem(
                "refused_states", f'"{min(both)}" is among the approved states as well.'
            )

    def _check_kind(self) -> None:
        if self.kind == REQUEST:
            for name in ("service_desk", "request_type"):
                if not _NUMBER.fullmatch(getattr(self, name)):
                    raise InvalidProblem(name, "Give its number, as the portal's address has it.")
            return
        if not _PROJECT.fullmatch(self.project):
            raise InvalidProblem("project", "Give the key of a project, such as OPS.")
        if not self.issue_type:
            raise InvalidProblem("issue_type", "Give the name of a type, such as Change.")

    def _check_more(self) -> None:
        for setting in ("fields", "transition_fields"):
            given = getattr(self, setting)
            if not isinstance(given, dict):
                raise InvalidProblem(setting, 'Write an object such as {"customfield_10010": "a"}.')
            for name in given:
                if not _FIELD.fullmatch(name):
                    raise InvalidProblem(setting, f'"{name[:60]}" is no name of a field.')
        for name in self.fields:
            if name in (*WRITTEN, self.start_field, self.end_field):
                raise InvalidProblem("fields", f"{name} is filled by Weir itself; leave it out.")
        for name in ("start_field", "end_field"):
            given = getattr(self, name)
            if given and (not _FIELD.fullmatch(given) or given in WRITTEN):
                raise InvalidProblem(name, "Give the id of a field, such as customfield_10101.")
