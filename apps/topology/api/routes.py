"""Addresses of brokers, links and overlays."""

from rest_framework.routers import BaseRouter

from apps.topology.api.views import BrokerViewSet, LinkViewSet, OverlayViewSet


def register(router: BaseRouter) -> None:
    router.register("brokers", BrokerViewSet)
    router.register("links", LinkViewSet)
    router.register("overlays", OverlayViewSet)
