"""Read webhooks and deliveries for lists."""

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.audit.models import FOR_ADMINISTRATORS
from apps.webhooks.domain.event_types import FIRST
from apps.webhooks.models import Delivery, Webhook
from weir.lifecycle.deliveries import DeliveryState


def webhook_rows() -> QuerySet[Webhook]:
    """Return the webhooks with their systems, and how many deliveries wait."""
    # A subquery, for which there is an index: a join would read all that has ended as well.
    waiting = (
        Delivery.objects.filter(webhook=OuterRef("pk"), state=DeliveryState.WAITING)
        .order_by()
        .values("webhook")
        .annotate(count=Count("pk"))
        .values("count")
    )
    return Webhook.objects.prefetch_related("systems").annotate(
        waiting=Coalesce(Subquery(waiting, output_field=IntegerField()), 0)
    )


def delivery_rows(*, may_administer: bool) -> QuerySet[Delivery]:
    """Return the deliveries with their webhooks: all, or what everybody may read.

    What only administrators see in the history they alone see here.
    """
    rows = Delivery.objects.select_related("webhook")
    if may_administer:
        return rows
    for kind in FOR_ADMINISTRATORS:
        rows = rows.exclude(type__startswith=f"{FIRST}.{kind}.")
    return rows
