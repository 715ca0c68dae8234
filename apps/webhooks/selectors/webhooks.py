"""Read webhooks and deliveries for lists."""

from django.db.models import Count, Q, QuerySet

from apps.webhooks.models import Delivery, DeliveryState, Webhook


def webhook_rows() -> QuerySet[Webhook]:
    """Return the webhooks with their systems, and how many deliveries wait."""
    return Webhook.objects.prefetch_related("systems").annotate(
        waiting=Count("deliveries", filter=Q(deliveries__state=DeliveryState.WAITING))
    )


def delivery_rows() -> QuerySet[Delivery]:
    """Return the deliveries with their webhooks."""
    return Delivery.objects.select_related("webhook")
