"""Define the six roles and what each may do. Roles add up; every account may read."""

from collections.abc import Iterable
from enum import StrEnum


class Role(StrEnum):
    """Name what a person or a token may do."""

    VIEWER = "viewer"
    SENDER = "sender"
    EDITOR = "editor"
    APPROVER = "approver"
    OPERATOR = "operator"
    ADMIN = "admin"


class Permission(StrEnum):
    """Name what an operation of the API needs."""

    READ = "read"
    SEND_RECORDS = "send_records"
    EDIT_MODEL = "edit_model"
    START_RUN = "start_run"
    PROPOSE_PLAN = "propose_plan"
    REVIEW_PLAN = "review_plan"
    EXECUTE_PLAN = "execute_plan"
    ADMINISTER = "administer"
    OWN_ACCOUNT = "own_account"


GRANTS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: frozenset({Permission.READ, Permission.OWN_ACCOUNT}),
    Role.SENDER: frozenset({Permission.SEND_RECORDS}),
    Role.EDITOR: frozenset(
        {
            Permission.SEND_RECORDS,
            Permission.EDIT_MODEL,
            Permission.START_RUN,
            Permission.PROPOSE_PLAN,
        }
    ),
    Role.APPROVER: frozenset({Permission.REVIEW_PLAN}),
    Role.OPERATOR: frozenset({Permission.EXECUTE_PLAN}),
    Role.ADMIN: frozenset({Permission.ADMINISTER}),
}


def permissions_of(roles: Iterable[str]) -> frozenset[Permission]:
    """Return the permissions of all given roles together; reading is part of each."""
    granted = set(GRANTS[Role.VIEWER])
    for role in roles:
        granted |= GRANTS[Role(role)]
    return frozenset(granted)


def held(roles: Iterable[str]) -> frozenset[str]:
    """Return these roles and those that may do no more: who edits may let a machine send."""
    granted = permissions_of(roles)
    return frozenset(role.value for role in Role if permissions_of([role]) <= granted)


def granting(need: Permission) -> list[Role]:
    """Return the roles each of which is enough."""
    return [role for role in Role if need in permissions_of([role])]
