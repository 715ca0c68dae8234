"""Create, change, delete and test connections; each change has a version and an audit entry."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.editing import check_name_free, lock_version
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish
from apps.common.formatting import counted
from apps.common.outgoing.addresses import check_address, server_of
from apps.common.outgoing.credentials import check_reference, check_server
from apps.integrations.connectors import product
from apps.integrations.domain.contract import Approval, ExchangeError, Product
from apps.integrations.models import Change, ConnectedSystem, Connection, Message
from apps.integrations.services.exchanges import connector_of
from apps.systems.models import System
from weir.errors import InvalidProblem, UnknownMethod
from weir.lifecycle.changes import ChangeState
from weir.plugins import describe, from_dict

READ_ANEW = ("enabled", "settings", "credential", "approval_needed", "window_from_change")
"""What decides how a change is read, and what that means."""

FIELDS = (
    *("name", "enabled", "settings", "credential"),
    *("approval_needed", "window_from_change"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """Whether the other side answered a test, and what came of it."""

    works: bool
    detail: str


@transaction.atomic
def connection_create(*, actor: User, values: Mapping[str, Any], reason: str = "") -> Connection:
    """Add a connection. Raises ApplicationError naming the field, Conflict for what is taken."""
    given = dict(values)
    systems = given.pop("systems", [])
    row = Connection(**given)
    _save(row, systems)
    _record(row, "create", actor, after=_plain(row), reason=reason)
    return row


@transaction.atomic
def connection_update(
    *,
    connection: Connection,
    actor: User,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> Connection:
    """Change the given members; `settings` and `systems` are replaced as a whole.

    What waits is tried again at once: the change may be what it waited for. How changes stand is
    read anew before it counts. Raises Conflict where the address leads to another server and
    changes are not closed at the present one.
    """
    # Workers lock changes before their connection, too.
    changes = Change.objects.filter(connection=connection).exclude(state=ChangeState.CLOSED)
    kept = len(changes.select_for_update(no_key=True).order_by("pk"))
    row = lock_version(connection, expected_version)
    given, before = dict(values), _plain(row)
    systems = given.pop("systems", None)
    if given.pop("product", row.product) != row.product:
        raise ApplicationError.of_field("product", "Cannot be changed; add another connection.")
    was, was_enabled = server_of(row.settings["address"]), row.enabled
    for name, value in given.items():
        setattr(row, name, value)
    _check(row)
    if kept and server_of(row.settings["address"]) != was:
        message = (
            f"{counted(kept, 'change is', 'changes are')} not closed at {was[1]}, and known there "
            "alone. Add a connection for the new address and take the systems there, or wait."
        )
        raise Conflict.of_field("settings.address", message, code="still_in_use", detail=message)
    row.version += 1
    row.failures, row.problem, row.retry_at = 0, "", None
    _save(row, systems)
    if row.enabled and not was_enabled:
        row.connected.update(since=timezone.now())
    Message.objects.filter(change__connection=row, sent_at=None).update(next_at=timezone.now())
    after = _plain(row)
    moved = [name for name in after if after[name] != before[name]]
    if set(moved) & set(READ_ANEW):
        changes.update(
            **{"looked_at": None, "next_look_at": None, "look_failures": 0, "problem": ""},
            approval=Approval.WAITING,
        )
    _record(
        row,
        "update",
        actor,
        before={name: before[name] for name in moved},
        after={name: after[name] for name in moved},
        reason=reason,
    )
    return row


@transaction.atomic
def connection_delete(
    *, connection: Connection, actor: User, expected_version: int, reason: str = ""
) -> None:
    """Delete a connection that has opened no change."""
    row = lock_version(connection, expected_version)
    if row.changes.exists():
        raise Conflict(
            "still_in_use", f"Plans have opened changes in {row}. Disable the connection instead."
        )
    before = _plain(row)
    _record(row, "delete", actor, before=before, reason=reason)
    row.delete()


def connection_test(*, connection: Connection) -> TestResult:
    """Ask the other side something that changes nothing; the exchange is kept. Where it answers,
    what waits is tried again at once."""
    try:
        detail = connector_of(connection).test()
    except ExchangeError as error:
        return TestResult(works=False, detail=str(error))
    now = timezone.now()
    Connection.objects.filter(pk=connection.pk).update(
        failures=0, problem="", retry_at=None, answered_at=now, updated_at=now
    )
    return TestResult(works=True, detail=detail)


def _save(row: Connection, systems: Sequence[System] | None) -> None:
    """Check and save a connection, and which systems' plans open their changes there."""
    _check(row)
    check_name_free(row)
    row.save()
    if systems is None:
        return
    wanted = {system.pk: system for system in systems}
    elsewhere = ConnectedSystem.objects.filter(system__in=wanted).exclude(connection=row)
    taken = elsewhere.select_related("system", "connection").first()
    if taken is not None:
        message = f"{taken.system} is connected to {taken.connection}; take it off there first."
        raise ApplicationError.of_field("systems", message)
    row.connected.exclude(system__in=wanted).delete()
    held = set(row.connected.values_list("system", flat=True))
    ConnectedSystem.objects.bulk_create(
        ConnectedSystem(connection=row, system=system)
        for pk, system in wanted.items()
        if pk not in held
    )


def _check(row: Connection) -> None:
    try:
        kind = product(row.product)
    except UnknownMethod as error:
        raise ApplicationError.of_field("product", f"{error}.") from error
    _check_names(kind, row.settings)
    try:
        values = from_dict(kind.Settings, row.settings)
        check_address(values.address, plain_http=settings.WEIR_PLAIN_HTTP)
        if values.token_address:
            check_address(
                values.token_address, plain_http=settings.WEIR_PLAIN_HTTP, field="token_address"
            )
    except InvalidProblem as error:
        field = f"settings.{error.path}" if error.path else "settings"
        raise ApplicationError.of_field(field, error.message) from error
    if values.authentication != "none" and not row.credential:
        raise ApplicationError.of_field(
            "credential", f"Say where the credential is: env:{settings.WEIR_CREDENTIAL_PREFIX}NAME."
        )
    if row.approval_needed and not values.shows_approval:
        raise ApplicationError.of_field(
            "approval_needed", "The settings do not say where an approval is read; or write false."
        )
    if row.window_from_change and not values.shows_window:
        raise ApplicationError.of_field(
            "window_from_change", "The settings do not say where the planned times are read."
        )
    try:
        check_reference(
            row.credential,
            prefix=settings.WEIR_CREDENTIAL_PREFIX,
            folder=settings.WEIR_CREDENTIALS_DIR,
        )
        for address in filter(None, (values.address, values.token_address)):
            check_server(row.credential, address, environ=os.environ)
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error


def _check_names(kind: Product, given: Mapping[str, Any]) -> None:
    """Refuse the first setting that there is not, or that is missing, at its field."""
    described = {one["name"]: one["required"] for one in describe(kind.Settings)}
    for name in given:
        if name not in described:
            message = f"There is no such setting; there are {', '.join(described)}."
            raise ApplicationError.of_field(f"settings.{name[:60]}", message)
    for name, required in described.items():
        if required and name not in given:
            raise ApplicationError.of_field(f"settings.{name}", "This setting is needed.")


def _plain(row: Connection) -> dict[str, Any]:
    names = row.connected.order_by("system__name").values_list("system__name", flat=True)
    return {**{name: getattr(row, name) for name in FIELDS}, "systems": list(names)}


def _record(row: Connection, action: str, actor: User, **values: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="connection",
        object_id=row.public_id,
        object_name=row.name,
        **values,
    )
    publish("connection", id=row.public_id)
