"""Edit webhooks, queue what each wants to hear of, and send it."""

from apps.webhooks.services.queue import deliveries_queue, deliveries_tidy
from apps.webhooks.services.send import webhook_send, webhooks_hand_out
from apps.webhooks.services.webhooks import (
    delivery_repeat,
    secret_rotate,
    webhook_create,
    webhook_delete,
    webhook_test,
    webhook_update,
)

__all__ = [
    "deliveries_queue",
    "deliveries_tidy",
    "delivery_repeat",
    "secret_rotate",
    "webhook_create",
    "webhook_delete",
    "webhook_send",
    "webhook_test",
    "webhook_update",
    "webhooks_hand_out",
]
