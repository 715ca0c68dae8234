"""Addresses of connections, of products, and of the changes of plans."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.integrations.api.views import (
    ConnectionProductsView,
    ConnectionViewSet,
    ExchangeViewSet,
    PlanChangeView,
    WaitingMessageViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("connections", ConnectionViewSet)
    router.register("exchanges", ExchangeViewSet)
    router.register("waiting-messages", WaitingMessageViewSet)


paths = [
    path("connection-products", ConnectionProductsView.as_view()),
    path("plans/<uuid:id>/change", PlanChangeView.as_view()),
]
