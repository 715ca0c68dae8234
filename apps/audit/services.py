"""Write the audit record, always inside the transaction of the recorded change."""

import json
import uuid
from collections.abc import Sequence
from typing import Any, NotRequired, Protocol, TypedDict, Unpack

from django.core.serializers.json import DjangoJSONEncoder

from apps.audit.models import AuditEntry


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
