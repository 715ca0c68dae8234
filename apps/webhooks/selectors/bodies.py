"""Write events as CloudEvents 1.0."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.audit.models import AuditEntry, Event
from apps.common.api.fields import instant
from apps.systems.models import System
from apps.webhooks.domain.event_types import TEST, type_of
from apps.webhooks.models import Webhook

CONTENT_TYPE = "application/cloudevents+json"
NUMBER_WIDTH = 19
"""Digits of `sequence`, which receivers compare as text."""

PAGES = {
    **{kind: f"/{kind}s/{{id}}" for kind in ("plan", "run", "system", "connection", "webhook")},
    **{
        kind: f"/systems/{{system}}/{kind.replace('_', '-')}s/{{id}}"
        for kind in (
            *("broker", "link", "overlay", "topic", "publisher", "slo"),
            *("correlation_key", "subscriber", "stream", "group"),
        )
    },
    "consumer_class": "/systems/{system}/consumer-classes/{id}",
    "utility_function": "/systems/{system}/utility-functions/{id}/edit",
}
"""Kinds with a page of their own -> its address; others are found in the history."""


def subject_of(entry: AuditEntry) -> str:
    """Return what an event is about."""
    return f"{entry.object_kind.replace(' ', '_')}/{entry.object_id}"


def body_of(event: Event, systems: Mapping[UUID, System]) -> str:
    """Return the body of an event whose entry was read with it."""
    entry = event.entry
    system = systems.get(entry.system_id) if entry.system_id else None
    page = PAGES.get(entry.object_kind, "/audit")
    link = page.format(id=entry.object_id, system=entry.system_id)
    return _text(
        id=str(entry.public_id),
        type=type_of(entry.object_kind, entry.action),
        source=settings.WEIR_PUBLIC_URL
        + (f"/systems/{entry.system_id}" if entry.system_id else ""),
        subject=subject_of(entry),
        time=instant(entry.at),
        sequence=f"{event.number:0{NUMBER_WIDTH}}",
        data={
            "object_kind": entry.object_kind,
            "object_id": str(entry.object_id),
            "object_name": entry.object_name,
            "action": entry.action,
            "actor_name": entry.actor_name,
            "system": str(entry.system_id) if entry.system_id else None,
            "system_name": system.name if system else _name_of_deleted(entry),
            "model_version": entry.model_version,
            "before": entry.before,
            "after": entry.after,
            "reason": entry.reason,
            "link": settings.WEIR_PUBLIC_URL + link,
        },
    )


def _name_of_deleted(entry: AuditEntry) -> str | None:
    """Return the name of a system that is not there any more, where its own entry says it."""
    return entry.object_name if entry.object_kind == "system" else None


def sample_body(webhook: Webhook, message: UUID, at: str, actor_name: str) -> str:
    """Return the body of an event that only shows that the address works."""
    return _text(
        id=str(message),
        type=TEST,
        source=settings.WEIR_PUBLIC_URL,
        subject=f"webhook/{webhook.public_id}",
        time=at,
        data={"webhook": str(webhook.public_id), "name": webhook.name, "actor_name": actor_name},
    )


def _text(**members: Any) -> str:
    return json.dumps(
        {"specversion": "1.0", "datacontenttype": "application/json", **members},
        ensure_ascii=False,
    )
