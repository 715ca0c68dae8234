"""What a connection to ServiceNow has to know."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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
)
from weir.errors import InvalidProblem
from weir.plugins import about, check_fields

KINDS = ("normal", "emergency", "standard")
_SYS_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceNowSettings:
    """The address of an instance, and what its changes are filled with."""

    address: str = field(metadata=ADDRESS)
    authentication: str = field(default="basic", metadata=AUTHENTICATION_HELP)
    token_address: str = field(default="", metadata=TOKEN_ADDRESS)
    scope: str = field(default="", metadata=SCOPE)
    client_in_body: bool = field(default=False, metadata=CLIENT_IN_BODY)
    kind: str = field(
        default="normal",
        metadata=about(help="Kind of change: normal, emergency or standard.", choices=KINDS),
    )
    template: str = field(
        default="",
        metadata=about(
            help="sys_id of the published template; for standard changes alone.",
            only_with={"kind": "standard"},
        ),
    )
    assignment_group: str = field(
        default="",
        metadata=about(help="Group that carries changes out, by name or sys_id; empty: nobody."),
    )
    cmdb_ci: str = field(
        default="",
        metadata=about(
            help="Configuration item of the system, by name or sys_id; empty: none.",
            label="CMDB item",
        ),
    )
    headers: Mapping[str, str] = field(default_factory=dict, metadata=HEADERS)

    @property
    def shows_approval(self) -> bool:
        """Return true: every change has `approval` and `state`."""
        return True

    @property
    def shows_window(self) -> bool:
        """Return true: every change has `start_date` and `end_date`."""
        return True

    def __post_init__(self) -> None:
        check_fields(self)
        check_headers(self.headers)
        check_tokens(self)
        check_length("assignment_group", self.assignment_group)
        check_length("cmdb_ci", self.cmdb_ci)
        if self.kind == "standard" and not _SYS_ID.fullmatch(self.template):
            raise InvalidProblem(
                "template", "Give the sys_id of the template: 32 of the characters 0-9 and a-f."
            )
        if self.kind != "standard" and self.template:
            raise InvalidProblem("template", "Only standard changes have a template; leave it out.")
