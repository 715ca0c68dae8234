"""Write the record; always inside the transaction of the deed."""

import json
import uuid
from typing import Any, Protocol

from django.core.serializers.json import DjangoJSONEncoder

from apps.audit.models import AuditEntry


class Actor(Protocol):
    """Who did it: a person of `apps.accounts`, which stands above this room."""

    @property
    def pk(self) -> Any: ...

    @property
    def display_name(self) -> str: ...


def _plain(value: Any) -> Any:
    return None if value is None else json.loads(json.dumps(value, cls=DjangoJSONEncoder))


def record(
    *,
    actor: Actor | None,
    action: str,
    object_kind: str,
    object_id: uuid.UUID,
    object_name: str,
    system_id: uuid.UUID | None = None,
    model_version: int | None = None,
    before: Any = None,
    after: Any = None,
    reason: str = "",
) -> AuditEntry:
    """Add one entry. `actor` None means Weir itself."""
    return AuditEntry.objects.create(
        actor_id=actor.pk if actor else None,
        actor_name=actor.display_name if actor else "Weir",
        action=action,
        object_kind=object_kind,
        object_id=object_id,
        object_name=object_name[:200],
        system_id=system_id,
        model_version=model_version,
        before=_plain(before),
        after=_plain(after),
        reason=reason,
    )
