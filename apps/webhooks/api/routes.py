"""Addresses of webhooks, of deliveries, and of the kinds of events."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.webhooks.api.views import DeliveryViewSet, EventTypesView, WebhookViewSet


def register(router: BaseRouter) -> None:
    router.register("webhooks", WebhookViewSet)
    router.register("deliveries", DeliveryViewSet)


paths = [path("event-types", EventTypesView.as_view())]
