"""Addresses of webhooks, of deliveries, of the kinds of events, and of their stream."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.webhooks.api.stream import EventStreamView
from apps.webhooks.api.views import DeliveryViewSet, EventTypesView, WebhookViewSet


def register(router: BaseRouter) -> None:
    router.register("webhooks", WebhookViewSet)
    router.register("deliveries", DeliveryViewSet)


paths = [
    path("event-types", EventTypesView.as_view()),
    path("event-stream", EventStreamView.as_view()),
]
