"""Say what the published API needs to know about webhooks."""

from apps.common.api.examples import SYSTEM, WHY, Example
from weir.lifecycle.deliveries import DELIVERIES

TAGS = {
    "deliveries": "What was sent to webhooks, with the answers.",
    "event-stream": "What happens, as it happens, for programs that follow.",
    "event-types": "Kinds of events that webhooks may want.",
    "webhooks": "Addresses of other systems that hear of what happens.",
}

ENUM_NAMES = {
    "WebhookCommandEnum": "apps.webhooks.api.serializers.WEBHOOK_COMMANDS",
    "DeliveryCommandEnum": "apps.webhooks.api.serializers.DELIVERY_COMMANDS",
    "DeliveryStateEnum": "apps.webhooks.api.serializers.DELIVERY_STATES",
}

MACHINES = {"DeliveryStateEnum": DELIVERIES}

MEANINGS = {
    "WebhookCommandEnum": {
        "edit": "PATCH it.",
        "delete": "DELETE it.",
        "test": "Send an event that only shows that the address works.",
        "rotate": "Make a new secret.",
    },
    "DeliveryCommandEnum": {"redeliver": "Send it once more, at once."},
    "DeliveryStateEnum": {
        "waiting": "Is sent next, or again.",
        "delivered": "The other side has taken it.",
        "given_up": "Every attempt failed; it can be sent again by hand.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /webhooks": {
        "name": "Tickets",
        "address": "https://hooks.example.com/weir",
        "types": ["weir.plan.*", "weir.execution.*"],
        "all_systems": False,
        "systems": [SYSTEM],
        "reason": WHY,
    },
    "PATCH /webhooks/{id}": {"enabled": True, "reason": WHY},
    "POST /webhooks/{id}/rotate": {"keep_previous_h": 24, "reason": WHY},
}
