"""Addresses of maps of flows, of their settings, and of the methods that find them."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.mappings.api.views import (
    FilteringView,
    FlowMoveViewSet,
    HandOversView,
    MapInForceView,
    MappableView,
    MappingMethodsView,
    MappingSettingsViewSet,
    MappingViewSet,
    ReceiverViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("mappings", MappingViewSet)
    router.register("mappings/<uuid:mapping_id>/moves", FlowMoveViewSet, basename="mapping-move")
    router.register(
        "mappings/<uuid:mapping_id>/receivers", ReceiverViewSet, basename="mapping-receiver"
    )
    router.register("mapping-settings", MappingSettingsViewSet)


paths = [
    path("mapping-methods", MappingMethodsView.as_view()),
    path("mappable", MappableView.as_view()),
    path("map-in-force", MapInForceView.as_view()),
    path("hand-overs", HandOversView.as_view()),
    path("filtering", FilteringView.as_view()),
]
