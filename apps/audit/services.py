"""Write the audit record, always inside the transaction of the recorded change."""

import json
import uuid
from collections.abc import Sequence
from typing import Any, NotRequired, Protocol, TypedDict, Unpack

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction

from apps.audit.models import AuditEntry
from apps.common.events import publish
from apps.common.locks import lock_until_commit

NUMBERED_AT_ONCE = 1_000
NUMBERED = "numbered"
"""News for streams of events: there are new numbers."""
_NUMBER = """
WITH visible AS (
    DELETE FROM audit_newentry WHERE entry_id IN (
        SELECT entry_id FROM audit_newentry ORDER BY entry_id LIMIT %s
    ) RETURNING entry_id
)
INSERT INTO audit_event (number, entry_id)
SELECT
    (SELECT coalesce(max(number), 0) FROM audit_event) + row_number() OVER (ORDER BY entry_id),
    entry_id
FROM visible
ON CONFLICT (entry_id) DO NOTHING
"""


class Actor(Protocol):
    """Describe who acted: a person of `apps.accounts`, which is above this app."""

    @property
    def pk(self) -> Any: ...

    @property
    def display_name(self) -> str: ...


class Deed(TypedDict):
    """Describe what was done. `actor` None means Weir itself, or the name in `actor_name`."""

    actor: Actor | None
    actor_name: NotRequired[str]
    action: str
    object_kind: str
    object_id: uuid.UUID
    object_name: str
    system_id: NotRequired[uuid.UUID | None]
    model_version: NotRequired[int | None]
    before: NotRequired[Any]
    after: NotRequired[Any]
    reason: NotRequired[str]


def _plain(value: Any) -> Any:
    return None if value is None else json.loads(json.dumps(value, cls=DjangoJSONEncoder))


def entry(**deed: Unpack[Deed]) -> AuditEntry:
    """Return the entry of a deed without writing it."""
    actor = deed["actor"]
    return AuditEntry(
        actor_id=actor.pk if actor else None,
        actor_name=actor.display_name if actor else deed.get("actor_name") or "Weir",
        action=deed["action"],
        object_kind=deed["object_kind"],
        object_id=deed["object_id"],
        object_name=deed["object_name"][:200],
        system_id=deed.get("system_id"),
        model_version=deed.get("model_version"),
        before=_plain(deed.get("before")),
        after=_plain(deed.get("after")),
        reason=deed.get("reason", ""),
    )


def record(**deed: Unpack[Deed]) -> AuditEntry:
    """Add one entry to the record."""
    written = entry(**deed)
    written.save(force_insert=True)
    return written


def record_all(entries: Sequence[AuditEntry]) -> None:
    """Add entries to the record, in their order."""
    AuditEntry.objects.bulk_create(entries)


def events_number(*, wait: bool = False) -> int:
    """Give numbers to entries that have become visible. Returns how many got one.

    The entries of an object are written under its lock: where one is visible, so are those before
    it, and their ids are smaller. One process numbers at a time, each time all that it sees, so
    numbers are in that order, and no smaller one comes later. Where another process is at it,
    nothing is done, or with `wait` once that one has committed.
    """
    count = NUMBERED_AT_ONCE
    total = 0
    while count == NUMBERED_AT_ONCE:
        with transaction.atomic(), connection.cursor() as cursor:
            if not lock_until_commit("events", wait=wait):
                return total
            cursor.execute(_NUMBER, [NUMBERED_AT_ONCE])
            count = cursor.rowcount
            if count:
                publish(NUMBERED)
        total += count
    return total
