"""Write the record; always inside the transaction of the deed."""

import json
import uuid
from collections.abc import Sequence
from typing import Any, NotRequired, Protocol, TypedDict, Unpack

from django.core.serializers.json import DjangoJSONEncoder

from apps.audit.models import AuditEntry


class Actor(Protocol):
    """Who did it: a person of `apps.accounts`, which stands above this room."""

    @property
    def pk(self) -> Any: ...

    @property
    def display_name(self) -> str: ...


class Deed(TypedDict):
    """What was done. `actor` None means Weir itself, or whom `actor_name` names."""

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
    """The entry of a deed, not written yet."""
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
    """Add one entry."""
    written = entry(**deed)
    written.save(force_insert=True)
    return written


def record_all(entries: Sequence[AuditEntry]) -> None:
    """Add entries, in their order."""
    AuditEntry.objects.bulk_create(entries)
